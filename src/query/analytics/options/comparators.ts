/**
 * Plans what each row is compared with: the same question about a larger place that contains the row's place. Pure.
 *
 * In: a query grouped by places. Out: a plan grouped by the larger place instead, without the filters on places, because the
 * comparator is the complete place. The dialect joins both and prints value, ratio and significance.
 */
import { z } from 'zod'
import { both } from '../../../errors.ts'
import type { Capability } from '../../../model/capabilities.ts'
import { type DimensionCode, groupedDimension, isPlace } from '../../../model/dimensions.ts'
import { LIMIT_LEVELS, type LimitLevel } from '../../../model/limits/levels.ts'
import type { Note } from '../../../model/notes.ts'
import { STATES } from '../../../model/territory/states.ts'
import { ALL_STATES } from '../../../release/coverage.ts'
import type { ReleaseView } from '../../../release/view.ts'
import { takes } from '../../field-texts.ts'
import { refuse } from '../../refusals.ts'
import { documentedAs } from '../../text-schemas.ts'
import { type AggregatePlan, planAggregate } from '../plan.ts'
import type { PlanContext } from '../query-plan.ts'
import type { QueryMetric } from './defined-metrics.ts'
import { checkPeers, groupPeers, isPeers, PEERS } from './peers.ts'

export const COMPARATORS = [
  'country',
  'region',
  'state',
  'health_macroregion',
  'health_region',
  'peers',
] as const
export type Comparator = (typeof COMPARATORS)[number]

export interface ComparatorOption {
  readonly with: Comparator
  /** Level of the confidence limits that decide the significance. */
  readonly level: LimitLevel
}

/** The dimension of each larger place, by the dimension of the row's place; the finest places first. */
const LARGER_PLACES: readonly (readonly [DimensionCode, Partial<Record<Comparator, DimensionCode>>])[] = [
  [
    'municipality',
    {
      region: 'region',
      state: 'state',
      health_macroregion: 'health_macroregion',
      health_region: 'health_region',
      peers: PEERS.municipality,
    },
  ],
  ['health_region', { region: 'region', state: 'state', health_macroregion: 'health_macroregion' }],
  ['health_macroregion', { region: 'region', state: 'state' }],
  ['state', { region: 'region' }],
  ['region', {}],
  [
    'residence_municipality',
    {
      region: 'residence_region',
      state: 'residence_state',
      health_region: 'residence_health_region',
      peers: PEERS.residence_municipality,
    },
  ],
  ['residence_health_region', { region: 'residence_region', state: 'residence_state' }],
  ['residence_state', { region: 'residence_region' }],
  ['residence_region', {}],
]

export const compareToField = z
  .strictObject({
    with: z
      .enum(COMPARATORS)
      .describe(
        'The larger place that contains the place of the row; peers: the municipalities of the same major region and the same band of the census population (see the catalog), taken together.',
      ),
    level: takes(
      documentedAs(z.literal([...LIMIT_LEVELS]), {
        type: 'number',
        minimum: LIMIT_LEVELS[0],
        maximum: LIMIT_LEVELS[1],
      }).optional(),
      LIMIT_LEVELS.join(' ou '),
      LIMIT_LEVELS.join(' or '),
    ).describe('Level of the limits that decide the significance (0.95 or 0.998). Without it: 0.95.'),
  })
  .nullish()
  .describe(
    'For queries grouped by places: adds <metric>__comparator (the value of the larger place or of the peers), <metric>__ratio and <metric>__significance (lower, similar, higher, not_compared).',
  )

