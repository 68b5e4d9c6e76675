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
  GUARDED_RULES,
  type Lineage,
} from '../model/lineage.ts'
import { checkFacilities, checkFact, countPeriod, type PeriodScope } from './cnes-checks.ts'
import { type DatasetOutput, type NamedCheck, sqlTypeOf, writeDataset, writeParquet } from './output.ts'
import { applyGuardedRule, applyRule, cnpjChecks, foldText, holdsCpf, rowHoldsCpf } from './rules.ts'
import { quoteName, quoteText, type Session } from './session.ts'

export interface PeriodInput extends PeriodScope {
  /** States whose facilities come from a registry file; null: all of them. */
  readonly hasCadger: boolean
  /** Published columns present in the staged facility table (files vary). */
  readonly facilityColumns: readonly string[]
  /** The one file each staged table was read from; null where rows of several files stand in one table. */
  readonly files: ReadonlyMap<string, string> | null
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
  const checks: NamedCheck[] = []
  const facts = FACTS.filter((fact) => input.facts.has(fact))
  const makeFacts = async (own: Session, wanted: (fact: FactName) => boolean): Promise<void> => {
    for (const fact of facts) if (wanted(fact)) await makeFact(own, input, fact)
  }
  await makeFacilities(session, input)
  await session.both(
    (own) => makeFacts(own, (fact) => fact === 'specialized_services'),
    (own) => makeFacts(own, (fact) => fact !== 'specialized_services'),
  )
  await makeFacilityFlags(session, input)
  const [ofFacilities, ofFacts] = await session.both(
    async (own) => [
      await writeFacilities(own, staging, input),
      await writeFacilityProvenance(own, staging, input),
    ],
    async (own) => {
      const outputs: DatasetOutput[] = []
      for (const fact of facts) {
        outputs.push(await writeFact(own, staging, input, fact))
        outputs.push(await writeFactProvenance(own, staging, input, fact))
        checks.push(...(await checkFact(own, input, fact)))
      }
      return outputs
    },
  )
  const outputs = [...ofFacilities, ...ofFacts]
  checks.push(...(await checkFacilities(session, input)))
  const counts = await countPeriod(session, input)
  await session.run('DROP TABLE fac; DROP TABLE flags; DROP TABLE IF EXISTS repeated')
  for (const fact of FACTS)
    await session.run(`DROP TABLE IF EXISTS fact_${fact}; DROP TABLE IF EXISTS code_${fact}`)
  return { outputs, counts, checks }
}

/** SQL of the file a staged row came from: a literal where the whole table came from one, so that no row carries it. */
const fileOf = (input: PeriodInput, table: string): string => {
  const file = input.files?.get(table)
  return file === undefined ? 'source_file' : quoteText(file)
}

/** Order of published rows; a literal orders nothing. */
const placeIn = (file: string): string => (file === 'source_file' ? 'source_file, source_row' : 'source_row')

const ruleOf = (lineage: readonly Lineage[], attribute: string, flag = ''): string => {
  const found = lineage.find((line) => line.attribute === attribute)
  if (found === undefined) return 'NULL::VARCHAR'
  const column = `s.${quoteName(found.column)}`
  return flag === '' ? applyRule(found.rule, column) : applyGuardedRule(found.rule, column, flag)
}

