/** Dimensions of residents besides territories: sex and age group. */
import { closed } from '../declare.ts'
import type { DimensionDeclaration } from '../types.ts'
import { AGE_GROUP_NAMES, SEXES } from './code-lists.ts'

export const DIMENSIONS = {
  sex: { ...closed('Sexo', 'Sex', 'sex', SEXES), tier: 'extended' },
  age_group: { ...closed('Faixa etária', 'Age group', 'age_group', AGE_GROUP_NAMES), tier: 'extended' },
} as const satisfies Record<string, DimensionDeclaration>
