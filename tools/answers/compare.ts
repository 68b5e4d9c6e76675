/**
 * Compares two responses to one request, except for what may differ between servers.
 *
 * Ignored are times, request ids, rates, and the text of cursors and ETags; their effects are compared by further requests.
 * Workbooks, Parquet and Arrow are compared by cells and metadata, and differing bytes are only noted. Everything else is
 * compared byte for byte.
 */
import { isDeepStrictEqual } from 'node:util'
import { read as readWorkbook } from '@e965/xlsx'
import { tableFromIPC } from 'apache-arrow'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import type { Answer, Entry, Ids } from './exchange.ts'

export interface Side {
  readonly answer: Answer
  readonly ids: Ids
}

/** Headers of the connection or the moment, which are not compared. */
const UNCOMPARED = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])
/** Headers whose presence is compared, but not their value. */
const PRESENT = new Set(['x-request-id', 'ratelimit', 'server-timing', 'etag'])
/** Digests of bytes: noted when the cells are equal, ignored when the release ids differ. */
const DIGESTS = new Set(['x-artifact-sha256', 'repr-digest'])

/** @returns differences that matter, and those that are only noted */
export async function compareAnswers(
  entry: Entry,
  left: Side,
  right: Side,
): Promise<{ readonly differences: string[]; readonly notes: string[] }> {
  const differences: string[] = []
  const notes: string[] = []
  const isSameRelease = isDeepStrictEqual(left.ids, right.ids)
  if (left.answer.status !== right.answer.status)
    differences.push(`status ${left.answer.status} and ${right.answer.status}`)
  const names = new Set([...Object.keys(left.answer.headers), ...Object.keys(right.answer.headers)])
  for (const name of [...names].sort()) {
    if (UNCOMPARED.has(name)) continue
    const [before, after] = [headerOf(left, name, isSameRelease), headerOf(right, name, isSameRelease)]
    if (before === after || (DIGESTS.has(name) && !isSameRelease)) continue
    const text = `header ${name}: ${before ?? '(none)'} and ${after ?? '(none)'}`
    // The server may choose any accepted coding, because bodies are compared decoded. An additional header is harmless.
    const isNote =
      before === undefined ||
      name === 'content-encoding' ||
      (name === 'x-artifact-sha256' && before !== undefined && after !== undefined)
    if (isNote) notes.push(text)
    else differences.push(text)
  }
  if (left.answer.body.equals(right.answer.body)) return { differences, notes }
  const [before, after] = [await textOf(left, isSameRelease), await textOf(right, isSameRelease)]
  if (before === after) return { differences, notes }
  const [old, now] = [parse(before), parse(after)]
  if (old === undefined || now === undefined) {
    differences.push(`body: ${firstTextDifference(before, after)}`)
    return { differences, notes }
  }
  const found = differencesOf(old, now)
  if (found.length === 0)
    differences.push(`body: equal values written otherwise: ${firstTextDifference(before, after)}`)
  const lenient = entry.lenient === undefined ? null : new RegExp(entry.lenient)
  const serious = found.filter(({ path }) => lenient?.test(path) !== true)
  const harmless = found.filter(({ path }) => lenient?.test(path) === true)
  differences.push(...serious.slice(0, 5).map(({ text }) => text))
  if (serious.length > 5) differences.push(`and ${serious.length - 5} more`)
  notes.push(...harmless.slice(0, 3).map(({ text }) => text))
  if (harmless.length > 3) notes.push(`and ${harmless.length - 3} more`)
  return { differences, notes }
}

function headerOf({ answer, ids }: Side, name: string, isSameRelease: boolean): string | undefined {
  const value = answer.headers[name]
  if (value === undefined) return undefined
  if (name === 'etag') return value.startsWith('W/') ? 'weak' : 'strong'
  if (PRESENT.has(name)) return 'present'
  if (name === 'vary' || name === 'access-control-expose-headers')
    return [...new Set(value.toLowerCase().split(/\s*,\s*/))].sort().join(', ')
  return plain(value, answer, ids, isSameRelease)
}

