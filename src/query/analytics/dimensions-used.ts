/** Lists which dimensions a query uses, and which have a single value in each group. Pure. */
import type { DimensionCode } from '../../model/dimensions.ts'
import type { QueryFilter } from './filters.ts'
import type { AnalyticsQuery } from './request.ts'

export const dimensionsUsed = ({
  group_by,
  filters,
}: Pick<AnalyticsQuery, 'group_by' | 'filters'>): DimensionCode[] => [
  ...group_by,
  ...filters.map(({ dimension }) => dimension),
]

/** @returns dimensions with the same value in all rows of a group: grouped dimensions, and those fixed by an EQ filter */
export const dimensionsOfOneValue = ({
  keys,
  filters,
}: {
  readonly keys: readonly DimensionCode[]
  readonly filters: readonly QueryFilter[]
}): DimensionCode[] => [
  ...keys,
  ...filters.filter(({ operator }) => operator === 'EQ').map(({ dimension }) => dimension),
]
