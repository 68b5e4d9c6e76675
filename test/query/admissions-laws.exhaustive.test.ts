/**
 * Laws that hold of admissions whatever the numbers are, on seeded random questions by hospital and by residence: groups add up to
 * their total, totals are what a query by their level answers, the base of a change is the value of its month, metrics do not disturb
 * each other, order and threads change nothing, pages are the whole, and pre-aggregates answer what the facts do.
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PRE_AGGREGATE_NAMES } from '../../src/model/pre-aggregates.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const QUESTIONS = cases(80, 40)
const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir)
const twoThreads = await openClient(small.releasesDir, 2)
// The same components, and nothing added up in advance.
const copy = await makeSmallRelease('admissions')
const plain = await forgeRelease(copy.releasesDir, copy.result.analytics, (folder, manifest) => {
  for (const name of PRE_AGGREGATE_NAMES) {
    rmSync(join(folder, name), { recursive: true, force: true })
    delete manifest.datasets[name]
  }
  manifest.files = manifest.files.filter(
    ({ path }) => !PRE_AGGREGATE_NAMES.some((name) => path.startsWith(`${name}/`)),
  )
})
await writePointer(copy.releasesDir, plain)
const fromFacts = await openClient(copy.releasesDir)
t.teardown(() => Promise.all([client, twoThreads, fromFacts].map((own) => own.close())))

const { draw, pick, shuffle } = createDraws(317)
const ADDED = [
  'admissions',
  'admission_records',
  'days_of_stay',
  'hospital_deaths',
  'admissions_value',
  'icu_days',
]
const RATIOS = ['average_stay_days', 'hospital_mortality_share', 'average_admission_value']
const SIDES = {
  hospital: {
    metrics: [...ADDED, ...RATIOS, 'bed_occupancy_share'],
    dimensions: [
      'state',
      'municipality',
      'health_region',
      'procedure_group',
      'procedure_form',
      'procedure',
      'care_character',
      'complexity',
      'financing_kind',
      'facility',
    ],
    place: 'state',
  },
  residence: {
    metrics: [...ADDED, ...RATIOS, 'admissions_per_10k', 'admissions_per_10k_standardized'],
    dimensions: [
      'residence_state',
      'residence_municipality',
      'residence_health_region',
      'diagnosis_chapter',
      'diagnosis_category',
      'sex',
      'age_group',
    ],
    place: 'residence_state',
  },
} as const
const OF_BEDS = ['state', 'municipality', 'health_region', 'facility']
const MONTHS = ['2026-03', '2026-04', '2026-05']
const MEMBERS: Record<string, readonly (string | number)[]> = {}
for (const { dimensions } of Object.values(SIDES))
  for (const dimension of dimensions) {
    const { body } = await client.get(`/v1/analytics/dimensions/${dimension}/values?limit=250`)
    MEMBERS[dimension] = body.data.map(({ code }: { code: string | number }) => code)
  }

interface Filter {
  readonly dimension: string
  readonly operator: string
  readonly value: unknown
}
interface Asked {
  readonly metrics: readonly string[]
  readonly group_by: readonly string[]
  readonly filters: readonly Filter[]
}
interface AnswerRow {
  readonly dimensions: Record<string, { readonly code: string | number | null }>
  readonly metrics: Record<string, number | null>
}

/** Of the states that every month was collected of: what is null elsewhere is in test/query/admissions.test.ts. */
function drawQuestion(): Asked {
  const { metrics, dimensions, place } = SIDES[pick(['hospital', 'residence'] as const)]
  const chosen = shuffle<string>(dimensions)
  const group_by = chosen.slice(0, draw(4))
  const filtered = chosen.slice(group_by.length, group_by.length + draw(2))
  const used = [...group_by, ...filtered]
  const fitting = metrics.filter(
    (code) =>
      (code !== 'bed_occupancy_share' || used.every((dimension) => OF_BEDS.includes(dimension))) &&
      (code !== 'admissions_per_10k_standardized' || !used.includes('age_group')),
  )
  const months = shuffle(MONTHS).slice(0, 1 + draw(3))
  const filters = filtered.flatMap((dimension): Filter[] => {
    const members = MEMBERS[dimension] ?? []
    if (dimension === place || members.length === 0) return []
    const operator = pick(['EQ', 'IN', 'NEQ', 'NOT_IN'])
    const value = operator.endsWith('EQ') ? pick(members) : shuffle(members).slice(0, 1 + draw(5))
    return [{ dimension, operator, value }]
  })
  return {
    metrics: shuffle<string>(fitting).slice(0, 1 + draw(4)),
    group_by: draw(3) === 0 ? [...group_by, 'reference_period'] : group_by,
    filters: [
      ...filters,
      { dimension: place, operator: 'IN', value: ['AC', 'RR'] },
      { dimension: 'reference_period', operator: 'IN', value: months },
    ],
  }
}

const LIMIT = 10_000
async function ask(question: Asked, more: object = {}, own = client): Promise<Reply['body']> {
  const { status, body } = await own.query({ ...question, limit: LIMIT, ...more })
  if (status !== 200) throw new Error(`${JSON.stringify({ ...question, ...more })}: ${JSON.stringify(body)}`)
  return body
}
const keyOf = ({ dimensions }: AnswerRow, groups: readonly string[]): string =>
  JSON.stringify(groups.map((group) => dimensions[group]?.code ?? null))
