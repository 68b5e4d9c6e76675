/** Lists months, periods and states in the sentences of notes. Pure. */
import { STATES } from '../territory/states.ts'

type Language = 'pt' | 'en'

/** Largest number of months or states that a sentence lists one by one. */
export const NAMED_MAX = 13

export const isAll = (states: readonly string[]): boolean => states.length === STATES.length
export const othersOf = (states: readonly string[]): string =>
  STATES.map(({ uf }) => uf)
    .filter((uf) => !states.includes(uf))
    .sort()
    .join(', ')

export function listMonths(months: readonly string[], language: Language): string {
  if (months.length === 0) return language === 'pt' ? 'em nenhum mês' : 'of any month'
  if (months.length <= NAMED_MAX) return months.join(', ')
  return `${months.length} ${language === 'pt' ? 'meses até' : 'months to'} ${months.at(-1)}`
}

export function listPeriods(periods: readonly string[], language: Language): string {
  if (periods.length <= NAMED_MAX) return periods.join(', ')
  return `${periods.length} ${language === 'pt' ? 'períodos até' : 'periods to'} ${periods.at(-1)}`
}

/** @returns the states whose files lack something, or '' when all states do */
export function listFiles(states: readonly string[], language: Language): string {
  if (isAll(states)) return ''
  const count = `${states.length} ${language === 'pt' ? 'estados' : 'states'}`
  return ` ${language === 'pt' ? 'de' : 'of'} ${states.length > NAMED_MAX ? count : states.join(', ')}`
}
