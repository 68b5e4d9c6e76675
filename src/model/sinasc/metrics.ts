/**
 * Metrics of births. Births are flows, summed over months of birth. Shares divide by the births whose class is known, so that files
 * with many blank cells do not lower them. Values only.
 */
import { both, counted, metricsOf, ratio, share, sum } from '../declare.ts'
import type { Condition } from '../types.ts'
import {
  ADOLESCENT_GROUPS,
  CAESAREAN,
  DELIVERIES,
  GESTATION_CLASSES,
  LOW_WEIGHT_CLASSES,
  MANY_VISITS,
  MOTHER_AGE_GROUPS,
  PRENATAL_CLASSES,
  PRETERM_CLASSES,
  WEIGHT_CLASSES,
} from './code-lists.ts'

const among = (field: string, codes: readonly string[]): Condition => ({ field, oneOf: codes })
const amongNamed = (field: string, names: Readonly<Record<string, unknown>>): Condition =>
  among(field, Object.keys(names))

const birthsWith = (condition: Condition, pt: string, en: string) =>
  counted(
    sum('births', 'births', [condition]),
    'births',
    `Nascidos vivos ${pt}`,
    `Live births ${en}`,
    both(
      `Nascidos vivos ${pt}, pelo mês de nascimento e pela residência da mãe.`,
      `Live births ${en}, by month of birth and residence of the mother.`,
    ),
  )

export const METRICS = metricsOf('extended', {
  births: counted(
    sum('births', 'births'),
    'births',
    'Nascidos vivos',
    'Live births',
    both(
      'Nascidos vivos declarados ao SINASC, pelo mês de nascimento e pela residência da mãe.',
      'Live births declared to SINASC, by month of birth and residence of the mother.',
    ),
  ),
  births_per_1000: ratio(
    'births',
    'population_census',
    1000,
    'births per 1,000 inhabitants',
    'Nascidos vivos por mil habitantes',
    'Live births per 1,000 inhabitants',
  ),
  births_low_weight: birthsWith(
    among('weight_class_code', LOW_WEIGHT_CLASSES),
    'com menos de 2.500 g',
    'under 2,500 g',
  ),
  births_known_weight: birthsWith(
    amongNamed('weight_class_code', WEIGHT_CLASSES),
    'de peso conhecido',
    'of known weight',
  ),
  low_birth_weight_share: share(
    'births_low_weight',
    'births_known_weight',
    'Proporção de baixo peso ao nascer',
    'Share of low birth weight',
  ),
  births_preterm: birthsWith(
    among('gestation_class_code', PRETERM_CLASSES),
    'com menos de 37 semanas',
    'under 37 weeks',
  ),
  births_known_gestation: birthsWith(
    amongNamed('gestation_class_code', GESTATION_CLASSES),
    'de gestação conhecida',
    'of known gestation',
  ),
  preterm_share: share(
    'births_preterm',
    'births_known_gestation',
    'Proporção de prematuros',
    'Share of preterm births',
  ),
  births_caesarean: birthsWith(among('delivery_code', [CAESAREAN]), 'por cesárea', 'by caesarean'),
  births_known_delivery: birthsWith(
    amongNamed('delivery_code', DELIVERIES),
    'de parto conhecido',
    'of known delivery',
  ),
  caesarean_share: share(
    'births_caesarean',
    'births_known_delivery',
    'Proporção de cesáreas',
    'Share of caesarean deliveries',
  ),
  births_prenatal_7plus: birthsWith(
    among('prenatal_visits_class_code', [MANY_VISITS]),
    'com 7 ou mais consultas de pré-natal',
    'with 7 or more prenatal visits',
  ),
  births_known_prenatal: birthsWith(
    amongNamed('prenatal_visits_class_code', PRENATAL_CLASSES),
    'de consultas de pré-natal conhecidas',
    'of known prenatal visits',
  ),
  prenatal_7plus_share: share(
    'births_prenatal_7plus',
    'births_known_prenatal',
    'Proporção com 7 ou mais consultas de pré-natal',
    'Share with 7 or more prenatal visits',
  ),
  births_adolescent_mothers: birthsWith(
    among('mother_age_group', ADOLESCENT_GROUPS),
    'de mães de 10 a 19 anos',
    'of mothers of 10 to 19 years',
  ),
  births_known_mother_age: birthsWith(
    amongNamed('mother_age_group', MOTHER_AGE_GROUPS),
    'de mães de idade conhecida',
    'of mothers of known age',
  ),
  adolescent_mothers_share: share(
    'births_adolescent_mothers',
    'births_known_mother_age',
    'Proporção de mães adolescentes',
    'Share of adolescent mothers',
  ),
})
