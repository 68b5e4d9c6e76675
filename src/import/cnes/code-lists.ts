/**
 * Builds the code lists of a release from imported tables, or from model/cnes/codes when no table was imported.
 * `cat_<dataset>` collects the rows of all tables of a list, each with its edition (YYYYMM). `now_<dataset>` names the codes
 * of one month. Its source is, in this order: the month's own table; the newest earlier edition; the oldest later edition;
 * an undated table; the built-in list. The lists of the release show each code once, with its newest name.
 */
import type { DatasetName } from '../../model/datasets.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, writeDataset, writeParquet } from '../write-parquet.ts'
import {
  CATALOGS,
  type Catalog,
  type CatalogColumn,
  catalogOf,
  NEW_SERVICES_FROM,
  OLD_SERVICES,
} from './catalogs.ts'

/** Origin of a row of cat_<dataset>. The smaller number wins among tables of one edition. */
const ORIGIN = { base: 0, dated: 1, undated: 2, builtIn: 3 } as const

/** A code and its values in a table published apart from the national base. */
export interface TableCode {
  readonly key: readonly string[]
  /** Values in the order of the list's value columns. The array may be shorter. */
  readonly values: readonly { readonly value: string; readonly raw: string; readonly column: string }[]
  readonly file: string
  readonly row: number
  /** Edition of the table as YYYYMM, or null for an undated table. */
  readonly edition: number | null
}

const names = (columns: readonly CatalogColumn[]): string[] => columns.map(({ field }) => field)
const isService = (dataset: DatasetName): boolean => dataset.startsWith('specialized_service')

export async function createCatalogs(session: Session): Promise<void> {
  for (const { dataset, key, values } of CATALOGS) {
    const columns = [
      'edition INTEGER',
      'origin INTEGER',
      'is_old BOOLEAN',
      ...names(key).map((field) => `${field} VARCHAR`),
      ...names(values).flatMap((field) => [
        `${field} VARCHAR`,
        `${field}__raw VARCHAR`,
        `${field}__column VARCHAR`,
      ]),
      'source_file VARCHAR',
      'source_row INTEGER',
    ]
    await session.run(`CREATE TABLE cat_${dataset} (${columns.join(', ')})`)
  }
}

const firstOf = ({ columns, rule }: CatalogColumn): string =>
  `coalesce(${columns.map((column) => applyRule(rule, quoteName(column))).join(', ')}, NULL)`
const columnOf = ({ columns, rule }: CatalogColumn): string =>
  `CASE ${columns.map((column) => `WHEN ${applyRule(rule, quoteName(column))} IS NOT NULL THEN ${quoteText(column)}`).join(' ')} END`
const rawOf = ({ columns, rule }: CatalogColumn): string =>
  `CASE ${columns.map((column) => `WHEN ${applyRule(rule, quoteName(column))} IS NOT NULL THEN ${quoteName(column)}`).join(' ')} END`

/** Adds the tables of one month of the national base, staged as st_<table>, and makes now_<dataset>. */
export async function addBaseCatalogs(
  session: Session,
  period: number,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  for (const list of CATALOGS) {
    const { dataset, table, key, values } = list
    const file = files.get(table)
    if (file !== undefined)
      await session.run(
        `INSERT INTO cat_${dataset} SELECT ${[
          period,
          ORIGIN.base,
          period < NEW_SERVICES_FROM,
          ...key.map(firstOf),
          ...values.flatMap((value) => [firstOf(value), rawOf(value), columnOf(value)]),
          quoteText(file),
          'source_row',
        ].join(', ')} FROM st_${table}`,
      )
    const ofMonth = `(origin = ${ORIGIN.base} AND edition = ${period} AND ${names(key).join(' IS NOT NULL AND ')} IS NOT NULL)`
    const hasMonthTable = (await session.number(`SELECT count(*) FROM cat_${dataset} WHERE ${ofMonth}`)) > 0
    if (!hasMonthTable) await addBuiltIn(session, list, period)
    const origins = [ORIGIN.dated, ORIGIN.undated, ...(hasMonthTable ? [] : [ORIGIN.builtIn])]
    await makeNow(session, list, period, `${ofMonth} OR origin IN (${origins.join(', ')})`)
  }
}

/** Makes now_<dataset> for a month of state files, which include no code tables. */
export async function addStateCatalogs(session: Session, period: number): Promise<void> {
  for (const list of CATALOGS) {
    await addBuiltIn(session, list, period)
    await makeNow(session, list, period, 'true')
  }
}

export async function addTableCodes(
  session: Session,
  dataset: DatasetName,
  codes: readonly TableCode[],
): Promise<void> {
  const list = catalogOf(dataset)
  await session.append(`cat_${dataset}`, (appender) => {
    for (const { key, values, file, row, edition } of codes) {
      if (edition === null) appender.appendNull()
      else appender.appendInteger(edition)
      appender.appendInteger(edition === null ? ORIGIN.undated : ORIGIN.dated)
      appender.appendBoolean(false)
      for (const code of key) appender.appendVarchar(code)
      for (const index of list.values.keys()) {
        const value = values[index]
        for (const text of [value?.value, value?.raw, value?.column])
          if (text === undefined) appender.appendNull()
          else appender.appendVarchar(text)
      }
      appender.appendVarchar(file)
      appender.appendInteger(row)
      appender.endRow()
    }
  })
}

