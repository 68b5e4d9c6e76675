/**
 * Writes the facilities of one month and their provenance.
 * In: st_fac (published rows with source_file and source_row), mun (municipalities), now_<catalog>, flags_<fact>.
 * Out: link (the attributes that facts copy from their facility) and Parquet files.
 */
import { CADGER_LINEAGE, FACILITY_LINEAGE, FACT_NAMES, type FactName } from '../../model/cnes/lineage.ts'
import { datasetOf, storedColumns } from '../../model/datasets.ts'
import { foldText, rowHoldsCpf } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, writeDataset, writeParquet } from '../write-parquet.ts'
import { MUNICIPALITY, municipalityColumns, municipalityJoins, stateOfRow } from './municipality-codes.ts'
import {
  collectRejectedRows,
  enumerate,
  fileOf,
  markDuplicates,
  type PeriodInput,
  positionColumns,
  published,
  rawColumn,
  ruleOf,
} from './published-rows.ts'

const ADDRESS = ['street', 'number', 'complement', 'district', 'postal_code'] as const
const NAMED_CODES = [
  ['deactivation_reason_code', 'deactivation_reason_name', 'now_deactivation_reasons'],
  ['facility_type_code', 'facility_type_name', 'now_facility_types'],
  ['legal_nature_code', 'legal_nature_name', 'now_legal_natures'],
  ['opening_hours_code', 'opening_hours_name', 'now_opening_hours'],
  ['uf', 'state_name', 'now_registry_states'],
  ['administrative_region_code', 'administrative_region_name', 'now_administrative_regions'],
  ['management_type', 'management_type_name', 'now_management_types'],
  ['activity_code', 'activity_name', 'now_activities'],
  ['client_flow_code', 'client_flow_name', 'now_client_flows'],
  ['establishment_type_code', 'establishment_type_name', 'now_establishment_types'],
  ['main_activity_code', 'main_activity_name', 'now_main_activities'],
  ['coverage_type_code', 'coverage_type_name', 'now_coverage_types'],
  ['maintainer_cnpj', 'maintainer_name', 'maintainers'],
] as const

/** Attributes that facts copy from their facility. */
export const CONTEXT = [
  'facility_name',
  'uf',
  'municipality_ibge_code',
  'municipality_name',
  'is_active',
  'facility_type_code',
  'management_type',
  'legal_nature_code',
] as const

/** Makes link, one row per published row, with the reason of rejected rows. @returns ENUM types to drop after the table */
export async function makeLinks(session: Session, input: PeriodInput): Promise<string[]> {
  const lineage = FACILITY_LINEAGE[input.family]
  const rule = (attribute: string): string => ruleOf(lineage, attribute, 'holds_cpf')
  const file = fileOf(input, 'fac')
  const latitude = lineage.find(({ attribute }) => attribute === 'latitude')
  const active = input.family === 'base' ? `${rule('deactivation_reason_code')} IS NULL` : 'true'
  await session.run(
    `CREATE TABLE link AS
     WITH coded AS (
       SELECT ${positionColumns(file)}, ${rowHoldsCpf(lineage, (column) => `s.${quoteName(column)}`)} AS holds_cpf, ${rule('unit_code')} AS unit_code,
         ${rule('cnes_code')} AS cnes_code, ${rule('legal_name')} AS legal_name, ${rule('trade_name')} AS trade_name, ${active} AS is_active,
         ${rule('facility_type_code')} AS facility_type_code, ${rule('management_type')} AS management_type, ${rule('legal_nature_code')} AS legal_nature_code,
         ${latitude === undefined ? 'false' : `trim(s.${quoteName(latitude.column)}) <> ''`} AS has_latitude, 
         ${municipalityColumns(rule('municipality6'), stateOfRow(input.family, rule('managing_state'), rule('unit_code')))},
         CASE WHEN regexp_full_match(cnes_code, '[0-9]{7}') THEN CAST(cnes_code AS INTEGER) END AS cnes_number
       FROM st_fac s
     )
     SELECT coded.* EXCLUDE (legal_name, trade_name, published6, code_state, row_state),
       ${input.hasCadger ? 'coalesce(cad.trade_name, cad.legal_name)' : 'coalesce(coded.trade_name, coded.legal_name)'} AS facility_name,
       ${MUNICIPALITY},
       CASE WHEN cnes_number IS NULL THEN 'invalid_cnes_code' WHEN municipality_ibge_code IS NULL THEN 'unknown_municipality' END AS reason
     FROM coded
     ${municipalityJoins('coded')}
     ${input.hasCadger ? 'LEFT JOIN cad ON cad.cnes_code = coded.cnes_code' : ''}`,
  )
  await markDuplicates(
    session,
    file,
    'link',
    ['cnes_number'],
    'SELECT cnes_number FROM link WHERE reason IS NULL GROUP BY cnes_number HAVING count(*) > 1',
    CONTEXT.filter((column) => column !== 'uf' && column !== 'municipality_name'),
    'is_unknown_municipality',
  )
  await collectRejectedRows(session, file, 'link', 'facilities')
  return enumerate(session, 'link', [
    'uf',
    'municipality_name',
    'facility_type_code',
    'management_type',
    'legal_nature_code',
  ])
}

