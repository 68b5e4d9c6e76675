/** The datasets of deaths by residence and by occurrence, of fetal deaths, and the code list of their causes. */
import { RACES } from '../classifications/races.ts'
import { codeList, equals, withinPlaces } from '../declare.ts'
import { AGE_GROUPS, SEXES } from '../demography/code-lists.ts'
import { GESTATION_CLASSES } from '../sinasc/code-lists.ts'
import type { Dataset } from '../types.ts'
import { INFANT_AGES, PLACES_OF_DEATH } from './code-lists.ts'

const KEY = [
  'cause_category_code',
  'cause_chapter_code',
  'cause_group_code',
  'age_group',
  'infant_age_code',
  'sex',
  'race_code',
  'place_of_death_code',
  'processing_uf',
] as const
/** Null when the record does not state it. */
const UNKNOWN = ['age_group', 'sex'] as const
const SOURCE_FILE = ['source_file', 'source_sha256', 'source_rows', 'publication_status'] as const
const OF_RESIDENCE = {
  uf: { ...equals({ uf: true }), column: 'residence_uf' },
  municipality_ibge_code: { kind: 'municipality', column: 'residence_municipality_code' },
  health_region_code: withinPlaces('residence_municipality_code').health_region_code,
} as const
const CODE_FILTERS = {
  cause_category_code: { kind: 'prefix', column: 'cause_category_code', digits: 3, isCategory: true },
  sex: equals({ list: Object.keys(SEXES) }),
  age_group: equals({ list: AGE_GROUPS }),
  infant_age_code: equals({ list: Object.keys(INFANT_AGES) }),
  race_code: equals({ list: Object.keys(RACES) }),
  place_of_death_code: equals({ list: Object.keys(PLACES_OF_DEATH) }),
} as const

export const DATASETS = {
  deaths: {
    name: 'deaths',
    area: 'sim',
    periodic: true,
    key: ['residence_municipality_code', ...KEY],
    fields: [
      'reference_period',
      'residence_uf',
      'residence_municipality_code',
      'residence_municipality_name',
      ...KEY,
      'deaths',
      'maternal_deaths',
      'premature_ncd_deaths',
      ...SOURCE_FILE,
    ],
    nullable: UNKNOWN,
    filters: {
      ...OF_RESIDENCE,
      ...CODE_FILTERS,
    },
    sorts: ['deaths'],
    description:
      'Deaths that are not fetal by month of death, municipality of residence, underlying cause, age, sex, race and place of death, added up from the files by state of residence and year (DO).',
  },
  deaths_by_occurrence: {
    name: 'deaths_by_occurrence',
    area: 'sim',
    periodic: true,
    key: ['occurrence_municipality_code', ...KEY],
    fields: [
      'reference_period',
      'uf',
      'occurrence_municipality_code',
      'municipality_name',
      ...KEY,
      'deaths',
      ...SOURCE_FILE,
    ],
    internal: ['municipality_ibge_code'],
    nullable: UNKNOWN,
    filters: {
      uf: equals({ uf: true }),
      occurrence_municipality_code: { kind: 'municipality', column: 'occurrence_municipality_code' },
      ...withinPlaces('occurrence_municipality_code'),
      ...CODE_FILTERS,
    },
    sorts: ['deaths'],
    description:
      'The same deaths by the municipality where they happened, wherever the dead lived. Files are by state of residence, so a place is complete only with the files of all states. A place that is not known is null.',
  },
  fetal_deaths: {
    name: 'fetal_deaths',
    area: 'sim',
    periodic: true,
    key: [
      'residence_municipality_code',
      'cause_category_code',
      'cause_chapter_code',
      'cause_group_code',
      'gestation_class_code',
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
      'gestation_class_code',
      'sex',
      'race_code',
      'place_of_death_code',
      'processing_uf',
      'fetal_deaths',
      ...SOURCE_FILE,
    ],
    nullable: ['sex'],
    filters: {
      ...OF_RESIDENCE,
      cause_category_code: CODE_FILTERS.cause_category_code,
      gestation_class_code: equals({ list: Object.keys(GESTATION_CLASSES) }),
      sex: CODE_FILTERS.sex,
      race_code: CODE_FILTERS.race_code,
      place_of_death_code: CODE_FILTERS.place_of_death_code,
    },
    sorts: ['fetal_deaths'],
    description:
      'Fetal deaths by month of death, municipality of residence of the mother, cause, length of gestation, sex, race and place of death, added up from the files of the country by year (DOFET). They count among no other deaths.',
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

/** The first two come from the same files, so either both are collected or none is. */
export const DEATH_TABLES = ['deaths', 'deaths_by_occurrence', 'fetal_deaths'] as const
export type DeathTable = (typeof DEATH_TABLES)[number]
