/**
 * Metrics of births. Births are flows, summed over months of birth. Shares divide by the births whose class is known, so that files
 * with many blank cells do not lower them. Values only.
 */
import { both, counted, metricsOf, part, ratio, ratioOfParts, sum } from '../declare.ts'
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

/** 100 × some births ÷ the births whose class is known. */
const shareOfKnown = (
  label: readonly [pt: string, en: string],
  top: readonly [condition: Condition, pt: string, en: string],
  bottom: readonly [condition: Condition, pt: string, en: string],
) =>
  ratioOfParts(
    part('births', top[0], `nascidos vivos ${top[1]}`, `live births ${top[2]}`),
    part('births', bottom[0], `nascidos vivos ${bottom[1]}`, `live births ${bottom[2]}`),
    100,
    '%',
    label[0],
    label[1],
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
  low_birth_weight_share: shareOfKnown(
    ['Proporção de baixo peso ao nascer', 'Share of low birth weight'],
    [among('weight_class_code', LOW_WEIGHT_CLASSES), 'com menos de 2.500 g', 'under 2,500 g'],
    [amongNamed('weight_class_code', WEIGHT_CLASSES), 'de peso conhecido', 'of known weight'],
  ),
  preterm_share: shareOfKnown(
    ['Proporção de prematuros', 'Share of preterm births'],
    [among('gestation_class_code', PRETERM_CLASSES), 'com menos de 37 semanas', 'under 37 weeks'],
    [amongNamed('gestation_class_code', GESTATION_CLASSES), 'de gestação conhecida', 'of known gestation'],
  ),
  caesarean_share: shareOfKnown(
    ['Proporção de cesáreas', 'Share of caesarean deliveries'],
    [among('delivery_code', [CAESAREAN]), 'por cesárea', 'by caesarean'],
    [amongNamed('delivery_code', DELIVERIES), 'de parto conhecido', 'of known delivery'],
  ),
  prenatal_7plus_share: shareOfKnown(
    ['Proporção com 7 ou mais consultas de pré-natal', 'Share with 7 or more prenatal visits'],
    [
      among('prenatal_visits_class_code', [MANY_VISITS]),
      'com 7 ou mais consultas de pré-natal',
      'with 7 or more prenatal visits',
    ],
    [
      amongNamed('prenatal_visits_class_code', PRENATAL_CLASSES),
      'de consultas de pré-natal conhecidas',
      'of known prenatal visits',
    ],
  ),
  adolescent_mothers_share: shareOfKnown(
    ['Proporção de mães adolescentes', 'Share of adolescent mothers'],
    [among('mother_age_group', ADOLESCENT_GROUPS), 'de mães de 10 a 19 anos', 'of mothers of 10 to 19 years'],
    [
      amongNamed('mother_age_group', MOTHER_AGE_GROUPS),
      'de mães de idade conhecida',
      'of mothers of known age',
    ],
  ),
})