/** SELECT of the accepted rows, with their published cells and the columns of link. */
function facilityRows(input: PeriodInput): string {
  const position = positionColumns(fileOf(input, 'fac')).split(', ')
  return `SELECT s.*, link.* EXCLUDE (${[...position, 'reason'].join(', ')}) FROM st_fac AS s
     JOIN link ON ${position.map((column) => `link.${column} = s.${column}`).join(' AND ')} WHERE link.reason IS NULL`
}

const FLAG_OF: Readonly<Record<FactName, string>> = {
  bed_capacity: 'has_beds',
  equipment_inventory: 'has_equipment',
  specialized_services: 'has_services',
}

/** SQL of the flags has_… and offers_any_sus. A flag is null if the facts of the facility's state were not collected. */
function flagColumns(input: PeriodInput): string {
  const has = (fact: FactName, flag: 'has' | 'has_sus'): string =>
    input.facts.has(fact) ? `coalesce(flags_${fact}.${flag}, false)` : 'false'
  const flag = (fact: FactName): string => {
    const covered = coverageCondition(input, fact)
    return `${covered === 'true' ? has(fact, 'has') : `CASE WHEN ${covered} THEN ${has(fact, 'has')} END`} AS ${FLAG_OF[fact]}`
  }
  const sus = FACT_NAMES.map((fact) => has(fact, 'has_sus')).join(' OR ')
  const covered = FACT_NAMES.map((fact) => coverageCondition(input, fact)).filter((sql) => sql !== 'true')
  // An uncollected fact makes the result null, unless a collected fact already makes it true.
  const offers =
    covered.length === 0 ? sus : `CASE WHEN ${sus} THEN true WHEN ${covered.join(' AND ')} THEN false END`
  return [...FACT_NAMES.map(flag), `${offers} AS offers_any_sus`].join(', ')
}

function coverageCondition({ covered }: PeriodInput, fact: FactName): string {
  const states = covered.get(fact) ?? []
  if (states === 'all') return 'true'
  return states.length === 0
    ? 'false'
    : `CAST(f.uf AS VARCHAR) IN (${states.map((uf) => `'${uf}'`).join(', ')})`
}

