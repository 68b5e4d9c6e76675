/** Texts of the note on rows that are null. Values only. */

/** Why a metric is null in rows whose data was collected. */
export const NULL_REASONS = {
  no_population: { pt: 'não estão na fonte da população', en: 'are not in the source of the population' },
  no_denominator: { pt: 'não têm denominador', en: 'have no denominator' },
  no_life_table: {
    pt: 'têm menos de 5.000 residentes, ou uma faixa etária sem residentes, ou nenhum óbito na última',
    en: 'have fewer than 5,000 residents, or an age group without residents, or no deaths in the last one',
  },
} as const
