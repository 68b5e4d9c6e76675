/**
 * Keyset cursors: opaque, versioned, signed, and bound to a release, query and order. In: the key of a page's last row. Out: base64url
 * text, and back. A page starts after a key, not at a row number, so consecutive pages neither skip nor repeat rows. Decoding rejects every
 * text that this module did not sign; the caller compares release and query.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError, both } from '../../errors.ts'
import { digestJson } from '../../release/digest.ts'

const VERSION = 1
const MAC_BYTES = 16
const MAX_CHARACTERS = 1024

export interface Cursor {
  readonly release: string
  /** Digest of dataset, filters and order; see digestListQuery. */
  readonly query: string
  readonly after: readonly (string | number)[]
}

/** Digests by query text. Lists without filters need the same digest for every page. */
const DIGESTS = new Map<string, string>()
const DIGESTS_MAX = 1000

/** @returns digest that binds a cursor to a list query; equal queries have equal digests */
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

/** @throws AppError 'invalid_cursor' for any text that encodeCursor did not make with this secret */
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
  // Several texts decode to the same bytes. Accept only the one that encodeCursor makes.
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
