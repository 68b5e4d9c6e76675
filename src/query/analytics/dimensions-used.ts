/** Which dimensions a query names at all, and which have one value in each group. In: a query or a plan. Out: codes. Pure. */
import type { DimensionCode } from '../../model/dimensions.ts'
import type { AnalyticsQuery, QueryFilter } from './request.ts'

/** @returns dimensions that a query is grouped or filtered by */
export const dimensionsUsed = ({
  group_by,
  filters,
}: Pick<AnalyticsQuery, 'group_by' | 'filters'>): DimensionCode[] => [
  ...group_by,
  ...filters.map(({ dimension }) => dimension),
]

/** @returns dimensions of which all rows of a group have the same value: those of the groups, and those a filter holds at one */
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
