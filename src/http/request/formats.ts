/** Chooses the format of an answer from the Accept header. It reports 406 instead of sending another format. */
import type { IncomingHttpHeaders } from 'node:http'
import accepts from 'accepts'
import { AppError, both } from '../../errors.ts'
import type { Route } from '../route.ts'

export type ListFormat = 'json' | 'csv' | 'geojson'

export const JSON_NAME = 'application/json'
export const CSV_NAME = 'text/csv'
export const GEOJSON_NAME = 'application/geo+json'
const FORMATS: Readonly<Record<string, ListFormat>> = { [CSV_NAME]: 'csv', [GEOJSON_NAME]: 'geojson' }

/** @returns content types of a route's answer, the default first; empty when the handler chooses */
export function typesOf(route: Route): readonly string[] {
  if (route.kind === 'custom') return route.isCacheable === true ? [JSON_NAME, ...(route.produces ?? [])] : []
  if (route.kind === 'all') return [JSON_NAME, CSV_NAME]
  if (route.kind !== 'list') return [JSON_NAME]
  return [JSON_NAME, CSV_NAME, ...(route.features === undefined ? [] : [GEOJSON_NAME])]
}

/** @returns the client's preferred type; the first without a preference, null when none is acceptable */
export function preferredType(headers: IncomingHttpHeaders, types: readonly string[]): string | null {
  const { accept } = headers
  if (accept === undefined || accept === '' || accept === '*/*' || accept === types[0])
    return types[0] ?? null
  const accepted = accepts({ headers } as Parameters<typeof accepts>[0]).type([...types])
  return typeof accepted === 'string' ? accepted : null
}

/** @param types content types of the route's answer @throws AppError 'not_acceptable' */
export function formatOf(types: readonly string[], headers: IncomingHttpHeaders): ListFormat {
  if (types.length === 0) return 'json'
  const type = preferredType(headers, types)
  if (type !== null) return FORMATS[type] ?? 'json'
  const offered = types.join(', ')
  throw new AppError('not_acceptable', {
    detail: both(`Esta rota responde com ${offered}.`, `This route answers with ${offered}.`),
    extra: { offered: types },
  })
}

/** Requests charged to the key's rate for each format of a list. A CSV without a limit is the complete list. */
export const LIST_COSTS: Readonly<Record<ListFormat, number>> = { json: 1, csv: 20, geojson: 5 }

/** @param cost charge of the route @param query raw query @returns requests charged to the key's rate */
export function requestCost(route: Route, cost: number, headers: IncomingHttpHeaders, query: object): number {
  const { accept } = headers
  if (route.kind !== 'list' || accept === undefined || accept === '*/*' || accept === JSON_NAME) return cost
  const format = FORMATS[preferredType(headers, typesOf(route)) ?? ''] ?? 'json'
  return format === 'csv' && Object.hasOwn(query, 'limit') ? cost : LIST_COSTS[format]
}
