/**
 * Profiles of places: their blocks, and the indicators that each area declares in its profile.ts. To add an indicator, add a
 * line there. Values only.
 */
import { PROFILE } from '../declarations.ts'
import type { DimensionCode } from '../dimensions.ts'
import { dimensionsOf, type MetricCode } from '../metrics.ts'
import type { Text } from '../types.ts'

/** Levels that places of profiles have, the finest first. */
export const PROFILE_LEVELS = [
  'municipality',
  'health_region',
  'health_macroregion',
  'state',
  'region',
  'country',
] as const
export type ProfileLevel = (typeof PROFILE_LEVELS)[number]

/** Blocks in the order in which profiles show them. */
export const PROFILE_BLOCKS = {
  population: { pt: 'População', en: 'Population' },
  capacity: { pt: 'Capacidade', en: 'Capacity' },
  use: { pt: 'Uso pelos moradores', en: 'Use by residents' },
  production: {
    pt: 'Produção dos hospitais e ambulatórios',
    en: 'Production of hospitals and outpatient care',
  },
  money: { pt: 'Dinheiro', en: 'Money' },
  deaths: { pt: 'Óbitos dos moradores', en: 'Deaths of residents' },
  births: { pt: 'Nascimentos', en: 'Births' },
} as const satisfies Record<string, Text>
export type ProfileBlock = keyof typeof PROFILE_BLOCKS

export interface ProfileIndicator {
  readonly metric: MetricCode
  readonly block: ProfileBlock
  /** The place is where patients, the deceased or mothers live; without it, the place of the facilities. */
  readonly of?: 'residents'
}
export const PROFILE_INDICATORS: readonly ProfileIndicator[] = PROFILE

/** The larger place that each level is compared with. */
export const PROFILE_COMPARATORS: Readonly<Record<ProfileLevel, 'state' | 'country' | null>> = {
  municipality: 'state',
  health_region: 'state',
  health_macroregion: 'state',
  state: 'country',
  region: 'country',
  country: null,
}

/** @returns the dimension by which an indicator has values of a level; null where it has none. The country needs no dimension. */
export function placeDimension(indicator: ProfileIndicator, level: ProfileLevel): DimensionCode | null {
  const name = indicator.of === 'residents' ? `residence_${level}` : level
  return dimensionsOf(indicator.metric).find((code) => code === name) ?? null
}
