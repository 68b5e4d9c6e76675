/** What is counted and checked of one month of CNES once its tables are made: keys, references, sums against the snapshot. */
import { FACT_LINEAGE, FACT_NAMES, type FactName } from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { repeatedKeys } from './facts.ts'
import type { PeriodScope } from './published-rows.ts'

const OF_FACILITIES = 'FROM link WHERE reason IS NULL'

/** Every facility occurs once and lies in a municipality of the list. */
export async function checkFacilities(session: Session, { period }: PeriodScope): Promise<NamedCheck[]> {
  const repeated = await session.number(`SELECT count(*) - count(DISTINCT cnes_number) ${OF_FACILITIES}`)
  const homeless = await session.number(`SELECT count(*) ${OF_FACILITIES} AND municipality_ibge_code IS NULL`)
  return [
    { name: `facility_keys_unique_${period}`, violations: repeated },
    { name: `facilities_have_municipalities_${period}`, violations: homeless },
  ]
}

/** Number of published rows, and sums of their quantities; each distinct cell is parsed once. */
export async function publishedTotals(
  session: Session,
  input: PeriodScope,
  fact: FactName,
): Promise<number[]> {
  const sums = quantitiesOf(input, fact).map(
    ({ column, rule }) =>
      `(SELECT coalesce(sum(cells * ${applyRule(rule, 'cell')}), 0) FROM (SELECT ${quoteName(column)} AS cell, count(*) AS cells FROM st_${fact} GROUP BY cell))`,
  )
  return totals(session, `SELECT ${named([`(SELECT count(*) FROM st_${fact})`, ...sums])}`)
}

const quantitiesOf = ({ family }: PeriodScope, fact: FactName): readonly Lineage[] =>
  FACT_LINEAGE[fact][family].filter(({ rule }) => rule === 'quantity')

const named = (values: readonly string[]): string =>
  values.map((value, index) => `${value} AS c${index}`).join(', ')

async function totals(session: Session, sql: string): Promise<number[]> {
  const [row] = await session.rows(sql)
  return Object.values(row ?? {}).map(Number)
}

/**
 * Sums of the rows that were loaded equal those of the published cells, minus the rows set aside.
 *
 * @param before publishedTotals
 */
export async function checkFact(
  session: Session,
  input: PeriodScope,
  fact: FactName,
  before: readonly number[],
): Promise<NamedCheck[]> {
  const { period } = input
  const quantities = quantitiesOf(input, fact)
  const loaded = quantities.map(({ attribute }) => `coalesce(sum(${attribute}), 0)`)
  const after = await totals(session, `SELECT ${named(['count(*)', ...loaded])} FROM fact_${fact}`)
  const difference = (index: number): number => Math.abs((before[index] ?? 0) - (after[index] ?? 0))
  const checks: NamedCheck[] = [{ name: `${fact}_rows_equal_snapshot_${period}`, violations: difference(0) }]
  if (fact !== 'specialized_services')
    checks.push({
      name: `${fact}_keys_unique_${period}`,
      violations: await session.number(`SELECT count(*) FROM (${repeatedKeys(fact)})`),
    })
  for (const [index, { attribute }] of quantities.entries())
    checks.push({
      name: `${fact}_${attribute}_sum_equals_snapshot_${period}`,
      violations: difference(index + 1),
    })
  return checks
}

const FACILITY_COUNTS: Readonly<Record<string, string>> = {
  facilities: OF_FACILITIES,
  facilities_closed: `${OF_FACILITIES} AND NOT is_active`,
  facilities_of_unknown_municipality: `${OF_FACILITIES} AND is_unknown_municipality`,
}
/** Name of a count → the rows counted; USING names the code whose text the catalog of the month lacks. */
const FACT_COUNTS: Readonly<Record<FactName, Readonly<Record<string, string>>>> = {
  bed_capacity: {
    bed_capacity: 'WHERE reason IS NULL',
    beds_sus_above_existing: 'WHERE reason IS NULL AND beds_sus > beds_existing',
    bed_types_without_name: 'ANTI JOIN now_bed_types USING (bed_type_code) WHERE reason IS NULL',
  },
  equipment_inventory: {
    equipment_inventory: 'WHERE reason IS NULL',
    equipment_types_without_name:
      'ANTI JOIN now_equipment_types USING (category_code, equipment_code) WHERE reason IS NULL',
  },
  specialized_services: {
    service_declarations: 'WHERE reason IS NULL',
    classifications_without_name:
      'ANTI JOIN now_specialized_service_classifications USING (service_code, classification_code) WHERE reason IS NULL',
    characteristics_not_known: 'WHERE reason IS NULL AND characteristic_code IS NULL',
  },
}

/**
 * What the manifest reports of the month: rows loaded, and what in them is unusual.
 *
 * @param facilities path of the month's facilities, written
 */
export async function countPeriod(
  session: Session,
  { period, family, facts }: PeriodScope,
  facilities: string,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const count = async (name: string, from: string): Promise<void> => {
    counts[`${name}_${period}`] = await session.number(`SELECT count(*) ${from}`)
  }
  for (const [name, from] of Object.entries(FACILITY_COUNTS)) await count(name, from)
  if (family === 'base') {
    const written = await session.number(
      `SELECT count(*) FROM read_parquet(${quoteText(facilities)}, hive_partitioning = false) WHERE latitude IS NOT NULL AND longitude IS NOT NULL`,
    )
    const published = await session.number(`SELECT count(*) ${OF_FACILITIES} AND has_latitude`)
    counts[`coordinates_dropped_${period}`] = published - written
  }
  for (const fact of FACT_NAMES.filter((name) => facts.has(name)))
    for (const [name, rows] of Object.entries(FACT_COUNTS[fact]))
      await count(name, `FROM fact_${fact} ${rows}`)
  return counts
}
