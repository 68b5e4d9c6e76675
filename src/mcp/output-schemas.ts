/**
 * Output schemas of the tools, as JSON Schema 2020-12. Clients read `structuredContent` with them. Each schema lists every member that its
 * tool may return, and requires those that are always present.
 */

export type Schema = Readonly<Record<string, unknown>>

export type Outputs = {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
}

const string = (description?: string): Schema => ({
  type: 'string',
  ...(description === undefined ? {} : { description }),
})
const orNull = (type: string, description?: string): Schema => ({
  type: [type, 'null'],
  ...(description === undefined ? {} : { description }),
})
const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })
const list = (items: Schema, description?: string): Schema => ({
  type: 'array',
  items,
  ...(description === undefined ? {} : { description }),
})
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Outputs => ({
  type: 'object',
  properties,
  required,
})
const ANY_OBJECT: Schema = { type: 'object' }
/** Code of a member: a number in dimensions with numeric codes, else a string. Null is the member without a code. */
const CODE: Schema = { type: ['string', 'integer', 'null'] }

const NOTES: Schema = list(
  object(
    { code: string('Which note it is, as the API names it.'), message: string('The note as a sentence.') },
    ['code', 'message'],
  ),
  'What the numbers mean, and what they leave out.',
)

const ORIGIN = {
  release_id: string('Release that the answer is from.'),
  reference_period: string('Newest month of the release, YYYY-MM.'),
  synthetic: { const: true, description: 'Present where the data are invented.' },
  warning: string('Present where the data are invented.'),
}
const IDENTITY = {
  ...ORIGIN,
  fingerprint: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of query and rows.' },
  citation: string('How to cite the numbers (ABNT).'),
  link: orNull('string', 'The same question as an address, pinned; null where it is too long for one.'),
}
const IDENTITY_REQUIRED = ['release_id', 'fingerprint', 'citation', 'link'] as const
const LINK = string('Address of the answer of the API.')

const ROWS = list(
  list({ type: ['string', 'number', 'boolean', 'null'] }),
  'Values in the order of columns; null is not zero.',
)

export const QUERY_OUTPUT = object(
  {
    columns: list(object({ name: string(), label: string(), unit: string() }, ['name'])),
    rows: ROWS,
    total_rows: count('Rows of the whole answer.'),
    next_offset: count('Offset of the next rows; absent where there are none.'),
    totals: list(
      object(
        {
          group_by: list(string()),
          rows: ROWS,
          total_rows: count('Rows of the level, of which the first 20 are shown.'),
        },
        ['group_by', 'rows', 'total_rows'],
      ),
    ),
    notes: NOTES,
    ...IDENTITY,
  },
  ['columns', 'rows', 'total_rows', 'notes', ...IDENTITY_REQUIRED],
)

export const EXPLAIN_OUTPUT = object(
  {
    query: { type: 'object', description: 'The query in its one form.' },
    estimated_rows: count('Rows that the query gives at most.'),
    rows_read: count('Rows of the files that are read.'),
    reads: list(
      object({ dataset: string(), periods: list(string()), rows: count('Rows of these periods.') }, [
        'dataset',
        'periods',
        'rows',
      ]),
    ),
    sql: string('Present with with_sql.'),
    notes: NOTES,
    ...ORIGIN,
  },
  ['query', 'estimated_rows', 'rows_read', 'reads', 'notes', 'release_id'],
)

export const LINEAGE_OUTPUT = object(
  {
    value: orNull('number', 'The value of the query.'),
    adds_up_to: orNull('number', 'Sum of the contributions of all records.'),
    records: count('Records behind the value.'),
    shown: list(
      object(
        {
          dataset: string(),
          reference_period: orNull('string'),
          key: ANY_OBJECT,
          contribution: orNull('number'),
          published: list(
            object(
              {
                publisher: string(),
                file: string(),
                row: { type: ['integer', 'null'] },
                column: orNull('string'),
                raw_value: { type: ['string', 'number', 'null'] },
                sha256: string('SHA-256 of the published file.'),
              },
              ['publisher', 'file', 'sha256'],
            ),
            'The first cells that the record was published in.',
          ),
        },
        ['dataset', 'key', 'contribution', 'published'],
      ),
    ),
    notes: NOTES,
    ...IDENTITY,
  },
  ['value', 'adds_up_to', 'records', 'shown', 'notes', ...IDENTITY_REQUIRED],
)

export const COMPARE_OUTPUT = object(
  {
    changed_rows: count('Rows that differ.'),
    same_content: {
      type: ['boolean', 'null'],
      description: 'true: both releases hold the same data. null: one has no content id.',
    },
    rows: list(
      object(
        {
          label: string(),
          metrics: { type: 'object', description: 'Old value, new value, difference and causes by metric.' },
        },
        ['label', 'metrics'],
      ),
    ),
    notes: NOTES,
    old_release_id: string(),
    ...IDENTITY,
  },
  ['changed_rows', 'same_content', 'rows', 'notes', 'old_release_id', ...IDENTITY_REQUIRED],
)

const METRIC = object(
  {
    code: string(),
    label: string(),
    unit: string(),
    description: string(),
    meaning: string('What the number says and what it does not.'),
    formula: string(),
    datasets: list(string()),
    dimensions: list(string(), 'Dimensions that it can be grouped and filtered by.'),
  },
  ['code', 'label'],
)

export const CATALOG_OUTPUT = object(
  {
    metric: METRIC,
    metrics: list(METRIC),
    found: count('Metrics that the search found.'),
    other_metrics: { type: 'object', additionalProperties: list(string()), description: 'Codes by dataset.' },
    dimensions: list(object({ code: string(), label: string() }, ['code', 'label'])),
    note: string(),
    hint: string(),
    catalog_version: string(),
    ...ORIGIN,
    link: LINK,
  },
  ['catalog_version', 'link'],
)

export const MEMBERS_OUTPUT = object(
  {
    dimension: string(),
    members: list(
      object(
        { code: CODE, name: orNull('string'), parent: object({ dimension: string(), code: CODE }, []) },
        ['code', 'name'],
      ),
    ),
    total: count('Members that the search finds, or all of them.'),
    note: string(),
    notes: NOTES,
    ...ORIGIN,
    link: LINK,
  },
  ['dimension', 'members', 'link'],
)

export const FACILITY_OUTPUT = object(
  {
    facility: { type: 'object', description: 'The whole record of one facility.' },
    facilities: list(ANY_OBJECT),
    total: {
      type: ['integer', 'null'],
      minimum: 0,
      description: 'Facilities that the filters take; null where some were not collected, as notes say.',
    },
    notes: NOTES,
    ...ORIGIN,
    link: LINK,
  },
  ['link'],
)

export const RELEASES_OUTPUT = object(
  {
    releases: list(
      object(
        {
          release_id: string(),
          first_period: string('First month; the month 00 of deaths and births without a month is left out.'),
          last_period: string(),
          in_service: { type: 'boolean' },
          synthetic: ORIGIN.synthetic,
        },
        ['release_id', 'in_service'],
      ),
    ),
    link: LINK,
  },
  ['releases', 'link'],
)
