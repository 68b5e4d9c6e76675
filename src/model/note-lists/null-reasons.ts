/** Texts of the note on rows that are null. Values only. */

/** Why a metric is null in rows whose data was collected; the first text is of one row, the second of several. */
export const NULL_REASONS = {
  no_population: {
    pt: ['não está na fonte da população', 'não estão na fonte da população'],
    en: ['is not in the source of the population', 'are not in the source of the population'],
  },
  not_published: {
    pt: ['não está nos arquivos publicados', 'não estão nos arquivos publicados'],
    en: ['is not in the published files', 'are not in the published files'],
  },
  no_denominator: {
    pt: ['não tem denominador', 'não têm denominador'],
    en: ['has no denominator', 'have no denominator'],
  },
  no_life_table: {
    pt: [
      'tem menos de 5.000 residentes, ou uma faixa etária sem residentes, ou nenhum óbito na última',
      'têm menos de 5.000 residentes, ou uma faixa etária sem residentes, ou nenhum óbito na última',
    ],
    en: [
      'has fewer than 5,000 residents, or an age group without residents, or no deaths in the last one',
      'have fewer than 5,000 residents, or an age group without residents, or no deaths in the last one',
    ],
  },
} as const

export type NullReason = keyof typeof NULL_REASONS
