/**
 * The API as the explorer's pages use it: requests, and the parts of answers that they read. The server implements it in-process, the
 * browser over HTTP.
 */
import type { WrittenNote } from '../model/note-sentences.ts'

export type Note = WrittenNote

export interface Problem {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly errors?: readonly {
    readonly pointer?: string
    readonly parameter?: string
    readonly message: string
    readonly allowed?: readonly string[]
  }[]
}

/** An error response of the API; status 0 when it could not be reached. */
export class ApiFailure extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.title)
    this.name = 'ApiFailure'
    this.problem = problem
  }
}

/** @returns null where the API refuses a question, as for releases and keys without the data; @throws other errors */
export const orNull = <Value>(promise: Promise<Value>): Promise<Value | null> =>
  promise.catch((error: unknown) => {
    if (error instanceof ApiFailure && [400, 403, 404].includes(error.problem.status)) return null
    throw error
  })

export interface Api {
  /** @param path below the API's root, e.g. /v1/states; @param accept another JSON media type; @throws ApiFailure */
  get<Answer>(path: string, accept?: string): Promise<Answer>
  /** @throws ApiFailure */
  post<Answer>(path: string, body: unknown): Promise<Answer>
}

export interface Meta {
  readonly release_id?: string
  readonly synthetic?: boolean
  readonly reference_period?: string
}

export interface Answer<Data> {
  readonly data: Data
  readonly meta: Meta
}

export interface Page<Row> extends Answer<readonly Row[]> {
  readonly pagination: {
    readonly limit: number
    readonly has_more: boolean
    readonly next_cursor?: string | null
    readonly total_rows?: number
    readonly total?: number
  }
}

/** Names the rows of a metric that a side of a ratio counts. */
export interface MetricPart {
  readonly label: string
  readonly label_en: string
}

export interface Ratio {
  readonly scale?: number
  readonly numerator?: string
  readonly numerator_part?: MetricPart
  readonly less?: string
  readonly denominator?: string
  readonly denominator_part?: MetricPart
  readonly standardized_by?: string
}

export interface Metric extends Ratio {
  readonly code: string
  readonly label: string
  readonly label_en: string
  /** A sentence on what the number says and does not say. Registry metrics have none. */
  readonly meaning?: string
  readonly meaning_en?: string
  readonly unit: string
  readonly decimals: number
  readonly kind: string
  readonly formula: string
  readonly datasets: readonly string[]
  readonly dimensions: readonly string[]
  readonly limits: { readonly method: string }
}

export interface Dimension {
  readonly code: string
  readonly label: string
  readonly label_en: string
  readonly operators: readonly string[]
}

export interface Catalog {
  readonly version: string
  readonly metrics: readonly Metric[]
  readonly dimensions: readonly Dimension[]
}

export interface Member {
  readonly code: string | number | null
  readonly name: string | null
  readonly uf?: string
  readonly parent?: { readonly dimension: string; readonly code: string | number | null }
}

export interface QueryRow {
  readonly label: string
  readonly dimensions: Readonly<Record<string, Member | string | null>>
  readonly metrics: Readonly<Record<string, number | null>>
  readonly rank?: number
  readonly peers?: number | null
  readonly status?: Readonly<Record<string, string>>
}

export interface QueryAnswer {
  readonly data: readonly QueryRow[]
  readonly totals?: readonly { readonly group_by: readonly string[]; readonly data: readonly QueryRow[] }[]
  readonly pagination: {
    readonly limit: number
    readonly offset: number
    readonly total_rows: number
    readonly has_more: boolean
  }
  readonly meta: Meta & {
    readonly release_id: string
    readonly catalog_version: string
    readonly query: unknown
    readonly rows_sha256: string
    readonly fingerprint: string
    readonly citation: { readonly abnt: string; readonly bibtex: string }
    readonly notes: readonly Note[]
  }
}

export interface LineageAnswer {
  readonly data: readonly {
    readonly dataset: string
    readonly reference_period: string | null
    readonly key: Readonly<Record<string, string | number>>
    readonly contribution: number
    readonly sources: readonly Source[]
  }[]
  readonly pagination: { readonly total_rows: number; readonly has_more: boolean }
  readonly meta: Meta & {
    readonly value: number | null
    /** Null where the records were not collected, or one has no amount. */
    readonly total: number | null
    readonly scale?: number
    readonly decimals?: number
    readonly side?: string
    readonly notes: readonly Note[]
  }
}

export interface Source {
  readonly publisher: string
  readonly file: string
  readonly archive?: string | null
  readonly sha256: string
  /** Null for a record that adds up many rows. */
  readonly row: number | null
  readonly column: string
  readonly raw_value?: string | null
}

export interface ReleaseInfo {
  readonly release_id: string
  readonly area: string
  readonly periods: readonly string[]
  readonly rows: number
  readonly bytes: number
  readonly files: number
  readonly synthetic: boolean
  readonly promoted: boolean
  readonly content_id?: string | null
}

/** Changes of a promotion in one area. */
export interface AreaChange {
  readonly area: string
  /** Null when the area is gone. */
  readonly release_id: string | null
  /** Null when the area is new. */
  readonly previous_release_id: string | null
  readonly datasets: readonly {
    readonly rows: number
    readonly previous_rows: number | null
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly revised: readonly string[]
    readonly preliminary: readonly { readonly period: string }[]
    readonly became_final: readonly { readonly period: string }[]
  }[]
}

export interface PromotionChanges {
  readonly promoted_at: string
  readonly release_id: string
  readonly previous_release_id: string | null
  /** Null when one of the releases is no longer here. */
  readonly areas: readonly AreaChange[] | null
}

/** Longest page of a dimension's members. */
const MEMBERS_MAX = 250

/** @returns members of a dimension that match a text */
export const searchMembers = (
  api: Api,
  dimension: string,
  {
    text,
    limit = MEMBERS_MAX,
    pin = '',
  }: { readonly text: string; readonly limit?: number; readonly pin?: string },
): Promise<readonly Member[]> =>
  api
    .get<{ readonly data: readonly Member[] }>(
      `/v1/analytics/dimensions/${dimension}/values${queryString({ search: text, limit: String(limit), expected_release_id: pin })}`,
    )
    .then(({ data }) => data)

/** @returns the member with a code. A search also finds codes that begin with it, and names that contain it. */
export const findMember = async (
  api: Api,
  dimension: string,
  code: string,
  pin = '',
): Promise<Member | undefined> =>
  (await searchMembers(api, dimension, { text: code, pin })).find((member) => String(member.code) === code)

/** @returns code of a row's member as text; '' when there is none */
export function codeOf(value: QueryRow['dimensions'][string] | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : String(value.code ?? '')
}

export function nameOf(value: QueryRow['dimensions'][string] | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : (value.name ?? String(value.code ?? ''))
}

export const queryString = (params: Readonly<Record<string, string>>): string => {
  const entries = Object.entries(params).filter(([, value]) => value !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
