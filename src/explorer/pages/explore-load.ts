/** Loads the question page: catalog, members and months for the form, the answer, a cell's records, and changes. */
import {
  type Api,
  ApiFailure,
  type Catalog,
  findMember,
  type Labels,
  type LineageAnswer,
  type Member,
  type Metric,
  type MetricPart,
  type Problem,
  type QueryAnswer,
  queryString,
  type Ratio,
  type ReleaseInfo,
} from '../api.ts'
import { type FunnelNumbers, loadFunnel } from '../drawings/funnel.tsx'
import { hasMap, loadMapOutlines } from '../drawings/map.tsx'
import { GROUP, type OwnGroup, resolveGroup } from '../own-group.ts'
import type { LoadContext } from '../page.ts'
import type { CellRecords } from '../parts/panels.tsx'
import type { FormData } from '../parts/question-form.tsx'
import { metricOf } from '../parts/table.tsx'
import {
  ALL_ROWS,
  bodyOf,
  comparedBodyOf,
  isComparable,
  keyOf,
  lookUp,
  PAGE_ROWS,
  pageBodyOf,
  type Question,
  RECORDS_SHOWN,
  readQuestion,
  withGroup,
} from '../question.ts'
import type { Comparison } from './changed-figures.tsx'

export interface ExploreData extends FormData {
  readonly question: Question
  readonly answer: QueryAnswer | null
  readonly records: CellRecords | null
  readonly comparison: Comparison | null
  /** Numbers of a funnel plot besides those of the answer; null for other views and where a question has none. */
  readonly funnel: FunnelNumbers | null
  /** Why there is no answer or no records, or null. */
  readonly problem: Problem | null
  readonly synthetic: boolean
}

/** Largest number of members that are loaded for a dimension in LISTED_DIMENSIONS. */
const MEMBERS_MAX = 250
/** Largest number of a filter's codes that are shown with their names. */
const NAMED_CODES_MAX = 12
/** Rows of a chart that a page without a script has. */
const CHART_ROWS = 1000
const LISTED_DIMENSIONS = new Set([
  'state',
  'region',
  'residence_region',
  'facility_type',
  'management_type',
  'bed_category',
  'bed_type',
  'equipment_category',
  'specialized_service',
  'service_characteristic',
  'provider_kind',
  'health_macroregion',
  'sex',
  'age_group',
])

const problemOf = (error: unknown): Problem => {
  if (error instanceof ApiFailure) return error.problem
  throw error
}

const ratioOf = (metric: Metric): Ratio => {
  const { scale, numerator, numerator_part, less, denominator, denominator_part, standardized_by } = metric
  return {
    ...(scale === undefined ? {} : { scale }),
    ...(numerator === undefined ? {} : { numerator }),
    ...(numerator_part === undefined ? {} : { numerator_part: labelsOf(numerator_part) }),
    ...(less === undefined ? {} : { less }),
    ...(denominator === undefined ? {} : { denominator }),
    ...(denominator_part === undefined ? {} : { denominator_part: labelsOf(denominator_part) }),
    ...(standardized_by === undefined ? {} : { standardized_by }),
  }
}
const labelsOf = ({ label, label_en }: MetricPart): MetricPart => ({
  label,
  label_en,
})

const meaningOf = ({ meaning, meaning_en }: Metric): Pick<Metric, 'meaning' | 'meaning_en'> =>
  meaning === undefined || meaning_en === undefined ? {} : { meaning, meaning_en }

const fetchCatalog = async (api: Api): Promise<Catalog> =>
  (await api.get<{ readonly data: Catalog }>('/v1/analytics/catalog')).data

/** Keeps only names, because each page embeds what it shows. */
export async function loadLabels(api: Api): Promise<Labels> {
  const { metrics, dimensions } = await fetchCatalog(api)
  return {
    metrics: metrics.map(({ code, label, label_en, unit, decimals }) => ({
      code,
      label,
      label_en,
      unit,
      decimals,
    })),
    dimensions: dimensions.map(({ code, label, label_en }) => ({ code, label, label_en })),
  }
}

async function loadCatalog(api: Api): Promise<Catalog> {
  const data = await fetchCatalog(api)
  // Keep only what the form shows.
  return {
    version: data.version,
    metrics: data.metrics.map((metric) => ({
      code: metric.code,
      label: metric.label,
      label_en: metric.label_en,
      ...meaningOf(metric),
      unit: metric.unit,
      decimals: metric.decimals,
      kind: metric.kind,
      formula: metric.formula,
      ...ratioOf(metric),
      datasets: metric.datasets,
      dimensions: metric.dimensions,
      limits: { method: metric.limits.method },
    })),
    dimensions: data.dimensions.map(({ code, label, label_en, operators }) => ({
      code,
      label,
      label_en,
      operators,
    })),
  }
}

