/**
 * An endpoint as data. Adding one is adding a row to routes/<tag>.ts; handlers.ts answers the kinds, openapi.ts describes them.
 *
 * Kinds: list (keyset page), all (a small table whole), record (one row by its key), scoped (one facility's rows and
 * totals), provenance (one record's values back to their files), custom (a handler of its own). Paths are written as in the specification, with {parameters}.
 */
import type { Readable } from 'node:stream'
import type { z } from 'zod'
import type { Engine, EngineName, JsonValue, ReleaseSource } from '../engine/types.ts'
import type { Key } from '../keys/keys.ts'
import type { Trust } from '../keys/trust.ts'
import type { Capability } from '../model/capabilities.ts'
import type { Area, Dataset } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import type { Lookups } from '../query/lists/lookup-batches.ts'
import type { ReleaseView } from '../release/view.ts'
import type { ReportPool } from '../report/pool.ts'
import type { ByteString, RowStore } from '../rows/row-store.ts'
import type { LogProblem } from '../trust/log-watch.ts'

/** Of the program, in every answer. */
export const VERSION = '0.1.0'

interface RouteBase {
  readonly path: string
  /** Name of the operation in the API document, by which generated clients call it: a verb and what it is of. */
  readonly operation: string
  readonly summary: string
  /** What a key needs; 'any': every valid key; null: no key. */
  readonly capability: Capability | 'any' | null
  /** Name of the response schema in the specification. */
  readonly response: string
}

export interface ListRoute extends RouteBase {
  readonly kind: 'list'
  readonly dataset: Dataset
  /** Names the dataset declares as filters. */
  readonly filters: readonly string[]
  readonly limit: { readonly default: number; readonly max: number }
  readonly defaults?: Readonly<Record<string, string>>
  /** Of facilities: it takes bbox and near, and these are its limits as GeoJSON. */
  readonly features?: { readonly default: number; readonly max: number }
  /** What rows may carry of others: `include=facility`, for keys that may read facilities. */
  readonly includes?: 'facility'
  /** What `meta` says of the list beside its rows; follows from its parameters alone. */
  readonly about?: (params: Readonly<Record<string, string>>) => Readonly<Record<string, JsonValue>>
  /** Path parameter that restricts the list: {parameter} → filter. A value the filter does not take is 404. */
  readonly pathFilter?: { readonly parameter: string; readonly filter: string }
}

export interface AllRoute extends RouteBase {
  readonly kind: 'all'
  readonly dataset: Dataset
  readonly filters?: readonly string[]
}

/** Path parameter, which is a key column too → digits of its code. */
type KeyDigits = Readonly<Partial<Record<FieldName, number>>>

export interface RecordRoute extends RouteBase {
  readonly kind: 'record'
  /** The record says whether its coordinates are where its municipality is (coordinates.ts). */
  readonly marksCoordinates?: true
  readonly dataset: Dataset
  readonly key: KeyDigits
}

export interface ScopedRoute extends RouteBase {
  readonly kind: 'scoped'
  readonly dataset: Dataset
  /** Name of a total → field summed, or 'rows'. */
  readonly totals: Readonly<Record<string, FieldName | 'rows'>>
}

/** Every attribute of one record back to file, row and column. */
export interface ProvenanceRoute extends RouteBase {
  readonly kind: 'provenance'
  readonly dataset: Dataset
  readonly key: KeyDigits
}

/** Files outside of releases that are missing or damaged now. */
export interface FileProblems {
  /** Sentence about the file of keys, or null. */
  readonly keys: () => string | null
  /** Files of the log, and proofs beside releases. */
  readonly log: () => readonly LogProblem[]
}

/** What a handler of a custom route receives. */
export interface HandlerRequest {
  /** Headers of a conditional or partial request. */
  readonly conditions: {
    readonly ifNoneMatch: string | undefined
    readonly ifRange: string | undefined
    readonly range: string | undefined
  }
  /** Scheme and host that the client reached the server by. */
  readonly origin: string
  /** The client wants the headers only. */
  readonly isHead: boolean
  readonly parameters: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly key: Key | null
  readonly language: 'pt' | 'en'
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** The content type of the list the client likes best; the first when it does not care, or likes none. */
  readonly preferred: (types: readonly string[]) => string
  readonly engine: Engine
  readonly lookups: Lookups
  readonly reports: ReportPool
  /** Row files of open releases; null: the engine answers everything. */
  readonly rows: RowStore | null
  /** The keys whose signatures are known here. */
  readonly trust: Trust
  readonly fileProblems?: FileProblems
  /** Signs what only this server, and those beside it, are to believe: cursors, links. */
  readonly cursorSecret: Buffer
  readonly releases: ReleaseSource
  /** The release the request is answered from; null for routes that need none. */
  readonly view: ReleaseView | null
}

