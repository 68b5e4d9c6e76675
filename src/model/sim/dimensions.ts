/** Dimensions of deaths, and the facts that have them. */
import { closed, listed } from '../declare.ts'
import { COARSE_PERIODS } from '../periods.ts'
import { DIAGNOSIS_CHAPTERS } from '../sih/code-lists.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'
import { INFANT_AGES, PLACE_NOT_INFORMED, PLACES_OF_DEATH } from './code-lists.ts'
import type { DeathTable } from './datasets.ts'

const extended = (declared: DimensionDeclaration): DimensionDeclaration => ({ ...declared, tier: 'extended' })
const CHAPTER_NAMES = Object.fromEntries(
  DIAGNOSIS_CHAPTERS.map(({ code, name, name_en }) => [code, [name, name_en] as const]),
)

export const DIMENSIONS = {
  infant_age: extended({
    ...closed(
      'Componente do óbito infantil',
      'Part of the first year of life',
      'infant_age_code',
      INFANT_AGES,
    ),
    labelWithoutCode: {
      pt: 'De 1 ano e mais, ou de idade ignorada',
      en: 'Aged 1 and over, or of unknown age',
    },
    isOfFewRows: true,
  }),
  cause_chapter: extended(
    closed(
      'Capítulo da causa básica',
      'Chapter of the underlying cause',
      'cause_chapter_code',
      CHAPTER_NAMES,
    ),
  ),
  cause_category: extended(
    listed(
      'Categoria da causa básica',
      'Category of the underlying cause',
      'cause_categories',
      'cause_category',
    ),
  ),
  place_of_death: extended({
    ...closed('Local do óbito', 'Place of death', 'place_of_death_code', PLACES_OF_DEATH),
    unknown: PLACE_NOT_INFORMED,
  }),
} as const satisfies Record<string, DimensionDeclaration>

const RESIDENCE = [
  'residence_state',
  'residence_municipality',
  'residence_health_region',
  'residence_region',
] as const
const OF_DEATHS = [
  'sex',
  'age_group',
  'infant_age',
  'race',
  'cause_chapter',
  'cause_category',
  'cause_group',
  'place_of_death',
] as const

export const FACTS = {
  deaths: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: ['reference_period', ...COARSE_PERIODS, ...RESIDENCE, ...OF_DEATHS],
  },
  fetal_deaths: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: [
      'reference_period',
      ...COARSE_PERIODS,
      ...RESIDENCE,
      'sex',
      'race',
      'cause_chapter',
      'cause_category',
      'cause_group',
      'gestation',
      'place_of_death',
    ],
  },
  deaths_by_occurrence: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    isByOccurrence: true,
    dimensions: [
      'state',
      'municipality',
      'region',
      'health_region',
      'health_macroregion',
      'reference_period',
      ...COARSE_PERIODS,
      ...OF_DEATHS,
    ],
  },
} as const satisfies Record<DeathTable, Fact>