/** Replaces the parts of a text that may differ between servers. */
function plain(text: string, { headers }: Answer, ids: Ids, isSameRelease: boolean): string {
  let plainText = text
    .replaceAll(/"request_id":"[^"]*"/g, '"request_id":"{request_id}"')
    .replaceAll(/"next_cursor":"[^"]*"/g, '"next_cursor":"{cursor}"')
  for (const [area, id] of Object.entries(ids)) plainText = plainText.replaceAll(id, `{${area}}`)
  if (isSameRelease) return plainText
  const fingerprint = headers['x-report-fingerprint']
  if (fingerprint !== undefined)
    plainText = plainText
      .replaceAll(fingerprint, '{fingerprint}')
      .replaceAll(fingerprint.slice(0, 12), '{fingerprint}')
  return plainText.replaceAll(/(fingerprint|manifest_sha256)(\W{1,12})[0-9a-f]{64}/g, '$1$2{digest}')
}

const toText = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint'
    ? `${value}n`
    : value instanceof Uint8Array
      ? Buffer.from(value).toString('hex')
      : value

/** @returns a body as text; for binary formats, cells and metadata */
async function textOf({ answer, ids }: Side, isSameRelease: boolean): Promise<string> {
  const { headers, body } = answer
  const type = headers['content-type'] ?? ''
  const isReport =
    headers['x-report-fingerprint'] !== undefined && headers['content-disposition'] !== undefined
  if (type.includes('spreadsheetml')) return plain(workbookText(body), answer, ids, isSameRelease)
  if (type.includes('arrow.stream')) return plain(arrowText(body), answer, ids, isSameRelease)
  if (type.includes('parquet'))
    return isReport
      ? plain(await parquetText(body), answer, ids, isSameRelease)
      : isSameRelease
        ? body.toString('latin1')
        : ''
  return plain(body.toString(), answer, ids, isSameRelease)
}

function workbookText(body: Buffer): string {
  const workbook = readWorkbook(body, { type: 'buffer', cellFormula: true, cellNF: true, cellStyles: true })
  const sheets = workbook.SheetNames.map((name) => {
    const cells = Object.entries(workbook.Sheets[name] ?? {}).map(([address, cell]) => {
      const { t, v, f, z } = (address.startsWith('!') ? { v: cell } : cell) as Record<string, unknown>
      return `${address} ${JSON.stringify([v, t, f, z], toText)}`
    })
    // Join a manifest field's cell and its value's cell, so that digests are found by their field name.
    return `${name}\n${cells.join('\n').replaceAll(/"(fingerprint|manifest_sha256)"[^\n]*\n[A-Z]+\d+ \[/g, '"$1" [')}`
  })
  return JSON.stringify([...sheets.flatMap((sheet) => sheet.split('\n')), workbook.Props], toText)
}

function arrowText(body: Buffer): string {
  const table = tableFromIPC(body)
  const fields = table.schema.fields.map(({ name, type, nullable, metadata }) => [
    name,
    `${type}`,
    nullable,
    [...metadata],
  ])
  return JSON.stringify(
    [[...table.schema.metadata], fields, table.toArray().map((row) => row?.toJSON())],
    toText,
  )
}

async function parquetText(body: Buffer): Promise<string> {
  const file = body.buffer.slice(body.byteOffset, body.byteOffset + body.length) as ArrayBuffer
  const { schema, key_value_metadata: metadata } = parquetMetadata(file)
  return JSON.stringify([schema, metadata, await parquetReadObjects({ file })], toText)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Difference {
  readonly path: string
  readonly text: string
}

/** Lists all differing members of two JSON values, in the first value's order. A different member order is a difference, too. */
function differencesOf(left: unknown, right: unknown, path = ''): Difference[] {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null
  if (isObject(left) && isObject(right) && Array.isArray(left) === Array.isArray(right)) {
    const found = [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((name) =>
      differencesOf(left[name], right[name], `${path}/${name}`),
    )
    if (found.length > 0 || isDeepStrictEqual(Object.keys(left), Object.keys(right))) return found
    return [{ path, text: `${path}: the members stand in another order` }]
  }
  if (Object.is(left, right)) return []
  const short = (value: unknown): string => (JSON.stringify(value) ?? '(none)').slice(0, 300)
  return [{ path, text: `${path}: ${short(left)} and ${short(right)}` }]
}

function firstTextDifference(left: string, right: string): string {
  let position = 0
  while (position < left.length && left[position] === right[position]) position += 1
  const around = (text: string): string =>
    JSON.stringify(text.slice(Math.max(0, position - 60), position + 120))
  return `at character ${position}: ${around(left)} and ${around(right)}`
}
