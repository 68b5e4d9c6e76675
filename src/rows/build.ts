/**
 * Builds the row file of one Parquet file of a verified release. Runs in a worker process. The same Parquet gives the same bytes.
 *
 * A row consists of fragment numbers (`,"uf":"RR"`) for fields with few values, and compressed texts for the others; `row-file.ts`
 * describes the bytes. Adjacent fields share a number where their values correlate. The decoded row equals byte for byte what
 * JSON.stringify makes of the row that the engine reads. It throws when keys do not ascend, because lookups would be wrong.
 */
import type { DuckDBBlobValue, DuckDBConnection, DuckDBValue } from '@duckdb/node-api'
import { decodeValue } from '../engine/duckdb/decode.ts'
import type { JsonValue } from '../engine/types.ts'
import type { Dataset } from '../model/datasets.ts'
import { FIELDS, type FieldName } from '../model/fields.ts'
import { selectList } from '../model/stored-columns.ts'
import { formatPeriod } from '../release/view.ts'
import { quoteName, quoteText } from '../sql.ts'
import { type CodedColumn, type RowFileSource, readCoded } from './columns.ts'
import {
  DECLARATIONS,
  type FilterIndexHead,
  filterColumns,
  groupColumns,
  profilesOf,
} from './filter-index.ts'
import { fieldsOf, INTEGER_WIDTH, isInteger, isSearched, type KeyValue, keyText, widthOf } from './keys.ts'
import { chooseKinds, jsonBytes, planSegments, requestFor, type Segment } from './parts.ts'
import {
  type ByteString,
  collectPhrases,
  createPhraseEncoder,
  fromByteString,
  toByteString,
} from './phrases.ts'
import { BLOCK_ROWS, type RowFileHead, type SegmentHead, type StringRanges } from './row-file.ts'
import { packLists } from './row-lists.ts'
import { type SectionDigests, type SectionWriter, writeSections } from './sections.ts'
import { writeCoordinates, writeSortIndexes } from './sort-index.ts'
import { collectWords } from './text-index.ts'

const SEPARATOR = 31
/** Texts of each field from which phrases are chosen. */
const PHRASE_SAMPLE = 40_000