async function addBuiltIn(
  session: Session,
  { dataset, key, values, builtIn }: Catalog,
  period: number,
): Promise<void> {
  const isOld = period < NEW_SERVICES_FROM && isService(dataset)
  const rows = (isOld ? OLD_SERVICES[dataset] : builtIn) ?? []
  const existing = await session.number(
    `SELECT count(*) FROM cat_${dataset} WHERE origin = ${ORIGIN.builtIn} AND is_old = ${isOld}`,
  )
  if (existing > 0 || rows.length === 0) return
  const text = (cell: string | undefined): string => (cell ? quoteText(cell) : 'NULL')
  const sql = rows.map(
    (cells) =>
      `(${[
        'NULL',
        ORIGIN.builtIn,
        isOld,
        ...key.map((_, index) => text(cells[index])),
        ...values.flatMap((_, index) => [text(cells[key.length + index]), 'NULL', 'NULL']),
        'NULL',
        'NULL',
      ].join(', ')})`,
  )
  await session.run(`INSERT INTO cat_${dataset} VALUES ${sql.join(', ')}`)
}

/** SELECT of each code with its values. If several rows have a value, the first row by the order wins. */
function selectCodes({ dataset, key, values }: Catalog, where: string, order: string): string {
  const codes = names(key).map(quoteName)
  const cells = values.map(
    ({ field }) =>
      `first(struct_pack(value := ${field}, raw := ${field}__raw, col := ${field}__column, file := source_file, place := source_row) ORDER BY ${order}, source_file, source_row) FILTER (WHERE ${field} IS NOT NULL) AS ${field}__at`,
  )
  return `SELECT ${[...codes, ...values.map(({ field }) => `${field}__at.value AS ${field}`), ...values.map(({ field }) => `${field}__at`)].join(', ')},
    first_place.file AS source_file, first_place.place AS source_row
    FROM (
      SELECT ${[...codes, ...cells].join(', ')}, first(struct_pack(file := source_file, place := source_row) ORDER BY ${order}, source_file, source_row) AS first_place
      FROM cat_${dataset} WHERE (${where}) AND ${codes.map((code) => `${code} IS NOT NULL`).join(' AND ')} GROUP BY ${codes.join(', ')}
    )`
}

async function makeNow(session: Session, list: Catalog, period: number, where: string): Promise<void> {
  const codingCondition = isService(list.dataset) ? ` AND is_old = ${period < NEW_SERVICES_FROM}` : ''
  const distance = `CASE WHEN origin = ${ORIGIN.builtIn} THEN 3000000 WHEN edition IS NULL THEN 2000000 WHEN edition <= ${period} THEN ${period} - edition ELSE 1000000 + edition - ${period} END`
  await session.run(
    `CREATE OR REPLACE TABLE now_${list.dataset} AS ${selectCodes(list, `(${where})${codingCondition}`, `${distance}, origin`)}`,
  )
}

/** Parent list of a list, the column that links them, and the columns that the join adds. */
const PARENTS: Readonly<
  Partial<Record<DatasetName, { dataset: DatasetName; key: string; columns: string }>>
> = {
  bed_types: { dataset: 'bed_categories', key: 'bed_category_code', columns: 'parent.bed_category_name' },
  equipment_types: {
    dataset: 'equipment_categories',
    key: 'category_code',
    columns: "category_code || ':' || equipment_code AS equipment_type_key, parent.category_name",
  },
  specialized_service_classifications: {
    dataset: 'specialized_service_types',
    key: 'service_code',
    columns: "service_code || ':' || classification_code AS classification_key, parent.service_name",
  },
}

/** Writes every list with one row per code, its newest name, and the name of its category or service. */
export async function writeCatalogs(session: Session, staging: string): Promise<DatasetOutput[]> {
  const outputs: DatasetOutput[] = []
  const newest = (dataset: DatasetName): string => {
    return `(${selectCodes(catalogOf(dataset), 'true', `origin = ${ORIGIN.builtIn}, is_old, edition DESC NULLS LAST, origin`)})`
  }
  for (const { dataset } of CATALOGS) {
    const parent = PARENTS[dataset]
    const select =
      parent === undefined
        ? `SELECT * FROM ${newest(dataset)}`
        : `SELECT own.*, ${parent.columns} FROM ${newest(dataset)} own LEFT JOIN ${newest(parent.dataset)} parent USING (${parent.key})`
    outputs.push(await writeDataset(session, staging, dataset, null, select))
  }
  return outputs
}

/** Writes code_names_provenance, the source cell of each name of a month. Built-in names have no source. */
export function writeCodeNames(session: Session, staging: string, period: number): Promise<DatasetOutput> {
  const selects = CATALOGS.flatMap(({ dataset, key, values }) =>
    values.map(
      ({ field }) =>
        `SELECT '${dataset}' AS dataset, concat_ws(':', ${names(key).join(', ')}) AS code, '${field}' AS attribute, ${field} AS value, ${field}__at.raw AS raw_value, ${field}__at.file AS source_file, ${field}__at.place AS source_row, ${field}__at.col AS source_column FROM now_${dataset} WHERE ${field} IS NOT NULL`,
    ),
  )
  selects.push(
    `SELECT 'maintainers', maintainer_cnpj, 'maintainer_name', maintainer_name, raw_value, source_file, source_row, source_column FROM maintainers WHERE maintainer_name IS NOT NULL`,
  )
  const key = ['dataset', 'code', 'attribute']
  const columns = [...key, 'value', 'raw_value', 'source_file', 'source_row', 'source_column'].map(
    (name) => ({
      name,
      type: name === 'source_row' ? 'INTEGER' : 'VARCHAR',
    }),
  )
  return writeParquet(
    session,
    staging,
    { name: 'code_names_provenance', key, order: key, columns },
    period,
    selects.join(' UNION ALL '),
  )
}
