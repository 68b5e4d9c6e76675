/** Notes that answers about deaths carry. Values only. */
import { declare } from '../note-lists/declare.ts'

export const NOTES = {
  deaths_without_month: declare({
    when: 'Files of a year have deaths whose month is missing or impossible. The states are those of the files; `EX`: residents abroad.',
    params: { year: 'year', states: 'codes', deaths: 'count' },
    pt: ({ year, states, deaths }, name) =>
      `${name('deaths')} ${year}: ${deaths} óbitos não têm mês (arquivos: ${states.join(', ')}); entram no ano e em nenhum mês.`,
    en: ({ year, states, deaths }, name) =>
      `${name('deaths')} ${year}: ${deaths} deaths have no month (files: ${states.join(', ')}); they count in the year and in no month.`,
  }),
  fetal_deaths_without_month: declare({
    when: 'The file of fetal deaths of a year has some whose month is missing or impossible.',
    params: { year: 'year', fetal_deaths: 'count' },
    pt: ({ year, fetal_deaths }, name) =>
      `${name('fetal_deaths')} ${year}: ${fetal_deaths} óbitos fetais do arquivo nacional não têm mês; entram no ano e em nenhum mês.`,
    en: ({ year, fetal_deaths }, name) =>
      `${name('fetal_deaths')} ${year}: ${fetal_deaths} fetal deaths of the national file have no month; they count in the year and in no month.`,
  }),
} as const