/** fac: one row a facility, with the published cells, its place and what its facts repeat; reason where it is set aside. */
async function makeFacilities(session: Session, input: PeriodInput): Promise<void> {
  const lineage = FACILITY_LINEAGE[input.family]
  const rule = (attribute: string): string => ruleOf(lineage, attribute, 's.holds_cpf')
  const searched = rowHoldsCpf(lineage, (column) => `placed.${quoteName(column)}`)
  const legalName = input.hasCadger ? 's.cadger_legal_name' : rule('legal_name')
  const tradeName = input.hasCadger ? 's.cadger_trade_name' : rule('trade_name')
  const active = input.family === 'base' ? `${rule('deactivation_reason_code')} IS NULL` : 'true'
  const whole = input.files === null ? '' : ' EXCLUDE (source_file)'
  await session.run(
    `CREATE TABLE fac AS
     WITH coded AS (
       SELECT s.*${whole}, ${rule('cnes_code')} AS cnes_code, left(${rule('municipality6')}, 6) AS published6,
         CASE WHEN starts_with(published6, '53') THEN '530010' ELSE published6 END AS code6
       FROM st_fac s
     ), placed AS (
       SELECT coded.* EXCLUDE (published6, code6), CASE WHEN regexp_full_match(coded.cnes_code, '[0-9]{7}') THEN CAST(coded.cnes_code AS INTEGER) END AS cnes,
         coalesce(mun.ibge_code, ignored.ibge_code) AS municipality_ibge_code, coalesce(mun.name, ignored.name) AS municipality_name,
         coalesce(mun.uf, ignored.uf) AS uf, mun.ibge_code IS NULL AS is_unknown_municipality${input.hasCadger ? ', cad.legal_name AS cadger_legal_name, cad.trade_name AS cadger_trade_name' : ''}
       FROM coded
       LEFT JOIN mun ON mun.code6 = coded.code6
       LEFT JOIN mun AS ignored ON ignored.code6 = left(coded.code6, 2) || '0000'
       ${input.hasCadger ? 'LEFT JOIN cad ON cad.cnes_code = coded.cnes_code' : ''}
     )
     SELECT s.*${input.hasCadger ? ' EXCLUDE (cadger_legal_name, cadger_trade_name)' : ''}, ${rule('unit_code')} AS unit_code,
       ${legalName} AS legal_name, ${tradeName} AS trade_name, coalesce(trade_name, legal_name) AS facility_name, ${active} AS is_active,
       ${rule('facility_type_code')} AS facility_type_code, ${rule('management_type')} AS management_type,
       ${rule('legal_nature_code')} AS legal_nature_code, ${rule('cnpj')} AS cnpj, ${rule('maintainer_cnpj')} AS maintainer_cnpj,
       ${rule('latitude')} AS latitude, ${rule('longitude')} AS longitude,
       CASE WHEN cnes IS NULL THEN 'invalid_cnes_code' WHEN municipality_ibge_code IS NULL THEN 'unknown_municipality' END AS reason
     FROM (SELECT *, ${searched} AS holds_cpf FROM placed) AS s`,
  )
  await markDuplicates(
    session,
    fileOf(input, 'fac'),
    'fac',
    ['cnes'],
    [
      'municipality_ibge_code',
      'facility_name',
      'is_active',
      'facility_type_code',
      'management_type',
      'legal_nature_code',
    ],
  )
  await setAside(session, fileOf(input, 'fac'), 'fac', 'facilities')
}

/**
 * Later rows of a key are set aside; which is first is decided by file name and row. A row that repeats the first in
 * everything but its place loses nothing and is counted apart.
 */
async function markDuplicates(
  session: Session,
  file: string,
  table: string,
  key: readonly string[],
  content: readonly string[],
): Promise<void> {
  const columns = key.map(quoteName).join(', ')
  const values = `row(${content.map(quoteName).join(', ')})`
  await session.run(
    `CREATE TEMP TABLE later AS
     SELECT ${file} AS source_file, source_row,
       CASE WHEN ${values} IS NOT DISTINCT FROM first_value(${values}) OVER same_key THEN 'duplicate_identical' ELSE 'duplicate_key' END AS reason
     FROM ${table} SEMI JOIN (SELECT ${columns} FROM ${table} WHERE reason IS NULL GROUP BY ${columns} HAVING count(*) > 1) USING (${columns})
     WHERE reason IS NULL
     WINDOW same_key AS (PARTITION BY ${columns} ORDER BY ${placeIn(file)})
     QUALIFY row_number() OVER same_key > 1`,
  )
  if ((await session.number('SELECT count(*) FROM later')) > 0)
    await session.run(
      `UPDATE ${table} SET reason = later.reason FROM later WHERE ${file === 'source_file' ? `${table}.source_file` : file} = later.source_file AND ${table}.source_row = later.source_row`,
    )
  await session.run('DROP TABLE later')
}

async function setAside(session: Session, file: string, table: string, dataset: string): Promise<void> {
  await session.run(
    `INSERT INTO set_aside SELECT '${dataset}', ${file}, source_row, reason FROM ${table} WHERE reason IS NOT NULL`,
  )
}

/** Attributes of a fact's key beside the facility. */
const codesOf = (fact: FactName, lineage: readonly Lineage[]): Lineage[] =>
  lineage.filter(
    ({ attribute }) => attribute !== 'cnes_code' && datasetOf(fact).key.some((name) => name === attribute),
  )

