/**
 * Types of routes: an endpoint is data. To add one, add a row to routes/<tag>.ts; handlers.ts answers it by kind and openapi/ describes it.
 * Kinds: list (keyset page), all (a complete small table), record (one row by key), scoped (rows and totals of one facility), provenance
 * (values of one record traced to files), custom (has a handler). Paths use the specification's {parameters}.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { z } from 'zod'
import type { Readiness } from '../answers/service.ts'
import type { Engine, EngineName, JsonValue, ReleaseSource } from '../engine/types.ts'
import type { Key } from '../keys/keys.ts'
import type { Trust } from '../keys/trust.ts'
import { AREA_NAMES, areaOf } from '../model/areas.ts'
import type { Capability } from '../model/capabilities.ts'
import type { Area, Dataset } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import type { ReleaseView } from '../release/view.ts'
import type { ReportPool } from '../report/pool.ts'
import type { ByteString, RowStore } from '../rows/row-store.ts'
import type { LogProblem, LogWatch } from '../trust/log-watch.ts'

export const VERSION = '0.1.0'

/** Digest of the built sources, which tools/build.js puts in; sources that run as they are lack it. */
declare const SUS_DATA_BUILD: string
export const BUILD = typeof SUS_DATA_BUILD === 'undefined' ? VERSION : SUS_DATA_BUILD

interface RouteBase {
  readonly path: string
  /** OpenAPI operation id, used as the function name in generated clients: a verb and its object. */
  readonly operation: string
  readonly summary: string
  /** Required capability; 'any' accepts every valid key, null needs no key. */
  readonly capability: Capability | 'any' | null
  readonly response: string
}

export interface ListRoute extends RouteBase {
  readonly kind: 'list'
  readonly dataset: Dataset
  readonly filters: readonly string[]
  readonly limit: { readonly default: number; readonly max: number }
  readonly defaults?: Readonly<Record<string, string>>
  /** Row limits as GeoJSON. Set for facilities only, which also enables bbox and near. */
  readonly features?: { readonly default: number; readonly max: number }
  readonly includes?: 'facility'
  /** Extra members of `meta`, computed from the parameters alone. */
  readonly about?: (params: Readonly<Record<string, string>>) => Readonly<Record<string, JsonValue>>
  /** Path parameter that acts as a filter. A value that the filter rejects is 404. */
  readonly pathFilter?: { readonly parameter: string; readonly filter: string }
}

export interface AllRoute extends RouteBase {
  readonly kind: 'all'
  readonly dataset: Dataset
  readonly filters?: readonly string[]
}

/** Key column (also the path parameter) → number of digits in its code. */
type KeyDigits = Readonly<Partial<Record<FieldName, number>>>

export interface RecordRoute extends RouteBase {
  readonly kind: 'record'
  /** The record has `coordinates_suspect` (coordinates.ts). */
  readonly marksCoordinates?: true
  readonly dataset: Dataset
  readonly key: KeyDigits
}

export interface ScopedRoute extends RouteBase {
  readonly kind: 'scoped'
  readonly dataset: Dataset
  /** Total name → summed field, or 'rows' for a count. */
  readonly totals: Readonly<Record<string, FieldName | 'rows'>>
}

export interface ProvenanceRoute extends RouteBase {
  readonly kind: 'provenance'
  readonly dataset: Dataset
  readonly key: KeyDigits
}

export type RecordLink = (link: {
  readonly releaseIds: readonly string[]
  readonly keyId: string
  readonly expiresMs: number
}) => void

export interface FileProblems {
  readonly keys: () => string | null
  /** Problems with files of the log and with proofs stored beside releases. */
  readonly log: () => readonly LogProblem[]
  /** State of the place that this server copies releases from; absent without one. */
  readonly source?: () => SourceState
}

export type SourceState = NonNullable<Readiness['source']>

/** Parts of the process that all requests share. */
export interface Services {
  readonly engine: Engine
  readonly releases: ReleaseSource
  readonly reports: ReportPool
  /** Row files of open releases; null sends every request to the engine. */
  readonly rows: RowStore | null
  /** Keys whose signatures this server trusts. */
  readonly trust: Trust
  /** Problems with files outside releases; absent when they are not monitored. */
  readonly fileProblems?: FileProblems
  /** The log of releases. */
  readonly log: Pick<LogWatch, 'read'>
  readonly cursorSecret: Buffer
  /** Records the releases that a link names, so that pruning keeps them. */
  readonly recordLink?: RecordLink
}

