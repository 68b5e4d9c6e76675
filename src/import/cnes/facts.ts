/**
 * Writes the facts of one month (beds, equipment, services) and their provenance.
 * In: st_<fact> (published rows with source_file and source_row), link (facilities.ts), now_<catalog>.
 * Out: fact_<fact>, flags_<fact> and Parquet files. Rejected rows go to set_aside.
 */
import { FACT_LINEAGE, type FactName } from '../../model/cnes/lineage.ts'
import { datasetOf } from '../../model/datasets.ts'
import { PROVIDERS_BY_STATE_UNTIL } from '../../model/required-tables.ts'
import type { Lineage } from '../../model/types.ts'
import { isCnpj } from '../cnpj.ts'
import { applyRule } from '../rules.ts'
import { quoteName, type Session } from '../session.ts'
import { type DatasetOutput, writeDataset, writeParquet } from '../write-parquet.ts'
import { addUpRows, equipmentSus, isQuantityFact, repeatedKeys } from './added-rows.ts'
import { CONTEXT } from './facilities.ts'
import {
  collectRejectedRows,
  enumerate,
  fileOf,
  type PeriodInput,
  positionColumns,
  published,
  rawColumn,
  ruleOf,
} from './published-rows.ts'

/** Attributes of a fact's key other than the facility. */
const codesOf = (fact: FactName, lineage: readonly Lineage[]): Lineage[] =>
  lineage.filter(
    ({ attribute }) => attribute !== 'cnes_code' && datasetOf(fact).key.some((name) => name === attribute),
  )

const KEY_NAMES: Readonly<Record<FactName, readonly (readonly [string, readonly string[]])[]>> = {
  bed_capacity: [['now_bed_types', ['bed_type_name']]],
  equipment_inventory: [
    ['now_equipment_types', ['equipment_name', 'renem_code']],
    ['now_equipment_categories', ['category_name']],
  ],
  specialized_services: [
    ['now_specialized_service_types', ['service_name']],
    ['now_specialized_service_classifications', ['classification_name']],
  ],
}
const CATALOG_KEY: Readonly<Record<string, readonly string[]>> = {
  now_bed_types: ['bed_type_code'],
  now_equipment_types: ['category_code', 'equipment_code'],
  now_equipment_categories: ['category_code'],
  now_specialized_service_types: ['service_code'],
  now_specialized_service_classifications: ['service_code', 'classification_code'],
}

/**
 * Makes code_<fact> (parsed codes of each distinct cell) and key_<fact> (names of each rank). Integer ranks sort faster than
 * texts. @returns ENUM types to drop after the tables
 */
export async function makeCodes(session: Session, input: PeriodInput, fact: FactName): Promise<string[]> {
  const codes = codesOf(fact, FACT_LINEAGE[fact][input.family])
  const attributes = codes.map(({ attribute }) => attribute)
  const columns = codes.map(({ column }) => quoteName(column))
  const catalogs = KEY_NAMES[fact]
  const names = catalogs.flatMap(([, columns]) => columns)
  await session.run(
    `CREATE TABLE code_${fact} AS
     SELECT *, CAST(dense_rank() OVER (ORDER BY ${attributes.join(', ')}) AS INTEGER) AS rank
     FROM (SELECT s.*, ${codes.map(({ attribute, column, rule }) => `${applyRule(rule, `s.${quoteName(column)}`)} AS ${attribute}`).join(', ')}
       FROM (SELECT DISTINCT ${columns.join(', ')} FROM st_${fact}) AS s);
     CREATE TABLE key_${fact} AS
     SELECT codes.rank, ${names.join(', ')}
     FROM (SELECT DISTINCT ${['rank', ...attributes].join(', ')} FROM code_${fact}) AS codes
     ${catalogs.map(([table]) => `LEFT JOIN ${table} ON ${(CATALOG_KEY[table] ?? []).map((column) => `${table}.${column} = codes.${column}`).join(' AND ')}`).join(' ')}`,
  )
  return [
    ...(await enumerate(session, `code_${fact}`, attributes)),
    ...(await enumerate(session, `key_${fact}`, names)),
  ]
}