/**
 * fact_<name>: one row a published row: key, measures, published cells, reason. The codes of its key are read once for each
 * spelling (code_<name>) and have a rank among themselves: files are sorted by whole numbers, faster than by text.
 */
async function makeFact(session: Session, input: PeriodInput, fact: FactName): Promise<void> {
  const lineage = FACT_LINEAGE[fact][input.family]
  const base = input.family === 'base'
  const codes = codesOf(fact, lineage)
  const others = lineage.filter(
    (line) => !['unit_code', 'cnes_code', 'provider_code'].includes(line.attribute) && !codes.includes(line),
  )
  const needed =
    fact === 'bed_capacity' ? ['bed_type_code', 'bed_category_code'] : codes.map(({ attribute }) => attribute)
  const quantities = others.filter(({ rule }) => rule === 'quantity').map(({ attribute }) => attribute)
  const link = base
    ? `fac.unit_code = ${ruleOf(lineage, 'unit_code')}`
    : `fac.cnes_code = ${ruleOf(lineage, 'cnes_code')}`
  const spelled = codes.map(({ column }) => quoteName(column))
  const names = codes.map(({ attribute }) => attribute)
  await session.run(
    `CREATE TABLE code_${fact} AS
     SELECT *, CAST(dense_rank() OVER (ORDER BY ${names.join(', ')}) AS INTEGER) AS rank
     FROM (SELECT s.*, ${codes.map(({ attribute, column, rule }) => `${applyRule(rule, `s.${quoteName(column)}`)} AS ${attribute}`).join(', ')}
       FROM (SELECT DISTINCT ${spelled.join(', ')} FROM st_${fact}) AS s)`,
  )
  await session.run(
    `CREATE TABLE fact_${fact} AS
     WITH linked AS (
       SELECT s.*${input.files === null ? '' : ' EXCLUDE (source_file)'}, fac.cnes_code, fac.cnes, ${names.map((name) => `code.${name}`).join(', ')}, code.rank
       FROM st_${fact} s
       JOIN code_${fact} AS code ON ${spelled.map((column) => `code.${column} IS NOT DISTINCT FROM s.${column}`).join(' AND ')}
       LEFT JOIN (SELECT unit_code, cnes_code, cnes FROM fac WHERE reason IS NULL) AS fac ON ${link}
     ), read AS (
       SELECT s.*, ${others.map(({ attribute, column, rule }) => `${applyRule(rule, `s.${quoteName(column)}`)} AS ${attribute}`).join(', ')}
         ${fact === 'specialized_services' ? `, ${providerColumns(input)}` : ''}
       FROM linked AS s
     )
     SELECT *${fact === 'specialized_services' ? ' EXCLUDE (published_provider)' : ''}, CASE
         WHEN cnes_code IS NULL THEN 'unknown_facility'
         ${needed.map((column) => `WHEN ${column} IS NULL THEN 'missing_${column}'`).join(' ')}
         ${quantities.map((column) => `WHEN ${column} IS NULL THEN 'invalid_${column}'`).join(' ')}
       END AS reason
     FROM read`,
  )
  if (fact !== 'specialized_services')
    await markDuplicates(
      session,
      fileOf(input, fact),
      `fact_${fact}`,
      ['cnes', 'rank'],
      [...codes, ...others].map(({ attribute }) => attribute),
    )
  await setAside(session, fileOf(input, fact), `fact_${fact}`, fact)
}

/** What the code of the third-party provider is; only CNES codes and CNPJs are kept. */
function providerColumns(input: PeriodInput): string {
  const code = ruleOf(FACT_LINEAGE.specialized_services[input.family], 'provider_code')
  const kind =
    input.family === 'base'
      ? `CASE WHEN published_provider = 'NAO INFORMADO' THEN 'NOT_INFORMED'
           WHEN regexp_full_match(published_provider, '[0-9]{7}') AND published_provider <> '0000000' THEN 'CNES'
           WHEN regexp_full_match(published_provider, '[0-9]{14}') AND published_provider <> '00000000000000' AND ${cnpjChecks('published_provider')} THEN 'CNPJ'
           WHEN published_provider IS NULL OR strip_accents(upper(published_provider)) = 'NAO INFORMADO' THEN 'NOT_INFORMED'
           WHEN strip_accents(upper(published_provider)) = 'NAO SE APLICA' THEN 'NOT_APPLICABLE'
           ELSE 'OTHER_SENTINEL' END`
      : `CASE WHEN regexp_full_match(published_provider, '[0-9]{7}') AND published_provider <> '0000000' THEN 'CNES'
           WHEN published_provider IS NULL AND characteristic_code = '1' THEN 'NOT_APPLICABLE'
           WHEN published_provider IS NULL THEN 'NOT_INFORMED' ELSE 'OTHER_SENTINEL' END`
  return `${code} AS published_provider, ${kind} AS provider_kind,
    CASE WHEN provider_kind IN ('CNES', 'CNPJ') THEN published_provider END AS provider_code${input.family === 'base' ? '' : ', NULL::VARCHAR AS address_code'}`
}

