/**
 * Answer schemas of the custom routes, by response name: `data`, its sibling members, and additions to `meta`. Describe each new custom
 * route here. Schemas of other kinds follow from their datasets.
 */
import { ENGINE_REASONS, ENGINES } from '../../engine/types.ts'
import { LINK_FORMS, LINK_SCOPES } from '../../keys/links.ts'
import { LIMIT_METHODS } from '../../model/limits/methods.ts'
import { STATUSES } from '../../model/sheets/statuses.ts'
import { CAUSES } from '../../query/analytics/dialect/duckdb/records.ts'
import { promotionChangesSchema } from '../../release/changes.ts'
import { manifestSchema, RELEASE_AREAS } from '../../release/manifest.ts'
import { reportManifestSchema } from '../../report/manifest.ts'
import { CATALOG_SCHEMAS } from './catalog-schemas.ts'
import {
  dictionary,
  documentOf,
  flag,
  integer,
  type Json,
  list,
  object,
  oneOf,
  orNull,
  ref,
  text,
} from './json.ts'

const NUMBER: Json = { type: ['number', 'null'], description: 'Exact; null where it is not defined.' }
const DATASET = text('Dataset of the release.')
const PERIODS = list({ type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$' }, 'Reference periods, ascending.')
const DIMENSIONS = dictionary(ref('DimensionMember'), 'The member of each grouped dimension.')
const PROBLEMS = (description: string): Json =>
  list(object({ release_id: text('A release that does not verify.'), reason: text('Why.') }), description)

export const ANSWER_SCHEMAS: Readonly<Record<string, Json>> = {
  Release: object(
    {
      release_id: text('Id: area, scope, month and the digest of the manifest.'),
      area: oneOf(RELEASE_AREAS, 'What it covers.'),
      periods: PERIODS,
      rows: integer('Rows of all files.'),
      bytes: integer('Bytes of all files.'),
      files: integer('Files.'),
      synthetic: flag('true: invented data of the demonstration.'),
      promoted: flag('In service.'),
      content_id: orNull(text('Digest of what it says, whatever wrote its files.')),
    },
    'A release, in short.',
  ),
  PromotionChanges: documentOf(promotionChangesSchema, 'output'),
  ReleaseManifest: documentOf(manifestSchema, 'output'),
  ReportManifest: documentOf(reportManifestSchema, 'output'),
  ...CATALOG_SCHEMAS,
  AnswerLimits: object(
    {
      level: { type: 'number', description: 'Level of the confidence limits.' },
      methods: dictionary(
        oneOf([...Object.keys(LIMIT_METHODS), 'none'], 'Method, or none; the catalog says why.'),
        'Method of each metric.',
      ),
    },
    'How the limits of an answer were computed, where the query has limits.',
  ),
  AnswerPrices: object(
    {
      reais_of: { type: ['string', 'integer'], description: 'Month (YYYY-MM) or year of the prices.' },
      index: text('Name of the price index.'),
      dataset: text('Dataset of the release that holds the index.'),
      metrics: list(ref('MetricCode'), 'Metrics in constant prices; the others are unchanged.'),
    },
    'Of which time the reais of an answer are, where the query asks for constant prices.',
  ),
  DimensionValue: object({
    code: { type: ['string', 'integer', 'null'], description: 'Code of the member; null: without a code.' },
    name: orNull(text('Name of the member.')),
    'parent?': object({
      dimension: ref('DimensionCode'),
      code: { type: ['string', 'integer', 'null'], description: 'The member that it is of.' },
    }),
    'facts?': dictionary(
      orNull(integer('Records that count.')),
      'Records of the member by dataset, when counts are asked for; null where the dataset was not collected.',
    ),
  }),
  AnalyticsRow: object(
    {
      label: text('Names of the members; Total do escopo selecionado where nothing is grouped.'),
      'rank?': orNull(integer('Place by the first field of order_by, where a rank is asked for.')),
      'peers?': orNull(integer('Municipalities that compare_to peers compares with, itself included.')),
      dimensions: DIMENSIONS,
      'status?': dictionary(
        { type: 'string', enum: Object.keys(STATUSES) },
        'Status of each metric, with status.',
      ),
      metrics: dictionary(
        { type: ['number', 'string', 'null'] },
        'Value of each metric, in its unit and decimals (see the catalog), and what is asked for beside it: <metric>__lower, __upper, __base, __change, __change_percent, __share, __comparator, __ratio, __significance (a text: lower, similar, higher, not_compared), __percentile.',
      ),
    },
    'A group and its values.',
  ),
  ComparedRow: object({
    label: text('Names of the members.'),
    dimensions: DIMENSIONS,
    metrics: dictionary(ref('ComparedValue'), 'Old, new and why, by metric.'),
  }),
  ComparedValue: object({
    old: NUMBER,
    new: NUMBER,
    delta: NUMBER,
    causes: list(
      object({
        side: ref('MetricSide'),
        cause: oneOf(CAUSES, 'What happened to the records.'),
        records: integer('Records.'),
        delta: { type: 'number', description: 'What they add to the side; of values in reais, reais.' },
      }),
    ),
  }),
  LineageRecord: object(
    {
      dataset: DATASET,
      'reference_period?': orNull(text('Month of the record.')),
      key: dictionary({ type: ['string', 'integer', 'null'] }, 'Key of the record.'),
      contribution: {
        type: 'number',
        description: 'What the record adds to the side of the cell; of values in reais, reais.',
      },
      'published_rows?': ref('PublishedRows'),
      sources: list(ref('LineageSource'), 'Published rows of the record.'),
    },
    'A record behind a cell.',
  ),
  PublishedRows: object(
    {
      count: integer('Published rows that were added up.'),
      where: list(
        object({
          columns: list(
            text('Column of the file; of alternatives, separated by a bar, the first that it has.'),
          ),
          pattern: text(
            'Regular expression that the cells match, each without blanks around it, joined by a blank; a column that the file lacks is empty.',
          ),
        }),
        'Conditions that these rows of the file meet.',
      ),
      is_exact: {
        type: 'boolean',
        description:
          'Do these rows alone meet them? False where the publisher names no municipality: others may, too.',
      },
    },
    'How the rows are found that a record of admissions or production was added up from.',
  ),
  LineageSource: object({
    publisher: orNull(text('Who published the file.')),
    file: orNull(text('File as published.')),
    archive: orNull(text('Archive the file came in.')),
    sha256: orNull(text('SHA-256 of the file.')),
    row: orNull(integer('Row of the file, header = 1.')),
    column: orNull(text('Column of what is added up; null where a record counts as such.')),
    raw_value: orNull(text('The published cell.')),
  }),
}

const totalsOf = (row: string): Json =>
  list(
    object({ group_by: list(text('A dimension, or a grouping by its name.')), data: list(ref(row)) }),
    'Rows of each level of totals, every value computed again at its level.',
  )

export const DOCUMENTS: Readonly<Record<string, Json>> = {
  AnalyticsReport: object(
    { data: list(ref('AnalyticsRow')), 'totals?': totalsOf('AnalyticsRow'), manifest: ref('ReportManifest') },
    'A report: all rows, and the manifest that proves them.',
  ),
}

export interface Answer {
  readonly data: Json
  readonly totals?: Json
  readonly pagination?: string
  /** Schema name of `meta`; by default ReleaseMeta for answers of a release, otherwise Meta. */
  readonly meta?: string
}

export const ANSWERS: Readonly<Record<string, Answer>> = {
  HealthResponse: { data: object({ status: { const: 'ok' } }) },
  ReadyResponse: {
    data: object({
      status: { const: 'ready' },
      release_id: text('Analytics release in service.'),
      refused: PROBLEMS('Releases that are here and were refused.'),
      pointer: orNull(text('What is wrong with current.json; null where nothing is.')),
      keys: orNull(text('What is wrong with the file of keys; null where nothing is.')),
      log: list(
        object({ file: text('Path below the folder of releases.'), reason: text('Why.') }),
        'What is missing or damaged of the log of releases and of proofs beside releases; the server goes on.',
      ),
      source: orNull(
        object(
          {
            up: flag('The place could be read at the last attempt.'),
            release_id: orNull(text('Analytics release in service there, as far as known.')),
            reason: orNull({
              type: 'string',
              enum: ['unreachable', 'copying', 'refused', 'cache_full', 'none_in_service'],
              description: 'Why that release is not in service here yet; null where it is.',
            }),
          },
          'The place that this server copies releases from (SUS_RELEASES_URL); null without one.',
        ),
      ),
      missing_files: list(text('File of an open release that is gone or cut: release id and path.')),
      damaged_files: list(
        object({ file: text('Release id and path.'), reason: text('Why.') }),
        'Files of open releases that are damaged or gone since they were verified: what needs one answers 503.',
      ),
      row_store: object({
        complete: flag('Lists and records are answered from row files.'),
        missing: list(object({ dataset: text('What has no row file.'), reason: text('Why.') })),
      }),
      trino: orNull(
        object(
          {
            used: { type: 'string', enum: ['for large queries', 'for all queries'] },
            up: flag('It takes statements.'),
            registered: flag('It has the tables of the release in service.'),
          },
          'The second engine; null where DuckDB has all to itself.',
        ),
      ),
    }),
  },
  SigningKeyResponse: {
    data: object({
      algorithm: { const: 'Ed25519' },
      public_key: text('32 bytes, base64.'),
      signs: text('What is signed of a report.'),
      name: text('Name of the key in signed notes, and of the log.'),
      verifier_key: text(
        'Name, key id and key in one text: notes of releases and of the log are checked with it.',
      ),
    }),
  },
  LinkResponse: {
    data: object({
      link: text('Address with its token; whoever has it can read what it says.'),
      scope: oneOf(LINK_SCOPES, 'What it reads: an address, or everything of a release.'),
      form: oneOf(LINK_FORMS, 'Form of the answer.'),
      expires_at: text('When it ends, in UTC.'),
      key: text('Id of the key that it is of; it ends with it.'),
    }),
  },
  AnalyticsMetricResponse: { data: ref('CatalogMetric') },
  ProfileResponse: { data: ref('Profile'), meta: 'ProfileMeta' },
  ChangesResponse: { data: list(ref('PromotionChanges')) },
  ReleaseListResponse: { data: list(ref('Release')) },
  ReleaseDetailResponse: { data: ref('ReleaseManifest'), meta: 'ReleaseDetailMeta' },
  OutlinesResponse: {
    data: { oneOf: [ref('OutlineTopology'), ref('OutlineCollection')] },
    meta: 'OutlinesMeta',
  },
  DemographyPopulationDetailResponse: {
    data: ref('PopulationDetail'),
  },
  AnalyticsCatalogResponse: {
    data: object({
      version: text('Version of the catalog.'),
      metrics: list(ref('CatalogMetric')),
      dimensions: list(ref('CatalogDimension')),
      census_bands: list(
        object({
          code: text('Code of the band.'),
          over: orNull(integer('Residents that a municipality has more than.')),
          up_to: orNull(integer('Largest number of residents.')),
          label: text('The band in words.'),
        }),
        'Bands of the census population: with the major regions, they make the peers of a municipality.',
      ),
    }),
  },
  DimensionValuesResponse: { data: list(ref('DimensionValue')), pagination: 'MemberPagination' },
  AnalyticsQueryResponse: {
    data: list(ref('AnalyticsRow')),
    totals: totalsOf('AnalyticsRow'),
    pagination: 'RowPagination',
    meta: 'AnalyticsMeta',
  },
  AnalyticsExplainResponse: {
    data: object({
      query: ref('NormalisedQuery'),
      sql: text('The statement, over views named release.dataset, or release.dataset__YYYYMM for one month.'),
      parameters: list(
        {
          anyOf: [{ type: ['string', 'number', 'boolean', 'null'] }, list({ type: ['string', 'number'] })],
        },
        'Values of $1, $2 …',
      ),
      reads: list(
        object({
          dataset: DATASET,
          release_id: orNull(text('Release that holds it.')),
          periods: PERIODS,
          partitions: list(object({ path: text('File.'), rows: integer('Rows.'), bytes: integer('Bytes.') })),
          rows: integer('Rows of the partitions.'),
        }),
      ),
      rows_read: integer('Rows of all partitions read.'),
      estimated_rows: integer('Rows of the answer over all pages, at most.'),
      engine: object(
        {
          name: { type: 'string', enum: [...ENGINES], description: 'The engine.' },
          because: { type: 'string', enum: [...ENGINE_REASONS], description: 'Why: docs/analytics.md.' },
          rows: orNull(
            integer(
              'Rows that its largest relation reads, of pre-aggregates where they serve; null: one engine.',
            ),
          ),
          min_rows: orNull(integer('Trino adds up from so many rows on; null where that does not decide.')),
        },
        'What would add up the facts. The answer is the same on either.',
      ),
    }),
    meta: 'AnalyticsExplainMeta',
  },
  AnalyticsLineageResponse: {
    data: list(ref('LineageRecord')),
    pagination: 'RowPagination',
    meta: 'AnalyticsLineageMeta',
  },
  AnalyticsCompareResponse: {
    data: list(ref('ComparedRow')),
    totals: totalsOf('ComparedRow'),
    pagination: 'RowPagination',
    meta: 'AnalyticsCompareMeta',
  },
}
