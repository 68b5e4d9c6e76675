/**
 * Checks and counts the staged tables of one CNES month: unique keys, valid references, and sums equal to the published files.
 */
import { FACILITY_LINEAGE, FACT_LINEAGE, FACT_NAMES, type FactName } from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { isMalformedCnpj } from '../cnpj.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { isQuantityFact } from './added-rows.ts'
import type { PeriodInput, PeriodScope } from './published-rows.ts'

const OF_FACILITIES = 'FROM link WHERE reason IS NULL'

export async function checkFacilities(session: Session, { period }: PeriodScope): Promise<NamedCheck[]> {
  const repeated = await session.number(`SELECT count(*) - count(DISTINCT cnes_number) ${OF_FACILITIES}`)
  const withoutMunicipality = await session.number(
    `SELECT count(*) ${OF_FACILITIES} AND municipality_ibge_code IS NULL`,
  )
  return [
    { name: `facility_keys_unique_${period}`, violations: repeated },
    { name: `facilities_have_municipalities_${period}`, violations: withoutMunicipality },
  ]
}

/** Counts the published rows and sums their quantities. Each distinct cell is parsed once, which is faster. */
export async function publishedTotals(
  session: Session,
  input: PeriodScope,
  fact: FactName,
): Promise<number[]> {
  const sums = quantitiesOf(input, fact).map(
    ({ column, rule }) =>
      `(SELECT coalesce(sum(cells * ${applyRule(rule, 'cell')}), 0) FROM (SELECT ${quoteName(column)} AS cell, count(*) AS cells FROM st_${fact} GROUP BY cell))`,
  )
  return readTotals(session, `SELECT ${nameColumns([`(SELECT count(*) FROM st_${fact})`, ...sums])}`)
}

const quantitiesOf = ({ family }: PeriodScope, fact: FactName): readonly Lineage[] =>
  FACT_LINEAGE[fact][family].filter(({ rule }) => rule === 'quantity')

const nameColumns = (values: readonly string[]): string =>
  values.map((value, index) => `${value} AS c${index}`).join(', ')

async function readTotals(session: Session, sql: string): Promise<number[]> {
  const [row] = await session.rows(sql)
  return Object.values(row ?? {}).map(Number)
}

/** Checks that staged rows, with rejected ones, equal the published count and sums. @param before result of publishedTotals() */
export async function checkFact(
  session: Session,
  input: PeriodScope,
  fact: FactName,
  before: readonly number[],
): Promise<NamedCheck[]> {
  const { period } = input
  const quantities = quantitiesOf(input, fact)
  const loaded = quantities.map(({ attribute }) => `coalesce(sum(${attribute}), 0)`)
  const after = await readTotals(session, `SELECT ${nameColumns(['count(*)', ...loaded])} FROM fact_${fact}`)
  const difference = (index: number): number => Math.abs((before[index] ?? 0) - (after[index] ?? 0))
  const checks: NamedCheck[] = [{ name: `${fact}_rows_equal_snapshot_${period}`, violations: difference(0) }]
  if (isQuantityFact(fact)) {
    checks.push({
      name: `${fact}_keys_unique_${period}`,
      violations: await session.number(
        `SELECT count(*) - count(DISTINCT (cnes_number, rank)) FROM record_${fact}`,
      ),
    })
    // Records and rows have equal sums, so no row is lost or counted twice.
    const rows = await readTotals(
      session,
      `SELECT ${nameColumns(loaded)} FROM fact_${fact} WHERE reason IS NULL`,
    )
    const records = await readTotals(session, `SELECT ${nameColumns(loaded)} FROM record_${fact}`)
    checks.push({
      name: `${fact}_records_equal_rows_${period}`,
      violations: rows.reduce((sum, total, index) => sum + Math.abs(total - (records[index] ?? 0)), 0),
    })
  }
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
  facilities_without_municipality_code: `${OF_FACILITIES} AND has_no_municipality_code`,
  facilities_of_old_municipality_code: `${OF_FACILITIES} AND has_old_municipality_code`,
  facilities_of_unknown_municipality: `${OF_FACILITIES} AND is_unknown_municipality`,
}
/** SQL of each count by its name. Counts `…_without_name` find codes that the month's catalog does not name. */
const FACT_COUNTS: Readonly<Record<FactName, Readonly<Record<string, string>>>> = {
  bed_capacity: {
    bed_capacity: 'count(*) FROM record_bed_capacity',
    beds_sus_above_existing: 'count(*) FROM record_bed_capacity WHERE beds_sus > beds_existing',
    beds_non_sus_negative:
      'count(*) FROM record_bed_capacity JOIN link USING (cnes_number) WHERE link.reason IS NULL AND is_active AND beds_sus > beds_existing',
    bed_types_without_name:
      'count(*) FROM record_bed_capacity ANTI JOIN (FROM now_bed_types WHERE bed_type_name IS NOT NULL) AS named USING (bed_type_code)',
    bed_capacity_rows_added_up: 'coalesce(sum(published_rows), 0) FROM added_bed_capacity',
  },
  equipment_inventory: {
    equipment_inventory: 'count(*) FROM record_equipment_inventory',
    equipment_types_without_name:
      'count(*) FROM record_equipment_inventory ANTI JOIN (FROM now_equipment_types WHERE equipment_name IS NOT NULL) AS named USING (category_code, equipment_code)',
    equipment_in_use_above_existing:
      'count(*) FROM record_equipment_inventory WHERE quantity_in_use > quantity_existing',
    equipment_inventory_rows_added_up: 'coalesce(sum(published_rows), 0) FROM added_equipment_inventory',
  },
  specialized_services: {
    service_declarations: 'count(*) FROM fact_specialized_services WHERE reason IS NULL',
    classifications_without_name:
      'count(*) FROM fact_specialized_services ANTI JOIN (FROM now_specialized_service_classifications WHERE classification_name IS NOT NULL) AS named USING (service_code, classification_code) WHERE reason IS NULL',
    characteristics_not_known:
      'count(*) FROM fact_specialized_services WHERE reason IS NULL AND characteristic_code IS NULL',
  },
}

