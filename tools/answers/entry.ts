/** Helpers for recorded requests: short constructors, a seeded draw, and codes of a server. */
import type { Entry } from './exchange.ts'

export type ListRow = Readonly<Record<string, unknown>>

/** @returns a function that draws without repetition; equal seeds give equal draws */
export function drawer(seed: number): <Item>(items: readonly Item[], count: number) => Item[] {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return (items, count) => {
    const left = [...items]
    return Array.from({ length: Math.min(count, left.length) }, () =>
      left.splice(Math.floor(next() * left.length), 1),
    ).flat()
  }
}

export const get = (path: string, overrides: Partial<Entry> = {}): Entry => ({
  name: overrides.name ?? `GET ${path}`,
  method: 'GET',
  path,
  key: 'all',
  headers: {},
  ...overrides,
})
export const post = (path: string, body: unknown, overrides: Partial<Entry> = {}): Entry => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return {
    name: overrides.name ?? `POST ${path} ${text.slice(0, 300)}`,
    method: 'POST',
    path,
    key: 'all',
    headers: {},
    body: text,
    ...overrides,
  }
}

/** Codes that exist on the server, from which entries are built. */
export interface Codes {
  readonly facilities: readonly string[]
  readonly closed: readonly string[]
  readonly beds: readonly ListRow[]
  readonly equipment: readonly ListRow[]
  readonly services: readonly ListRow[]
  readonly municipalities: readonly ListRow[]
  readonly words: readonly string[]
  readonly period: string
}
