/** The profile of a place. */
import { z } from 'zod'
import { PROFILE_BLOCKS, PROFILE_LEVELS } from '../model/profiles/index.ts'
import { componentAs, documentedAs } from '../query/text-schemas.ts'
import { type AnswerOf, count, metricCode, month, oneOf, queryBody, text, value } from './parts.ts'

const PLACE = {
  level: oneOf(PROFILE_LEVELS, 'Level of the place.'),
  code: documentedAs(z.union([z.string(), z.number()]), {
    type: ['string', 'integer'],
    description: 'Code of the place, as answers of queries have it.',
  }),
  name: text('Name of the place.'),
}
const place = componentAs(z.strictObject(PLACE), 'ProfilePlace')

const period = componentAs(
  z.strictObject({
    unit: oneOf(['month', 'year'], 'year: a yearly source, whose year is named by its last month.'),
    from: month('First month of the value.'),
    to: month('Last month of the value.'),
    months: count('Months that a flow is summed over; 1 for the count of a month.'),
  }),
  'ProfilePeriod',
)

const peers = componentAs(
  z
    .strictObject({
      places: count('Places of the level that have a value.'),
      rank: count('1 for the largest value; equal values share it.'),
      percentile: value('Percent of the other places whose value is below.'),
      distribution: z
        .strictObject({
          min: z.number(),
          p05: z.number(),
          p25: z.number(),
          p50: z.number(),
          p75: z.number(),
          p95: z.number(),
          max: z.number(),
        })
        .describe('Values that places have, by nearest rank.'),
      query: queryBody,
    })
    .describe('Position of the value among all places of the level.'),
  'ProfilePeers',
)
export type ProfilePeers = AnswerOf<typeof peers>

const indicator = componentAs(
  z
    .strictObject({
      metric: metricCode,
      label: text('Label of the metric, in the requested language.'),
      unit: text('Unit of the value.'),
      kind: oneOf(['sum', 'count', 'distinct', 'ratio'], 'How it is computed.'),
      decimals: count('Digits after the point.'),
      period: period.nullable(),
      value: value('The indicator; null where it was not collected or has no denominator.'),
      lower: value('Lower confidence limit (95 %); null for metrics without a method.'),
      upper: value('Upper confidence limit (95 %).'),
      comparator: value('Value of the comparator of the profile; null for counts.'),
      ratio: value('The value divided by that of the comparator.'),
      significance: oneOf(
        ['lower', 'similar', 'higher', 'not_compared'],
        'Against the comparator; null for counts.',
      ).nullable(),
      peers: peers.nullable(),
      course: z
        .strictObject({
          points: z.array(z.strictObject({ period: month('Month of the value.'), value: value() })),
          query: queryBody,
        })
        .nullable(),
      query: queryBody,
    })
    .describe(
      'An indicator of the place. query gives value, limits and comparator; the queries of peers and course give theirs.',
    ),
  'ProfileIndicator',
)
export type ProfileIndicator = AnswerOf<typeof indicator>

export const profile = componentAs(
  z
    .strictObject({
      place: z.strictObject({
        ...PLACE,
        parents: z.array(place).describe('Larger places, the finest first.'),
      }),
      comparator: place.nullable(),
      population_by_age: z
        .strictObject({
          groups: z.array(
            z.strictObject({
              sex: text('Code of the sex.').nullable(),
              age_group: text('Code of the age group.').nullable(),
              population: count(
                'Residents; null where the source lacks a municipality of the place.',
              ).nullable(),
            }),
          ),
          query: queryBody,
        })
        .nullable(),
      blocks: z
        .array(
          z.strictObject({
            code: oneOf(Object.keys(PROFILE_BLOCKS), 'Subject of the indicators.'),
            label: text('Name of the block, in the requested language.'),
            indicators: z.array(indicator),
          }),
        )
        .describe('Only what the release holds and the key may read.'),
    })
    .describe('Indicators of a place in a release.'),
  'Profile',
)
export type Profile = AnswerOf<typeof profile>
