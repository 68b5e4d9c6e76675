/** Answers about metrics: rows and totals of queries, comparisons of releases, records behind a cell, members of dimensions. */
import { z } from 'zod'
import { ENGINE_REASONS, ENGINES } from '../engine/types.ts'
import { LIMIT_METHODS } from '../model/limits/methods.ts'
import { STATUSES } from '../model/sheets/statuses.ts'
import { CAUSES } from '../query/analytics/dialect/duckdb/records.ts'
import type { NormalisedQuery } from '../query/analytics/fingerprint.ts'
import { componentAs, componentRef, documentedAs } from '../query/text-schemas.ts'
import {
  type AnswerOf,
  count,
  dictionary,
  dimensionCode,
  flag,
  memberCode,
  metricCode,
  metricSide,
  month,
  oneOf,
  text,
  value,
} from './parts.ts'

const dataset = text('Dataset of the release.')
const member = componentAs(
  z
    .strictObject({
      code: memberCode('Code of the member; null: without a code.'),
      name: text('Name of the member.').nullable(),
      uf: text('State of a municipality or health region.').nullable().exactOptional(),
      ibge_code: count('IBGE code of a state.').nullable().exactOptional(),
    })
    .describe('A member of a dimension.'),
  'DimensionMember',
)
export type Member = AnswerOf<typeof member>
const dimensions = dictionary(member, 'The member of each grouped dimension.')

/** A row of an answer: a group and its values. */
export const analyticsRow = componentAs(
  z
    .strictObject({
      label: text('Names of the members; Total do escopo selecionado where nothing is grouped.'),
      rank: count('Place by the first field of order_by, where a rank is asked for.')
        .nullable()
        .exactOptional(),
      peers: count('Municipalities that compare_to peers compares with, itself included.')
        .nullable()
        .exactOptional(),
      dimensions,
      status: dictionary(
        z.enum(Object.keys(STATUSES)),
        'Status of each metric, with status.',
      ).exactOptional(),
      metrics: z
        .record(
          z.string(),
          documentedAs(z.union([z.number(), z.string(), z.null()]), { type: ['number', 'string', 'null'] }),
        )
        .describe(
          'Value of each metric, in its unit and decimals (see the catalog), and what is asked for beside it: <metric>__lower, __upper, __base, __change, __change_percent, __share, __comparator, __ratio, __significance (a text: lower, similar, higher, not_compared), __percentile.',
        ),
    })
    .describe('A group and its values.'),
  'AnalyticsRow',
)
export type AnalyticsRow = AnswerOf<typeof analyticsRow>

/** @returns the rows of levels of totals */
export const totalsOf = <Row extends z.ZodType>(row: Row) =>
  z
    .array(
      z.strictObject({
        group_by: z.array(text('A dimension, or a grouping by its name.')),
        data: z.array(row),
      }),
    )
    .describe('Rows of each level of totals, every value computed again at its level.')

const exact = value('Exact; null where it is not defined.')
const comparedValue = componentAs(
  z.strictObject({
    old: exact,
    new: exact,
    delta: exact,
    causes: z.array(
      z.strictObject({
        side: metricSide,
        cause: oneOf(CAUSES, 'Event that changed the records.'),
        records: count('Records.'),
        delta: z.number().describe('Amount that they add to the side; in reais for values in reais.'),
      }),
    ),
  }),
  'ComparedValue',
)
export type ComparedValue = AnswerOf<typeof comparedValue>

export const comparedRow = componentAs(
  z.strictObject({
    label: text('Names of the members.'),
    dimensions,
    metrics: dictionary(comparedValue, 'Old, new and why, by metric.'),
  }),
  'ComparedRow',
)
export type ComparedRow = AnswerOf<typeof comparedRow>

const publishedRows = componentAs(
  z
    .strictObject({
      count: count('Published rows that were added up.'),
      where: z
        .array(
          z.strictObject({
            columns: z.array(
              text('Column of the file; of alternatives, separated by a bar, the first that it has.'),
            ),
            pattern: text(
              'Regular expression that the cells match, each without blanks around it, joined by a blank; a column that the file lacks is empty.',
            ),
          }),
        )
        .describe('Conditions that these rows of the file meet.'),
      is_exact: flag(
        'Are these the rows that meet them? False where the publisher names no municipality, because others may meet them, and where a table of old codes of municipalities was imported, because rows under an old code do not.',
      ),
    })
    .describe('How the rows are found that a record of admissions or production was added up from.'),
  'PublishedRows',
)
export type PublishedRows = AnswerOf<typeof publishedRows>