/** Lists that the form offers; releases are apart, because they change without the release in service. */
type Lists = Pick<FormData, 'catalog' | 'periods' | 'members'> & { readonly synthetic: boolean }

const fetchValues = (
  api: Api,
  { release }: Question,
  dimension: string,
  limit: number,
): Promise<{ readonly data: readonly Member[]; readonly meta: { readonly synthetic?: boolean } }> =>
  api.get(
    `/v1/analytics/dimensions/${dimension}/values${queryString({ limit: String(limit), expected_release_id: release })}`,
  )

async function loadLists(api: Api, question: Question): Promise<Lists> {
  const [catalog, months] = await Promise.all([
    loadCatalog(api),
    fetchValues(api, question, 'reference_period', MEMBERS_MAX),
  ])
  const listed = catalog.dimensions.map(({ code }) => code).filter((code) => LISTED_DIMENSIONS.has(code))
  return {
    catalog,
    periods: months.data.map(({ code }) => String(code)).sort((left, right) => (left < right ? 1 : -1)),
    members: await loadMembers(api, question, [...listed, ...filteredDimensions(question, catalog)]),
    synthetic: months.meta.synthetic === true,
  }
}

const filteredDimensions = ({ filters }: Question, { dimensions }: Catalog): string[] =>
  Object.keys(filters).filter((code) => dimensions.some((dimension) => dimension.code === code))

/** @returns members of dimensions that the form lists, and those that filters of other dimensions name */
async function loadMembers(
  api: Api,
  question: Question,
  dimensions: readonly string[],
): Promise<FormData['members']> {
  const members: Record<string, FormData['members'][string]> = {}
  await Promise.all(
    [...new Set(dimensions)].map(async (dimension) => {
      try {
        if (LISTED_DIMENSIONS.has(dimension)) {
          const { data } = await fetchValues(api, question, dimension, MEMBERS_MAX)
          members[dimension] = { isWhole: true, list: data.filter(({ code }) => code !== null) }
          return
        }
        const codes = lookUp(question.filters, dimension) ?? []
        const found = await Promise.all(
          codes.slice(0, NAMED_CODES_MAX).map((code) => findMember(api, dimension, code, question.release)),
        )
        members[dimension] = { isWhole: false, list: found.filter((member) => member !== undefined) }
      } catch (error) {
        // A dimension that the release lacks is offered without members.
        problemOf(error)
      }
    }),
  )
  return members
}

/** @returns the lists on show where the answer is from the same release, which never changes; otherwise those of today */
async function listsFor(
  { api, shown }: LoadContext<ExploreData>,
  question: Question,
  answering: ReturnType<typeof loadAnswer>,
): Promise<Lists> {
  // The catalog of a page with a group has one dimension more.
  if (shown === null || shown.answer === null || shown.question.group !== null)
    return loadLists(api, question)
  const answer = await answering
  if (answer === null || !('meta' in answer) || answer.meta.release_id !== shown.answer.meta.release_id)
    return loadLists(api, question)
  const { catalog, periods, synthetic } = shown
  const listed = Object.entries(shown.members).filter(([code]) => LISTED_DIMENSIONS.has(code))
  const unlisted = filteredDimensions(question, catalog).filter((code) => !LISTED_DIMENSIONS.has(code))
  const named = await loadMembers(api, question, unlisted)
  return { catalog, periods, members: { ...Object.fromEntries(listed), ...named }, synthetic }
}

const loadReleases = (api: Api): Promise<readonly ReleaseInfo[]> =>
  api.get<{ readonly data: readonly ReleaseInfo[] }>('/v1/releases').then(
    ({ data }) => data,
    (error) => {
      problemOf(error)
      return []
    },
  )

async function loadRecords(
  api: Api,
  question: Question,
  catalog: Catalog,
  release: string,
): Promise<CellRecords | null> {
  const { cell } = question
  const metric = cell === null ? undefined : metricOf(catalog, cell.metric.replace(/__base$/, ''))
  if (cell === null || metric === undefined) return null
  const sides = metric.kind === 'ratio' ? (['numerator', 'denominator'] as const) : [null]
  const { order_by: _order, ...body } = bodyOf(question)
  const answers = await Promise.all(
    sides.map((side) =>
      api
        .post<LineageAnswer>('/v1/analytics/lineage', {
          ...body,
          key: keyOf(cell.key),
          metric: cell.metric,
          ...(side === null ? {} : { side }),
          limit: question.records || RECORDS_SHOWN,
          expected_release_id: release,
        })
        .catch(problemOf),
    ),
  )
  const problems = answers.flatMap((answer) => ('meta' in answer ? [] : [answer]))
  // A key may read the records of one side alone.
  const failure =
    problems.length === sides.length ? problems[0] : problems.find(({ status }) => status !== 403)
  if (failure !== undefined) throw new ApiFailure(failure)
  return {
    sides: answers.map((answer, index) => ({
      side: sides[index] ?? null,
      answer: 'meta' in answer ? answer : null,
    })),
  }
}

