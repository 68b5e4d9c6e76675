/**
 * Compares the column types of Parquet and Arrow reports with the manifest. The same bytes are another value under another type, and
 * pandas renames and converts columns by its metadata. Pure; returns problems as messages.
 */
import { DataType, type Field, RecordBatchReader, type Schema } from 'apache-arrow'
import type { FileMetaData, SchemaElement } from 'hyparquet'
import { z } from 'zod'
import type { Column } from '../table.ts'
import { parseJson } from './json-values.ts'

const TEXT = 'a text'
const INTEGER = 'an integer of 64 bits'
const decimalOf = (scale: number): string => `a decimal of scale ${scale}`
const typeOf = ({ type, decimals }: Column): string =>
  type === 'text' ? TEXT : type === 'integer' ? INTEGER : decimalOf(decimals)

/** Gives a field a type of its name in programs that know it, such as pandas.period. */
const EXTENSION_KEY = 'ARROW:extension:name'
/** Arrow schema in a Parquet file; pyarrow converts columns to its types. */
const ARROW_SCHEMA_KEY = 'ARROW:schema'
const PANDAS_KEY = 'pandas'

/** @returns a message for each column whose type or name is not that of the manifest */
export function checkArrowTypes({ fields, metadata }: Schema, columns: readonly Column[]): string[] {
  const pandas = metadata.get(PANDAS_KEY)
  return [
    ...fields.flatMap((field, index) => compareTypes(field.name, [arrowType(field)], columns[index])),
    ...(pandas === undefined ? [] : checkPandas(pandas, columns)),
  ]
}

/** @returns a message for each column that is not declared as the manifest says, once or in several ways */
export function checkParquetTypes(
  { schema, key_value_metadata = [] }: FileMetaData,
  columns: readonly Column[],
): string[] {
  const valuesOf = (name: string): string[] =>
    key_value_metadata.flatMap(({ key, value = '' }) => (key === name ? [value] : []))
  return [
    ...schema
      .slice(1)
      .flatMap((element, index) => compareTypes(element.name, parquetTypes(element), columns[index])),
    ...valuesOf(PANDAS_KEY).flatMap((text) => checkPandas(text, columns)),
    ...valuesOf(ARROW_SCHEMA_KEY)
      .flatMap((text) =>
        checkArrowTypes(RecordBatchReader.from(Buffer.from(text, 'base64')).open().schema, columns),
      )
      .map((problem) => `${ARROW_SCHEMA_KEY}: ${problem}`),
  ]
}

function compareTypes(name: string, types: readonly string[], column: Column | undefined): string[] {
  const [type, ...others] = new Set(types)
  if (others.length > 0) return [`the column ${name} is declared in two ways`]
  // Another order of columns is a difference of the header, too.
  if (column === undefined || column.name !== name)
    return [`the column ${name} is not where the manifest has it`]
  return type === typeOf(column)
    ? []
    : [`the column ${name} has the type ${type}; the manifest says ${typeOf(column)}`]
}

function arrowType({ type, metadata }: Field): string {
  const extension = metadata.get(EXTENSION_KEY)
  if (extension !== undefined) return extension
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type)) return TEXT
  if (DataType.isInt(type) && type.bitWidth === 64 && type.isSigned) return INTEGER
  return DataType.isDecimal(type) && type.bitWidth === 128 ? decimalOf(type.scale) : String(type)
}

/** @returns the types of all declarations of a column; the physical form of a decimal does not matter */
function parquetTypes({
  type,
  repetition_type,
  converted_type: converted,
  scale = 0,
  logical_type: logical,
}: SchemaElement): string[] {
  const declared = [
    ...(repetition_type === 'REPEATED' ? ['a list'] : []),
    ...(converted === undefined ? [] : [convertedType(converted, scale)]),
    ...(logical === undefined ? [] : [logicalType(logical)]),
  ]
  if (declared.length === 0) return [type === 'INT64' ? INTEGER : String(type)]
  const isStored =
    declared[0] === TEXT ? type === 'BYTE_ARRAY' : declared[0] === INTEGER ? type === 'INT64' : true
  return isStored ? declared : [...declared, String(type)]
}

const convertedType = (converted: string, scale: number): string =>
  converted === 'DECIMAL'
    ? decimalOf(scale)
    : converted === 'UTF8'
      ? TEXT
      : converted === 'INT_64'
        ? INTEGER
        : converted

function logicalType(logical: NonNullable<SchemaElement['logical_type']>): string {
  if (logical.type === 'STRING') return TEXT
  if (logical.type === 'DECIMAL') return decimalOf(logical.scale)
  if (logical.type !== 'INTEGER') return String(logical.type)
  return logical.bitWidth === 64 && logical.isSigned ? INTEGER : `an integer of ${logical.bitWidth} bits`
}

/** NumPy types to which pandas converts a column without changing what it shows. A period would make dates of integers. */
const NUMPY_TYPES = {
  text: /^(object|str|(large_)?string(\[\w+\])?)$/,
  integer: /^(object|int64(\[pyarrow\])?|Int64)$/,
  decimal: /^(object|decimal128\(\d+, \d+\)\[pyarrow\])$/,
} as const

const pandasSchema = z.looseObject({
  // A column in the index is no longer among the columns; only the default index, the row numbers, leaves all there.
  index_columns: z.array(z.looseObject({ kind: z.literal('range'), name: z.null() })).default([]),
  column_indexes: z
    .array(z.looseObject({ name: z.null(), numpy_type: z.string().regex(NUMPY_TYPES.text) }))
    .max(1)
    .default([]),
  columns: z
    .array(z.looseObject({ name: z.string(), field_name: z.string(), numpy_type: z.string() }))
    .default([]),
})

/** @param text metadata of pandas, by which it names, converts and indexes the columns that it reads */
function checkPandas(text: string, columns: readonly Column[]): string[] {
  const parsed = pandasSchema.safeParse(parseJson(Buffer.from(text)))
  if (!parsed.success)
    return [`the metadata of pandas has another ${parsed.error.issues[0]?.path.join('.')} than a report`]
  return parsed.data.columns.flatMap(({ name, field_name, numpy_type }) => {
    if (name !== field_name) return [`the metadata of pandas shows the column ${field_name} as ${name}`]
    const column = columns.find((other) => other.name === name)
    return column === undefined || NUMPY_TYPES[column.type].test(numpy_type)
      ? []
      : [`the metadata of pandas shows the column ${name} in the type ${numpy_type}`]
  })
}