/** SELECT of published rows with their facility and codes. @param join LEFT keeps rows of unknown facilities */
function linkedRows(input: PeriodInput, fact: FactName, join: 'LEFT' | 'INNER'): string {
  const lineage = FACT_LINEAGE[fact][input.family]
  const codes = codesOf(fact, lineage)
  const linked = input.family === 'base' ? 'unit_code' : 'cnes_code'
  return `SELECT s.*, link.cnes_code, link.cnes_number, code.rank, ${codes.map(({ attribute }) => `code.${attribute}`).join(', ')}
       FROM st_${fact} AS s
       JOIN code_${fact} AS code ON ${codes.map(({ column }) => `code.${quoteName(column)} IS NOT DISTINCT FROM s.${quoteName(column)}`).join(' AND ')}
       ${join} JOIN (SELECT unit_code, cnes_code, cnes_number FROM link WHERE reason IS NULL) AS link ON link.${linked} = ${ruleOf(lineage, linked)}`
}

/** Makes fact_<fact> and flags_<fact>. Each published row gets its facility, code rank, measures and reason if it is rejected. */
export async function makeFact(session: Session, input: PeriodInput, fact: FactName): Promise<void> {
  const lineage = FACT_LINEAGE[fact][input.family]
  const file = fileOf(input, fact)
  const codes = codesOf(fact, lineage)
  const others = lineage.filter(
    (line) => !['unit_code', 'cnes_code', 'provider_code'].includes(line.attribute) && !codes.includes(line),
  )
  const measures = [
    ...others.map(({ attribute }) => attribute),
    ...(fact === 'specialized_services' ? PROVIDER_COLUMNS : []),
  ]
  const names = codes.map(({ attribute }) => attribute)
  const required = [...names, ...(fact === 'bed_capacity' ? ['bed_category_code'] : [])]
  const quantities = others.filter(({ rule }) => rule === 'quantity').map(({ attribute }) => attribute)
  await session.run(
    `CREATE TABLE fact_${fact} AS
     SELECT ${[positionColumns(file), 'cnes_number', 'rank', ...names, ...new Set(measures)].join(', ')}, CASE
         WHEN cnes_code IS NULL THEN 'unknown_facility'
         ${required.map((attribute) => `WHEN ${attribute} IS NULL THEN 'missing_${attribute}'`).join(' ')}
         ${quantities.map((attribute) => `WHEN ${attribute} IS NULL THEN 'invalid_${attribute}'`).join(' ')}
       END AS reason
     FROM (
       SELECT s.*, ${others.map(({ attribute, column, rule }) => `${applyRule(rule, `s.${quoteName(column)}`)} AS ${attribute}`).join(', ')}
         ${fact === 'specialized_services' ? `, ${providerColumns(input)}` : ''}
       FROM (${linkedRows(input, fact, 'LEFT')}) AS s
     )`,
  )
  if (isQuantityFact(fact)) await addUpRows(session, input, fact)
  await collectRejectedRows(session, file, `fact_${fact}`, fact)
  await makeFlags(session, input, fact)
}

const PROVIDER_COLUMNS = ['provider_kind', 'provider_code', 'address_code'] as const

/**
 * SQL of the third-party provider's kind and code. Only CNES codes and CNPJs are stored.
 * A service that the facility itself provides (characteristic 1) without a provider gets NOT_APPLICABLE in both families.
 */
