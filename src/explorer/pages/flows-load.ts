/** Loads the page of admission flows of a place: figures and partners by either end, each with the question it answers. */
import {
  type Answer,
  type Api,
  ApiFailure,
  codeOf,
  findMember,
  type Labels,
  type Member,
  type Note,
  nameOf,
  type QueryAnswer,
  type QueryRow,
} from '../api.ts'
import type { LoadContext } from '../page.ts'
import { bodyOf, change, EMPTY_QUESTION, type Question } from '../question.ts'
import { TEXTS } from '../texts.ts'
import { loadLabels } from './explore-load.ts'

/** Levels that admissions have at both ends. */
export const FLOW_LEVELS: readonly string[] = ['municipality', 'health_region', 'state']

/** One end of an admission: where the patients live, or where the hospital is. */
export type End = 'residence' | 'hospital'
export const ENDS: readonly End[] = ['residence', 'hospital']

/** @returns the dimension of a level at one end */
export const dimensionAt = (end: End, level: string): string =>
  end === 'residence' ? `residence_${level}` : level

const PARTNER_METRICS = ['admissions', 'average_distance_km']
const RESIDENCE_FIGURES = [
  'admissions',
  'admissions_outside_municipality_share',
  'admissions_outside_health_region_share',
  'admissions_outside_state_share',
  'average_distance_km',
]
const FIGURES: Readonly<Record<End, readonly string[]>> = {
  residence: RESIDENCE_FIGURES,
  hospital: RESIDENCE_FIGURES.map((code) =>
    code === 'admissions_outside_municipality_share' ? 'admissions_received_share' : code,
  ),
}
/** Number of rows that a table shows; the link below it leads to all of them. */
export const PARTNERS_SHOWN = 25
const PAIRS_SHOWN = 15
/** The API's largest page: more rows than there are municipalities. */
const PARTNERS_MAX = 10_000

export interface Partner {
  readonly code: string
  readonly name: string
  readonly uf: string
  readonly admissions: number
  /** Percent of all admissions of the table. */
  readonly share: number | null
  /** In km; null where a centroid is missing. */
  readonly distance: number | null
}

export interface Side {
  readonly figures: readonly string[]
  readonly figuresQuestion: Question
  readonly values: Readonly<Record<string, number | null>>
  readonly partnersQuestion: Question
  readonly partners: readonly Partner[]
  readonly partnersCount: number
  readonly hasMorePartners: boolean
  /** Partners without data leave the table short of its total. */
  readonly isShort: boolean
  readonly notes: readonly Note[]
}

/** A place with admissions in both directions. */
export interface Pair {
  readonly code: string
  readonly name: string
  readonly uf: string
  /** Null where the hospitals there were not collected. */
  readonly sent: number | null
  readonly received: number | null
}

export interface FlowsData {
  readonly catalog: Labels
  readonly level: string
  readonly code: string
  readonly name: string
  /** Level of the other ends. */
  readonly by: string
  readonly from: string
  readonly to: string
  readonly months: readonly string[]
  /** Months that all numbers of the page cover, as the answer names them. */
  readonly period: string
  /** No months were chosen, and newer ones lack files of some states. */
  readonly isEarlier: boolean
  /** Null where the first month is after the last one. */
  readonly sides: Readonly<Record<End, Side>> | null
  readonly pairs: readonly Pair[]
  readonly pairsCount: number
  readonly synthetic: boolean
}

/** Digits of a place's code that name its state. */
const STATE_DIGITS = 2

/** @returns the state of a municipality's or health region's code; '' for a state, whose name says it */
type UfOf = (code: string) => string

async function loadUfs(api: Api): Promise<UfOf> {
  const { data } = await api.get<{
    readonly data: readonly {
      readonly ibge_code: string | number
      readonly uf: string
    }[]
  }>('/v1/states')
  const ufs = new Map(data.map(({ ibge_code, uf }) => [String(ibge_code), uf]))
  return (code) => ufs.get(code.slice(0, STATE_DIGITS)) ?? ''
}

const partnerOf = (row: QueryRow, dimension: string, ufOf: UfOf): Partner => {
  const code = codeOf(row.dimensions[dimension])
  return {
    code,
    name: nameOf(row.dimensions[dimension]),
    uf: ufOf(code),
    admissions: row.metrics.admissions ?? 0,
    share: row.metrics.admissions__share ?? null,
    distance: row.metrics.average_distance_km ?? null,
  }
}

