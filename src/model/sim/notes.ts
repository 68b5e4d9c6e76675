/** Notes that answers about deaths carry. Values only. */
import { declare } from '../note-lists/declare.ts'

export const NOTES = {
  deaths_without_month: declare({
    when: 'The file of a year has deaths whose month is missing or impossible.',
    params: { year: 'year', state: 'code', deaths: 'count' },
    pt: ({ year, state, deaths }, name) =>
      `${name('deaths')} ${year}: ${deaths} óbitos do arquivo de ${state} não têm mês; entram no ano e em nenhum mês.`,
    en: ({ year, state, deaths }, name) =>
      `${name('deaths')} ${year}: ${deaths} deaths of the file of ${state} have no month; they count in the year and in no month.`,
  }),
} as const