/** Counts loaded and unusual rows for the manifest. @param facilitiesFile path of the month's written facilities */
export async function countPeriod(
  session: Session,
  { period, family, facts }: PeriodInput,
  facilitiesFile: string,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const countInto = async (name: string, sql: string): Promise<void> => {
    counts[`${name}_${period}`] = await session.number(`SELECT ${sql}`)
  }
  const count = (name: string, from: string): Promise<void> => countInto(name, `count(*) ${from}`)
  for (const [name, from] of Object.entries(FACILITY_COUNTS)) await count(name, from)
  if (family === 'base') {
    const written = await session.number(
      `SELECT count(*) FROM read_parquet(${quoteText(facilitiesFile)}, hive_partitioning = false) WHERE latitude IS NOT NULL AND longitude IS NOT NULL`,
    )
    const published = await session.number(`SELECT count(*) ${OF_FACILITIES} AND has_latitude`)
    counts[`coordinates_dropped_${period}`] = published - written
  }
  for (const fact of FACT_NAMES.filter((name) => facts.has(name)))
    for (const [name, sql] of Object.entries(FACT_COUNTS[fact])) await countInto(name, sql)
  return counts
}

/** Names of the counts of inconsistent rows. An import prints these when they are above 0. */
const ODD_COUNTS =
  /^(beds_sus_above_existing|equipment_in_use_above_existing|equipment_sus_flag_blank|facilities_sus_link_blank|facilities_of_contradicting_rows)_\d{6}$/
export const oddCounts = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([name, count]) => count > 0 && ODD_COUNTS.test(name)))

/** Counts blank flags in state files. A blank IND_SUS counts as not for SUS, a blank VINC_SUS as unknown. */
async function countBlankFlags(
  session: Session,
  { period, facts }: PeriodInput,
): Promise<Record<string, number>> {
  const countBlank = (column: string, table: string): Promise<number> =>
    session.number(`SELECT count(*) FROM ${table} WHERE ${column} IS NOT NULL AND trim(${column}) = ''`)
  return {
    [`facilities_sus_link_blank_${period}`]: await countBlank('VINC_SUS', 'st_fac'),
    ...(facts.has('equipment_inventory')
      ? { [`equipment_sus_flag_blank_${period}`]: await countBlank('IND_SUS', 'st_equipment_inventory') }
      : {}),
  }
}

/** Counts malformed CNPJs and blank flags for the manifest, over all published cells, including those of rejected rows. */
export async function countMalformed(session: Session, input: PeriodInput): Promise<Record<string, number>> {
  const counts: Record<string, number> = input.family === 'state' ? await countBlankFlags(session, input) : {}
  const { period, family, facts, facilityColumns } = input
  /** Tests each distinct cell once, because most CNPJs of maintainers and providers repeat. */
  const count = async (name: string, column: string, table: string, condition: string): Promise<void> => {
    counts[`${name}_malformed_${period}`] = await session.number(
      `SELECT coalesce(sum(cells), 0) FROM (SELECT trim(${quoteName(column)}) AS cell, count(*) AS cells FROM ${table} GROUP BY cell) WHERE ${condition}`,
    )
  }
  const isMalformed = isMalformedCnpj('cell')
  for (const { attribute, column, rule } of FACILITY_LINEAGE[family])
    if (rule === 'cnpj' && facilityColumns.includes(column))
      await count(attribute, column, 'st_fac', isMalformed)
  const provider = FACT_LINEAGE.specialized_services[family].find(({ rule }) => rule === 'provider')
  // Shorter cells hold CNES codes or placeholders.
  const looksLikeCnpj = "regexp_full_match(cell, '[0-9A-Za-z]{14}')"
  if (provider !== undefined && facts.has('specialized_services'))
    await count(
      'provider_cnpj',
      provider.column,
      'st_specialized_services',
      `${looksLikeCnpj} AND ${isMalformed}`,
    )
  return counts
}