/** Writes the dataset. Rules run before the sort, because most values are smaller than their published text. */
export async function writeFacilities(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<DatasetOutput> {
  const lineage = FACILITY_LINEAGE[input.family]
  const cadger: ReadonlySet<string> = new Set(
    input.hasCadger ? CADGER_LINEAGE.map(({ attribute }) => attribute) : [],
  )
  const value = (attribute: string): string => {
    const rule = ruleOf(lineage, attribute, 's.holds_cpf')
    return cadger.has(attribute) ? `coalesce(cad.${quoteName(attribute)}, ${rule})` : rule
  }
  const name = (attribute: 'legal_name' | 'trade_name'): string =>
    input.hasCadger ? `cad.${attribute}` : value(attribute)
  const stored = storedColumns(datasetOf('facilities'))
  const addressColumns = ADDRESS.map((part) => quoteName(`address.${part}`))
  const derived: Record<string, string> = {
    address: `CASE WHEN ${addressColumns.map((part) => `${part} IS NOT NULL`).join(' OR ')} THEN struct_pack(${ADDRESS.map((part) => `${quoteName(part)} := CAST(${quoteName(`address.${part}`)} AS VARCHAR)`).join(', ')}) END`,
    search_text: foldText(`coalesce(legal_name, '') || ' ' || coalesce(trade_name, '')`),
  }
  const linked: readonly string[] = ['cnes_code', ...CONTEXT]
  const joined: readonly string[] = [
    ...NAMED_CODES.map(([, named]) => named),
    ...Object.values(FLAG_OF),
    'offers_any_sus',
  ]
  const values = [
    ...stored.filter((field) => derived[field] === undefined),
    ...ADDRESS.map((part) => `address.${part}`),
  ]
    .filter((field) => !joined.includes(field))
    .map((field) => {
      if (linked.includes(field)) return `s.${field}`
      const sql = field === 'legal_name' || field === 'trade_name' ? name(field) : value(field)
      return `${sql} AS ${quoteName(field)}`
    })
  const facts = FACT_NAMES.filter((fact) => input.facts.has(fact))
  return writeDataset(
    session,
    staging,
    'facilities',
    input.period,
    `SELECT *, ${Object.entries(derived)
      .map(([field, sql]) => `${sql} AS ${field}`)
      .join(', ')}
     FROM (
       SELECT f.*, ${NAMED_CODES.map(([, named, table]) => `${table}.${named}`).join(', ')}, ${flagColumns(input)}
       FROM (
         SELECT s.cnes_number, ${values.join(', ')} FROM (${facilityRows(input)}) AS s
         ${input.hasCadger ? 'LEFT JOIN cad ON cad.cnes_code = s.cnes_code' : ''}
       ) AS f
       ${NAMED_CODES.map(([code, , table]) => `LEFT JOIN ${table} ON ${table}.${code} = f.${code}`).join(' ')}
       ${facts.map((fact) => `LEFT JOIN flags_${fact} ON flags_${fact}.cnes_number = f.cnes_number`).join(' ')}
       ORDER BY f.cnes_number
     )`,
    'sorted',
  )
}

/** Provenance of a mapped old municipality code. The columns exist if a mapping table was imported. */
const OLD_CODES = [
  { name: 'old_code_file', type: 'VARCHAR' },
  { name: 'old_code_row', type: 'INTEGER' },
  { name: 'old_code_label', type: 'VARCHAR' },
]

export async function writeFacilityProvenance(
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
      ...(input.municipalityTable === null ? [] : OLD_CODES),
    ],
  }
  const oldCode =
    input.municipalityTable === null
      ? ''
      : `, CASE WHEN s.old_row IS NOT NULL THEN ${quoteText(input.municipalityTable)} END AS old_code_file, s.old_row AS old_code_row, s.old_label AS old_code_label`
  return writeParquet(
    session,
    staging,
    shape,
    input.period,
    `SELECT s.cnes_code, ${fileOf(input, 'fac')} AS source_file, s.source_row, ${lineage.map((line) => `${rawColumn(line, 's.holds_cpf')} AS ${quoteName(line.column)}`).join(', ')}${oldCode}
     FROM (${facilityRows(input)} ORDER BY link.cnes_number) AS s`,
    'sorted',
  )
}