/** flags: what a facility has, from its facts; null where the month did not collect them. */
async function makeFacilityFlags(session: Session, input: PeriodInput): Promise<void> {
  const sus = equipmentSus(input)
  const part = (fact: FactName, has: string, hasSus: string): string =>
    input.facts.has(fact)
      ? `SELECT cnes, '${fact}' AS fact, bool_or(${has}) AS has, bool_or(${hasSus}) AS has_sus FROM fact_${fact} WHERE reason IS NULL GROUP BY cnes`
      : `SELECT NULL::INTEGER AS cnes, '${fact}' AS fact, NULL::BOOLEAN AS has, NULL::BOOLEAN AS has_sus WHERE false`
  await session.run(
    `CREATE TABLE flags AS
     SELECT cnes, bool_or(has) FILTER (fact = 'bed_capacity') AS has_beds, bool_or(has) FILTER (fact = 'equipment_inventory') AS has_equipment,
       bool_or(has) FILTER (fact = 'specialized_services') AS has_services, bool_or(has_sus) AS offers_any_sus
     FROM (
       ${part('bed_capacity', 'beds_existing > 0', 'beds_sus > 0')} UNION ALL
       ${part('equipment_inventory', 'quantity_existing > 0', `${sus} > 0`)} UNION ALL
       ${part('specialized_services', 'true', 'has_ambulatory_sus OR has_hospital_sus')}
     ) GROUP BY cnes`,
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
  const cadger = new Set(input.hasCadger ? CADGER_LINEAGE.map(({ attribute }) => attribute) : [])
  const value = (attribute: string): string => {
    const rule = ruleOf(lineage, attribute, 's.holds_cpf')
    return cadger.has(attribute) ? `coalesce(cad.${quoteName(attribute)}, ${rule})` : rule
  }
  const inFac = new Set([
    'cnes_code',
    'legal_name',
    'trade_name',
    'is_active',
    'uf',
    'municipality_ibge_code',
    'municipality_name',
    'facility_type_code',
    'management_type',
    'legal_nature_code',
    'cnpj',
    'maintainer_cnpj',
    'latitude',
    'longitude',
  ])
  const joined = new Set([
    'deactivation_reason_name',
    'facility_type_name',
    'legal_nature_name',
    'opening_hours_name',
    'maintainer_name',
  ])
  const all = input.facts.size === FACTS.length
  const flag = (name: string, fact: FactName): string =>
    input.facts.has(fact) ? `coalesce(f.${name}, false)` : 'NULL::BOOLEAN'
  const parts = ADDRESS.map((part) => quoteName(`address.${part}`))
  const special: Record<string, string> = {
    has_beds: flag('has_beds', 'bed_capacity'),
    has_equipment: flag('has_equipment', 'equipment_inventory'),
    has_services: flag('has_services', 'specialized_services'),
    offers_any_sus: all ? 'coalesce(f.offers_any_sus, false)' : 'CASE WHEN f.offers_any_sus THEN true END',
    address: `CASE WHEN ${parts.map((part) => `f.${part} IS NOT NULL`).join(' OR ')} THEN struct_pack(${ADDRESS.map((part) => `${quoteName(part)} := CAST(f.${quoteName(`address.${part}`)} AS VARCHAR)`).join(', ')}) END`,
    search_text: foldText(`coalesce(f.legal_name, '') || ' ' || coalesce(f.trade_name, '')`),
  }
  const stored = storedColumns(datasetOf('facilities'))
  const columns = stored.map(
    (field) =>
      `CAST(${special[field] ?? `f.${quoteName(field)}`} AS ${sqlTypeOf(field)}) AS ${quoteName(field)}`,
  )
  // Each rule runs once, in this inner query; what is joined and packed uses its value.
  const computed = [
    ...stored.filter((field) => special[field] === undefined),
    ...ADDRESS.map((part) => `address.${part}`),
  ]
    .filter((field) => !inFac.has(field) && !joined.has(field))
    .map((field) => `${value(field)} AS ${quoteName(field)}`)
  return writeDataset(
    session,
    staging,
    'facilities',
    input.period,
    `SELECT ${columns.join(', ')}
     FROM (
       SELECT own.*, flags.* EXCLUDE (cnes), now_deactivation_reasons.deactivation_reason_name, now_facility_types.facility_type_name,
         now_legal_natures.legal_nature_name, now_opening_hours.opening_hours_name, maintainers.maintainer_name
       FROM (
         SELECT s.cnes, ${[...inFac].map((field) => `s.${field}`).join(', ')}, ${computed.join(', ')}
         FROM fac AS s ${input.hasCadger ? 'LEFT JOIN cad ON cad.cnes_code = s.cnes_code' : ''} WHERE s.reason IS NULL
       ) AS own
       LEFT JOIN flags ON flags.cnes = own.cnes
       LEFT JOIN now_deactivation_reasons ON now_deactivation_reasons.deactivation_reason_code = own.deactivation_reason_code
       LEFT JOIN now_facility_types ON now_facility_types.facility_type_code = own.facility_type_code
       LEFT JOIN now_legal_natures ON now_legal_natures.legal_nature_code = own.legal_nature_code
       LEFT JOIN now_opening_hours ON now_opening_hours.opening_hours_code = own.opening_hours_code
       LEFT JOIN maintainers ON maintainers.maintainer_cnpj = own.maintainer_cnpj
       ORDER BY own.cnes
     ) AS f`,
    'sorted',
  )
}

/** A published cell, or null where its rule guards against a CPF and found none to keep. */
const rawColumn = ({ attribute, column, rule }: Lineage, flag: string | null = null): string => {
  const cell = `s.${quoteName(column)}`
  if (!GUARDED_RULES.has(rule)) return cell
  if (rule === 'name' || rule === 'house_number' || rule === 'cadger_name')
    return flag === null
      ? `CASE WHEN NOT ${holdsCpf(cell)} THEN ${cell} END`
      : `CASE WHEN NOT ${flag} OR NOT ${holdsCpf(cell)} THEN ${cell} END`
  if (rule === 'provider')
    return `CASE WHEN ${cell} = 'NAO INFORMADO' OR regexp_full_match(trim(${cell}), '[0-9]{7}') OR regexp_full_match(trim(${cell}), '[A-Za-zÀ-ÿ ]*') OR (regexp_full_match(trim(${cell}), '[0-9]{14}') AND ${cnpjChecks(`trim(${cell})`)}) THEN ${cell} END`
  return `CASE WHEN ${rule === 'cnpj' ? `s.${attribute}` : applyRule(rule, cell)} IS NOT NULL THEN ${cell} END`
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
    `SELECT s.cnes_code, ${fileOf(input, 'fac')} AS source_file, s.source_row, ${lineage.map((line) => `${rawColumn(line, 's.holds_cpf')} AS ${quoteName(line.column)}`).join(', ')}
     FROM fac AS s WHERE s.reason IS NULL ORDER BY s.cnes`,
    'sorted',
  )
}