function providerColumns(input: PeriodInput): string {
  const code = ruleOf(FACT_LINEAGE.specialized_services[input.family], 'provider_code')
  const withoutProvider = "CASE WHEN characteristic_code = '1' THEN 'NOT_APPLICABLE' ELSE 'NOT_INFORMED' END"
  const kind =
    input.family === 'base'
      ? `CASE WHEN published_provider = 'NAO INFORMADO' THEN ${withoutProvider}
           WHEN regexp_full_match(published_provider, '[0-9]{7}') AND published_provider <> '0000000' THEN 'CNES'
           WHEN ${isCnpj('published_provider')} THEN 'CNPJ'
           WHEN published_provider IS NULL OR strip_accents(upper(published_provider)) = 'NAO INFORMADO' THEN ${withoutProvider}
           WHEN strip_accents(upper(published_provider)) = 'NAO SE APLICA' THEN 'NOT_APPLICABLE'
           ELSE 'OTHER_SENTINEL' END`
      : `CASE ${input.period >= PROVIDERS_BY_STATE_UNTIL ? 'WHEN published_provider IS NULL THEN NULL' : ''} WHEN regexp_full_match(published_provider, '[0-9]{7}') AND published_provider <> '0000000' THEN 'CNES'
           WHEN published_provider IS NULL THEN ${withoutProvider} ELSE 'OTHER_SENTINEL' END`
  return `${code} AS published_provider, ${kind} AS provider_kind,
    CASE WHEN provider_kind IN ('CNES', 'CNPJ') THEN upper(published_provider) END AS provider_code${input.family === 'base' ? '' : ', NULL::VARCHAR AS address_code'}`
}

/** Makes flags_<fact>: whether each facility has any, and whether it offers any to SUS. */
async function makeFlags(session: Session, input: PeriodInput, fact: FactName): Promise<void> {
  const conditions: Readonly<Record<FactName, readonly [has: string, hasSus: string]>> = {
    bed_capacity: ['beds_existing > 0', 'beds_sus > 0'],
    equipment_inventory: ['quantity_existing > 0', `${equipmentSus(input)} > 0`],
    specialized_services: ['true', 'has_ambulatory_sus OR has_hospital_sus'],
  }
  const [has, hasSus] = conditions[fact]
  await session.run(
    `CREATE TABLE flags_${fact} AS SELECT cnes_number, bool_or(${has}) AS has, bool_or(${hasSus}) AS has_sus
     FROM fact_${fact} WHERE reason IS NULL GROUP BY cnes_number`,
  )
}

export async function writeFact(
  session: Session,
  staging: string,
  input: PeriodInput,
  fact: FactName,
): Promise<DatasetOutput> {
  const key = `key_${fact}`
  const columns = [
    'f.cnes_number',
    'f.rank',
    'link.cnes_code',
    ...codesOf(fact, FACT_LINEAGE[fact][input.family]).map(({ attribute }) => `f.${attribute}`),
    ...CONTEXT.map((column) => `link.${column}`),
    ...KEY_NAMES[fact].flatMap(([, names]) => names.map((name) => `${key}.${name}`)),
  ].join(', ')
  const rows = isQuantityFact(fact) ? `record_${fact}` : `(SELECT * FROM fact_${fact} WHERE reason IS NULL)`
  const from = `${rows} AS f JOIN (SELECT * FROM link WHERE reason IS NULL) AS link ON link.cnes_number = f.cnes_number JOIN ${key} ON ${key}.rank = f.rank`
  const order = 'ORDER BY f.cnes_number, f.rank'
  // Concatenate texts after the sort, so that the sorted rows stay narrow.
  const select: Readonly<Record<FactName, string>> = {
    bed_capacity: `SELECT ${columns}, f.bed_category_code, f.beds_existing, f.beds_sus, f.beds_existing - f.beds_sus AS beds_non_sus, now_bed_categories.bed_category_name
      FROM ${from}
      LEFT JOIN now_bed_categories ON now_bed_categories.bed_category_code = f.bed_category_code
      ${order}`,
    equipment_inventory: `SELECT * EXCLUDE (is_sus_published), category_code || ':' || equipment_code AS equipment_type_key,
        CASE WHEN is_sus_published THEN 'published' ELSE 'flag' END AS quantity_sus_basis
      FROM (
        SELECT ${columns}, f.quantity_existing, f.quantity_in_use, f.tp_sus_code, f.quantity_sus, f.is_sus_published
        FROM ${from} ${order}
      )`,
    specialized_services: servicesSelect(columns, from, order, fileOf(input, fact)),
  }
  if (fact === 'specialized_services') await groupOfferings(session, fileOf(input, fact))
  return writeDataset(session, staging, fact, input.period, select[fact], 'sorted')
}

