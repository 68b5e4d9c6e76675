/** Columns of births that no other dataset has. Values only. */
import { optionalCode, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  mother_age_group: optionalCode('Age group of the mother (IDADEMAE), 5 years each; null where unknown.'),
  weight_class_code: optionalCode(
    'Class of the weight at birth in grams (PESO); null where unknown (0, 9999, blank).',
  ),
  gestation_class_code: optionalCode(
    'Class of the weeks of gestation (GESTACAO); null where unknown. From 2011 on, weeks are counted and no longer chosen from classes: the series breaks there.',
  ),
  prenatal_visits_class_code: optionalCode(
    'Class of the number of prenatal visits (CONSULTAS); null where unknown, as in all files of 1994 and 1995.',
  ),
  delivery_code: optionalCode(
    'Delivery (PARTO): 1 vaginal, 2 caesarean; in 1994 and 1995 also 3 forceps and 4 other.',
  ),
  births: quantity('births', 'Live births.'),
} as const satisfies Record<string, Field>