async function writeFact(
  session: Session,
  staging: string,
  input: PeriodInput,
  fact: FactName,
): Promise<DatasetOutput> {
  const from = `JOIN (SELECT * FROM fac WHERE reason IS NULL) AS fac ON fac.cnes = f.cnes`
  const select: Readonly<Record<FactName, string>> = {
    bed_capacity: `SELECT f.*, beds_existing - beds_sus AS beds_non_sus, ${CONTEXT}, now_bed_types.bed_type_name, now_bed_categories.bed_category_name
      FROM fact_bed_capacity f ${from}
      LEFT JOIN now_bed_types ON now_bed_types.bed_type_code = f.bed_type_code
      LEFT JOIN now_bed_categories ON now_bed_categories.bed_category_code = f.bed_category_code
      WHERE f.reason IS NULL ORDER BY f.cnes, f.rank`,
    equipment_inventory: `SELECT f.*, f.category_code || ':' || f.equipment_code AS equipment_type_key, ${equipmentSus(input)} AS quantity_sus,
        ${input.family === 'base' ? "CASE WHEN quantity_sus_published IS NULL THEN 'flag' ELSE 'published' END" : "'flag'"} AS quantity_sus_basis,
        ${CONTEXT}, now_equipment_types.equipment_name, now_equipment_types.renem_code, now_equipment_categories.category_name
      FROM fact_equipment_inventory f ${from}
      LEFT JOIN now_equipment_types ON now_equipment_types.category_code = f.category_code AND now_equipment_types.equipment_code = f.equipment_code
      LEFT JOIN now_equipment_categories ON now_equipment_categories.category_code = f.category_code
      WHERE f.reason IS NULL ORDER BY f.cnes, f.rank`,
    specialized_services: servicesSelect(from, fileOf(input, fact)),
  }
  if (fact === 'specialized_services') await groupOfferings(session, fileOf(input, fact))
  return writeDataset(session, staging, fact, input.period, select[fact], 'sorted')
}

