/**
 * Schemas of the answers of custom routes, by response name: `data`, its sibling members, and additions to `meta`. Describe each new
 * custom route here. Schemas of other kinds follow from their datasets.
 */
import type { z } from 'zod'
import {
  analyticsRow,
  comparedRow,
  dimensionValue,
  explanation,
  lineageRecord,
  totalsOf,
} from '../../answers/analytics.ts'
import { catalog, catalogMetric } from '../../answers/catalog.ts'
import {
  analyticsMeta,
  compareMeta,
  explanationMeta,
  lineageMeta,
  memberPagination,
  profileMeta,
  rowPagination,
} from '../../answers/meta.ts'
import { profile } from '../../answers/profiles.ts'
import { changeFigures, releaseInfo } from '../../answers/releases.ts'
import { health, link, readiness, signingKey } from '../../answers/service.ts'
import { promotionChangesSchema } from '../../release/changes.ts'
import { manifestSchema } from '../../release/manifest.ts'
import { reportManifestSchema } from '../../report/manifest.ts'
import { documentOf, type Json, list, object, ref } from './json.ts'

const document = (schema: z.ZodType): Json => documentOf(schema, 'output')
const listOf = (schema: z.ZodType): Json => list(document(schema))

export const ANSWER_SCHEMAS: Readonly<Record<string, Json>> = {
  PromotionChanges: document(promotionChangesSchema),
  ReleaseManifest: document(manifestSchema),
  ReportManifest: document(reportManifestSchema),
}

export const DOCUMENTS: Readonly<Record<string, Json>> = {
  AnalyticsReport: object(
    {
      data: listOf(analyticsRow),
      'totals?': document(totalsOf(analyticsRow)),
      manifest: ref('ReportManifest'),
    },
    'A report: all rows, and the manifest that proves them.',
  ),
}

export interface Answer {
  readonly data: Json
  readonly totals?: Json
  readonly pagination?: Json
  /** By default ReleaseMeta for answers of a release, otherwise Meta. */
  readonly meta?: Json
}

export const ANSWERS: Readonly<Record<string, Answer>> = {
  HealthResponse: { data: document(health) },
  ReadyResponse: { data: document(readiness) },
  SigningKeyResponse: { data: document(signingKey) },
  LinkResponse: { data: document(link) },
  AnalyticsMetricResponse: { data: document(catalogMetric) },
  ProfileResponse: { data: document(profile), meta: document(profileMeta) },
  ChangeFiguresResponse: { data: document(changeFigures) },
  ChangesResponse: { data: list(ref('PromotionChanges')) },
  ReleaseListResponse: { data: listOf(releaseInfo) },
  ReleaseDetailResponse: { data: ref('ReleaseManifest'), meta: ref('ReleaseDetailMeta') },
  OutlinesResponse: {
    data: { oneOf: [ref('OutlineTopology'), ref('OutlineCollection')] },
    meta: ref('OutlinesMeta'),
  },
  DemographyPopulationDetailResponse: { data: ref('PopulationDetail') },
  AnalyticsCatalogResponse: { data: document(catalog) },
  DimensionValuesResponse: { data: listOf(dimensionValue), pagination: document(memberPagination) },
  AnalyticsQueryResponse: {
    data: listOf(analyticsRow),
    totals: document(totalsOf(analyticsRow)),
    pagination: document(rowPagination),
    meta: document(analyticsMeta),
  },
  AnalyticsExplainResponse: { data: document(explanation), meta: document(explanationMeta) },
  AnalyticsLineageResponse: {
    data: listOf(lineageRecord),
    pagination: document(rowPagination),
    meta: document(lineageMeta),
  },
  AnalyticsCompareResponse: {
    data: listOf(comparedRow),
    totals: document(totalsOf(comparedRow)),
    pagination: document(rowPagination),
    meta: document(compareMeta),
  },
}
