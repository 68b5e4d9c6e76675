/**
 * Maps declared fields to stored columns: the SQL type of each field, and the expressions for columns that an older release
 * lacks. Values and pure functions only. A release never changes, so one made before a column was declared does not have it.
 * Code that opens its files adds the column as null with these expressions.
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
  index: 'DECIMAL(30, 13)',
}

export const sqlTypeOf = (field: FieldName): string =>
  fieldOf(field).isWide === true ? 'BIGINT' : SQL_TYPES[fieldOf(field).type]

/** Dataset → field → the column's name in releases of catalog v1.1.0. */
const FORMER_NAMES: Partial<Record<DatasetName, Partial<Record<FieldName, string>>>> = {
  facilities: { registry_health_region_code: 'health_region_code' },
}

/**
 * @param name of a table of a release. A table that is not a dataset keeps the columns of its files.
 * @param stored columns of its files
 * @returns the SELECT list of every declared column: stored ones, renamed ones under their new name, missing ones as null
 */
export function selectList(name: string, stored: readonly string[]): string {
  if (!Object.hasOwn(DATASETS, name)) return '*'
  const dataset = name as DatasetName
  const missing = storedColumns(datasetOf(dataset)).filter((field) => !stored.includes(field))
  const former = (field: FieldName): string | undefined => FORMER_NAMES[dataset]?.[field]
  const isRenamed = (field: FieldName): boolean => stored.includes(former(field) ?? '')
  const renamed = missing.filter(isRenamed).map((field) => `"${former(field)}" AS "${field}"`)
  const absent = missing.filter((field) => !isRenamed(field))
  return [
    renamed.length === 0 ? '*' : `* RENAME (${renamed.join(', ')})`,
    ...absent.map((field) => `CAST(NULL AS ${sqlTypeOf(field)}) AS "${field}"`),
  ].join(', ')
}

/** A declared column and the stored column that it is read from; null when the file lacks it. */
export interface StoredColumn {
  readonly name: string
  readonly from: string | null
  readonly type: string
}

/** Like selectList, for engines without SELECT * EXCLUDE. @returns columns of the file, then the missing ones */
export function columnsAsStored(name: string, stored: readonly string[]): StoredColumn[] {
  const present = stored.map((column) => ({ name: column, from: column, type: '' }))
  if (!Object.hasOwn(DATASETS, name)) return present
  const dataset = name as DatasetName
  const former = FORMER_NAMES[dataset] ?? {}
  const renamed = new Map(Object.entries(former).map(([now, before]) => [before as string, now]))
  const missing = storedColumns(datasetOf(dataset)).filter((field) => !stored.includes(field))
  return [
    ...present.map((column) => {
      const now = renamed.get(column.name)
      return now === undefined || stored.includes(now) ? column : { ...column, name: now }
    }),
    ...missing
      .filter((field) => !stored.includes(former[field] ?? ''))
      .map((field) => ({ name: field, from: null, type: sqlTypeOf(field) })),
  ]
}
