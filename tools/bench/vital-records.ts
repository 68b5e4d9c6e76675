/** Times drawn first-time queries over a national year of deaths and births. */
import { type DimensionCode, isPopulation } from '../../src/model/dimensions.ts'
import { factDatasetsOf, METRIC_CODES, type MetricCode } from '../../src/model/metrics.ts'
import { isTime } from '../../src/model/periods.ts'
import { allowedDimensions } from '../../src/query/analytics/checks.ts'
import { createChance } from '../demo/random.ts'
import { type Question, reportTimed, timeQuestions } from './admissions.ts'
import { awaitPreparation } from './children.ts'
import type { Bench, Scenario } from './context.ts'

/** Rows of the longest answer that the goal holds for. */
const ROWS_MAX = 2000
const QUESTIONS = 200
const VITAL = ['deaths', 'fetal_deaths', 'births']

const isVital = (code: MetricCode): boolean => {
  const datasets = factDatasetsOf(code).filter((dataset) => !isPopulation(dataset))
  return datasets.length > 0 && datasets.every((dataset) => VITAL.some((name) => dataset.startsWith(name)))
}

/** Draws metrics of deaths and births with one to three of their dimensions, no question twice. */
function drawQuestions(seed: number): Question[] {
  const chance = createChance(seed)
  const metrics = METRIC_CODES.filter(isVital)
  const questions = new Map<string, Question>()
  for (let number = 0; questions.size < QUESTIONS; number += 1) {
    const pick = <Item>(items: readonly Item[], purpose: number): Item | undefined =>
      items[Math.floor(chance(number, purpose) * items.length)]
    const metric = pick(metrics, 1) as MetricCode
    const dimensions = allowedDimensions(metric).filter((code) => code !== 'facility' && !isTime(code))
    const count = 1 + Math.floor(chance(number, 2) * 3)
    const drawn = Array.from({ length: count }, (_, index) => pick(dimensions, 3 + index) as DimensionCode)
    const group_by = [
      ...new Set(chance(number, 9) < 0.2 ? [...drawn.slice(1), 'reference_period' as const] : drawn),
    ]
    const body = JSON.stringify({ metrics: [metric], group_by, limit: ROWS_MAX })
    questions.set(body, { name: `${metric} by ${group_by.join(' × ')}`, body })
  }
  return [...questions.values()]
}

async function drawnQuestions(bench: Bench): Promise<void> {
  const fixture = await bench.vitalRecords()
  const server = await bench.start('vital records', {}, fixture)
  await awaitPreparation(server, bench.logOf(server.name))
  const [first, ...questions] = drawQuestions(1)
  // The first query of any kind is slower in a new process.
  if (first !== undefined) await timeQuestions(server, [first], 'identity')
  const timed = (await timeQuestions(server, questions, 'identity')).filter(({ total }) => total <= ROWS_MAX)
  await server.stop()
  reportTimed(bench, `vital-records: ${timed.length} questions of at most ${ROWS_MAX} rows`, timed)
}

export const VITAL_RECORDS: readonly Scenario[] = [
  {
    name: 'vital-records',
    what: 'Questions about a national year of deaths and births that were not asked before, drawn from all metrics and dimensions.',
    isExtra: true,
    run: drawnQuestions,
  },
]
