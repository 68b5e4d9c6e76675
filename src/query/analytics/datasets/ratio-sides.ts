/**
 * Finds the months of the two sides of a ratio of the query. Each metric alone has the months of its files; a ratio divides what is of the
 * same months, so its sides need the files of both, of the states of both. Pure.
 */
import { isFlowMetric } from '../../../model/metrics.ts'
import type { QueryMetricNeeds } from '../coverage.ts'
import type { QueryMetrics, QueryRatio } from '../options/defined-metrics.ts'

export type MetricWithoutMonths = Omit<QueryMetricNeeds, 'requested' | 'cells'>
export interface ScopedMetric {
  readonly found: MetricWithoutMonths
  /** States from which the newest month is chosen, where the query names none. */
  readonly inScope: ReadonlySet<string>
}

/** Names a side among the metrics of a plan, whose names have no such character. */
const sideCode = (ratio: Pick<QueryRatio, 'code'>, side: string): string => `${ratio.code}/${side}`

/** @param withMonths resolves the months of a metric from its files and states */
export const pairSides = (
  ratios: readonly QueryRatio[],
  metrics: readonly ScopedMetric[],
  withMonths: (found: MetricWithoutMonths, inScope: ReadonlySet<string>) => QueryMetricNeeds,
): QueryMetricNeeds[] =>
  ratios.flatMap((ratio) => {
    const pair = metrics.filter(({ found }) => ratio.sides.includes(found.code))
    const needs = [...new Set(pair.flatMap(({ found }) => found.needs))]
    const states = new Set(pair.flatMap(({ found }) => [...found.states]))
    const inScope = new Set(pair.flatMap((side) => [...side.inScope]))
    return pair.map(({ found }) =>
      withMonths({ ...found, code: sideCode(ratio, found.code), needs, states }, inScope),
    )
  })

export function findSide(
  sides: readonly QueryMetricNeeds[],
  ratio: Pick<QueryRatio, 'code'>,
  side: string,
): QueryMetricNeeds {
  const found = sides.find(({ code }) => code === sideCode(ratio, side))
  if (found === undefined) throw new TypeError(`the plan lacks a side of ${ratio.code}`)
  return found
}

/** @returns a side under the name of its ratio, for notes about months */
export const asRatio = (side: QueryMetricNeeds): QueryMetricNeeds => ({
  ...side,
  code: side.code.split('/')[0] ?? side.code,
})

/** @returns whether a metric alone is read from the same months as beside the other side of its ratio */
export function hasSameMonths(alone: QueryMetricNeeds | undefined, paired: QueryMetricNeeds): boolean {
  const monthsRead = (needs: QueryMetricNeeds | undefined): string =>
    JSON.stringify([needs?.requested, needs?.cells?.map(({ code, read }) => [code, read])])
  return monthsRead(alone) === monthsRead(paired)
}

/** @param requested months of the rows by metric @returns those of each flow, and of the sides of ratios of flows */
export function flowMonthsOf(
  requested: ReadonlyMap<string, readonly number[]>,
  { metrics, ratios }: QueryMetrics,
): Map<string, readonly number[]> {
  const flows = metrics.filter(({ metric }) => isFlowMetric(metric)).map(({ code }) => code)
  const sides = ratios
    .filter((ratio) => ratio.sides.every((side) => flows.includes(side)))
    .flatMap((ratio) => ratio.sides.map((side) => sideCode(ratio, side)))
  return new Map([...flows, ...sides].map((code) => [code, requested.get(code) ?? []]))
}
