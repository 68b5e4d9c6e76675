/**
 * One month of CNES, of either family, staged → its partitions of the four datasets and of their provenance.
 *
 * In: st_fac (facility rows as published, with source_file and source_row), st_<fact> likewise, mun (municipalities),
 * now_<catalog>. Out: Parquet. Rows that cannot be loaded go to set_aside with file, row and reason. Every expression
 * comes from model/lineage.ts, so that provenance tells what was done.
 */

import { datasetOf, storedColumns } from '../model/datasets.ts'
import {
  CADGER_LINEAGE,
  FACILITY_LINEAGE,
  FACT_LINEAGE,
  type FactName,
  type Family,
  GUARDED_RULES,
  type Lineage,
} from '../model/lineage.ts'
import { type DatasetOutput, type NamedCheck, sqlTypeOf, writeDataset, writeParquet } from './output.ts'
import { applyGuardedRule, applyRule, cnpjChecks, foldText, holdsCpf, rowHoldsCpf } from './rules.ts'
import { quoteName, type Session } from './session.ts'

export interface PeriodInput {
  readonly period: number
  readonly family: Family
  /** Facts this month has rows of. */
  readonly facts: ReadonlySet<FactName>
  /** States whose facilities come from a registry file; null: all of them. */
  readonly hasCadger: boolean
  /** Published columns present in the staged facility table (files vary). */
  readonly facilityColumns: readonly string[]
}

export interface PeriodOutput {
  readonly outputs: readonly DatasetOutput[]
  readonly counts: Record<string, number>
  readonly checks: readonly NamedCheck[]
}

const FACTS: readonly FactName[] = ['bed_capacity', 'equipment_inventory', 'specialized_services']
const ADDRESS = ['street', 'number', 'complement', 'district', 'postal_code'] as const
const CONTEXT = `fac.facility_name, fac.uf, fac.municipality_ibge_code, fac.municipality_name, fac.is_active, fac.facility_type_code, fac.management_type, fac.legal_nature_code`

