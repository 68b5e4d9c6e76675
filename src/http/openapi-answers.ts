/** JSON schemas of what the custom routes answer in `data`, and of their own members of `meta`. Values only. */
import { z } from 'zod'
import { DIMENSION_CODES, OPERATORS } from '../model/dimensions.ts'
import { METRIC_CODES } from '../model/metrics.ts'
import { CAUSES } from '../query/dialect/duckdb/records.ts'
import { manifestSchema } from '../release/manifest.ts'

export type Json = { readonly [name: string]: unknown }

const text = (description: string): Json => ({ type: 'string', description })
export const orNull = (schema: Json): Json => ({ ...schema, type: [schema.type, 'null'] })
const integer = (description: string): Json => ({ type: 'integer', description })
const flag = (description: string): Json => ({ type: 'boolean', description })
const list = (items: Json, description?: string): Json => ({
  type: 'array',
  items,
  ...(description === undefined ? {} : { description }),
})
/** An object of these members and no others; a name that ends in ? may be absent. */
const object = (properties: Readonly<Record<string, Json>>): Json => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !name.endsWith('?')),
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name.replace(/\?$/, ''), schema]),
  ),
})
const dictionary = (schema: Json, description: string): Json => ({
  type: 'object',
  additionalProperties: schema,
  description,
})

/** JSON schema of a zod schema, without the dialect: the document names one for all. */
export function jsonSchema(schema: z.ZodType, options: z.core.ToJSONSchemaParams): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, options)
  return json
}

const CODE: Json = {
  type: ['string', 'integer', 'null'],
  description: 'Code of the member; null: without a code.',
}
const NUMBER: Json = { type: ['number', 'null'], description: 'Exact; null where it is not defined.' }
const DATASET = text('Dataset of the release.')
const PERIODS = list({ type: 'string', pattern: '^\\d{4}-\\d{2}$' }, 'Reference periods, ascending.')
const QUERY = {
  type: 'object',
  description: 'The canonical query: sorted, without repetition, defaults filled in.',
}

const MEMBER = object({
  code: CODE,
  name: orNull(text('Name of the member.')),
  'uf?': orNull(text('State of a municipality or health region.')),
  'ibge_code?': orNull(integer('IBGE code of a state.')),
})
const DIMENSIONS = dictionary(MEMBER, 'The member of each grouped dimension.')
const REFUSED = list(
  object({ release_id: text('A release that does not verify.'), reason: text('Why.') }),
  'Releases that are here and were refused.',
)
const SOURCE = object({
  publisher: orNull(text('Who published the file.')),
  file: orNull(text('File as published.')),
  archive: orNull(text('Archive the file came in.')),
  sha256: orNull(text('SHA-256 of the file.')),
  row: orNull(integer('Row of the file, header = 1.')),
  column: orNull(text('Column of what is added up; null where a record counts as such.')),
  raw_value: orNull(text('The published cell.')),
})
const SIDE: Json = { type: 'string', enum: ['numerator', 'less', 'denominator'] }

const QUERY_ROWS = list(
  object({
    label: text('Names of the members; Total do escopo selecionado where nothing is grouped.'),
    'rank?': orNull(integer('Place by the first field of order_by, where a rank is asked for.')),
    dimensions: DIMENSIONS,
    metrics: dictionary(
      NUMBER,
      'Value of each metric, in its unit and decimals (see the catalog), and what is asked for beside it: <metric>__base, __change, __change_percent, __share.',
    ),
  }),
)
const COMPARED_ROWS = list(
  object({
    label: text('Names of the members.'),
    dimensions: DIMENSIONS,
    metrics: dictionary(
      object({
        old: NUMBER,
        new: NUMBER,
        delta: NUMBER,
        causes: list(
          object({
            side: SIDE,
            cause: { type: 'string', enum: CAUSES },
            records: integer('Records.'),
            delta: { type: 'number', description: 'What they add to the side; of values in reais, reais.' },
          }),
        ),
      }),
      'Old, new and why, by metric.',
    ),
  }),
)

/** Response name → schema of `totals`, which stand beside the data where they are asked for. */
export const TOTALS: Readonly<Record<string, Json>> = Object.fromEntries(
  Object.entries({ AnalyticsQueryResponse: QUERY_ROWS, AnalyticsCompareResponse: COMPARED_ROWS }).map(
    ([name, rows]) => [
      name,
      list(
        object({ group_by: list({ type: 'string', enum: DIMENSION_CODES }), data: rows }),
        'Rows of each level of totals, every value computed again at its level.',
      ),
    ],
  ),
)

