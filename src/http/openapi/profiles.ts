/** Schemas of the profile of a place. */
import { PROFILE_BLOCKS, PROFILE_LEVELS } from '../../model/profiles/index.ts'
import { integer, type Json, list, object, oneOf, orNull, ref, text } from './json.ts'

const VALUE: Json = { type: ['number', 'null'] }
const valued = (description: string): Json => ({ ...VALUE, description })
const MONTH: Json = { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$' }
const QUERY: Json = ref('AnalyticsQueryRequest')
const PLACE = {
  level: oneOf(PROFILE_LEVELS, 'Level of the place.'),
  code: { type: ['string', 'integer'], description: 'Code of the place, as answers of queries have it.' },
  name: text('Name of the place.'),
}

export const PROFILE_SCHEMAS: Readonly<Record<string, Json>> = {
  Profile: object(
    {
      place: object({ ...PLACE, parents: list(ref('ProfilePlace'), 'Larger places, the finest first.') }),
      comparator: orNull(ref('ProfilePlace')),
      population_by_age: orNull(
        object({
          groups: list(
            object({
              sex: orNull(text('Code of the sex.')),
              age_group: orNull(text('Code of the age group.')),
              population: orNull(
                integer('Residents; null where the source lacks a municipality of the place.'),
              ),
            }),
          ),
          query: QUERY,
        }),
      ),
      blocks: list(
        object({
          code: oneOf(Object.keys(PROFILE_BLOCKS), 'Subject of the indicators.'),
          label: text('Name of the block, in the requested language.'),
          indicators: list(ref('ProfileIndicator')),
        }),
        'Only what the release holds and the key may read.',
      ),
    },
    'What a release says of a place.',
  ),
  ProfilePlace: object(PLACE),
  ProfilePeriod: object({
    unit: oneOf(['month', 'year'], 'year: a yearly source, whose year is named by its last month.'),
    from: { ...MONTH, description: 'First month of the value.' },
    to: { ...MONTH, description: 'Last month of the value.' },
    months: integer('Months that a flow is summed over; 1 for the count of a month.'),
  }),
  ProfileIndicator: object(
    {
      metric: ref('MetricCode'),
      label: text('Label of the metric, in the requested language.'),
      unit: text('Unit of the value.'),
      kind: oneOf(['sum', 'count', 'distinct', 'ratio'], 'How it is computed.'),
      decimals: integer('Digits after the point.'),
      period: orNull(ref('ProfilePeriod')),
      value: valued('The indicator; null where it was not collected or has no denominator.'),
      lower: valued('Lower confidence limit (95 %); null for metrics without a method.'),
      upper: valued('Upper confidence limit (95 %).'),
      comparator: valued('Value of the comparator of the profile; null for counts.'),
      ratio: valued('The value divided by that of the comparator.'),
      significance: orNull(
        oneOf(['lower', 'similar', 'higher', 'not_compared'], 'Against the comparator; null for counts.'),
      ),
      peers: orNull(ref('ProfilePeers')),
      course: orNull(
        object({
          points: list(object({ period: { ...MONTH, description: 'Month of the value.' }, value: VALUE })),
          query: QUERY,
        }),
      ),
      query: QUERY,
    },
    'An indicator of the place. query gives value, limits and comparator; the queries of peers and course give theirs.',
  ),
  ProfilePeers: object(
    {
      places: integer('Places of the level that have a value.'),
      rank: integer('1 for the largest value; equal values share it.'),
      percentile: valued('Percent of the other places whose value is below.'),
      distribution: object(
        {
          min: VALUE,
          p05: VALUE,
          p25: VALUE,
          p50: VALUE,
          p75: VALUE,
          p95: VALUE,
          max: VALUE,
        },
        'Values that places have, by nearest rank.',
      ),
      query: QUERY,
    },
    'Where the value stands among all places of the level.',
  ),
}
