/** Closed lists of births: age of the mother, weight, gestation, prenatal visits and delivery. Values only. */
type Names = Readonly<Record<string, readonly [pt: string, en: string]>>

const FIVE_YEARS = ['10-14', '15-19', '20-24', '25-29', '30-34', '35-39', '40-44', '45-49'] as const
/** Published column: IDADEMAE, in years. */
export const MOTHER_AGE_GROUPS: Names = {
  '00-09': ['Menos de 10 anos', 'Under 10 years'],
  ...Object.fromEntries(
    FIVE_YEARS.map((code) => {
      const [first = '', last = ''] = code.split('-')
      return [code, [`${first} a ${last} anos`, `${first} to ${last} years`] as const]
    }),
  ),
  '50+': ['50 anos e mais', '50 years and over'],
}
/** Adolescence is 10 to 19 years. */
export const ADOLESCENT_GROUPS = ['10-14', '15-19'] as const

/** Published column: PESO, in grams. */
export const WEIGHT_CLASSES: Names = {
  '0001-0499': ['Menos de 500 g', 'Under 500 g'],
  '0500-0999': ['500 a 999 g', '500 to 999 g'],
  '1000-1499': ['1.000 a 1.499 g', '1,000 to 1,499 g'],
  '1500-2499': ['1.500 a 2.499 g', '1,500 to 2,499 g'],
  '2500-2999': ['2.500 a 2.999 g', '2,500 to 2,999 g'],
  '3000-3999': ['3.000 a 3.999 g', '3,000 to 3,999 g'],
  '4000+': ['4.000 g e mais', '4,000 g and over'],
}
export const LOW_WEIGHT_CLASSES = ['0001-0499', '0500-0999', '1000-1499', '1500-2499'] as const

/** Published column: GESTACAO, in weeks. Files of the nineties have one class of 28 to 36 weeks. */
export const GESTATION_CLASSES: Names = {
  '00-21': ['Menos de 22 semanas', 'Under 22 weeks'],
  '22-27': ['22 a 27 semanas', '22 to 27 weeks'],
  '28-31': ['28 a 31 semanas', '28 to 31 weeks'],
  '28-36': ['28 a 36 semanas (arquivos antigos)', '28 to 36 weeks (old files)'],
  '32-36': ['32 a 36 semanas', '32 to 36 weeks'],
  '37-41': ['37 a 41 semanas', '37 to 41 weeks'],
  '42+': ['42 semanas e mais', '42 weeks and over'],
}
export const PRETERM_CLASSES = ['00-21', '22-27', '28-31', '28-36', '32-36'] as const

/** Published column: CONSULTAS. Files of 1996 have one class of 1 to 6 visits. */
export const PRENATAL_CLASSES: Names = {
  '0': ['Nenhuma consulta', 'No visit'],
  '1-3': ['1 a 3 consultas', '1 to 3 visits'],
  '1-6': ['1 a 6 consultas (arquivos antigos)', '1 to 6 visits (old files)'],
  '4-6': ['4 a 6 consultas', '4 to 6 visits'],
  '7+': ['7 consultas e mais', '7 visits and more'],
}
export const MANY_VISITS = '7+'

/** Published columns: PARTO, and TIPO_PARTO in 1994 and 1995, which alone has forceps and other. */
export const DELIVERIES: Names = {
  '1': ['Vaginal', 'Vaginal'],
  '2': ['Cesáreo', 'Caesarean'],
  '3': ['Fórceps (1994 e 1995)', 'Forceps (1994 and 1995)'],
  '4': ['Outro (1994 e 1995)', 'Other (1994 and 1995)'],
}
export const CAESAREAN = '2'
