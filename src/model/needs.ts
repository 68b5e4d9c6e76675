/**
 * What a number needs to have been collected: the tables it is made of, and what files of a table do not always say. Values only.
 *
 * A facility's flags (has_equipment, offers_any_sus …) are made of the tables of what it has, so a number of facilities with
 * equipment needs the equipment, not the registry; all facilities there are, only the registry lists.
 */
import {
  DIMENSION_CODES,
  type DimensionCode,
  type FactDataset,
  isPopulation,
  type PopulationFacts,
} from './dimensions.ts'
import { type Measure, type MetricCode, measuresOf } from './metrics.ts'

/** Tables that are collected by state and month: of the registry, of hospital admissions, of outpatient production. */
export type Table = Exclude<FactDataset, PopulationFacts>
/** 'third_parties': who provides a service. 'sus_link': the registry's own link of a facility to SUS. */
export type Need = Table | 'third_parties' | 'sus_link'

/** The table whose files say it. */
export const tableOfNeed = (need: Need): Table =>
  need === 'third_parties' ? 'specialized_services' : need === 'sus_link' ? 'facilities' : need

/** The files by state say 1 (own) in every row and name no provider from this month on: they say nothing of third parties. */
export const PROVIDERS_BY_STATE_UNTIL = 201001

/** Flag of a facility → the tables it is made of. */
export const NEEDS_OF_FLAG: Readonly<Record<string, readonly Need[]>> = {
  has_beds: ['bed_capacity'],
  has_equipment: ['equipment_inventory'],
  has_services: ['specialized_services'],
  offers_any_sus: ['bed_capacity', 'equipment_inventory', 'specialized_services'],
  is_linked_sus: ['facilities', 'sus_link'],
}
/** Dimensions that files of the facts' own table do not always fill. */
const NEED_OF_DIMENSION: Readonly<Partial<Record<DimensionCode, Need>>> = {
  provider_kind: 'third_parties',
  service_characteristic: 'third_parties',
}

function needsOfMeasure({ dataset, where = [] }: Measure): readonly Need[] {
  if (isPopulation(dataset)) return []
  if (dataset !== 'facilities')
    return where.some((condition) => 'outsourced' in condition) ? [dataset, 'third_parties'] : [dataset]
  const flags = where.flatMap((condition) => ('flag' in condition ? [condition.flag] : []))
  return flags.length === 0 ? [dataset] : flags.flatMap((flag) => NEEDS_OF_FLAG[flag] ?? [dataset])
}

/**
 * @param filtered dimensions of the query's filters
 * @param grouped dimensions it is grouped by
 * @returns what all sides of a metric need, each once; of the population, nothing
 */
export function needsOf(
  code: MetricCode,
  filtered: readonly DimensionCode[] = [],
  grouped: readonly DimensionCode[] = [],
): readonly Need[] {
  const sides = Object.values(measuresOf(code, [...filtered, ...grouped])).filter(
    (measure) => measure !== null,
  )
  return [...new Set([...sides.flatMap(needsOfMeasure), ...needsOfDimensions(filtered)])]
}

/** @returns what dimensions need beside the table of the facts, each once */
export const needsOfDimensions = (dimensions: readonly DimensionCode[]): readonly Need[] => [
  ...new Set(
    DIMENSION_CODES.flatMap((dimension) => {
      const need = dimensions.includes(dimension) ? NEED_OF_DIMENSION[dimension] : undefined
      return need === undefined ? [] : [need]
    }),
  ),
]
