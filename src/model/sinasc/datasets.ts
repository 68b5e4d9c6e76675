/** Dataset of live births by month and residence of the mother. */

import { RACES } from '../classifications/races.ts'
import { equals } from '../declare.ts'
import { SEXES } from '../demography/code-lists.ts'
import type { Dataset } from '../types.ts'
import {
  DELIVERIES,
  GESTATION_CLASSES,
  MOTHER_AGE_GROUPS,
  PRENATAL_CLASSES,
  WEIGHT_CLASSES,
} from './code-lists.ts'

const KEY = [
  'residence_municipality_code',
  'mother_age_group',
  'weight_class_code',
  'gestation_class_code',
  'prenatal_visits_class_code',
  'delivery_code',
  'race_code',
  'sex',
  'processing_uf',
] as const

export const DATASETS = {
  births: {
    name: 'births',
    area: 'sinasc',
    periodic: true,
    key: KEY,
    fields: [
      'reference_period',
      'residence_uf',
      ...KEY,
      'births',
      'source_file',
      'source_sha256',
      'source_rows',
      'publication_status',
    ],
    nullable: ['sex'],
    filters: {
      uf: { kind: 'equals', column: 'residence_uf', values: { uf: true } },
      municipality_ibge_code: { kind: 'municipality', column: 'residence_municipality_code' },
      mother_age_group: equals({ list: Object.keys(MOTHER_AGE_GROUPS) }),
      weight_class_code: equals({ list: Object.keys(WEIGHT_CLASSES) }),
      gestation_class_code: equals({ list: Object.keys(GESTATION_CLASSES) }),
      prenatal_visits_class_code: equals({ list: Object.keys(PRENATAL_CLASSES) }),
      delivery_code: equals({ list: Object.keys(DELIVERIES) }),
      race_code: equals({ list: Object.keys(RACES) }),
      sex: equals({ list: Object.keys(SEXES) }),
    },
    sorts: ['births'],
    description:
      'Live births by month of birth, municipality of residence of the mother, her age group, weight, gestation, prenatal visits, delivery, race and sex, added up from the yearly files by state of residence (DN). An unknown value is null.',
  },
} as const satisfies Record<string, Dataset>

export const BIRTH_TABLES = ['births'] as const
export type BirthTable = (typeof BIRTH_TABLES)[number]
