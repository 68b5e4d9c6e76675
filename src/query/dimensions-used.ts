/** Which dimensions a query names at all. In: a query. Out: codes. Pure. */
import type { DimensionCode } from '../model/dimensions.ts'
import type { AnalyticsQuery } from './request.ts'

/** @returns dimensions that a query is grouped or filtered by */
export const dimensionsUsed = ({
  group_by,
  filters,
}: Pick<AnalyticsQuery, 'group_by' | 'filters'>): DimensionCode[] => [
  ...group_by,
  ...filters.map(({ dimension }) => dimension),
]
