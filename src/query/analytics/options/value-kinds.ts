/** Names the values that a row shows for each metric: the value, and what options add to it. Pure. */
import { namedMetrics, type QueryMetrics } from './defined-metrics.ts'
import type { QueryOptions } from './options.ts'

/** Values that a row can show for each metric. All but the value itself are suffixes of its name. */
const VALUE_KINDS = [
  'value',
  'lower',
  'upper',
  'base',
  'change',
  'change_percent',
  'share',
  'comparator',
  'ratio',
  'significance',
  'percentile',
  'status',
] as const
export type ValueKind = (typeof VALUE_KINDS)[number]
/** @returns name of a metric's value in a row: `beds`, `beds__change` */
export const valueCode = (metric: string, kind: ValueKind): string =>
  kind === 'value' ? metric : `${metric}__${kind}`

/** @returns whether a value is a text; it takes part in no condition or order */
export const isTextKind = (kind: ValueKind): kind is 'significance' | 'status' =>
  kind === 'significance' || kind === 'status'

/** Names that conditions and orders accept. Percentiles follow from the rows that conditions leave, so they are none of these. */
export const valueCodes = (query: Omit<KindOptions, 'percentile' | 'status'> & QueryMetrics): string[] =>
  namedMetrics(query).flatMap((metric) =>
    valueKindsOf(metric, { ...query, percentile: false, status: false })
      .filter((kind) => !isTextKind(kind))
      .map((kind) => valueCode(metric.code, kind)),
  )

type KindOptions = Pick<
  QueryOptions,
  'change' | 'share_of' | 'limits' | 'percentile' | 'compare_to' | 'status'
>

export const valueKindsOf = (
  { isAdditive }: { readonly isAdditive: boolean },
  { change, share_of, limits, percentile, compare_to, status }: KindOptions,
): ValueKind[] =>
  VALUE_KINDS.filter((kind) => {
    switch (kind) {
      case 'value':
        return true
      case 'lower':
      case 'upper':
        return limits !== null
      case 'share':
        return share_of !== null && isAdditive
      case 'percentile':
        return percentile
      case 'status':
        return status
      case 'comparator':
      case 'ratio':
      case 'significance':
        return compare_to !== null
      default:
        return change !== null
    }
  })
