/** Notes that answers about transfers carry. Values only. */
import { declare } from '../note-lists/declare.ts'

export const NOTES = {
  transfers_by_year: declare({
    when: 'A requested month is not the last month of a year of transfers; the periods of the years are listed.',
    params: { periods: 'months' },
    pt: ({ periods }, name) =>
      `${name('federal_health_transfers')}: são de anos, cada um a competência do seu último mês: ${periods.join(', ')}.`,
    en: ({ periods }, name) =>
      `${name('federal_health_transfers')}: is of years, each the period of its last month: ${periods.join(', ')}.`,
  }),
  transfers_year_to_date: declare({
    when: 'The period of a year of transfers is not its December.',
    params: { period: 'month', year: 'year' },
    pt: ({ period, year }, name) =>
      `${name('federal_health_transfers')}: ${period} é o ano ${year} até o último repasse publicado.`,
    en: ({ period, year }, name) =>
      `${name('federal_health_transfers')}: ${period} is the year ${year} up to its last published transfer.`,
  }),
  transfers_missing_funds: declare({
    when: 'The published file has no row of some funds of a state.',
    params: { period: 'month', state: 'code', funds: 'count' },
    pt: ({ period, state, funds }, name) =>
      `${name('federal_health_transfers')} ${period}: o arquivo publicado não traz ${funds} fundos de ${state}; o que precisa de um deles fica sem dado.`,
    en: ({ period, state, funds }, name) =>
      `${name('federal_health_transfers')} ${period}: the published file has no row of ${funds} funds of ${state}; what needs one of them is null.`,
  }),
  transfers_of_all_funds: declare({
    when: 'Rows by municipality count the funds of municipalities, and their totals, shares and comparators also those of states.',
    params: {},
    pt: (_, name) =>
      `${name('federal_health_transfers')}: as linhas contam os fundos municipais; os totais, o nível das participações e o lugar maior contam também os fundos estaduais.`,
    en: (_, name) =>
      `${name('federal_health_transfers')}: the rows count funds of municipalities; totals, the level of shares and the larger place count those of states, too.`,
  }),
  transfers_missing_municipalities: declare({
    when: 'The published file has no row of some municipalities.',
    params: { period: 'month', municipalities: 'count' },
    pt: ({ period, municipalities }, name) =>
      `${name('federal_health_transfers')} ${period}: o arquivo publicado não traz ${municipalities} municípios; ficam sem dado e fora das somas.`,
    en: ({ period, municipalities }, name) =>
      `${name('federal_health_transfers')} ${period}: the published file has no row of ${municipalities} municipalities; they are null, and in no sum.`,
  }),
} as const
