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
  outlinesMeta,
  profileMeta,
  releaseDetailMeta,
  rowPagination,
} from '../../answers/meta.ts'
import { profile } from '../../answers/profiles.ts'
import { changeFigures, releaseInfo } from '../../answers/releases.ts'
import { health, link, readiness, signingKey } from '../../answers/service.ts'
import { promotionChangesSchema } from '../../release/changes.ts'
import { manifestSchema } from '../../release/manifest.ts'
import { reportManifestSchema } from '../../report/manifest.ts'
import { documentOf, type Json, list, object, ref } from './json.ts'

/** @returns JSON Schema of an answer's part; a reference where the document has it as a component */
export const answerSchema = (schema: z.ZodType): Json => documentOf(schema, 'output')
const listOf = (schema: z.ZodType): Json => list(answerSchema(schema))

export const ANSWER_SCHEMAS: Readonly<Record<string, Json>> = {
  PromotionChanges: answerSchema(promotionChangesSchema),
  ReleaseManifest: answerSchema(manifestSchema),
  ReportManifest: answerSchema(reportManifestSchema),
}

export const DOCUMENTS: Readonly<Record<string, Json>> = {
  AnalyticsReport: object(
    {
      data: listOf(analyticsRow),
      'totals?': answerSchema(totalsOf(analyticsRow)),
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
  HealthResponse: { data: answerSchema(health) },
  ReadyResponse: { data: answerSchema(readiness) },
  SigningKeyResponse: { data: answerSchema(signingKey) },
  LinkResponse: { data: answerSchema(link) },
  AnalyticsMetricResponse: { data: answerSchema(catalogMetric) },
  ProfileResponse: { data: answerSchema(profile), meta: answerSchema(profileMeta) },
  ChangeFiguresResponse: { data: answerSchema(changeFigures) },
  ChangesResponse: { data: list(ref('PromotionChanges')) },
  ReleaseListResponse: { data: listOf(releaseInfo) },
  ReleaseDetailResponse: { data: ref('ReleaseManifest'), meta: answerSchema(releaseDetailMeta) },
  OutlinesResponse: {
    data: { oneOf: [ref('OutlineTopology'), ref('OutlineCollection')] },
    meta: answerSchema(outlinesMeta),
  },
  DemographyPopulationDetailResponse: { data: ref('PopulationDetail') },
  AnalyticsCatalogResponse: { data: answerSchema(catalog) },
  DimensionValuesResponse: { data: listOf(dimensionValue), pagination: answerSchema(memberPagination) },
  AnalyticsQueryResponse: {
    data: listOf(analyticsRow),
    totals: answerSchema(totalsOf(analyticsRow)),
    pagination: answerSchema(rowPagination),
    meta: answerSchema(analyticsMeta),
  },
  AnalyticsExplainResponse: { data: answerSchema(explanation), meta: answerSchema(explanationMeta) },
  AnalyticsLineageResponse: {
    data: listOf(lineageRecord),
    pagination: answerSchema(rowPagination),
    meta: answerSchema(lineageMeta),
  },
  AnalyticsCompareResponse: {
    data: listOf(comparedRow),
    totals: answerSchema(totalsOf(comparedRow)),
    pagination: answerSchema(rowPagination),
    meta: answerSchema(compareMeta),
  },
}
