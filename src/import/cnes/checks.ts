/** What is counted and checked of one month of CNES once its tables are made: keys, references, sums against the snapshot. */
import { FACT_LINEAGE, type FactName } from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { repeatedKeys } from './facts.ts'
import type { PeriodScope } from './published-rows.ts'

/** Every facility occurs once and lies in a municipality of the list. */
export async function checkFacilities(session: Session, { period }: PeriodScope): Promise<NamedCheck[]> {
  return [
    {
      name: `facility_keys_unique_${period}`,
      violations: await session.number(
        'SELECT count(*) - count(DISTINCT cnes_number) FROM link WHERE reason IS NULL',
      ),
    },
    {
      name: `facilities_have_municipalities_${period}`,
      violations: await session.number(
        'SELECT count(*) FROM link WHERE reason IS NULL AND municipality_ibge_code IS NULL',
      ),
    },
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

/**
 * What the manifest reports of the month: rows loaded, and what in them is unusual.
 *
 * @param facilities path of the month's facilities, written
 */
export async function countPeriod(
  session: Session,
  input: PeriodScope,
  facilities: string,
): Promise<Record<string, number>> {
  const { period } = input
  const counts: Record<string, number> = {
    [`facilities_${period}`]: await session.number('SELECT count(*) FROM link WHERE reason IS NULL'),
    [`facilities_closed_${period}`]: await session.number(
      'SELECT count(*) FROM link WHERE reason IS NULL AND NOT is_active',
    ),
    [`facilities_of_unknown_municipality_${period}`]: await session.number(
      'SELECT count(*) FROM link WHERE reason IS NULL AND is_unknown_municipality',
    ),
  }
  if (input.family === 'base') {
    const written = await session.number(
      `SELECT count(*) FROM read_parquet(${quoteText(facilities)}, hive_partitioning = false) WHERE latitude IS NOT NULL AND longitude IS NOT NULL`,
    )
    counts[`coordinates_dropped_${period}`] =
      (await session.number('SELECT count(*) FROM link WHERE reason IS NULL AND has_latitude')) - written
  }
  if (input.facts.has('bed_capacity')) {
    counts[`bed_capacity_${period}`] = await session.number(
      'SELECT count(*) FROM fact_bed_capacity WHERE reason IS NULL',
    )
    counts[`beds_sus_above_existing_${period}`] = await session.number(
      'SELECT count(*) FROM fact_bed_capacity WHERE reason IS NULL AND beds_sus > beds_existing',
    )
    counts[`bed_types_without_name_${period}`] = await session.number(
      'SELECT count(*) FROM fact_bed_capacity ANTI JOIN now_bed_types USING (bed_type_code) WHERE reason IS NULL',
    )
  }
  if (input.facts.has('equipment_inventory')) {
    counts[`equipment_inventory_${period}`] = await session.number(
      'SELECT count(*) FROM fact_equipment_inventory WHERE reason IS NULL',
    )
    counts[`equipment_types_without_name_${period}`] = await session.number(
      'SELECT count(*) FROM fact_equipment_inventory ANTI JOIN now_equipment_types USING (category_code, equipment_code) WHERE reason IS NULL',
    )
  }
  if (input.facts.has('specialized_services')) {
    counts[`service_declarations_${period}`] = await session.number(
      'SELECT count(*) FROM fact_specialized_services WHERE reason IS NULL',
    )
    counts[`classifications_without_name_${period}`] = await session.number(
      'SELECT count(*) FROM fact_specialized_services ANTI JOIN now_specialized_service_classifications USING (service_code, classification_code) WHERE reason IS NULL',
    )
    counts[`characteristics_not_known_${period}`] = await session.number(
      'SELECT count(*) FROM fact_specialized_services WHERE reason IS NULL AND characteristic_code IS NULL',
    )
  }
  return counts
}