const DECLARED = ['characteristic_code', 'provider_kind', 'provider_code', 'address_code'] as const
const DECLARED_FLAGS = ['has_ambulatory', 'has_ambulatory_sus', 'has_hospital', 'has_hospital_sus'] as const
const CONSOLIDATED = ['characteristic_code', 'provider_kind', ...DECLARED_FLAGS] as const
const DECLARATION = `struct_pack(${[...DECLARED, ...DECLARED_FLAGS].map((member) => `${member} := ${member}`).join(', ')})`

/** Makes `repeated`, the services declared more than once by a facility. They are few, so the costly grouping runs only on them. */
async function groupOfferings(session: Session, file: string): Promise<void> {
  const kinds = `['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL']`
  await session.run(
    `CREATE TABLE repeated AS
     SELECT cnes_number, rank, min(struct_pack(file := ${file}, place := source_row)) AS first_place,
       CASE count(DISTINCT characteristic_code) WHEN 0 THEN NULL WHEN 1 THEN min(characteristic_code) ELSE '3' END AS characteristic_code,
       ${kinds}[min(list_position(${kinds}, provider_kind))] AS provider_kind,
       ${DECLARED_FLAGS.map((flag) => `bool_or(${flag}) AS ${flag}`).join(', ')},
       list(${DECLARATION} ORDER BY ${positionColumns(file)}) AS declarations
     FROM fact_specialized_services SEMI JOIN (${repeatedKeys('specialized_services')}) USING (cnes_number, rank)
     WHERE reason IS NULL GROUP BY cnes_number, rank`,
  )
}

/** SELECT of services, each at its first declaration. Lists are built after the sort, because sorting them is slow. */
function servicesSelect(columns: string, from: string, order: string, file: string): string {
  const sourceFile = file === 'source_file' ? 'f.source_file' : file
  return `SELECT * EXCLUDE (declarations, ${CONSOLIDATED.join(', ')}), service_code || ':' || classification_code AS classification_key,
        all_has_ambulatory_sus OR all_has_hospital_sus AS offers_any_sus, ${CONSOLIDATED.map((member) => `all_${member} AS ${member}`).join(', ')},
        CASE WHEN declarations IS NULL THEN [${DECLARATION}] ELSE declarations END AS declarations
      FROM (
        SELECT ${columns}, ${[...DECLARED, ...DECLARED_FLAGS].map((member) => `f.${member}`).join(', ')},
          ${CONSOLIDATED.map((member) => `CASE WHEN r.cnes_number IS NULL THEN f.${member} ELSE r.${member} END AS all_${member}`).join(', ')}, r.declarations
        FROM ${from}
        LEFT JOIN repeated AS r ON r.cnes_number = f.cnes_number AND r.rank = f.rank
        WHERE (r.cnes_number IS NULL OR (${sourceFile} = r.first_place.file AND f.source_row = r.first_place.place))
        ${order}
      )`
}

export async function writeFactProvenance(
  session: Session,
  staging: string,
  input: PeriodInput,
  fact: FactName,
): Promise<DatasetOutput> {
  const lineage = published(FACT_LINEAGE[fact][input.family])
  const key = datasetOf(fact).key
  const file = fileOf(input, fact)
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
    `SELECT ${key.map((column) => `s.${column}`).join(', ')}, ${file} AS source_file, s.source_row, ${lineage.map((line) => `${rawColumn(line)} AS ${quoteName(line.column)}`).join(', ')}
     FROM (
       SELECT * FROM (${linkedRows(input, fact, 'INNER')})
       ANTI JOIN (SELECT ${positionColumns(file)} FROM fact_${fact} WHERE reason IS NOT NULL) USING (${positionColumns(file)})
       ORDER BY cnes_number, rank, ${positionColumns(file)}
     ) AS s`,
    'sorted',
  )
}