export async function buildPeriod(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<PeriodOutput> {
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  await makeFacilities(session, input)
  for (const fact of FACTS) if (input.facts.has(fact)) await makeFact(session, input, fact)
  await makeFacilityFlags(session, input)
  outputs.push(await writeFacilities(session, staging, input))
  outputs.push(await writeFacilityProvenance(session, staging, input))
  for (const fact of FACTS) {
    if (!input.facts.has(fact)) continue
    outputs.push(await writeFact(session, staging, input, fact))
    outputs.push(await writeFactProvenance(session, staging, input, fact))
    checks.push(...(await checkFact(session, input, fact)))
  }
  checks.push({
    name: `facility_keys_unique_${input.period}`,
    violations: await session.number(
      'SELECT count(*) - count(DISTINCT cnes_code) FROM fac WHERE reason IS NULL',
    ),
  })
  checks.push({
    name: `facilities_have_municipalities_${input.period}`,
    violations: await session.number(
      'SELECT count(*) FROM fac WHERE reason IS NULL AND municipality_ibge_code IS NULL',
    ),
  })
  const counts = await countPeriod(session, input)
  await session.run('DROP TABLE fac; DROP TABLE flags')
  for (const fact of FACTS) await session.run(`DROP TABLE IF EXISTS fact_${fact}`)
  return { outputs, counts, checks }
}

const ruleOf = (lineage: readonly Lineage[], attribute: string, flag = ''): string => {
  const found = lineage.find((line) => line.attribute === attribute)
  if (found === undefined) return 'NULL'
  const column = `s.${quoteName(found.column)}`
  return flag === '' ? applyRule(found.rule, column) : applyGuardedRule(found.rule, column, flag)
}

/** fac: one narrow row a facility, with its place and what its facts repeat; reason where the row is set aside. */
async function makeFacilities(session: Session, input: PeriodInput): Promise<void> {
  const lineage = FACILITY_LINEAGE[input.family]
  const rule = (attribute: string): string => ruleOf(lineage, attribute, 's.holds_cpf')
  const searched = rowHoldsCpf(lineage, (column) => `own.${quoteName(column)}`)
  const legalName = input.hasCadger ? `cad.legal_name` : rule('legal_name')
  const tradeName = input.hasCadger ? `cad.trade_name` : rule('trade_name')
  const active = input.family === 'base' ? `${rule('deactivation_reason_code')} IS NULL` : 'true'
  await session.run(
    `CREATE TABLE fac AS
     WITH read AS (
       SELECT s.source_file, s.source_row, s.holds_cpf, ${rule('unit_code')} AS unit_code, ${rule('cnes_code')} AS cnes_code,
         ${rule('municipality6')} AS published_municipality,
         CASE WHEN starts_with(${rule('municipality6')}, '53') THEN '530010' ELSE left(${rule('municipality6')}, 6) END AS code6,
         coalesce(${tradeName}, ${legalName}) AS facility_name, ${active} AS is_active,
         ${rule('facility_type_code')} AS facility_type_code, ${rule('management_type')} AS management_type,
         ${rule('legal_nature_code')} AS legal_nature_code, ${rule('cnpj')} AS cnpj, ${rule('maintainer_cnpj')} AS maintainer_cnpj
       FROM (SELECT own.*, ${searched} AS holds_cpf FROM st_fac own) AS s ${input.hasCadger ? `LEFT JOIN cad ON cad.cnes_code = ${rule('cnes_code')}` : ''}
     ), placed AS (
       SELECT read.*, coalesce(mun.ibge_code, ignored.ibge_code) AS municipality_ibge_code, coalesce(mun.name, ignored.name) AS municipality_name,
         coalesce(mun.uf, ignored.uf) AS uf, mun.ibge_code IS NULL AS is_unknown_municipality
       FROM read
       LEFT JOIN mun ON mun.code6 = read.code6
       LEFT JOIN mun AS ignored ON ignored.code6 = left(read.code6, 2) || '0000'
     )
     SELECT *, CASE
         WHEN cnes_code IS NULL OR NOT regexp_full_match(cnes_code, '[0-9]{7}') THEN 'invalid_cnes_code'
         WHEN municipality_ibge_code IS NULL THEN 'unknown_municipality'
       END AS reason
     FROM placed`,
  )
  await markDuplicates(
    session,
    'fac',
    ['cnes_code'],
    [
      'municipality_ibge_code',
      'facility_name',
      'is_active',
      'facility_type_code',
      'management_type',
      'legal_nature_code',
    ],
  )
  await setAside(session, 'fac', 'facilities')
}

/**
 * Later rows of a key are set aside; which is first is decided by file name and row. A row that repeats the first in
 * everything but its place loses nothing and is counted apart.
 */
async function markDuplicates(
  session: Session,
  table: string,
  key: readonly string[],
  content: readonly string[],
): Promise<void> {
  const columns = key.map(quoteName).join(', ')
  const values = `row(${content.map(quoteName).join(', ')})`
  await session.run(
    `CREATE TEMP TABLE repeated AS
     SELECT source_file, source_row,
       CASE WHEN ${values} IS NOT DISTINCT FROM first_value(${values}) OVER same_key THEN 'duplicate_identical' ELSE 'duplicate_key' END AS reason
     FROM ${table} SEMI JOIN (SELECT ${columns} FROM ${table} WHERE reason IS NULL GROUP BY ${columns} HAVING count(*) > 1) USING (${columns})
     WHERE reason IS NULL
     WINDOW same_key AS (PARTITION BY ${columns} ORDER BY source_file, source_row)
     QUALIFY row_number() OVER same_key > 1;
     UPDATE ${table} SET reason = repeated.reason FROM repeated WHERE ${table}.source_file = repeated.source_file AND ${table}.source_row = repeated.source_row;
     DROP TABLE repeated`,
  )
}

async function setAside(session: Session, table: string, dataset: string): Promise<void> {
  await session.run(
    `INSERT INTO set_aside SELECT '${dataset}', source_file, source_row, reason FROM ${table} WHERE reason IS NOT NULL`,
  )
}

/** fact_<name>: one narrow row a published row: key, measures, reason. */
async function makeFact(session: Session, input: PeriodInput, fact: FactName): Promise<void> {
  const lineage = FACT_LINEAGE[fact][input.family]
  const base = input.family === 'base'
  const attributes = lineage.filter(({ attribute }) => !['unit_code', 'cnes_code'].includes(attribute))
  const columns = attributes.map(
    ({ attribute, column, rule }) => `${applyRule(rule, `s.${quoteName(column)}`)} AS ${attribute}`,
  )
  const needed: readonly string[] =
    fact === 'bed_capacity'
      ? ['bed_type_code', 'bed_category_code']
      : fact === 'equipment_inventory'
        ? ['category_code', 'equipment_code']
        : ['service_code', 'classification_code']
  const quantities = attributes.filter(({ rule }) => rule === 'quantity').map(({ attribute }) => attribute)
  const link = base
    ? `fac.unit_code = ${ruleOf(lineage, 'unit_code')}`
    : `fac.cnes_code = ${ruleOf(lineage, 'cnes_code')}`
  await session.run(
    `CREATE TABLE fact_${fact} AS
     WITH read AS (
       SELECT s.source_file, s.source_row, fac.cnes_code, ${columns.join(', ')}
       FROM st_${fact} s LEFT JOIN (SELECT * FROM fac WHERE reason IS NULL) AS fac ON ${link}
     )
     SELECT *, CASE
         WHEN cnes_code IS NULL THEN 'unknown_facility'
         ${needed.map((column) => `WHEN ${column} IS NULL THEN 'missing_${column}'`).join(' ')}
         ${quantities.map((column) => `WHEN ${column} IS NULL THEN 'invalid_${column}'`).join(' ')}
       END AS reason
     FROM read`,
  )
  if (fact === 'specialized_services') await refineServices(session, input)
  else
    await markDuplicates(
      session,
      `fact_${fact}`,
      datasetOf(fact).key,
      attributes.map(({ attribute }) => attribute),
    )
  await setAside(session, `fact_${fact}`, fact)
}

/** What the code of the third-party provider is; only CNES codes and CNPJs are kept. */
async function refineServices(session: Session, input: PeriodInput): Promise<void> {
  const kind =
    input.family === 'base'
      ? `CASE WHEN regexp_full_match(provider_code, '[0-9]{7}') AND provider_code <> '0000000' THEN 'CNES'
           WHEN regexp_full_match(provider_code, '[0-9]{14}') AND provider_code <> '00000000000000' AND ${cnpjChecks('provider_code')} THEN 'CNPJ'
           WHEN provider_code IS NULL OR strip_accents(upper(provider_code)) = 'NAO INFORMADO' THEN 'NOT_INFORMED'
           WHEN strip_accents(upper(provider_code)) = 'NAO SE APLICA' THEN 'NOT_APPLICABLE'
           ELSE 'OTHER_SENTINEL' END`
      : `CASE WHEN regexp_full_match(provider_code, '[0-9]{7}') AND provider_code <> '0000000' THEN 'CNES'
           WHEN provider_code IS NULL AND characteristic_code = '1' THEN 'NOT_APPLICABLE'
           WHEN provider_code IS NULL THEN 'NOT_INFORMED' ELSE 'OTHER_SENTINEL' END`
  const address = input.family === 'base' ? 'address_code' : 'NULL::VARCHAR'
  await session.run(
    `CREATE TABLE refined AS
     SELECT * EXCLUDE (provider_code${input.family === 'base' ? ', address_code' : ''}), ${kind} AS provider_kind,
       CASE WHEN provider_kind IN ('CNES', 'CNPJ') THEN provider_code END AS provider_code, ${address} AS address_code
     FROM fact_specialized_services;
     DROP TABLE fact_specialized_services;
     ALTER TABLE refined RENAME TO fact_specialized_services`,
  )
}

/** flags: what a facility has, from its facts; null where the month did not collect them. */
async function makeFacilityFlags(session: Session, input: PeriodInput): Promise<void> {
  const sus = equipmentSus(input)
  const part = (fact: FactName, has: string, hasSus: string): string =>
    input.facts.has(fact)
      ? `SELECT cnes_code, '${fact}' AS fact, bool_or(${has}) AS has, bool_or(${hasSus}) AS has_sus FROM fact_${fact} WHERE reason IS NULL GROUP BY cnes_code`
      : `SELECT NULL::VARCHAR AS cnes_code, '${fact}' AS fact, NULL::BOOLEAN AS has, NULL::BOOLEAN AS has_sus WHERE false`
  await session.run(
    `CREATE TABLE flags AS
     SELECT cnes_code, bool_or(has) FILTER (fact = 'bed_capacity') AS has_beds, bool_or(has) FILTER (fact = 'equipment_inventory') AS has_equipment,
       bool_or(has) FILTER (fact = 'specialized_services') AS has_services, bool_or(has_sus) AS offers_any_sus
     FROM (
       ${part('bed_capacity', 'beds_existing > 0', 'beds_sus > 0')} UNION ALL
       ${part('equipment_inventory', 'quantity_existing > 0', `${sus} > 0`)} UNION ALL
       ${part('specialized_services', 'true', 'has_ambulatory_sus OR has_hospital_sus')}
     ) GROUP BY cnes_code`,
  )
}

const equipmentSus = (input: PeriodInput): string => {
  const flag = `CASE WHEN tp_sus_code = '1' THEN quantity_existing ELSE 0 END`
  return input.family === 'base' ? `coalesce(quantity_sus_published, ${flag})` : flag
}

async function writeFacilities(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<DatasetOutput> {
  const lineage = FACILITY_LINEAGE[input.family]
  const rule = (attribute: string): string => ruleOf(lineage, attribute, 'fac.holds_cpf')
  const cadger = new Set(input.hasCadger ? CADGER_LINEAGE.map(({ attribute }) => attribute) : [])
  const value = (attribute: string): string =>
    cadger.has(attribute) ? `coalesce(cad.${quoteName(attribute)}, ${rule(attribute)})` : rule(attribute)
  const fromFac = new Set([
    'cnes_code',
    'is_active',
    'uf',
    'municipality_ibge_code',
    'municipality_name',
    'facility_type_code',
    'management_type',
    'legal_nature_code',
    'cnpj',
    'maintainer_cnpj',
  ])
  const all = input.facts.size === FACTS.length
  const flag = (name: string, fact: FactName): string =>
    input.facts.has(fact) ? `coalesce(flags.${name}, false)` : 'NULL::BOOLEAN'
  const special: Record<string, string> = {
    has_beds: flag('has_beds', 'bed_capacity'),
    has_equipment: flag('has_equipment', 'equipment_inventory'),
    has_services: flag('has_services', 'specialized_services'),
    offers_any_sus: all
      ? 'coalesce(flags.offers_any_sus, false)'
      : 'CASE WHEN flags.offers_any_sus THEN true END',
    deactivation_reason_name: 'now_deactivation_reasons.deactivation_reason_name',
    facility_type_name: 'now_facility_types.facility_type_name',
    legal_nature_name: 'now_legal_natures.legal_nature_name',
    opening_hours_name: 'now_opening_hours.opening_hours_name',
    maintainer_name: 'maintainers.maintainer_name',
    address: `CASE WHEN ${ADDRESS.map((part) => `${value(`address.${part}`)} IS NOT NULL`).join(' OR ')} THEN struct_pack(${ADDRESS.map((part) => `${quoteName(part)} := CAST(${value(`address.${part}`)} AS VARCHAR)`).join(', ')}) END`,
    search_text: foldText(
      `coalesce(${value('legal_name')}, '') || ' ' || coalesce(${value('trade_name')}, '')`,
    ),
  }
  const columns = storedColumns(datasetOf('facilities')).map((field) => {
    const expression = special[field] ?? (fromFac.has(field) ? `fac.${field}` : value(field))
    return `CAST(${expression} AS ${sqlTypeOf(field)}) AS ${quoteName(field)}`
  })
  return writeDataset(
    session,
    staging,
    'facilities',
    input.period,
    `SELECT ${columns.join(', ')}
     FROM fac JOIN st_fac s ON s.source_row = fac.source_row AND s.source_file = fac.source_file
     LEFT JOIN flags ON flags.cnes_code = fac.cnes_code
     ${input.hasCadger ? 'LEFT JOIN cad ON cad.cnes_code = fac.cnes_code' : ''}
     LEFT JOIN now_deactivation_reasons ON now_deactivation_reasons.deactivation_reason_code = ${rule('deactivation_reason_code')}
     LEFT JOIN now_facility_types ON now_facility_types.facility_type_code = fac.facility_type_code
     LEFT JOIN now_legal_natures ON now_legal_natures.legal_nature_code = fac.legal_nature_code
     LEFT JOIN now_opening_hours ON now_opening_hours.opening_hours_code = ${rule('opening_hours_code')}
     LEFT JOIN maintainers ON maintainers.maintainer_cnpj = fac.maintainer_cnpj
     WHERE fac.reason IS NULL`,
  )
}

/** A published cell, or null where its rule guards against a CPF and found none to keep. */
const rawColumn = ({ column, rule }: Lineage, flag: string | null = null): string => {
  const cell = `s.${quoteName(column)}`
  if (!GUARDED_RULES.has(rule)) return cell
  if (rule === 'name' || rule === 'house_number' || rule === 'cadger_name')
    return flag === null
      ? `CASE WHEN NOT ${holdsCpf(cell)} THEN ${cell} END`
      : `CASE WHEN NOT ${flag} OR NOT ${holdsCpf(cell)} THEN ${cell} END`
  if (rule === 'provider')
    return `CASE WHEN regexp_full_match(trim(${cell}), '[0-9]{7}') OR regexp_full_match(trim(${cell}), '[A-Za-zÀ-ÿ ]*') OR (regexp_full_match(trim(${cell}), '[0-9]{14}') AND ${cnpjChecks(`trim(${cell})`)}) THEN ${cell} END`
  return `CASE WHEN ${applyRule(rule, cell)} IS NOT NULL THEN ${cell} END`
}

const published = (lineage: readonly Lineage[]): Lineage[] =>
  lineage.filter(({ column }, index) => lineage.findIndex((other) => other.column === column) === index)

async function writeFacilityProvenance(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<DatasetOutput> {
  const lineage = published(FACILITY_LINEAGE[input.family]).filter(({ column }) =>
    input.facilityColumns.includes(column),
  )
  const shape = {
    name: 'facilities_provenance',
    key: ['cnes_code'],
    order: ['cnes_code'],
    columns: [
      { name: 'cnes_code', type: 'VARCHAR' },
      { name: 'source_file', type: 'VARCHAR' },
      { name: 'source_row', type: 'INTEGER' },
      ...lineage.map(({ column }) => ({ name: column, type: 'VARCHAR' })),
    ],
  }
  return writeParquet(
    session,
    staging,
    shape,
    input.period,
    `SELECT fac.cnes_code, fac.source_file, fac.source_row, ${lineage.map((line) => `${rawColumn(line, 'fac.holds_cpf')} AS ${quoteName(line.column)}`).join(', ')}
     FROM fac JOIN st_fac s ON s.source_row = fac.source_row AND s.source_file = fac.source_file WHERE fac.reason IS NULL`,
  )
}

async function writeFact(
  session: Session,
  staging: string,
  input: PeriodInput,
  fact: FactName,
): Promise<DatasetOutput> {
  const from = `JOIN fac ON fac.cnes_code = f.cnes_code AND fac.reason IS NULL`
  const select: Readonly<Record<FactName, string>> = {
    bed_capacity: `SELECT f.*, beds_existing - beds_sus AS beds_non_sus, ${CONTEXT}, now_bed_types.bed_type_name, now_bed_categories.bed_category_name
      FROM fact_bed_capacity f ${from}
      LEFT JOIN now_bed_types ON now_bed_types.bed_type_code = f.bed_type_code
      LEFT JOIN now_bed_categories ON now_bed_categories.bed_category_code = f.bed_category_code
      WHERE f.reason IS NULL`,
    equipment_inventory: `SELECT f.*, f.category_code || ':' || f.equipment_code AS equipment_type_key, ${equipmentSus(input)} AS quantity_sus,
        ${input.family === 'base' ? "CASE WHEN quantity_sus_published IS NULL THEN 'flag' ELSE 'published' END" : "'flag'"} AS quantity_sus_basis,
        ${CONTEXT}, now_equipment_types.equipment_name, now_equipment_types.renem_code, now_equipment_categories.category_name
      FROM fact_equipment_inventory f ${from}
      LEFT JOIN now_equipment_types ON now_equipment_types.category_code = f.category_code AND now_equipment_types.equipment_code = f.equipment_code
      LEFT JOIN now_equipment_categories ON now_equipment_categories.category_code = f.category_code
      WHERE f.reason IS NULL`,
    specialized_services: servicesSelect(from),
  }
  return writeDataset(session, staging, fact, input.period, select[fact])
}

/** Offerings declared once are the rule: only the others go through the costly grouping. */
function servicesSelect(from: string): string {
  const key = 'cnes_code, service_code, classification_code'
  const members = [
    'characteristic_code',
    'provider_kind',
    'provider_code',
    'address_code',
    'has_ambulatory',
    'has_ambulatory_sus',
    'has_hospital',
    'has_hospital_sus',
  ]
  const declaration = `struct_pack(${members.map((member) => `${member} := ${member}`).join(', ')})`
  const kinds = `['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL']`
  return `WITH declared AS (SELECT * FROM fact_specialized_services WHERE reason IS NULL),
      repeated AS (SELECT ${key} FROM declared GROUP BY ${key} HAVING count(*) > 1),
      offerings AS (
        SELECT ${key}, characteristic_code, provider_kind, has_ambulatory, has_ambulatory_sus, has_hospital, has_hospital_sus, [${declaration}] AS declarations
        FROM declared ANTI JOIN repeated USING (${key})
        UNION ALL
        SELECT ${key}, CASE count(DISTINCT characteristic_code) WHEN 0 THEN NULL WHEN 1 THEN min(characteristic_code) ELSE '3' END,
          ${kinds}[min(list_position(${kinds}, provider_kind))],
          bool_or(has_ambulatory), bool_or(has_ambulatory_sus), bool_or(has_hospital), bool_or(has_hospital_sus),
          list(${declaration} ORDER BY source_file, source_row)
        FROM declared SEMI JOIN repeated USING (${key}) GROUP BY ${key}
      )
      SELECT f.*, f.service_code || ':' || f.classification_code AS classification_key, has_ambulatory_sus OR has_hospital_sus AS offers_any_sus,
        ${CONTEXT}, now_specialized_service_types.service_name, now_specialized_service_classifications.classification_name
      FROM offerings f ${from}
      LEFT JOIN now_specialized_service_types ON now_specialized_service_types.service_code = f.service_code
      LEFT JOIN now_specialized_service_classifications ON now_specialized_service_classifications.service_code = f.service_code
        AND now_specialized_service_classifications.classification_code = f.classification_code`
}

async function writeFactProvenance(
  session: Session,
  staging: string,
  input: PeriodInput,
  fact: FactName,
): Promise<DatasetOutput> {
  const lineage = published(FACT_LINEAGE[fact][input.family])
  const key = datasetOf(fact).key
  const shape = {
    name: `${fact}_provenance`,
    key: [...key],
    order: [...key, 'source_file', 'source_row'],
    columns: [
      ...key.map((name) => ({ name, type: 'VARCHAR' })),
      { name: 'source_file', type: 'VARCHAR' },
      { name: 'source_row', type: 'INTEGER' },
      ...lineage.map(({ column }) => ({ name: column, type: 'VARCHAR' })),
    ],
  }
  return writeParquet(
    session,
    staging,
    shape,
    input.period,
    `SELECT ${key.map((column) => `f.${column}`).join(', ')}, f.source_file, f.source_row, ${lineage.map((line) => `${rawColumn(line)} AS ${quoteName(line.column)}`).join(', ')}
     FROM fact_${fact} f JOIN st_${fact} s ON s.source_row = f.source_row AND s.source_file = f.source_file WHERE f.reason IS NULL`,
  )
}

/** Sums of the rows that were loaded equal those of the published cells, less the rows set aside. */
async function checkFact(session: Session, input: PeriodInput, fact: FactName): Promise<NamedCheck[]> {
  const { period } = input
  const staged = await session.number(`SELECT count(*) FROM st_${fact}`)
  const kept = await session.number(`SELECT count(*) FROM fact_${fact}`)
  const checks: NamedCheck[] = [
    { name: `${fact}_rows_equal_snapshot_${period}`, violations: Math.abs(staged - kept) },
  ]
  if (fact !== 'specialized_services') {
    const key = datasetOf(fact).key.map(quoteName).join(', ')
    checks.push({
      name: `${fact}_keys_unique_${period}`,
      violations: await session.number(
        `SELECT count(*) FROM (SELECT 1 FROM fact_${fact} WHERE reason IS NULL GROUP BY ${key} HAVING count(*) > 1)`,
      ),
    })
  }
  for (const { attribute, column, rule } of FACT_LINEAGE[fact][input.family].filter(
    ({ rule }) => rule === 'quantity',
  ))
    checks.push({
      name: `${fact}_${attribute}_sum_equals_snapshot_${period}`,
      violations: Math.abs(
        await session.number(
          `SELECT (SELECT coalesce(sum(${applyRule(rule, quoteName(column))}), 0) FROM st_${fact}) - (SELECT coalesce(sum(${attribute}), 0) FROM fact_${fact})`,
        ),
      ),
    })
  return checks
}

async function countPeriod(session: Session, input: PeriodInput): Promise<Record<string, number>> {
  const { period } = input
  const counts: Record<string, number> = {
    [`facilities_${period}`]: await session.number('SELECT count(*) FROM fac WHERE reason IS NULL'),
    [`facilities_closed_${period}`]: await session.number(
      'SELECT count(*) FROM fac WHERE reason IS NULL AND NOT is_active',
    ),
    [`facilities_of_unknown_municipality_${period}`]: await session.number(
      'SELECT count(*) FROM fac WHERE reason IS NULL AND is_unknown_municipality',
    ),
  }
  if (input.family === 'base') {
    const { column: latitude } = FACILITY_LINEAGE.base.find(({ attribute }) => attribute === 'latitude') ?? {
      column: 'NU_LATITUDE',
    }
    counts[`coordinates_dropped_${period}`] = await session.number(
      `SELECT count(*) FROM st_fac s WHERE trim(s.${quoteName(latitude)}) <> '' AND (${ruleOf(FACILITY_LINEAGE.base, 'latitude')} IS NULL OR ${ruleOf(FACILITY_LINEAGE.base, 'longitude')} IS NULL)`,
    )
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