interface Place {
  readonly level: string
  readonly code: string
  readonly by: string
}

type Period = Pick<Question, 'from' | 'to'>

const scopeOf = (end: End, place: Place, period: Period): Question =>
  change(EMPTY_QUESTION, { ...period, filters: { [dimensionAt(end, place.level)]: [place.code] } })

/**
 * @returns the month of the page where none was chosen. The API takes the newest month of the states that a question reads: of all states by
 * hospital, of the place's state in total. Both are asked, and the earlier one has all numbers of the page.
 */
async function findMonth(api: Api, place: Place): Promise<string> {
  const scope = change(scopeOf('residence', place, { from: '', to: '' }), { metrics: ['admissions'] })
  const answers = await Promise.all(
    [[], [dimensionAt('hospital', place.by)]].map((groupBy) =>
      api.post<QueryAnswer>('/v1/analytics/query', { ...bodyOf(change(scope, { groupBy })), limit: 1 }),
    ),
  )
  const [month = ''] = answers.flatMap(({ meta }) => meta.reference_period || []).sort()
  return month
}

interface LoadedSide {
  readonly side: Side
  /** All partners, of which `side` has the first. */
  readonly partners: readonly Partner[]
  readonly answer: QueryAnswer
}

async function loadSide(api: Api, end: End, place: Place, period: Period, ufOf: UfOf): Promise<LoadedSide> {
  const otherEnd: End = end === 'residence' ? 'hospital' : 'residence'
  const scope = scopeOf(end, place, period)
  const figures = FIGURES[end]
  const figuresQuestion = change(scope, { metrics: figures })
  const dimension = dimensionAt(otherEnd, place.by)
  const partnersQuestion = change(scope, {
    metrics: PARTNER_METRICS,
    groupBy: [dimension],
    order: '-admissions',
  })
  const [total, answer] = await Promise.all([
    api.post<QueryAnswer>('/v1/analytics/query', bodyOf(figuresQuestion)),
    api.post<QueryAnswer>('/v1/analytics/query', {
      ...bodyOf(partnersQuestion),
      having: [{ metric: 'admissions', operator: 'GT', value: 0 }],
      share_of: [],
      limit: PARTNERS_MAX,
    }),
  ])
  const partners = answer.data.map((row) => partnerOf(row, dimension, ufOf))
  const values = total.data[0]?.metrics ?? {}
  return {
    partners,
    answer: total,
    side: {
      figures,
      figuresQuestion,
      values,
      partnersQuestion,
      partners: partners.slice(0, PARTNERS_SHOWN),
      partnersCount: answer.pagination.total_rows,
      hasMorePartners: partners.length > PARTNERS_SHOWN,
      isShort: partners.reduce((sum, { admissions }) => sum + admissions, 0) < (values.admissions ?? 0),
      // The table shows no share of distances, so their note would explain nothing.
      notes: [...total.meta.notes, ...answer.meta.notes].filter((note) => note.code !== 'no_share'),
    },
  }
}

/** @returns codes of the place itself, of its parts and of what contains it, as far as admissions that stayed in the place name them */
async function findHomes(
  api: Api,
  sides: Readonly<Record<End, LoadedSide>>,
  { level, code, by }: Place,
): Promise<ReadonlySet<string>> {
  if (by === level) return new Set([code])
  const answers = await Promise.all(
    ENDS.map(async (end) => {
      const question = sides[end].side.partnersQuestion
      const [dimension = ''] = question.groupBy
      const otherEnd: End = end === 'residence' ? 'hospital' : 'residence'
      const filters = { ...question.filters, [dimensionAt(otherEnd, level)]: [code] }
      const { data } = await api.post<QueryAnswer>('/v1/analytics/query', {
        ...bodyOf(change(question, { metrics: ['admissions'], filters })),
        having: [{ metric: 'admissions', operator: 'GT', value: 0 }],
        limit: PARTNERS_MAX,
      })
      return data.map((row) => codeOf(row.dimensions[dimension]))
    }),
  )
  return new Set(answers.flat())
}

