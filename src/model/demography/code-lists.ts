/** Closed lists of population figures: types (specification 2.2), sexes and age groups. Values only. */
export const POPULATION_TYPES = ['ESTIMATED_POPULATION', 'CENSUS_POPULATION'] as const

export const SEXES = { F: ['Feminino', 'Female'], M: ['Masculino', 'Male'] } as const

/** Years in each age group except the open last one. */
export const AGE_GROUP_YEARS = 5
/** First age of the open group. */
export const OPEN_AGE = 80
/** The 16 groups of five years, 00-04 to 75-79, and 80+. The order of the codes is the order of the ages. */
export const AGE_GROUPS: readonly string[] = [
  ...Array.from({ length: OPEN_AGE / AGE_GROUP_YEARS }, (_, index) => {
    const first = index * AGE_GROUP_YEARS
    return [first, first + AGE_GROUP_YEARS - 1].map((age) => String(age).padStart(2, '0')).join('-')
  }),
  `${OPEN_AGE}+`,
]

export const AGE_GROUP_NAMES: Readonly<Record<string, readonly [pt: string, en: string]>> =
  Object.fromEntries(
    AGE_GROUPS.map((code) => {
      const [first, last] = code.split('-').map(Number)
      return [
        code,
        last === undefined || first === undefined
          ? [`${OPEN_AGE} anos e mais`, `${OPEN_AGE} years and over`]
          : [`${first} a ${last} anos`, `${first} to ${last} years`],
      ]
    }),
  )
