/**
 * The profile of a place: what the release says of it, as one answer. Every number is taken from the answer to an analytics
 * query that stands beside it, so that a profile and single queries cannot differ.
 */
import type { QueryMeta } from '../../answers/meta.ts'
import type { Profile, ProfileIndicator, ProfilePeers } from '../../answers/profiles.ts'
import type { JsonValue } from '../../engine/types.ts'
import { capabilityOf, dimensionOf } from '../../model/dimensions.ts'
import { CATALOG_VERSION, decimalsOfMetric, type MetricCode, metricOf } from '../../model/metrics.ts'
import { writeNotes } from '../../model/note-sentences.ts'
import type { Note } from '../../model/notes.ts'
import { PROFILE_BLOCKS, PROFILE_COMPARATORS, type ProfileBlock } from '../../model/profiles/index.ts'
import { shownValues } from '../../query/analytics/dialect/duckdb/measured.ts'
import { formatPeriod, type ReleaseView } from '../../release/view.ts'
import { nextSlice } from '../../slices.ts'
import { numberOrNull } from '../described-rows.ts'
import { type AnswerParts, answerPage, componentsOf } from '../query.ts'
import { describeAmong, type PeerTable, peerTable } from './peers.ts'
import { findPlace, type NamedPlace, type ProfilePlace } from './place.ts'
import {
  type Body,
  findQuestions,
  isCompared,
  type ProfileQuestion,
  questionOfAges,
  questionOfAll,
  questionOfCourse,
  questionOfPeers,
  questionOfValue,
  type Span,
} from './questions.ts'

export interface ProfileAnswer {
  readonly data: Profile
  readonly meta: QueryMeta
}

/** @throws AppError 'not_found', 'dimension_not_loaded', 'query_timeout' */
export async function answerProfile(level: string, code: string, parts: AnswerParts): Promise<ProfileAnswer> {
  const place = await findPlace(level, code, parts)
  const { questions, notes } = await findQuestions(place, parts)
  const [answers, ages] = await Promise.all([
    Promise.all(questions.map((question) => answerQuestion(question, place, parts))),
    answerAges(place, parts),
  ])
  const indicators = answers.flatMap((answer) => answer.indicators)
  const comparator = place.parents.find((parent) => parent.level === PROFILE_COMPARATORS[place.level])
  return {
    data: {
      place: { ...describePlace(place), parents: place.parents.map(describePlace) },
      comparator: comparator === undefined ? null : describePlace(comparator),
      population_by_age: ages,
      blocks: Object.entries(PROFILE_BLOCKS).flatMap(([block, label]) => {
        const found = indicators.filter((indicator) => indicator.block === block)
        return found.length === 0
          ? []
          : [{ code: block, label: label[parts.language], indicators: found.map(({ data }) => data) }]
      }),
    },
    meta: {
      catalog_version: CATALOG_VERSION,
      components: componentsOf(parts.view),
      notes: writeNotes(joinNotes([...notes, ...answers.flatMap((answer) => answer.notes)]), parts.language),
    },
  }
}

/** @returns the notes, each once; those that differ only in their metrics are one note of all of them */
function joinNotes(notes: readonly Note[]): Note[] {
  const found = new Map<string, Note>()
  for (const note of notes) {
    // An empty list stands for all metrics of a query.
    const metrics = 'metrics' in note && note.metrics.length > 0 ? note.metrics : null
    const key = JSON.stringify(metrics === null ? note : { ...note, metrics: null })
    const same = found.get(key)
    const joined = same !== undefined && 'metrics' in same ? [...same.metrics, ...(metrics ?? [])] : metrics
    found.set(key, joined === null ? note : ({ ...note, metrics: [...new Set(joined)] } as Note))
  }
  return [...found.values()]
}

const describePlace = ({ level, code, name }: NamedPlace): Profile['comparator'] & object => ({
  level,
  code,
  name,
})

interface DescribedIndicator {
  readonly block: ProfileBlock
  readonly data: ProfileIndicator
}

async function answerQuestion(
  question: ProfileQuestion,
  place: ProfilePlace,
  parts: AnswerParts,
): Promise<{ readonly indicators: readonly DescribedIndicator[]; readonly notes: readonly Note[] }> {
  await nextSlice()
  const chunks = chunksOf(question.indicators)
  const [tables, courses] = await Promise.all([
    Promise.all(
      chunks.map((indicators) =>
        peerTable(questionOfAll({ ...question, indicators }, place), question.dimension, parts),
      ),
    ),
    readCourses(question, place, parts),
  ])
  const withoutValue: MetricCode[] = []
  const indicators = question.indicators.map(({ metric, block }, index) => {
    const table = tables[Math.floor(index / TABLE_METRICS)]
    if (table === undefined) throw new TypeError(`no table holds ${metric}`)
    const position = table.positions.get(question.dimension === null ? '' : String(place.code))
    const course = questionOfCourse([metric], question, place)
    const values = describeValues(metric, table, position)
    if (values.value === null && isCompared(metric)) withoutValue.push(metric)
    return {
      block,
      data: {
        ...describeMetric(metric, parts.language),
        period: describeSpan(question.span),
        ...values,
        peers: describePeers(metric, table, position, question),
        course: course === null ? null : { points: courses.get(metric) ?? [], query: course },
        query: questionOfValue([metric], question, place),
      },
    }
  })
  return { indicators, notes: await noteNulls(withoutValue, question, place, parts) }
}

