/** Notes that answers about births carry. Values only. */
import { declare } from '../note-lists/declare.ts'

/** First month in which the weeks of gestation are counted, and no longer chosen from classes. */
export const WEEKS_COUNTED_FROM = 201101

export const NOTES = {
  births_without_month: declare({
    when: 'Files of a year have births whose month is missing or impossible. The states are those of the files; `EX`: residents abroad.',
    params: { year: 'year', states: 'codes', births: 'count' },
    pt: ({ year, states, births }, name) =>
      `${name('births')} ${year}: ${births} nascidos vivos não têm mês (arquivos: ${states.join(', ')}); entram no ano e em nenhum mês.`,
    en: ({ year, states, births }, name) =>
      `${name('births')} ${year}: ${births} births have no month (files: ${states.join(', ')}); they count in the year and in no month.`,
  }),
  gestation_break: declare({
    when: 'A query reads the length of gestation of months before 2011 and from 2011 on, when weeks began to be counted.',
    params: { metrics: 'codes' },
    pt: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: a duração da gestação muda em 2011, quando as semanas passaram a ser contadas; antes e depois não se comparam.`,
    en: ({ metrics }, name) =>
      `${metrics.map(name).join(', ')}: the length of gestation breaks in 2011, when weeks began to be counted; before and after do not compare.`,
  }),
} as const