/** @throws AppError 'invalid_request' when nothing that is grouped lies in such a place */
export function resolveComparator(
  data: z.infer<typeof compareToField>,
  groups: readonly DimensionCode[],
  metrics: readonly QueryMetric[],
): ComparatorOption | null {
  if (data === null || data === undefined) return null
  const places = LARGER_PLACES.filter(([code]) => groups.includes(code))
  const [finest] = places
  const areOfOneKind = new Set(places.map(([code]) => code.startsWith('residence_'))).size === 1
  if (finest === undefined || !areOfOneKind || groups.includes('facility'))
    throw refuse(
      'invalid_request',
      '/compare_to',
      both(
        'exige em group_by lugares de um só tipo (todos do estabelecimento ou todos de residência), e não facility',
        'requires places of one kind in group_by (all of the facility or all of residence), and not facility',
      ),
      LARGER_PLACES.map(([code]) => code),
    )
  if (groups.some((code) => isPlace(code) && groupedDimension(code) !== null))
    throw refuse(
      'invalid_request',
      '/compare_to',
      both(
        'não combina com agrupamentos de lugares: não há um lugar maior que contenha um grupo',
        'does not go with groupings of places: no larger place contains a group',
      ),
    )
  if (metrics.some(({ filters }) => filters.some(({ dimension }) => isPlace(dimension))))
    throw refuse(
      'invalid_request',
      '/compare_to',
      both(
        'não combina com métricas que filtram lugares: o lugar maior é comparado inteiro',
        'does not go with metrics that filter places: the larger place is compared as a whole',
      ),
    )
  const allowed = COMPARATORS.filter((name) => name === 'country' || finest[1][name] !== undefined)
  if (!allowed.includes(data.with))
    throw refuse(
      'invalid_request',
      '/compare_to/with',
      both(`não contém ${finest[0]}`, `does not contain ${finest[0]}`),
      allowed,
    )
  return { with: data.with, level: data.level ?? 0.95 }
}

/** @returns whether rows show the number of their peers */
export const hasPeers = ({ compare_to }: { readonly compare_to: ComparatorOption | null }): boolean =>
  compare_to?.with === 'peers'

export interface ComparatorPlan {
  readonly plan: AggregatePlan
  /** The grouped dimension of the row's place. */
  readonly place: DimensionCode
  /** The dimension of the larger place; null for the country. */
  readonly larger: DimensionCode | null
  /** Whether rows name the larger place themselves. */
  readonly isGrouped: boolean
  /** Year of the census that makes the groups of peers; null for a larger place. */
  readonly censusYear: number | null
}

/** @returns the plan of the larger places, over the months of the rows */
export function planComparator(
  rows: AggregatePlan,
  { with: name }: ComparatorOption,
  view: ReleaseView,
  capabilities: readonly Capability[],
  context: PlanContext,
): ComparatorPlan {
  const { query } = rows
  const found = LARGER_PLACES.find(([code]) => query.group_by.includes(code))
  if (found === undefined) throw new TypeError('a comparison needs a place')
  const [place, largerPlaces] = found
  const larger = largerPlaces[name] ?? null
  const group_by = [
    ...(larger === null ? [] : [larger]),
    ...query.group_by.filter((code) => !LARGER_PLACES.some(([other]) => other === code)),
  ]
  const isOfPeers = isPeers(larger)
  const plan = planAggregate(
    {
      ...query,
      groupings: isOfPeers
        ? [...query.groupings, groupPeers(place, context.censusPopulation ?? new Map())]
        : query.groupings,
      group_by,
      filters: query.filters.filter(({ dimension }) => !isPlace(dimension)),
      order_by: [],
      totals: [],
      having: [],
      change: null,
      share_of: null,
      rank: false,
      limits: null,
      percentile: false,
      compare_to: null,
      status: false,
      include_ignored: true,
      limit: 1,
      offset: 0,
    },
    view,
    capabilities,
    { ...context, name: 'comparator_' },
  )
  const isGrouped = larger !== null && query.group_by.includes(larger)
  return { plan, place, larger, isGrouped, censusYear: isOfPeers ? checkPeers(view) : null }
}

/**
 * Notes who the peers are, and that a comparator was not collected in full, which makes its value null.
 * @param places states that the rows' filters leave
 */
export function noteComparator(
  { plan, censusYear }: ComparatorPlan,
  { with: name }: ComparatorOption,
  places: ReadonlySet<string>,
): Note[] {
  const states = statesCompared(name, places)
  const isIncomplete = plan.missing.some((missing) => missing.states.some((uf) => states.has(uf)))
  return [
    ...(censusYear === null ? [] : [{ code: 'peers', year: censusYear } as const]),
    ...(isIncomplete ? [{ code: 'comparator_not_collected', comparator: name } as const] : []),
  ]
}

/** @returns the states that larger places or peers of some states lie in */
function statesCompared(name: ComparatorOption['with'], places: ReadonlySet<string>): ReadonlySet<string> {
  if (name === 'country') return ALL_STATES
  if (name !== 'region' && name !== 'peers') return places
  const regions = new Set(STATES.filter(({ uf }) => places.has(uf)).map(({ region_code }) => region_code))
  return new Set(STATES.filter(({ region_code }) => regions.has(region_code)).map(({ uf }) => uf))
}
