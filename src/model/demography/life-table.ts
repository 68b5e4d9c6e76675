/** The abridged life table of life expectancy at birth: age groups, and the years that those live in them who die there. Values only. */
import { AGE_GROUPS } from './code-lists.ts'

export interface LifeTableAge {
  readonly ageGroup: string
  /** Length of the group in years; null for the open last group. */
  readonly years: number | null
  /** Mean years that those who die in the group have lived in it. */
  readonly livedByDying: number
}

const YEARS = 5
/** Most deaths under five years happen soon after birth, so those who die have lived a tenth of the group. */
const LIVED_AT_FIRST = 0.5

export const LIFE_TABLE: readonly LifeTableAge[] = AGE_GROUPS.map((ageGroup, index) => ({
  ageGroup,
  years: index === AGE_GROUPS.length - 1 ? null : YEARS,
  livedByDying: index === 0 ? LIVED_AT_FIRST : YEARS / 2,
}))

/** Fewer residents have no life expectancy: its limits would span many years (Eayres and Williams 2004). */
export const LIFE_TABLE_PEOPLE_MIN = 5_000
/** Decimals that a life expectancy keeps before it is rounded for display. */
export const LIFE_TABLE_DECIMALS = 9
