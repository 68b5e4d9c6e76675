/** Members of answers beside their data: pages, releases, the query in its one form, how to cite, what to know. */
import { z } from 'zod'
import type { WrittenNote } from '../model/note-sentences.ts'
import type { NormalisedQuery } from '../query/analytics/fingerprint.ts'
import { componentAs, componentRef, documentedAs } from '../query/text-schemas.ts'
import { answerLimits, answerPrices } from './analytics.ts'
import {
  type AnswerOf,
  count,
  dictionary,
  flag,
  memberCode,
  metricSide,
  oneOf,
  SHA256,
  text,
  value,
} from './parts.ts'
import { SOURCE_FILE } from './provenance.ts'
import { acquisition, logPlace, releaseAttestation, releaseSignature } from './releases.ts'

export const plainMeta = componentAs(
  z
    .strictObject({
      version: text('Version of the program.'),
      synthetic: flag(
        'true: the release in service is invented data of the demonstration. Absent where no release is in service.',
      ).exactOptional(),
    })
    .describe('Metadata of an answer.'),
  'Meta',
)

/** Pages of lists, which a cursor walks. */
export const cursorPagination = componentAs(
  z.strictObject({
    limit: count('Rows of a page.'),
    has_more: flag('There are rows after this page.'),
    next_cursor: text('cursor of the next page; null on the last one.').nullable(),
    total: count('With count=true; null where something of the list was not collected: meta.notes says what.')
      .nullable()
      .exactOptional(),
  }),
  'Pagination',
)
export type CursorPagination = AnswerOf<typeof cursorPagination>

const PAGE = { limit: count('Rows of a page.'), offset: count('Rows passed over.') }
export const rowPagination = componentAs(
  z.strictObject({
    ...PAGE,
    total_rows: count('Rows over all pages.'),
    has_more: flag('There are rows after this page.'),
  }),
  'RowPagination',
)
export type RowPagination = AnswerOf<typeof rowPagination>

export const memberPagination = componentAs(
  z.strictObject({
    limit: count('Members of a page.'),
    offset: count('Members passed over.'),
    total: count('Members over all pages.'),
    has_more: flag('There are members after this page.'),
  }),
  'MemberPagination',
)
export type MemberPagination = AnswerOf<typeof memberPagination>

const releaseComponents = componentAs(
  dictionary(
    z.string().nullable(),
    'Area → release that an analytics release joins; null where it has none.',
  ),
  'ReleaseComponents',
)

const citation = componentAs(
  z
    .strictObject({
      abnt: text('Reference by ABNT NBR 6023.'),
      bibtex: text('Entry of BibTeX.'),
    })
    .describe('How an answer is cited: whoever cites adds address and day of access.'),
  'Citation',
)
export type Citation = AnswerOf<typeof citation>

const normalisedQuery = documentedAs(z.custom<NormalisedQuery>(), componentRef('NormalisedQuery'))

const periodsText = documentedAs(z.string().nullable(), {
  type: ['string', 'null'],
  description: 'Month of the data, YYYY-MM; several are separated by commas; null where they have none.',
})
const notes = z
  .array(documentedAs(z.custom<WrittenNote>(), componentRef('Note')))
  .describe('Notes about the answer, such as which data were not collected.')
const contentId = text('Digest of what the release says, whatever wrote its files.').nullable()

