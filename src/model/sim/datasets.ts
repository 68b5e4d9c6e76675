/** The dataset of deaths by residence, and the code list of their causes. */
import { RACES } from '../classifications/races.ts'
import { codeList, equals, withinPlaces } from '../declare.ts'
import { AGE_GROUPS, SEXES } from '../demography/code-lists.ts'
import type { Dataset } from '../types.ts'
import { INFANT_AGES, PLACES_OF_DEATH } from './code-lists.ts'

export const DATASETS = {
  deaths: {
    name: 'deaths',
    area: 'sim',
    periodic: true,
    key: [
      'residence_municipality_code',
      'cause_category_code',
      'cause_chapter_code',
      'cause_group_code',
      'age_group',
      'infant_age_code',
      'sex',
      'race_code',
      'place_of_death_code',
      'processing_uf',
    ],
    fields: [
      'reference_period',
      'residence_uf',
      'residence_municipality_code',
      'residence_municipality_name',
      'cause_category_code',
      'cause_chapter_code',
      'cause_group_code',
      'age_group',
      'infant_age_code',
      'sex',
      'race_code',
      'place_of_death_code',
      'processing_uf',
      'deaths',
      'maternal_deaths',
      'premature_ncd_deaths',
      'source_file',
      'source_sha256',
      'source_rows',
    ],
    filters: {
      uf: { ...equals({ uf: true }), column: 'residence_uf' },
      municipality_ibge_code: { kind: 'municipality', column: 'residence_municipality_code' },
      health_region_code: withinPlaces('residence_municipality_code').health_region_code,
      cause_category_code: { kind: 'prefix', column: 'cause_category_code', digits: 3, isCategory: true },
      sex: equals({ list: Object.keys(SEXES) }),
      age_group: equals({ list: AGE_GROUPS }),
      infant_age_code: equals({ list: Object.keys(INFANT_AGES) }),
      race_code: equals({ list: Object.keys(RACES) }),
      place_of_death_code: equals({ list: Object.keys(PLACES_OF_DEATH) }),
    },
    sorts: ['deaths'],
    description:
      'Deaths that are not fetal by month of death, municipality of residence, underlying cause, age, sex, race and place of death, added up from the files by state of residence and year (DO).',
  },
  cause_categories: {
    ...codeList(
      'cause_categories',
      ['cause_category_code'],
      ['cause_category_name'],
      'Categories of CID-10, and those that deaths name.',
    ),
    area: 'sim',
  },
} as const satisfies Record<string, Dataset>

export const DEATH_TABLES = ['deaths'] as const
export type DeathTable = (typeof DEATH_TABLES)[number]