const DECLARED = ['characteristic_code', 'provider_kind', 'provider_code', 'address_code'] as const
const DECLARED_FLAGS = ['has_ambulatory', 'has_ambulatory_sus', 'has_hospital', 'has_hospital_sus'] as const
const declaration = `struct_pack(${[...DECLARED, ...DECLARED_FLAGS].map((member) => `${member} := ${member}`).join(', ')})`

/** repeated: the offerings that are declared more than once, which are few; only they go through the costly grouping. */
async function groupOfferings(session: Session, file: string): Promise<void> {
  const kinds = `['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL']`
  await session.run(
    `CREATE TABLE repeated AS
     SELECT f.cnes, f.rank, min(struct_pack(file := ${file}, place := source_row)) AS first_place,
       CASE count(DISTINCT characteristic_code) WHEN 0 THEN NULL WHEN 1 THEN min(characteristic_code) ELSE '3' END AS characteristic_code,
       ${kinds}[min(list_position(${kinds}, provider_kind))] AS provider_kind,
       ${DECLARED_FLAGS.map((flag) => `bool_or(${flag}) AS ${flag}`).join(', ')},
       list(${declaration} ORDER BY ${placeIn(file)}) AS declarations
     FROM fact_specialized_services f
     SEMI JOIN (SELECT cnes, rank FROM fact_specialized_services WHERE reason IS NULL GROUP BY cnes, rank HAVING count(*) > 1) AS twice
       ON twice.cnes = f.cnes AND twice.rank = f.rank
     WHERE f.reason IS NULL GROUP BY f.cnes, f.rank`,
  )
}

/** An offering stands where its first declaration does. Lists are made after the sort, which is slow with them. */
function servicesSelect(from: string, file: string): string {
  const summed = ['characteristic_code', 'provider_kind', ...DECLARED_FLAGS]
  return `SELECT * EXCLUDE (declarations, ${summed.join(', ')}), ${summed.map((member) => `all_${member} AS ${member}`).join(', ')}, CASE WHEN declarations IS NULL THEN [${declaration}] ELSE declarations END AS declarations
      FROM (
        SELECT f.*, ${summed.map((member) => `CASE WHEN r.cnes IS NULL THEN f.${member} ELSE r.${member} END AS all_${member}`).join(', ')}, r.declarations,
          f.service_code || ':' || f.classification_code AS classification_key, all_has_ambulatory_sus OR all_has_hospital_sus AS offers_any_sus,
          ${CONTEXT}, now_specialized_service_types.service_name, now_specialized_service_classifications.classification_name
        FROM fact_specialized_services f ${from}
        LEFT JOIN repeated r ON r.cnes = f.cnes AND r.rank = f.rank
        LEFT JOIN now_specialized_service_types ON now_specialized_service_types.service_code = f.service_code
        LEFT JOIN now_specialized_service_classifications ON now_specialized_service_classifications.service_code = f.service_code
          AND now_specialized_service_classifications.classification_code = f.classification_code
        WHERE f.reason IS NULL AND (r.cnes IS NULL OR (${file === 'source_file' ? 'f.source_file' : file} = r.first_place.file AND f.source_row = r.first_place.place))
        ORDER BY f.cnes, f.rank
      )`
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
    `SELECT ${key.map((column) => `s.${column}`).join(', ')}, ${fileOf(input, fact)} AS source_file, s.source_row, ${lineage.map((line) => `${rawColumn(line)} AS ${quoteName(line.column)}`).join(', ')}
     FROM fact_${fact} AS s WHERE s.reason IS NULL ORDER BY s.cnes, s.rank, ${placeIn(fileOf(input, fact))}`,
    'sorted',
  )
}