/** @param out path of the new file, which must not exist @throws after closing everything */
export async function buildRowFile(
  connection: DuckDBConnection,
  dataset: Dataset,
  file: string,
  rows: number,
  out: string,
): Promise<SectionDigests> {
  const stored = `read_parquet(${quoteText(file)}, file_row_number = true, ${
    dataset.periodic
      ? "hive_partitioning = true, hive_types = {'reference_period': INTEGER}"
      : 'hive_partitioning = false'
  })`
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${stored}`)
  const columnsOfFile = described.getRows().map(([name]) => String(name))
  const from = `(SELECT ${selectList(dataset.name, columnsOfFile)} FROM ${stored})`
  const source: RowFileSource = { connection, from, rows }
  const { widths, firstKeys } = await readKeys(source, dataset)
  const fields = fieldsOf(dataset)
  const kinds = await chooseKinds(source, fields)
  const inFragments = fields.filter((field) => kinds.get(field) !== 'texts')
  const names = [...new Set<string>([...inFragments, ...filterColumns(dataset)])]
  const columns = await readCoded(
    source,
    names.map((name) => requestFor(name as FieldName)),
  )
  const coded = new Map(names.map((name, index) => [name, columns[index] as CodedColumn]))
  const period = coded.get('reference_period')
  if (period !== undefined) {
    const values = period.values.map((value) => formatPeriod(Number(value)))
    coded.set('reference_period', { ...period, values })
  }

  const headEnd = fields.indexOf(dataset.key[1] ?? (dataset.fields[0] as FieldName))
  const plannedSegments = planSegments(fields, kinds, coded, [headEnd, dataset.fields.length])
  const countSegmentsBefore = (field: number): number =>
    plannedSegments.filter(({ end }) => end <= field).length
  const segments = plannedSegments.map(({ segment }) => segment)
  const texts = segments.flatMap((segment) => (segment.kind === 'texts' ? [segment.field] : []))
  const phrases = await choosePhrases(source, segments, texts)

  const writer = writeSections(out)
  try {
    const words = isSearched(dataset) ? collectWords(rows) : null
    const headSegments = dataset.key.length > 1 ? countSegmentsBefore(headEnd) : 0
    const encode = createPhraseEncoder(phrases)
    const addText = words?.add ?? null
    const engineRows = await writeRows(source, segments, texts, headSegments, encode, writer, addText)
    const keyFields = dataset.key.map((field) => fields.indexOf(field))
    const head: RowFileHead = {
      rows,
      widths,
      odd: engineRows,
      firstKeys: writer.put(Buffer.from(firstKeys, 'latin1')),
      phrases: putStrings(writer, phrases),
      parts: segments.map((segment): SegmentHead => {
        if (segment.kind !== 'code') return { prefix: segment.prefix }
        const fragments = segment.column.values as readonly string[]
        return { bytes: fragments.length <= 256 ? 1 : 2, fragments: putStrings(writer, fragments) }
      }),
      headParts: headSegments,
      keyParts: plannedSegments.findIndex(({ end }) => end > Math.max(...keyFields)) + 1,
      listParts: countSegmentsBefore(dataset.fields.length),
      filters: writeFilters(writer, dataset, coded),
      text: words?.write(writer) ?? null,
      sorts: await writeSortIndexes(source, dataset, writer),
      coordinates: await writeCoordinates(source, dataset, writer),
    }
    return writer.finish(head)
  } catch (error) {
    writer.abandon()
    throw error
  }
}

/** Reads the widths of the key columns and the key of each block's first row. @throws RangeError when keys do not ascend */
async function readKeys(
  { connection, from, rows }: RowFileSource,
  dataset: Dataset,
): Promise<{ widths: (number | null)[]; firstKeys: string }> {
  const read = async (statement: string) => (await connection.runAndReadAll(statement)).getRows()
  const longest = dataset.key.map((column) =>
    isInteger(column) ? 'NULL' : `max(strlen(${quoteName(column)}))`,
  )
  const [widthRow = []] = await read(`SELECT ${longest.join(', ')} FROM ${from}`)
  const widths = dataset.key.map((column, index) => (isInteger(column) ? null : Number(widthRow[index] ?? 0)))
  const key = dataset.key
    .map((column, index) =>
      isInteger(column)
        ? `lpad(CAST(${quoteName(column)} AS VARCHAR), ${INTEGER_WIDTH}, '0')`
        : // Pad by bytes, as strlen counts; rpad counts characters.
          `${quoteName(column)} || repeat(' ', ${widths[index] ?? 0} - strlen(${quoteName(column)}))`,
    )
    .join(' || ')
  const width = widthOf(widths)
  const [[invalidKeys] = []] = await read(
    `SELECT count(*) FILTER (WHERE k IS NULL OR strlen(k) <> ${width} OR k <= before) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT ${key} AS k FROM ${from}))`,
  )
  if (Number(invalidKeys) > 0) throw new RangeError('keys that do not ascend or are not of one width')
  const first = await read(
    `SELECT ${dataset.key.map(quoteName).join(', ')} FROM ${from} WHERE file_row_number % ${BLOCK_ROWS} = 0 ORDER BY file_row_number`,
  )
  const keys = first.map((values) => keyText(dataset, widths, values as KeyValue[]) ?? '')
  if (keys.length !== Math.ceil(rows / BLOCK_ROWS) || keys.some((text) => text.length !== width))
    throw new RangeError('keys that are not of one width')
  return { widths, firstKeys: keys.join('') }
}

async function choosePhrases(
  { connection, from, rows }: RowFileSource,
  segments: readonly Segment[],
  texts: readonly FieldName[],
): Promise<ByteString[]> {
  const phrases = collectPhrases()
  const step = Math.max(1, Math.floor(rows / PHRASE_SAMPLE))
  for (const segment of segments)
    if (segment.kind === 'repeated') {
      const { codes, values } = segment.column
      for (let row = 0; row < rows; row += step) phrases.add(jsonBytes(values[codes[row] ?? 0] ?? null))
    }
  const jsonFields = texts.filter(isJsonField).map(textExpression)
  if (jsonFields.length > 0) {
    const result = await connection.runAndReadAll(
      `SELECT ${jsonOf(jsonFields)} FROM ${from} WHERE file_row_number % ${step} = 0`,
    )
    for (const [value] of result.getRows()) for (const json of splitJson(value)) phrases.add(json)
  }
  return phrases.choose()
}

const textExpression = (field: FieldName): string => requestFor(field).expression
/** Fields whose JSON DuckDB writes. Numbers are formatted here, as JavaScript formats them. */
const isJsonField = (field: FieldName): boolean =>
  !['coordinate', 'integer', 'percentage'].includes(FIELDS[field].type)
/** Joins the JSON of several fields, because fetching a value costs more than its bytes. JSON never contains the separator. */
const jsonOf = (expressions: readonly string[]): string =>
  `encode(concat_ws(chr(${SEPARATOR}), ${expressions.map((expression) => `coalesce(CAST(to_json(${expression}) AS VARCHAR), 'null')`).join(', ')}))`
const splitJson = (value: unknown): ByteString[] => {
  const { bytes } = value as DuckDBBlobValue
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('latin1')
    .split(String.fromCharCode(SEPARATOR))
    .map(normaliseEscapes)
}
/** DuckDB escapes control characters differently from JSON.stringify. */
const normaliseEscapes = (json: ByteString): ByteString =>
  json.includes('\\u') ? jsonBytes(JSON.parse(fromByteString(json)) as JsonValue) : json

/** @returns rows whose record only the engine can answer */
async function writeRows(
  { connection, from, rows }: RowFileSource,
  segments: readonly Segment[],
  texts: readonly FieldName[],
  headSegments: number,
  encode: (text: ByteString) => ByteString,
  out: SectionWriter,
  addText: ((text: ByteString) => void) | null,
): Promise<number[]> {
  const engineRows: number[] = []
  const encodedValues = segments.map((segment) =>
    segment.kind === 'code'
      ? segment.column.values.map((_, number) =>
          segment.column.values.length <= 256
            ? String.fromCharCode(number)
            : String.fromCharCode(number & 255, number >>> 8),
        )
      : new Array<ByteString>(segment.kind === 'repeated' ? segment.column.values.length : 0),
  )
  const encodedNull = encode('null')
  const numbers = texts.filter((field) => !isJsonField(field))
  const jsonFields = texts.filter(isJsonField)
  const expressions = [...jsonFields.map(textExpression), ...(addText === null ? [] : ['search_text'])]
  const columns = [...(expressions.length === 0 ? [] : [jsonOf(expressions)]), ...numbers.map(textExpression)]
  const textIndexes = new Map(
    texts.map((field) => [field, (isJsonField(field) ? jsonFields : numbers).indexOf(field)]),
  )
  const source =
    columns.length === 0 ? null : await connection.stream(`SELECT ${columns.join(', ')} FROM ${from}`)
  let values: readonly (readonly DuckDBValue[])[] = []
  let [base, next] = [0, 0]
  let block: ByteString[] = []
  let [lastHead, lastHeadRow] = ['', 0]
  for (let row = 0; row < rows; row += 1) {
    if (row === next && source !== null) {
      const chunk = await source.fetchChunk()
      if (chunk === null || chunk.rowCount === 0) throw new RangeError('fewer rows than the manifest says')
      values = columns.map((_, index) => chunk.getColumnValues(index))
      base = row
      next = row + chunk.rowCount
    }
    let [body, head] = ['', '']
    const json = expressions.length === 0 ? [] : splitJson(values[0]?.[row - base])
    for (let index = 0; index < segments.length; index += 1) {
      if (index === headSegments) [head, body] = [body, '']
      const segment = segments[index] as Segment
      if (segment.kind === 'texts') {
        const textIndex = textIndexes.get(segment.field) ?? 0
        if (isJsonField(segment.field)) body += encode(json[textIndex] ?? 'null')
        else {
          const value = values[columns.length - numbers.length + textIndex]?.[row - base] ?? null
          if (typeof value === 'number' && !Number.isFinite(value)) engineRows.push(row)
          body += value === null ? encodedNull : encode(jsonBytes(decodeNumber(value)))
        }
        continue
      }
      const code = segment.column.codes[row] ?? 0
      let encodedValue = encodedValues[index]?.[code]
      if (encodedValue === undefined) {
        encodedValue = encode(jsonBytes(segment.column.values[code] ?? null))
        ;(encodedValues[index] as ByteString[])[code] = encodedValue
      }
      body += encodedValue
    }
    if (headSegments > 0) {
      const at = block.length
      // A row with the same head as the row before it in the block refers to the stored head.
      if (at === 0 || head !== lastHead) [lastHead, lastHeadRow] = [head, at]
      body = String.fromCharCode(lastHeadRow) + (lastHeadRow === at ? head : '') + body
    }
    block.push(body)
    if (addText !== null) addText(textOf(json.at(-1) ?? 'null'))
    if (block.length === BLOCK_ROWS || row === rows - 1) {
      writeBlock(out, block)
      block = []
    }
  }
  if (source !== null && ((await source.fetchChunk())?.rowCount ?? 0) > 0)
    throw new RangeError('more rows than the manifest says')
  return engineRows
}

/** Decodes a number as the engine does. A number that is not finite becomes null, and its row is left to the engine. */
const decodeNumber = (value: DuckDBValue): JsonValue =>
  typeof value === 'number' && !Number.isFinite(value) ? null : decodeValue(value)

/** @returns the content of a JSON string; empty for null */
const textOf = (json: ByteString): ByteString =>
  json.startsWith('"')
    ? json.includes('\\')
      ? toByteString(JSON.parse(fromByteString(json)) as string)
      : json.slice(1, -1)
    : ''

/** Writes the offset of each row, three bytes each, then the rows. */
function writeBlock(out: SectionWriter, block: readonly ByteString[]): void {
  let at = 3 * block.length
  let textIndexes = ''
  for (const body of block) {
    textIndexes += String.fromCharCode(at & 255, (at >>> 8) & 255, at >>> 16)
    at += body.length
  }
  if (at >= 1 << 24) throw new RangeError('rows of more than 16 MiB')
  out.addBlock(Buffer.from(textIndexes + block.join(''), 'latin1'))
}

function writeFilters(
  out: SectionWriter,
  dataset: Dataset,
  coded: ReadonlyMap<string, CodedColumn>,
): FilterIndexHead[] {
  const columns = new Map<string, CodedColumn>()
  for (const name of filterColumns(dataset)) {
    const column = coded.get(name)
    if (column === undefined) continue
    columns.set(
      name,
      isPositive(dataset, name)
        ? reduceToSigns(column)
        : name === DECLARATIONS
          ? reduceToProfiles(column)
          : column,
    )
  }
  return groupColumns(columns).map(({ names, column: { codes, values } }) => {
    const lists = packLists(values.length, (add) => {
      for (let row = 0; row < codes.length; row += 1) add(codes[row] ?? 0, row)
    })
    return {
      columns: names,
      entries: values as readonly (readonly JsonValue[])[],
      ends: out.put(lists.ends),
      bytes: out.put(lists.bytes),
    }
  })
}

const isPositive = (dataset: Dataset, column: string): boolean =>
  Object.values(dataset.filters ?? {}).some(
    (filter) => filter.kind === 'positive' && filter.column === column,
  )

/** Reduces quantities to what filters test: above zero or not. */
const reduceToSigns = (column: CodedColumn): CodedColumn =>
  recode(column, (value) => (value === null ? null : Number(value) > 0 ? 1 : 0))
const reduceToProfiles = (column: CodedColumn): CodedColumn =>
  recode(column, (value) => profilesOf(value) as JsonValue)

/** Maps values to fewer distinct values. */
function recode({ codes, values }: CodedColumn, convert: (value: JsonValue) => JsonValue): CodedColumn {
  const numbers = new Map<string, number>()
  const convertedValues: JsonValue[] = []
  const newCodes = Uint32Array.from(values, (value) => {
    const converted = convert(value)
    const text = JSON.stringify(converted)
    let number = numbers.get(text)
    if (number === undefined) {
      number = convertedValues.length
      numbers.set(text, number)
      convertedValues.push(converted)
    }
    return number
  })
  return { codes: codes.map((code) => newCodes[code] ?? 0), values: convertedValues }
}

function putStrings(out: SectionWriter, strings: readonly string[]): StringRanges {
  const ends = new Uint32Array(strings.length)
  let size = 0
  for (const [index, text] of strings.entries()) {
    size += text.length
    ends[index] = size
  }
  return { ends: out.put(ends), bytes: out.put(Buffer.from(strings.join(''), 'latin1')) }
}