/** Response name → schema of `data`. */
export const ANSWERS: Readonly<Record<string, Json>> = {
  HealthResponse: object({ status: { const: 'ok' } }),
  ReadyResponse: object({
    status: { const: 'ready' },
    release_id: text('Analytics release in service.'),
    refused: REFUSED,
    pointer: orNull(text('What is wrong with current.json; null where nothing is.')),
    missing_files: {
      type: 'array',
      items: text('File of the release in service that is gone or cut: release id and path.'),
    },
    row_store: object({
      complete: flag('Lists and records are answered from row files.'),
      missing: {
        type: 'array',
        items: object({ dataset: text('What has no row file.'), reason: text('Why.') }),
      },
    }),
  }),
  ReleaseListResponse: list(
    object({
      release_id: text('Id: area, scope, month and the digest of the manifest.'),
      area: { type: 'string', enum: ['cnes', 'demography', 'sih', 'sia', 'financing', 'analytics'] },
      periods: PERIODS,
      rows: integer('Rows of all files.'),
      bytes: integer('Bytes of all files.'),
      files: integer('Files.'),
      synthetic: flag('true: invented data of the demonstration.'),
      promoted: flag('In service.'),
    }),
  ),
  ReleaseDetailResponse: jsonSchema(manifestSchema, { io: 'output' }),
  SigningKeyResponse: object({
    algorithm: { const: 'Ed25519' },
    public_key: text('32 bytes, base64.'),
    signs: text('What is signed.'),
  }),
  OutlinesResponse: {
    description:
      'TopoJSON, whose object is called as the level, or a GeoJSON FeatureCollection. id and properties.code are the codes of the analytics dimension of the level; with detail=overview there is the id alone. With Accept: application/geo+json or application/topo+json the document itself, without an envelope.',
    oneOf: [
      object({
        type: { const: 'Topology' },
        transform: {
          type: 'object',
          description:
            'Positions are whole numbers of steps of scale: thousandths of a degree, with detail=overview 0.005 degrees.',
        },
        objects: dictionary({ type: 'object' }, 'One GeometryCollection.'),
        arcs: list(
          list({ type: 'array', items: { type: 'integer' } }),
          'Lines; neighbours share those between them.',
        ),
      }),
      object({
        type: { const: 'FeatureCollection' },
        features: list({ type: 'object', description: 'A place with its outline.' }),
      }),
    ],
  },
  AnalyticsCatalogResponse: object({
    version: text('Version of the catalog.'),
    metrics: list({
      type: 'object',
      required: [
        'code',
        'label',
        'label_en',
        'unit',
        'decimals',
        'tier',
        'kind',
        'additivity',
        'formula',
        'datasets',
        'dimensions',
        'operators',
      ],
      properties: {
        code: { type: 'string', enum: METRIC_CODES },
        label: text('Label in the language asked for.'),
        label_en: text('English label.'),
        description: text('Definition.'),
        unit: text('Unit of the value.'),
        decimals: integer('Digits after the point.'),
        tier: { type: 'string', enum: ['core', 'extended'] },
        kind: { type: 'string', enum: ['sum', 'count', 'distinct', 'ratio'] },
        additivity: { type: 'object', description: 'Whether groups of a dimension add up.' },
        formula: text('How the value is computed.'),
        denominator: { description: 'Of a ratio.' },
        datasets: list(DATASET),
        dimensions: list({ type: 'string', enum: DIMENSION_CODES }),
        operators: { type: 'object', description: 'Operators by dimension.' },
      },
    }),
    dimensions: list(
      object({
        code: { type: 'string', enum: DIMENSION_CODES },
        label: text('Label in the language asked for.'),
        label_en: text('English label.'),
        tier: { type: 'string', enum: ['core', 'extended'] },
        datasets: list(DATASET, 'Datasets that carry the dimension.'),
        operators: list({ type: 'string', enum: OPERATORS }),
      }),
    ),
  }),
  DimensionValuesResponse: list(
    object({
      code: CODE,
      name: orNull(text('Name of the member.')),
      'parent?': object({ dimension: { type: 'string', enum: DIMENSION_CODES }, code: CODE }),
      'facts?': dictionary(
        orNull(integer('Records that count.')),
        'Records of the member by dataset, when counts are asked for; null where the dataset was not collected.',
      ),
    }),
  ),
  AnalyticsQueryResponse: QUERY_ROWS,
  AnalyticsExplainResponse: object({
    query: QUERY,
    sql: text('The statement, over views named dataset__YYYYMM.'),
    parameters: list({}, 'Values of $1, $2 …'),
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
  }),
  AnalyticsLineageResponse: list(
    object({
      dataset: DATASET,
      'reference_period?': orNull(text('Month of the record.')),
      key: dictionary({ type: ['string', 'integer', 'null'] }, 'Key of the record.'),
      contribution: {
        type: 'number',
        description: 'What the record adds to the side of the cell; of values in reais, reais.',
      },
      sources: list(SOURCE, 'Published rows of the record.'),
    }),
  ),
  AnalyticsCompareResponse: COMPARED_ROWS,
}

/** Response name → schema of `pagination`, of answers whose pages are counted by rows. */
const OFFSET_PAGES: Json = {
  type: 'object',
  required: ['limit', 'offset', 'has_more'],
  additionalProperties: false,
  properties: {
    limit: integer('Rows of a page.'),
    offset: integer('Rows passed over.'),
    total: integer('Members over all pages.'),
    total_rows: integer('Rows over all pages.'),
    has_more: flag('There are rows after this page.'),
  },
}
export const PAGES: Readonly<Record<string, Json>> = Object.fromEntries(
  [
    'DimensionValuesResponse',
    'AnalyticsQueryResponse',
    'AnalyticsLineageResponse',
    'AnalyticsCompareResponse',
  ].map((name) => [name, OFFSET_PAGES]),
)