const lineageSource = componentAs(
  z.strictObject({
    publisher: text('Who published the file.').nullable(),
    file: text('File as published.').nullable(),
    archive: text('Archive the file came in.').nullable(),
    sha256: text('SHA-256 of the file.').nullable(),
    row: count('Row of the file, header = 1.').nullable(),
    column: text(
      'Column of what is added up; of alternatives, separated by a bar, the first that the file has; null where a record counts as such.',
    ).nullable(),
    raw_value: text('The published cell.').nullable(),
  }),
  'LineageSource',
)
export type LineageSource = AnswerOf<typeof lineageSource>

/** A record behind a cell. */
export const lineageRecord = componentAs(
  z
    .strictObject({
      dataset,
      reference_period: text('Month of the record.').nullable().exactOptional(),
      key: z.record(z.string(), memberCode()).describe('Key of the record.'),
      contribution: z
        .number()
        .describe('Amount that the record adds to the side of the cell; in reais for values in reais.'),
      published_rows: publishedRows.exactOptional(),
      sources: z.array(lineageSource).describe('Published rows of the record.'),
    })
    .describe('A record behind a cell.'),
  'LineageRecord',
)
export type LineageRecord = AnswerOf<typeof lineageRecord>

export const dimensionValue = componentAs(
  z.strictObject({
    code: memberCode('Code of the member; null: without a code.'),
    name: text('Name of the member.').nullable(),
    parent: z
      .strictObject({ dimension: dimensionCode, code: memberCode('The member that it is of.') })
      .exactOptional(),
    facts: dictionary(
      count('Records that count.').nullable(),
      'Records of the member by dataset, when counts are asked for; null where the dataset was not collected.',
    ).exactOptional(),
  }),
  'DimensionValue',
)
export type DimensionValue = AnswerOf<typeof dimensionValue>

export const answerLimits = componentAs(
  z
    .strictObject({
      level: z.number().describe('Level of the confidence limits.'),
      methods: dictionary(
        oneOf([...Object.keys(LIMIT_METHODS), 'none'], 'Method, or none; the catalog says why.'),
        'Method of each metric.',
      ),
    })
    .describe('How the limits of an answer were computed, where the query has limits.'),
  'AnswerLimits',
)
export type AnswerLimits = AnswerOf<typeof answerLimits>

export const answerPrices = componentAs(
  z
    .strictObject({
      reais_of: documentedAs(z.union([z.string(), z.number()]), {
        type: ['string', 'integer'],
        description: 'Month (YYYY-MM) or year of the prices.',
      }),
      index: text('Name of the price index.'),
      dataset: text('Dataset of the release that holds the index.'),
      metrics: z.array(metricCode).describe('Metrics in constant prices; the others are unchanged.'),
    })
    .describe('Time of the reais of an answer, where the query asks for constant prices.'),
  'AnswerPrices',
)
export type AnswerPrices = AnswerOf<typeof answerPrices>

const constant = documentedAs(
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.union([z.string(), z.number()]))]),
  {
    anyOf: [
      { type: ['string', 'number', 'boolean', 'null'] },
      { type: 'array', items: { type: ['string', 'number'] } },
    ],
  },
)

export const explanation = z.strictObject({
  query: documentedAs(z.custom<NormalisedQuery>(), componentRef('NormalisedQuery')),
  sql: text('The statement, over views named release.dataset, or release.dataset__YYYYMM for one month.'),
  parameters: z.array(constant).describe('Values of $1, $2 …'),
  reads: z.array(
    z.strictObject({
      dataset,
      release_id: text('Release that holds it.').nullable(),
      periods: z.array(month('Reference period.')).describe('Reference periods, ascending.'),
      partitions: z.array(
        z.strictObject({ path: text('File.'), rows: count('Rows.'), bytes: count('Bytes.') }),
      ),
      rows: count('Rows of the partitions.'),
    }),
  ),
  rows_read: count('Rows of all partitions read.'),
  estimated_rows: count('Rows of the answer over all pages, at most.'),
  engine: z
    .strictObject({
      name: oneOf(ENGINES, 'The engine.'),
      because: oneOf(ENGINE_REASONS, 'Why: docs/analytics.md.'),
      rows: count(
        'Rows that its largest relation reads, of pre-aggregates where they serve; null: one engine.',
      ).nullable(),
      min_rows: count('Trino adds up from so many rows on; null where that does not decide.').nullable(),
    })
    .describe('Engine that would add up the facts. The answer is the same on either.'),
})
export type Explanation = AnswerOf<typeof explanation>