const textOf = (
  rows: readonly AnswerRow[],
  groups: readonly string[],
  metrics: readonly string[],
): string[] =>
  rows.map((row) => `${keyOf(row, groups)} ${metrics.map((metric) => row.metrics[metric] ?? null).join()}`)
/** Money has two decimals: sums are of cents. */
const whole = (value: number | null | undefined): number => Math.round((value ?? 0) * 100)

const questions = Array.from({ length: QUESTIONS }, drawQuestion)
const broken = async (law: (question: Asked, turn: number) => Promise<boolean>): Promise<string[]> => {
  const found: string[] = []
  for (const [turn, question] of questions.entries())
    if (!(await law(question, turn))) found.push(JSON.stringify(question))
  return found.slice(0, 3)
}

t.test(
  'groups add up to what a query without them answers, and totals are queries by their level',
  async (t) => {
    t.same(
      await broken(async (question) => {
        const { metrics, group_by } = question
        const body = await ask(question, { totals: true })
        for (const { group_by: level, data } of (body.totals ?? []) as {
          group_by: string[]
          data: AnswerRow[]
        }[]) {
          const own = await ask({ ...question, group_by: level })
          if (textOf(data, level, metrics).join('\n') !== textOf(own.data, level, metrics).join('\n'))
            return false
        }
        const [all] = (await ask({ ...question, group_by: [] })).data as AnswerRow[]
        return metrics
          .filter((metric) => ADDED.includes(metric))
          .every((metric) => {
            const sum = (body.data as AnswerRow[]).reduce(
              (total, row) => total + whole(row.metrics[metric]),
              0,
            )
            return group_by.length === 0 || body.data.length === LIMIT || sum === whole(all?.metrics[metric])
          })
      }),
      [],
    )
  },
)

t.test(
  'a metric has beside others the value that it has alone; order and threads change nothing',
  async (t) => {
    t.same(
      await broken(async (question, turn) => {
        const { metrics, group_by } = question
        const body = await ask(question)
        const metric = metrics[turn % metrics.length] ?? ''
        const alone = new Map(
          ((await ask({ ...question, metrics: [metric] })).data as AnswerRow[]).map((row) => [
            keyOf(row, group_by),
            row.metrics[metric] ?? null,
          ]),
        )
        // A group of another metric's facts alone has none of this one: it is 0, or null where nothing divides it.
        const differs = (body.data as AnswerRow[]).some((row) => {
          const own = alone.get(keyOf(row, group_by))
          return own !== undefined ? own !== (row.metrics[metric] ?? null) : (row.metrics[metric] ?? 0) !== 0
        })
        const turned = { ...question, filters: shuffle(question.filters) }
        const [again, threaded] = [await ask(turned), await ask(question, {}, twoThreads)]
        return (
          !differs &&
          again.meta.fingerprint === body.meta.fingerprint &&
          threaded.meta.fingerprint === body.meta.fingerprint
        )
      }),
      [],
    )
  },
)

t.test('the base of a change is the value of its month', async (t) => {
  t.same(
    await broken(async (question) => {
      const { metrics, group_by } = question
      const months = (value: string): Filter => ({ dimension: 'reference_period', operator: 'EQ', value })
      const others = question.filters.filter(({ dimension }) => dimension !== 'reference_period')
      const groups = group_by.filter((group) => group !== 'reference_period')
      const own = { metrics, group_by: groups, filters: [...others, months('2026-05')] }
      const changed = (await ask(own, { change: { to: '2026-03' } })).data as AnswerRow[]
      const base = new Map(
        ((await ask({ ...own, filters: [...others, months('2026-03')] })).data as AnswerRow[]).map((row) => [
          keyOf(row, groups),
          row,
        ]),
      )
      return changed.every((row) =>
        metrics.every((metric) => {
          const was = base.get(keyOf(row, groups))
          const told = row.metrics[`${metric}__base`] ?? null
          return was === undefined ? (told ?? 0) === 0 : told === (was.metrics[metric] ?? null)
        }),
      )
    }),
    [],
  )
})

t.test('pages laid end to end are the whole', async (t) => {
  t.same(
    await broken(async (question, turn) => {
      if (turn % 4 !== 0) return true
      const body = await ask(question)
      const limit = Math.max(1, Math.ceil(body.data.length / 3))
      const pages: AnswerRow[] = []
      for (let offset = 0; offset < body.data.length; offset += limit)
        pages.push(...(await ask(question, { limit, offset })).data)
      return (
        textOf(pages, question.group_by, question.metrics).join('\n') ===
        textOf(body.data, question.group_by, question.metrics).join('\n')
      )
    }),
    [],
  )
})

t.test('what was added up in advance answers what the facts do', async (t) => {
  let used = 0
  t.same(
    await broken(async (question) => {
      const [fast, slow] = [
        await ask(question, { totals: true }),
        await ask(question, { totals: true }, fromFacts),
      ]
      if (fast.meta.release_id === slow.meta.release_id) return false
      used += 1
      return JSON.stringify([fast.data, fast.totals]) === JSON.stringify([slow.data, slow.totals])
    }),
    [],
  )
  t.equal(used, QUESTIONS)
})
