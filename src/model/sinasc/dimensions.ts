/** Dimensions that only births have, and the fact that has them. */
import { closed } from '../declare.ts'
import { COARSE_PERIODS } from '../periods.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'
import {
  DELIVERIES,
  GESTATION_CLASSES,
  MOTHER_AGE_GROUPS,
  PRENATAL_CLASSES,
  WEIGHT_CLASSES,
} from './code-lists.ts'
import type { BirthTable } from './datasets.ts'

const extended = (declared: DimensionDeclaration): DimensionDeclaration => ({ ...declared, tier: 'extended' })

export const DIMENSIONS = {
  mother_age_group: extended(
    closed('Faixa etária da mãe', 'Age group of the mother', 'mother_age_group', MOTHER_AGE_GROUPS),
  ),
  birth_weight: extended(closed('Peso ao nascer', 'Weight at birth', 'weight_class_code', WEIGHT_CLASSES)),
  gestation: extended(
    closed('Duração da gestação', 'Length of gestation', 'gestation_class_code', GESTATION_CLASSES),
  ),
  prenatal_visits: extended(
    closed('Consultas de pré-natal', 'Prenatal visits', 'prenatal_visits_class_code', PRENATAL_CLASSES),
  ),
  delivery: extended(closed('Tipo de parto', 'Delivery', 'delivery_code', DELIVERIES)),
} as const satisfies Record<string, DimensionDeclaration>

export const FACTS = {
  births: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: [
      'reference_period',
      ...COARSE_PERIODS,
      'sex',
      'race',
      'mother_age_group',
      'birth_weight',
      'gestation',
      'prenatal_visits',
      'delivery',
      'residence_state',
      'residence_municipality',
      'residence_health_region',
      'residence_region',
    ],
  },
} as const satisfies Record<BirthTable, Fact>
