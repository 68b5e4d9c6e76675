/**
 * Columns as they are stored: the SQL type of each field, and what a release of an earlier version lacks. Values and pure
 * functions only.
 *
 * A release is never changed, so one that was made before a column was declared does not have it: there the column reads
 * as null. Whoever opens a file adds it with the expressions given here.
 */
import { DATASETS, type DatasetName, datasetOf, storedColumns } from './datasets.ts'
import { type FieldName, type FieldType, fieldOf } from './fields.ts'

const SQL_TYPES: Readonly<Record<FieldType, string>> = {
  string: 'VARCHAR',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
  coordinate: 'DOUBLE',
  date: 'DATE',
  period: 'INTEGER',
  address:
    'STRUCT(street VARCHAR, number VARCHAR, complement VARCHAR, district VARCHAR, postal_code VARCHAR)',
  declarations:
    'STRUCT(characteristic_code VARCHAR, provider_kind VARCHAR, provider_code VARCHAR, address_code VARCHAR, has_ambulatory BOOLEAN, has_ambulatory_sus BOOLEAN, has_hospital BOOLEAN, has_hospital_sus BOOLEAN)[]',
  cells: 'STRUCT(source_row INTEGER, raw_value VARCHAR)[]',
  codes: 'VARCHAR[]',
  percentage: 'DECIMAL(12, 2)',
}

/** @returns the type of a field's column in a file, as SQL */
export const sqlTypeOf = (field: FieldName): string =>
  fieldOf(field).isWide === true ? 'BIGINT' : SQL_TYPES[fieldOf(field).type]

/** What a column was called in releases of catalog v1.1.0. */
const FORMER_NAMES: Partial<Record<DatasetName, Partial<Record<FieldName, string>>>> = {
  facilities: { registry_health_region_code: 'health_region_code' },
}

/**
 * @param name of a table of a release: a dataset, or one that no dataset is (then its columns are those it has)
 * @param stored columns its files have
 * @returns the SELECT list that gives every declared column: the file's own, renamed ones by their name, others as null
 */
export function selectList(name: string, stored: readonly string[]): string {
  if (!Object.hasOwn(DATASETS, name)) return '*'
  const dataset = name as DatasetName
  const lacking = storedColumns(datasetOf(dataset)).filter((field) => !stored.includes(field))
  const former = (field: FieldName): string | undefined => FORMER_NAMES[dataset]?.[field]
  const isRenamed = (field: FieldName): boolean => stored.includes(former(field) ?? '')
  const renamed = lacking.filter(isRenamed).map((field) => `"${former(field)}" AS "${field}"`)
  const absent = lacking.filter((field) => !isRenamed(field))
  return [
    renamed.length === 0 ? '*' : `* RENAME (${renamed.join(', ')})`,
    ...absent.map((field) => `CAST(NULL AS ${sqlTypeOf(field)}) AS "${field}"`),
  ].join(', ')
}

/** A declared column, and the one of the file that it is read from; null: the file has none. */
export interface StoredColumn {
  readonly name: string
  readonly from: string | null
  /** As SQL. */
  readonly type: string
}

/**
 * As selectList, a column at a time, for what has no SELECT * with exceptions.
 * @returns every column of the file, then those that it lacks
 */
export function columnsAsStored(name: string, stored: readonly string[]): StoredColumn[] {
  const own = stored.map((column) => ({ name: column, from: column, type: '' }))
  if (!Object.hasOwn(DATASETS, name)) return own
  const dataset = name as DatasetName
  const former = FORMER_NAMES[dataset] ?? {}
  const renamed = new Map(Object.entries(former).map(([now, before]) => [before as string, now]))
  const lacking = storedColumns(datasetOf(dataset)).filter((field) => !stored.includes(field))
  return [
    ...own.map((column) => {
      const now = renamed.get(column.name)
      return now === undefined || stored.includes(now) ? column : { ...column, name: now }
    }),
    ...lacking
      .filter((field) => !stored.includes(former[field] ?? ''))
      .map((field) => ({ name: field, from: null, type: sqlTypeOf(field) })),
  ]
}