interface EnvelopeParts {
  readonly pagination?: JsonValue
  readonly meta?: Readonly<Record<string, JsonValue>>
  /** For the log. */
  readonly rows?: number
}

/** Data to be put into the JSON envelope. */
export interface DataResult extends EnvelopeParts {
  readonly data: JsonValue
  /** Levels of totals of an analytics answer. */
  readonly totals?: JsonValue
}

/** The same where the data are JSON already. */
export interface JsonResult extends EnvelopeParts {
  /** Bytes in pieces where they are many; then levels of totals may follow the data. */
  readonly json: ByteString | readonly Buffer[]
}

/** A body that is no envelope: bytes as they are. */
export interface FileResult {
  readonly content: Readable | string | Buffer
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  /** 200 unless it is a part (206) or nothing new (304). */
  readonly status?: number
  readonly rows?: number
  /** What added up facts for it, where there are two engines and another process asked. */
  readonly engine?: EngineName
}

export type Result = DataResult | JsonResult | FileResult

export interface CustomRoute extends RouteBase {
  readonly kind: 'custom'
  readonly method: 'GET' | 'POST'
  /** Requests of the key's rate it counts for; 1 without it. */
  readonly cost?: number
  /** It counts for more where its answer has many rows. */
  readonly costsByRows?: boolean
  /** Whose release id the answer carries: an area, the analytics release, or none. */
  readonly release: Area | 'analytics' | null
  readonly query?: Readonly<Record<string, z.ZodType<string | undefined>>>
  /** What the parameters of the path may be, for the API document; the handler answers 404 for anything else. */
  readonly pathSchemas?: Readonly<Record<string, z.ZodType<string>>>
  /** The envelope follows from release, parameters, body, language and capabilities alone: it may be cached. */
  readonly isCacheable?: boolean
  /** Schema of the request's body, for the API document. */
  readonly body?: z.ZodType
  /** Bytes are sent as they are, never compressed: parts of them can be asked for. */
  readonly isRaw?: boolean
  /** Content types of the answer beside the JSON envelope. */
  readonly produces?: readonly string[]
  /** The pin of a request body, read before anything else of it. */
  readonly bodyPin?: (body: unknown, query: Readonly<Record<string, string>>) => string | null
  readonly handle: (request: HandlerRequest) => Promise<Result> | Result
}

export type Route = ListRoute | AllRoute | RecordRoute | ScopedRoute | ProvenanceRoute | CustomRoute

export const methodOf = (route: Route): 'GET' | 'POST' => (route.kind === 'custom' ? route.method : 'GET')
/** Requests of the key's rate a route counts for. */
export const costOf = (route: Route): number => (route.kind === 'custom' ? (route.cost ?? 1) : 1)
/** Rows of an answer that count for one request: as many as a page of a list has at most. */
export const ROWS_A_REQUEST = 250
/** @returns what an answer counts for beyond the cost of its route */
export function costOfRows(route: Route, rows: number | null): number {
  if (route.kind !== 'custom' || route.costsByRows !== true || rows === null) return 0
  return Math.max(0, Math.ceil(rows / ROWS_A_REQUEST) - costOf(route))
}
/** Whose release a route is answered from. */
export const releaseAreaOf = (route: Route): Area | 'analytics' | null =>
  route.kind === 'custom' ? route.release : route.dataset.area
const RELEASE_HEADERS = {
  demography: 'x-demography-release-id',
  cnes: 'x-data-release-id',
  sih: 'x-data-release-id',
  sia: 'x-data-release-id',
  financing: 'x-data-release-id',
  analytics: 'x-analytics-release-id',
} as const
/** Name of the header that says which release answered; '' where none does. */
export function releaseHeaderOf(route: Route): string {
  const area = releaseAreaOf(route)
  if (area === null) return ''
  return RELEASE_HEADERS[area === 'demography' && !route.path.startsWith('/v1/demography') ? 'cnes' : area]
}
/** What the envelope says of the release. */
export const releaseMeta = (view: ReleaseView | null, releaseId: string | null): Record<string, JsonValue> =>
  view === null ? {} : { release_id: releaseId, synthetic: view.synthetic }
/** A path as Fastify writes it; {path} is the rest of it, slashes and all. */
export const fastifyPath = (path: string): string =>
  path.replace('{path}', '*').replaceAll(/\{(\w+)\}/g, ':$1')
