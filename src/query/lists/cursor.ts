/**
 * Keyset cursors: opaque, versioned, signed, bound to release, query and order.
 *
 * In: what a page ends with. Out: base64url text, and back. A keyset page starts after a key, not at a row number, so
 * pages laid end to end are the list. Anything but a cursor of ours, unchanged, for the same query is refused.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError, both } from '../../errors.ts'
import { digestJson } from '../../release/digest.ts'

const VERSION = 1
const MAC_BYTES = 16
const MAX_CHARACTERS = 1024

export interface Cursor {
  /** Analytics release the walk is on. */
  readonly release: string
  /** Digest of dataset, filters and order. */
  readonly query: string
  /** Key of the last row of the page before. */
  readonly after: readonly (string | number)[]
}

/** Digests by query as text: those of lists without filters are needed with every page. */
const DIGESTS = new Map<string, string>()
const DIGESTS_MAX = 1000

/** @returns what binds a cursor to a query of a list; equal queries give equal digests */
export function digestListQuery(
  dataset: string,
  filters: Readonly<Record<string, string>>,
  order: readonly string[],
): string {
  const text = JSON.stringify([dataset, filters, order])
  let digest = DIGESTS.get(text)
  if (digest === undefined) {
    digest = digestJson({ dataset, filters, order }).slice(0, 32)
    if (DIGESTS.size >= DIGESTS_MAX) DIGESTS.clear()
    DIGESTS.set(text, digest)
  }
  return digest
}

export function encodeCursor(cursor: Cursor, secret: Buffer): string {
  const body = Buffer.from(JSON.stringify([VERSION, cursor.release, cursor.query, cursor.after]))
  return Buffer.concat([sign(body, secret), body]).toString('base64url')
}

/** @throws AppError 'invalid_cursor' for anything that encodeCursor did not make with this secret */
export function decodeCursor(text: string, secret: Buffer): Cursor {
  const errors = [
    {
      parameter: 'cursor',
      message: both('não é um cursor deste serviço', 'is not a cursor of this service'),
    },
  ]
  const refused = (): AppError => new AppError('invalid_cursor', { errors })
  if (text.length > MAX_CHARACTERS || !/^[A-Za-z0-9_-]+$/.test(text)) throw refused()
  const bytes = Buffer.from(text, 'base64url')
  // Two texts may decode to the same bytes; only the one that encodeCursor made is a cursor.
  if (bytes.toString('base64url') !== text || bytes.length <= MAC_BYTES) throw refused()
  const body = bytes.subarray(MAC_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), sign(body, secret))) throw refused()
  type Body = [version: number, release: string, query: string, after: (string | number)[]]
  const [version, release, query, after] = JSON.parse(body.toString()) as Body
  if (version !== VERSION) throw refused()
  return { release, query, after }
}

const sign = (body: Buffer, secret: Buffer): Buffer =>
  createHmac('sha256', secret).update(body).digest().subarray(0, MAC_BYTES)
