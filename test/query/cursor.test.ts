/**
 * Cursors: what was given out comes back; nothing else does. Mutations are exhaustive where they can be counted and
 * seeded where not, so a failure repeats.
 */
import { createHmac } from 'node:crypto'
import t from 'tap'
import { AppError } from '../../src/errors.ts'
import { type Cursor, decodeCursor, digestListQuery, encodeCursor } from '../../src/query/lists/cursor.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const MAC_BYTES = 16
const secret = Buffer.alloc(32, 7)
const query = digestListQuery('bed_capacity', { status: 'active' }, ['cnes_code', 'bed_type_code'])
const cursor: Cursor = {
  release: `demo-analytics-br-202605-${'0123456789abcdef'.repeat(4)}`,
  query,
  after: ['0005119', '03'],
}
const text = encodeCursor(cursor, secret)

/** @returns code of the error a text is refused with, or null where it is taken */
function refusal(candidate: string, key = secret): string | null {
  try {
    decodeCursor(candidate, key)
    return null
  } catch (error) {
    return error instanceof AppError ? error.code : `not an AppError: ${String(error)}`
  }
}

/** Counts what is not refused as it should be: one assertion for thousands of candidates. */
function wrongly(candidates: Iterable<string>): { tried: number; wrong: string[] } {
  const wrong: string[] = []
  let tried = 0
  for (const candidate of candidates) {
    if (candidate === text) continue
    tried += 1
    const code = refusal(candidate)
    if (code !== 'invalid_cursor') wrong.push(`${code}: ${candidate.slice(0, 80)}`)
  }
  return { tried, wrong }
}

/** Mulberry32: the same numbers in every run. @returns whole numbers from 0 to below */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

t.test('what was given out comes back', async (t) => {
  const positions: Cursor['after'][] = [
    ['0005119', '03'],
    [1400100],
    [202605, '0005119', '01', '02'],
    ['1400100', 2024, 'ESTIMATED_POPULATION'],
  ]
  for (const after of positions) {
    const encoded = encodeCursor({ ...cursor, after }, secret)
    t.same(decodeCursor(encoded, secret), { ...cursor, after })
    t.match(encoded, /^[A-Za-z0-9_-]+$/, 'is base64url')
    t.ok(encoded.length <= 1024, 'is within the bound of the parameter')
    t.equal(encodeCursor({ ...cursor, after }, secret), encoded, 'equal positions give equal texts')
  }
})

t.test('every single character replaced, removed, doubled, inserted or swapped', async (t) => {
  function* mutate(): Generator<string> {
    for (let at = 0; at <= text.length; at += 1) {
      const before = text.slice(0, at)
      for (const character of ALPHABET) {
        yield before + character + text.slice(at)
        if (at < text.length) yield before + character + text.slice(at + 1)
      }
      if (at === text.length) continue
      yield before + text.slice(at + 1)
      yield before + (text[at] ?? '').repeat(2) + text.slice(at + 1)
      yield before + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2)
    }
  }
  const { tried, wrong } = wrongly(mutate())
  t.ok(tried > 20_000, `${tried} mutations`)
  t.same(wrong, [])
})

t.test('every bit flipped, every length cut', async (t) => {
  const bytes = Buffer.from(text, 'base64url')
  function* mutate(): Generator<string> {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      yield changed.toString('base64url')
    }
    for (let length = 0; length < bytes.length; length += 1) {
      yield bytes.subarray(0, length).toString('base64url')
      yield bytes.subarray(bytes.length - length).toString('base64url')
    }
    for (let length = 0; length < text.length; length += 1) yield text.slice(0, length)
  }
  const { tried, wrong } = wrongly(mutate())
  t.ok(tried > 1_500, `${tried} mutations`)
  t.same(wrong, [])
})

t.test('many changes at once', async (t) => {
  const pick = seeded(1)
  function* mutate(): Generator<string> {
    for (let round = 0; round < 5_000; round += 1) {
      const characters = [...text]
      for (let change = 0; change <= pick(8); change += 1)
        characters[pick(characters.length)] = ALPHABET[pick(64)] ?? ''
      yield characters.join('')
      yield Array.from({ length: 1 + pick(400) }, () => ALPHABET[pick(64)]).join('')
    }
  }
  const { tried, wrong } = wrongly(mutate())
  t.ok(tried > 9_000, `${tried} mutations`)
  t.same(wrong, [])
})

