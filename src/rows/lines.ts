/**
 * A dataset's rows as lines of JSON, written by DuckDB. Pure: a dataset and a Parquet file → SQL.
 *
 * A line holds the key as text of one width (its bytes sort as the rows do), the text that is searched, and the fields as
 * lists show them, those of the record last: `{"k":"0000018","s":"…","cnes_code":"0000018",…}`. What a line says after
 * its head is byte for byte what JSON.stringify makes of the row the engine reads.
 */
import type { Dataset } from '../model/datasets.ts'
import { FIELDS, type FieldName } from '../model/fields.ts'

/** Digits an integer key is padded to. */
const INTEGER_WIDTH = 10
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** What DuckDB reads, with the period from the folder's name. */
export const fileSource = (dataset: Dataset, file: string): string =>
  `read_parquet(${quoteText(file)}, file_row_number = true, ${
    dataset.periodic
      ? "hive_partitioning = true, hive_types = {'reference_period': INTEGER}"
      : 'hive_partitioning = false'
  })`

/** Longest text of each key column, NULL for integers: one row. */
export const widthsQuery = (dataset: Dataset, file: string): string =>
  `SELECT ${dataset.key
    .map((column) => (isInteger(column) ? 'NULL' : `max(strlen(${quoteName(column)}))`))
    .join(', ')} FROM ${fileSource(dataset, file)}`

/** Positions of rows whose coordinates DuckDB and JavaScript would not write alike: tiny ones and those that are no number. */
export function oddRowsQuery(dataset: Dataset, file: string): string | null {
  const coordinates = fieldsOf(dataset).filter((field) => FIELDS[field].type === 'coordinate')
  if (coordinates.length === 0) return null
  const isOdd = coordinates.map((field) => {
    const column = quoteName(field)
    return `(${column} <> 0 AND abs(${column}) < 0.001) OR NOT isfinite(${column})`
  })
  return `SELECT file_row_number FROM ${fileSource(dataset, file)} WHERE ${isOdd.join(' OR ')} ORDER BY 1`
}

/** @param widths characters of each key column, null for integers; @param out file the lines are written to */
export function linesCopy(
  dataset: Dataset,
  file: string,
  widths: readonly (number | null)[],
  out: string,
): string {
  const key = dataset.key
    .map((column, index) =>
      isInteger(column)
        ? `lpad(CAST(${quoteName(column)} AS VARCHAR), ${INTEGER_WIDTH}, '0')`
        : `rpad(${quoteName(column)}, ${widths[index] ?? 0}, ' ')`,
    )
    .join(' || ')
  const search = isSearched(dataset) ? ['search_text AS s'] : []
  const columns = [`${key} AS k`, ...search, ...fieldsOf(dataset).map(columnSql)]
  return `COPY (SELECT ${columns.join(', ')} FROM ${fileSource(dataset, file)}) TO ${quoteText(out)} (FORMAT json)`
}

export const isInteger = (field: FieldName): boolean => FIELDS[field].type === 'integer'
export const isSearched = (dataset: Dataset): boolean =>
  dataset.internal?.includes('search_text' as FieldName) ?? false
export const fieldsOf = (dataset: Dataset): FieldName[] => [...dataset.fields, ...(dataset.detail ?? [])]

/** @returns the text a key has in the file; null when no row can have it */
export function keyText(
  dataset: Dataset,
  widths: readonly (number | null)[],
  values: readonly (string | number)[],
): string | null {
  let text = ''
  for (const [index, column] of dataset.key.entries()) {
    const value = String(values[index] ?? '')
    const width = isInteger(column) ? INTEGER_WIDTH : (widths[index] ?? 0)
    if (value.length > width) return null
    text += isInteger(column) ? value.padStart(width, '0') : value.padEnd(width, ' ')
  }
  return text
}

/** @returns the values a key's text was made of */
export function keyValues(
  dataset: Dataset,
  widths: readonly (number | null)[],
  text: string,
): (string | number)[] {
  let at = 0
  return dataset.key.map((column, index) => {
    const width = isInteger(column) ? INTEGER_WIDTH : (widths[index] ?? 0)
    const part = text.slice(at, at + width)
    at += width
    return isInteger(column) ? Number(part) : part.trimEnd()
  })
}

function columnSql(field: FieldName): string {
  const column = quoteName(field)
  switch (FIELDS[field].type) {
    case 'period':
      return `concat(${column} // 100, '-', lpad(CAST(${column} % 100 AS VARCHAR), 2, '0')) AS ${column}`
    case 'coordinate':
      // 5.0 is written 5; the text becomes a number again, not a string.
      return `CAST(CASE WHEN ${column} = trunc(${column}) THEN CAST(CAST(${column} AS BIGINT) AS VARCHAR) ELSE CAST(${column} AS VARCHAR) END AS JSON) AS ${column}`
    case 'date':
      return `CAST(${column} AS VARCHAR) AS ${column}`
    default:
      return column
  }
}