/** @returns codes of the places with the most admissions in both directions together, without `homes` and unknown places */
export function largestPartners(
  sent: readonly Partner[],
  received: readonly Partner[],
  homes: ReadonlySet<string>,
): { readonly codes: readonly string[]; readonly count: number } {
  const sums = new Map<string, number>()
  for (const { code, admissions } of [...sent, ...received])
    if (!homes.has(code) && code !== '') sums.set(code, (sums.get(code) ?? 0) + admissions)
  const ordered = [...sums].sort(
    ([leftCode, left], [rightCode, right]) => right - left || (leftCode < rightCode ? -1 : 1),
  )
  return { codes: ordered.slice(0, PAIRS_SHOWN).map(([code]) => code), count: ordered.length }
}

/** @returns both directions for the largest partners. They are read again, because a missing row does not tell 0 from not collected. */
async function loadPairs(
  api: Api,
  sides: Readonly<Record<End, LoadedSide>>,
  place: Place,
): Promise<{ readonly pairs: readonly Pair[]; readonly count: number }> {
  const partners = [...sides.residence.partners, ...sides.hospital.partners]
  const { codes, count } = largestPartners(
    sides.residence.partners,
    sides.hospital.partners,
    await findHomes(api, sides, place),
  )
  if (codes.length === 0) return { pairs: [], count }
  const valuesOf = async (end: End): Promise<ReadonlyMap<string, number | null>> => {
    const question = sides[end].side.partnersQuestion
    const [dimension = ''] = question.groupBy
    const filters = { ...question.filters, [dimension]: codes }
    const { data } = await api.post<QueryAnswer>(
      '/v1/analytics/query',
      bodyOf(change(question, { metrics: ['admissions'], filters })),
    )
    return new Map(data.map((row) => [codeOf(row.dimensions[dimension]), row.metrics.admissions ?? null]))
  }
  const [sent, received] = await Promise.all([valuesOf('residence'), valuesOf('hospital')])
  return {
    count,
    pairs: codes.map((partner) => {
      const { name = partner, uf = '' } = partners.find((other) => other.code === partner) ?? {}
      return {
        code: partner,
        name,
        uf,
        sent: sent.get(partner) ?? null,
        received: received.get(partner) ?? null,
      }
    }),
  }
}

export async function loadFlows(
  { api, visit, language }: LoadContext,
  params: Readonly<Record<string, string>>,
): Promise<FlowsData> {
  const { level = '' } = params
  const code = (params.code ?? '').toUpperCase()
  const search = new URLSearchParams(visit.search)
  const by = FLOW_LEVELS.find((name) => name === search.get('by')) ?? level
  const chosen = { from: search.get('from') ?? '', to: search.get('to') ?? '' }
  const place = { level, code, by }
  const [catalog, months, member, ufOf] = await Promise.all([
    loadLabels(api),
    api.get<Answer<readonly Member[]>>('/v1/analytics/dimensions/reference_period/values?limit=250'),
    findMember(api, level, code),
    loadUfs(api),
  ])
  if (member === undefined)
    throw new ApiFailure({ status: 404, code: 'not_found', title: '', detail: TEXTS[language].notFound })
  const found = { ...place, code: String(member.code) }
  const newest = months.data
    .map(({ code }) => String(code))
    .sort()
    .reverse()
  const page = { catalog, ...found, ...chosen, name: member.name ?? found.code, months: newest }
  if (chosen.to !== '' && chosen.from > chosen.to)
    return {
      ...page,
      period: '',
      isEarlier: false,
      sides: null,
      pairs: [],
      pairsCount: 0,
      synthetic: months.meta.synthetic === true,
    }
  const month = chosen.from === '' && chosen.to === '' ? await findMonth(api, place) : ''
  const period = month === '' ? chosen : { from: month, to: month }
  const [residence, hospital] = await Promise.all([
    loadSide(api, 'residence', place, period, ufOf),
    loadSide(api, 'hospital', place, period, ufOf),
  ])
  const { pairs, count } = await loadPairs(api, { residence, hospital }, found)
  const { meta } = residence.answer
  return {
    ...page,
    period: meta.reference_period ?? '',
    isEarlier: month !== '' && month < (newest[0] ?? ''),
    sides: { residence: residence.side, hospital: hospital.side },
    pairs,
    pairsCount: count,
    synthetic: meta.synthetic === true,
  }
}