t.test('other spellings of the same bytes', async (t) => {
  const standard = Buffer.from(text, 'base64url').toString('base64')
  const spellings = [
    `${text}=`,
    `${text}==`,
    ` ${text}`,
    `${text} `,
    `${text}\n`,
    `${text}\u0000`,
    `${text.slice(0, 20)}\n${text.slice(20)}`,
    `"${text}"`,
    `${text}%00`,
    encodeURIComponent(`${text}=`),
    `${standard}+/`,
    Buffer.from(text, 'base64url').toString('hex'),
    Buffer.from(text).toString('base64url'),
  ]
  t.same(wrongly(spellings).wrong, [])
  // A length that is no multiple of three bytes leaves bits at the end that decoders ignore.
  for (const after of [['a'], ['ab'], ['abc']]) {
    const given = encodeCursor({ ...cursor, after }, secret)
    const twins = [...ALPHABET].map((last) => given.slice(0, -1) + last).filter((twin) => twin !== given)
    t.same(
      twins.filter((twin) => refusal(twin) !== 'invalid_cursor'),
      [],
    )
  }
})

t.test('no text, strange text, long text', async (t) => {
  const texts = ['', '-', '_', 'null', '[]', '{}', 'á', '\ud800', '💥', '../../etc', "' OR 1=1 --", '\u0000']
  t.same(wrongly(texts).wrong, [])
  const long = encodeCursor({ ...cursor, after: ['x'.repeat(1024)] }, secret)
  t.equal(refusal(long), 'invalid_cursor', 'even ours, beyond the bound')
  t.equal(refusal('A'.repeat(10_000_000)), 'invalid_cursor')
})

t.test('forgeries', async (t) => {
  const bytes = Buffer.from(text, 'base64url')
  const mac = bytes.subarray(0, MAC_BYTES)
  const body = bytes.subarray(MAC_BYTES)
  const other = Buffer.from(encodeCursor({ ...cursor, after: ['0005119', '04'] }, secret), 'base64url')
  const write = (...parts: Buffer[]): string => Buffer.concat(parts).toString('base64url')
  const forge = (content: unknown, key: Buffer): string => {
    const forged = Buffer.from(JSON.stringify(content))
    return write(createHmac('sha256', key).update(forged).digest().subarray(0, MAC_BYTES), forged)
  }
  const content = [1, cursor.release, cursor.query, cursor.after]
  t.equal(forge(content, secret), text, 'the test writes cursors as the service does')
  t.same(
    wrongly([
      write(mac, other.subarray(MAC_BYTES)),
      write(other.subarray(0, MAC_BYTES), body),
      write(body, mac),
      write(body),
      write(mac),
      write(Buffer.alloc(MAC_BYTES), body),
      forge(content, Buffer.alloc(32, 8)),
      forge(content, Buffer.alloc(0)),
      forge([0, ...content.slice(1)], secret),
      forge([2, ...content.slice(1)], secret),
      forge(['1', ...content.slice(1)], secret),
    ]).wrong,
    [],
  )
  t.equal(refusal(text, Buffer.alloc(32, 8)), 'invalid_cursor', 'another service does not take it')
  t.equal(refusal(text), null)
})

t.test('a refusal repeats nothing of the text', async (t) => {
  try {
    decodeCursor('c2VjcmV0', secret)
    t.fail('is refused')
  } catch (error) {
    t.ok(error instanceof AppError)
    t.notMatch(JSON.stringify([error, String(error), error instanceof AppError && error.errors]), /c2VjcmV0/)
    t.match(error, { errors: [{ parameter: 'cursor' }] })
  }
})

t.test('a query of a list is its dataset, filters and order', async (t) => {
  const order = ['cnes_code']
  const base = digestListQuery('facilities', { uf: 'RR', status: 'active' }, order)
  t.equal(
    digestListQuery('facilities', { status: 'active', uf: 'RR' }, order),
    base,
    'order of writing is no matter',
  )
  const others = [
    digestListQuery('bed_capacity', { uf: 'RR', status: 'active' }, order),
    digestListQuery('facilities', { uf: 'RR' }, order),
    digestListQuery('facilities', { uf: 'AC', status: 'active' }, order),
    digestListQuery('facilities', { uf: 'active', status: 'RR' }, order),
    digestListQuery('facilities', { uf: 'RR', status: 'active', search: '' }, order),
    digestListQuery('facilities', { uf: 'RR', status: 'active' }, ['reference_period', 'cnes_code']),
    digestListQuery('facilities', { uf: 'RR', status: 'active' }, []),
    digestListQuery('facilities', { uf: 'RR","status":"active' }, order),
  ]
  t.equal(new Set([base, ...others]).size, others.length + 1)
})