/** @returns rows that the server sends and draws at first; the browser asks for all that a view needs */
function firstRowsOf({ view, page }: Question): number {
  if (view === 'table') return PAGE_ROWS
  return Math.min(ALL_ROWS, Math.max(page * PAGE_ROWS, view === 'map' ? 0 : CHART_ROWS))
}

/** @returns the catalog with the visitor's group as a dimension of the metrics that have its municipalities */
const withGroupDimension = (catalog: Catalog, group: OwnGroup | null): Catalog =>
  group === null || group.codes.length === 0
    ? catalog
    : {
        ...catalog,
        dimensions: [
          ...catalog.dimensions,
          { code: GROUP, label: group.name || 'Grupo', label_en: group.name || 'Group', operators: [] },
        ],
        metrics: catalog.metrics.map((metric) =>
          metric.dimensions.includes(group.of)
            ? { ...metric, dimensions: [...metric.dimensions, GROUP] }
            : metric,
        ),
      }

const lastPageOf = ({ pagination }: QueryAnswer): number =>
  Math.max(1, Math.ceil(pagination.total_rows / PAGE_ROWS))

/** @returns the answer or why there is none, of the last page for a page beyond it; null for a question without metrics */
async function loadAnswer(
  { api, isLive }: Pick<LoadContext, 'api' | 'isLive'>,
  question: Question,
): Promise<QueryAnswer | Problem | null> {
  if (question.metrics.length === 0) return null
  const body = isLive ? pageBodyOf(question) : { ...pageBodyOf(question), limit: firstRowsOf(question) }
  try {
    const answer = await api.post<QueryAnswer>('/v1/analytics/query', body)
    const page = lastPageOf(answer)
    return page < question.page && question.view === 'table'
      ? await api.post<QueryAnswer>('/v1/analytics/query', pageBodyOf({ ...question, page }))
      : answer
  } catch (error) {
    return problemOf(error)
  }
}

export async function loadQuestion(context: LoadContext<ExploreData>): Promise<ExploreData> {
  const { visit, api, isLive, language } = context
  const read = readQuestion(visit.search)
  const { group, unresolved, refusal } = await resolveGroup(api, read.group, read.release, language)
  const requested = { ...read, group, groupBy: withGroup(read.groupBy, group) }
  // The map shows why outlines are missing; here they only begin to load.
  if (isLive && requested.view === 'map' && hasMap(requested))
    loadMapOutlines(api, requested).catch(() => null)
  const answering = refusal === null ? loadAnswer(context, requested) : Promise.resolve(refusal)
  const [answer, releases, { synthetic, ...found }] = await Promise.all([
    answering,
    loadReleases(api),
    listsFor(context, requested, answering),
  ])
  const form: FormData = {
    ...found,
    releases,
    unresolved,
    catalog: withGroupDimension(found.catalog, requested.group),
  }
  const question =
    answer === null || !('meta' in answer)
      ? requested
      : { ...requested, page: Math.min(requested.page, lastPageOf(answer)) }
  const empty = {
    question,
    ...form,
    answer: null,
    records: null,
    comparison: null,
    funnel: null,
    problem: null,
    synthetic,
  }
  if (answer === null) return empty
  if (!('meta' in answer)) return { ...empty, problem: answer }
  let records: CellRecords | null = null
  let comparison: Comparison | null = null
  let funnel: FunnelNumbers | null = null
  let problem: Problem | null = null
  const release = answer.meta.release_id
  try {
    records = await loadRecords(api, question, form.catalog, release)
    if (question.view === 'funnel')
      funnel = await loadFunnel(api, question, answer, metricOf(form.catalog, question.metrics[0] ?? ''))
    if (question.since !== '' && question.since !== release && isComparable(question))
      comparison = await api.post<Comparison>('/v1/analytics/compare', {
        ...comparedBodyOf(question),
        old_release_id: question.since,
        new_release_id: release,
        limit: PAGE_ROWS,
      })
  } catch (error) {
    problem = problemOf(error)
  }
  return { ...empty, answer, records, comparison, funnel, problem, synthetic: answer.meta.synthetic === true }
}