/** @returns the notes that say why rates of the place have no value; only the answers of their queries have them */
async function noteNulls(
  metrics: readonly MetricCode[],
  question: ProfileQuestion,
  place: ProfilePlace,
  parts: AnswerParts,
): Promise<Note[]> {
  if (metrics.length === 0) return []
  const { summary } = await answerPage(questionOfValue(metrics, question, place), parts, () => null)
  return summary.notes.filter(({ code }) => code === 'null_rows')
}

/** Metrics of one table. Statements over all places stay short, so that they fit into the time limit of a busy server. */
const TABLE_METRICS = 4
const chunksOf = <Item>(items: readonly Item[]): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / TABLE_METRICS) }, (_, index) =>
    items.slice(index * TABLE_METRICS, (index + 1) * TABLE_METRICS),
  )

const describeMetric = (code: MetricCode, language: 'pt' | 'en') => {
  const { label, label_en, unit, kind } = metricOf(code)
  return {
    metric: code,
    label: language === 'en' ? label_en : label,
    unit,
    kind,
    decimals: decimalsOfMetric(code),
  }
}

const describeSpan = (span: Span | null): ProfileIndicator['period'] =>
  span === null
    ? null
    : { unit: span.unit, from: formatPeriod(span.from), to: formatPeriod(span.to), months: span.months }

function describeValues(
  metric: MetricCode,
  table: PeerTable,
  position: number | undefined,
): Pick<ProfileIndicator, 'value' | 'lower' | 'upper' | 'comparator' | 'ratio' | 'significance'> {
  const read = (name: string): number | null => (position === undefined ? null : table.value(name, position))
  return {
    value: read(metric),
    lower: read(`${metric}__lower`),
    upper: read(`${metric}__upper`),
    comparator: isCompared(metric) ? read(`${metric}__comparator`) : null,
    ratio: isCompared(metric) ? read(`${metric}__ratio`) : null,
    significance:
      isCompared(metric) && position !== undefined
        ? table.significance(`${metric}__significance`, position)
        : null,
  }
}

function describePeers(
  metric: MetricCode,
  table: PeerTable,
  position: number | undefined,
  question: ProfileQuestion,
): ProfilePeers | null {
  const value = position === undefined ? null : table.value(metric, position)
  if (question.dimension === null || position === undefined || value === null) return null
  return {
    ...describeAmong(table.sorted(metric), value),
    percentile: table.value(`${metric}__percentile`, position),
    query: questionOfPeers(metric, question),
  }
}

type CoursePoint = NonNullable<ProfileIndicator['course']>['points'][number]

async function readCourses(
  question: ProfileQuestion,
  place: ProfilePlace,
  parts: AnswerParts,
): Promise<ReadonlyMap<string, readonly CoursePoint[]>> {
  const body = questionOfCourse(
    question.indicators.map(({ metric }) => metric),
    question,
    place,
  )
  const courses = new Map<string, readonly CoursePoint[]>()
  if (body === null) return courses
  await answerPage(body, parts, (rows, plan) => {
    for (const { code, column } of shownValues(plan))
      courses.set(code, [
        ...(courses.get(code) ?? []),
        ...rows.map((row) => ({
          period: String(row[dimensionOf('reference_period').column]),
          value: numberOrNull(row[column]),
        })),
      ])
  })
  return courses
}

const textOrNull = (value: JsonValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value)

const hasAges = (view: ReleaseView): boolean =>
  view.components.demography?.datasets.population_by_age !== undefined

async function answerAges(place: ProfilePlace, parts: AnswerParts): Promise<Profile['population_by_age']> {
  if (!hasAges(parts.view) || !parts.capabilities.includes(capabilityOf('population_by_age'))) return null
  const query: Body = questionOfAges(place)
  const groups: NonNullable<Profile['population_by_age']>['groups'][number][] = []
  await answerPage(query, parts, (rows, plan) => {
    const [population] = shownValues(plan)
    groups.push(
      ...rows.map((row) => ({
        sex: textOrNull(row[dimensionOf('sex').column]),
        age_group: textOrNull(row[dimensionOf('age_group').column]),
        population: numberOrNull(row[population?.column ?? '']),
      })),
    )
  })
  return { groups, query }
}
