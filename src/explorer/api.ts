/**
 * The API as the explorer's pages use it: requests, and the parts of answers that they read. The server implements it in-process, the
 * browser over HTTP.
 */
import type {
  AnalyticsRow,
  Member as AnswerMember,
  DimensionValue,
  LineageRecord,
} from '../answers/analytics.ts'
import type {
  CatalogMetric,
  MetricPart as CatalogMetricPart,
  Catalog as CompleteCatalog,
} from '../answers/catalog.ts'
import type { AnalyticsMeta, LineageMeta, RowPagination } from '../answers/meta.ts'
import type { ProblemDocument } from '../answers/problem.ts'
import type { PromotionChanges } from '../answers/releases.ts'
import type { WrittenNote } from '../model/note-sentences.ts'

export type { LineageSource as Source } from '../answers/analytics.ts'
export type { PromotionChanges, ReleaseInfo } from '../answers/releases.ts'

export type Note = WrittenNote

/** The explorer reads these members of a problem; it makes some problems itself, such as status 0 for a server that cannot be reached. */
export type Problem = Pick<ProblemDocument, 'status' | 'title' | 'detail'> &
  Partial<Pick<ProblemDocument, 'errors'>> & { readonly code: string }

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
  readonly notes?: readonly Note[]
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
export type MetricPart = Pick<CatalogMetricPart, 'label' | 'label_en'>
/** How a ratio is divided. */
export type Ratio = Pick<
  CatalogMetric,
  'scale' | 'numerator' | 'less' | 'denominator' | 'standardized_by'
> & { readonly numerator_part?: MetricPart; readonly denominator_part?: MetricPart }
/** The name of a metric and how its values are written. */
export type MetricLabel = Pick<CatalogMetric, 'code' | 'label' | 'label_en' | 'unit' | 'decimals'> &
  Partial<Pick<CatalogMetric, 'kind'>>
/** A metric, as far as pages with a form show it. */
export type Metric = MetricLabel &
  Ratio &
  Pick<CatalogMetric, 'meaning' | 'meaning_en' | 'kind' | 'formula' | 'datasets' | 'dimensions'> & {
    readonly limits: Pick<CatalogMetric['limits'], 'method'>
  }
type DimensionLabel = Pick<CompleteCatalog['dimensions'][number], 'code' | 'label' | 'label_en'>
export type Dimension = DimensionLabel & Pick<CompleteCatalog['dimensions'][number], 'operators'>
/** Names of metrics and dimensions: what pages without a form show of the catalog. */
export interface Labels {
  readonly metrics: readonly MetricLabel[]
  readonly dimensions: readonly DimensionLabel[]
}
export interface Catalog {
  readonly version: string
  readonly metrics: readonly Metric[]
  readonly dimensions: readonly Dimension[]
}
export type Member = Pick<AnswerMember, 'code' | 'name' | 'uf'> & Pick<DimensionValue, 'parent'>

/** A row whose values are numbers. Significances are texts; `readSignificance` reads them. */
export type QueryRow = Omit<AnalyticsRow, 'metrics'> & {
  readonly metrics: Readonly<Record<string, number | null>>
}

export interface QueryAnswer {
  readonly data: readonly QueryRow[]
  readonly totals?: readonly { readonly group_by: readonly string[]; readonly data: readonly QueryRow[] }[]
  readonly pagination: RowPagination
  readonly meta: AnalyticsMeta & Meta & { readonly release_id: string }
}

export interface LineageAnswer {
  readonly data: readonly LineageRecord[]
  readonly pagination: RowPagination
  readonly meta: LineageMeta & Meta
}

export type AreaChange = NonNullable<PromotionChanges['areas']>[number]

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

/**
 * @returns the member with a code; municipalities also have one of six digits. A search finds codes that begin with it, and
 * names that contain it, too.
 */
export const findMember = async (
  api: Api,
  dimension: string,
  code: string,
  pin = '',
): Promise<Member | undefined> =>
  (await searchMembers(api, dimension, { text: code, pin })).find((member) =>
    [String(member.code), shortCodeOf(dimension, String(member.code))].includes(code),
  )

/** @returns the code without the check digit, as DATASUS writes municipalities; other codes as they are */
const shortCodeOf = (dimension: string, code: string): string =>
  dimension.endsWith('municipality') ? code.slice(0, 6) : code

/** @returns code of a row's member as text; '' when there is none */
export function codeOf(value: QueryRow['dimensions'][string] | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : String(value.code ?? '')
}

export function nameOf(value: QueryRow['dimensions'][string] | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : (value.name ?? String(value.code ?? ''))
}

/** @returns the state of a place; '' where the rows name it, or the member has none */
export const stateOf = (
  value: QueryRow['dimensions'][string] | undefined,
  groupBy: readonly string[],
): string =>
  typeof value !== 'object' || value === null || groupBy.some((code) => code.endsWith('state'))
    ? ''
    : (value.uf ?? '')

export const queryString = (params: Readonly<Record<string, string>>): string => {
  const entries = Object.entries(params).filter(([, value]) => value !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