/** A request after its checks. */
export interface Call {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly parameters: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly key: Key | null
  readonly language: 'pt' | 'en'
  /** @returns a signal that aborts when the client leaves */
  readonly signal: () => AbortSignal
  /** The engine, on behalf of the key that asks. */
  readonly engine: Engine
  /** The release that answers; null for routes of no release. */
  readonly view: ReleaseView | null
}

interface EnvelopeParts {
  readonly pagination?: JsonValue
  readonly meta?: Readonly<Record<string, JsonValue>>
  readonly rows?: number
}

export interface DataResult extends EnvelopeParts {
  readonly data: JsonValue
  readonly totals?: JsonValue
}

/** Data that are already JSON. */
export interface JsonResult extends EnvelopeParts {
  /** JSON text, or chunks of bytes when it is long. Totals may follow the data in the chunks. */
  readonly json: ByteString | readonly Buffer[]
}

/** A body without the envelope: bytes are sent unchanged. */
export interface FileResult {
  readonly content: Readable | string | Buffer
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  /** Default 200; 206 for a byte range, 304 for an unchanged file. */
  readonly status?: number
  readonly rows?: number
  /** The engine that ran the aggregation, when two are configured and another process ran it. */
  readonly engine?: EngineName
}

export type Result = DataResult | JsonResult | FileResult

export interface CustomRoute extends RouteBase {
  readonly kind: 'custom'
  readonly method: 'GET' | 'POST'
  /** Requests charged to the key's rate; 1 by default. */
  readonly cost?: number
  readonly costsByRows?: boolean
  /** Area whose release id the answer carries, 'analytics' for the joined release, or null. */
  readonly release: Area | 'analytics' | null
  readonly query?: Readonly<Record<string, z.ZodType<string | undefined>>>
  /** Path parameters for the API document. The handler answers 404 for any other value. */
  readonly pathSchemas?: Readonly<Record<string, z.ZodType<string>>>
  /** The answer may be cached: it depends only on release, parameters, body, language and capabilities. */
  readonly isCacheable?: boolean
  readonly body?: z.ZodType
  /** Never compress the answer, because clients may request byte ranges of it. */
  readonly isRaw?: boolean
  /** Content types besides the JSON envelope. */
  readonly produces?: readonly string[]
  /** Reads the pinned release from the body before the body is validated. */
  readonly bodyPin?: (body: unknown, query: Readonly<Record<string, string>>) => string | null
  readonly handle: (call: Call, services: Services) => Promise<Result> | Result
}

export type Route = ListRoute | AllRoute | RecordRoute | ScopedRoute | ProvenanceRoute | CustomRoute

export const methodOf = (route: Route): 'GET' | 'POST' => (route.kind === 'custom' ? route.method : 'GET')
export const costOf = (route: Route): number => (route.kind === 'custom' ? (route.cost ?? 1) : 1)
/** Rows that cost one request: the largest page of a list. */
export const ROWS_A_REQUEST = 250
export const releaseAreaOf = (route: Route): Area | 'analytics' | null =>
  route.kind === 'custom' ? route.release : route.dataset.area
const ANALYTICS_HEADER = 'x-analytics-release-id'
/** Response headers that carry release ids. */
export const RELEASE_HEADERS = [
  ...new Set(AREA_NAMES.map((area) => areaOf(area).releaseHeader)),
  ANALYTICS_HEADER,
] as const
/** @returns name of the header with the release id; '' when the route has none */
export function releaseHeaderOf(route: Route): string {
  const area = releaseAreaOf(route)
  if (area === null) return ''
  if (area === 'analytics') return ANALYTICS_HEADER
  return areaOf(area === 'demography' && !route.path.startsWith('/v1/demography') ? 'cnes' : area)
    .releaseHeader
}
export const releaseMeta = (view: ReleaseView | null, releaseId: string | null): Record<string, JsonValue> =>
  view === null ? {} : { release_id: releaseId, synthetic: view.synthetic }
/** Converts a path to Fastify's syntax. {path} matches the rest of the URL, including slashes. */
export const fastifyPath = (path: string): string =>
  path.replace('{path}', '*').replaceAll(/\{(\w+)\}/g, ':$1')