/** Members that the server adds to every answer of a release. */
const RELEASE_META = {
  version: text('Version of the program.'),
  release_id: text('Release the answer comes from.'),
  synthetic: flag('true: invented data of the demonstration.'),
}
const DATED_META = { ...RELEASE_META, reference_period: periodsText.exactOptional() }
const LIST_META = { ...DATED_META, notes: notes.exactOptional() }
export const releaseMeta = componentAs(
  z.strictObject(LIST_META).describe('Metadata of an answer that one release gives.'),
  'ReleaseMeta',
)
export const facilityCollectionMeta = componentAs(z.strictObject(LIST_META), 'FacilityCollectionMeta')
export const healthFinancingMeta = componentAs(
  z.strictObject({
    ...LIST_META,
    sources: z
      .array(
        z.strictObject({
          source: text('Code of the source.'),
          label: text('Name in Portuguese.'),
          label_en: text('Name in English.'),
          means: text('Meaning of its numbers, in Portuguese.'),
          means_en: text('Meaning of its numbers, in English.'),
          adds: text('Rules for adding them, in Portuguese.'),
          adds_en: text('Rules for adding them, in English.'),
        }),
      )
      .describe('Meaning of the numbers of each source, and rules for adding them.'),
  }),
  'HealthFinancingMeta',
)
export const provenanceMeta = componentAs(
  z
    .strictObject({
      ...DATED_META,
      content_id: contentId,
      acquisitions: z
        .array(acquisition)
        .describe(
          'Address and time at which the files of the entries were fetched, as their operator recorded them. Empty without a record.',
        ),
    })
    .describe('Metadata of an answer about the sources of a record.'),
  'ProvenanceMeta',
)
export const outlinesMeta = componentAs(
  z.strictObject({
    ...DATED_META,
    level: text('Level of the outlines.'),
    format: oneOf(['topojson', 'geojson'], 'Format of the outlines.'),
    detail: oneOf(['full', 'overview'], 'How fine the outlines are.'),
    outlines: count('Places with an outline.'),
    missing: z
      .array(
        z.strictObject({
          code: count('IBGE code.'),
          name: text('Name of the municipality.'),
          uf: text('Its state.'),
        }),
      )
      .describe('Municipalities that no outline holds.'),
    source: z.strictObject(SOURCE_FILE).nullable(),
  }),
  'OutlinesMeta',
)
export const releaseDetailMeta = componentAs(
  z.strictObject({
    version: text('Version of the program.'),
    synthetic: flag('true: invented data of the demonstration.'),
    content_id: contentId,
    signatures: z.array(releaseSignature).describe('Who signed the release (manifest.sig).'),
    attestations: z
      .array(releaseAttestation)
      .describe(
        'Who imported the snapshots of the release again and got the same release, or the same content.',
      ),
    log: logPlace.nullable(),
    acquisitions: z
      .array(acquisition)
      .describe(
        'Address and time at which the published files were fetched, as their operator recorded them. No digest covers them. Empty without a record.',
      ),
  }),
  'ReleaseDetailMeta',
)

const QUERY_META = {
  ...RELEASE_META,
  reference_period: periodsText.exactOptional(),
  catalog_version: text('Version of the catalog of metrics.'),
  components: releaseComponents,
  notes,
}
export const explanationMeta = componentAs(z.strictObject(QUERY_META), 'AnalyticsExplainMeta')
export const profileMeta = componentAs(z.strictObject(QUERY_META), 'ProfileMeta')

export const analyticsMeta = componentAs(
  z
    .strictObject({
      ...QUERY_META,
      query: normalisedQuery,
      limits: answerLimits.exactOptional(),
      prices: answerPrices.exactOptional(),
      rows_sha256: documentedAs(z.string(), {
        ...SHA256,
        description: 'Digest of all rows of the query.',
      }),
      fingerprint: documentedAs(z.string(), {
        ...SHA256,
        description:
          'Digest over release, catalog, query and rows: equal for equal questions, on any machine.',
      }),
      citation,
    })
    .describe('Metadata of the answer of a query.'),
  'AnalyticsMeta',
)

export const lineageMeta = componentAs(
  z.strictObject({
    ...QUERY_META,
    metric: text('Metric of the cell.'),
    side: metricSide,
    key: dictionary(memberCode(), 'Code of the member of each grouped dimension.'),
    value: value('The cell.'),
    total: value('Sum of the contributions of all pages.'),
    scale: z.number().describe('Factor of the quotient of the sides.'),
    decimals: count('Digits after the point.'),
    months: count('Months that the value is the mean of.'),
  }),
  'AnalyticsLineageMeta',
)

const comparedSide = z.strictObject({
  release_id: text('Analytics release.'),
  content_id: contentId,
  components: releaseComponents,
  reference_period: periodsText,
})
export const compareMeta = componentAs(
  z.strictObject({
    ...RELEASE_META,
    reference_period: periodsText.exactOptional(),
    catalog_version: text('Version of the catalog of metrics.'),
    old: comparedSide,
    new: comparedSide,
    same_content: flag(
      'true: both releases have the same content id, so that no row can differ. null: one has no content id.',
    ).nullable(),
    query: normalisedQuery,
    changed_rows: count('Rows with a difference, over all pages.'),
    notes,
  }),
  'AnalyticsCompareMeta',
)

/** Members of `meta` that the answer itself decides. */
type Decided<Meta> = Omit<Meta, keyof typeof RELEASE_META>
export type QueryMeta = Decided<AnswerOf<typeof explanationMeta>>
export type AnalyticsMeta = Decided<AnswerOf<typeof analyticsMeta>>
export type LineageMeta = Decided<AnswerOf<typeof lineageMeta>>
export type CompareMeta = Decided<AnswerOf<typeof compareMeta>>
