/** Formats numbers and months for readers. Pure; runs on the server and in the browser. */

import { formatLocale } from 'd3-format'

export type Language = 'pt' | 'en'

// Intl.NumberFormat needs 40 to 56 ms for the first number of a page on a slow machine, a third of what drawing a profile took with it.
const LOCALES = {
  pt: formatLocale({ decimal: ',', thousands: '.', grouping: [3], currency: ['', ''], minus: '-' }),
  en: formatLocale({ decimal: '.', thousands: ',', grouping: [3], currency: ['', ''], minus: '-' }),
} as const

/** @param decimals fixed number of decimals, so that the numbers of a column align */
export const formatNumber = (value: number, decimals: number, language: Language): string =>
  LOCALES[language].format(`,.${decimals}f`)(value)

/** Fewest decimals of confidence limits: those of counts are no integers. */
const LIMIT_DECIMALS = 2

/** @param decimals decimals of the value that the limit belongs to */
export const formatLimit = (limit: number, decimals: number, language: Language): string =>
  formatNumber(limit, Math.max(decimals, LIMIT_DECIMALS), language)

/** @returns three significant digits, e.g. 1,5 mi */
export function formatShort(value: number, language: Language): string {
  const [divisor, suffix] =
    Math.abs(value) >= 1e9
      ? [1e9, language === 'pt' ? ' bi' : 'B']
      : Math.abs(value) >= 1e6
        ? [1e6, language === 'pt' ? ' mi' : 'M']
        : Math.abs(value) >= 1e4
          ? [1e3, language === 'pt' ? ' mil' : 'k']
          : [1, '']
  // The double of a decimal tie such as 7.305 may lie just below it; a tie rounds away from zero, as it does in the answers.
  const shown = (value / divisor) * (1 + Number.EPSILON)
  return `${LOCALES[language].format(',.3~r')(shown)}${suffix}`
}

const MONTHS = {
  pt: ['jan', 'fev', 'mar', 'abr', 'mai', 'jun', 'jul', 'ago', 'set', 'out', 'nov', 'dez'],
  en: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
} as const

/** @param period YYYY-MM; month 00 holds what has a year but no month @returns e.g. mai 2026 */
export function formatMonth(period: string, language: Language): string {
  const [year = '', month = ''] = period.split('-')
  if (month === '00') return language === 'pt' ? `${year} (sem mês)` : `${year} (no month)`
  const name = MONTHS[language][Number(month) - 1]
  return name === undefined ? period : `${name} ${year}`
}

/** @param day YYYY-MM-DD @returns e.g. 3 mai 2026; other texts as they are */
export function formatDay(day: string, language: Language): string {
  const [, period = '', number = ''] = /^(\d{4}-\d{2})-(\d{2})$/.exec(day) ?? []
  return period === '' ? day : `${Number(number)} ${formatMonth(period, language)}`
}

/** @param from, to YYYY-MM @returns e.g. mai 2026, jan–dez 2025, or jun 2025 – mai 2026 */
export function formatMonths(from: string, to: string, language: Language): string {
  const [first, last] = [formatMonth(from, language), formatMonth(to, language)]
  if (from === to) return last
  return from.slice(0, 4) === to.slice(0, 4) ? `${first.split(' ')[0]}–${last}` : `${first} – ${last}`
}

/** @param period YYYY-MM @param count months to subtract */
export function monthBefore(period: string, count: number): string {
  const [year = 0, month = 1] = period.split('-').map(Number)
  const months = year * 12 + month - 1 - count
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}

export function formatBytes(bytes: number, language: Language): string {
  const [divisor, unit] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB']
  return `${formatNumber(bytes / divisor, 1, language)} ${unit}`
}

/** English units of the catalog → Portuguese. Missing units are shown unchanged. */
const UNITS: Readonly<Record<string, string>> = {
  beds: 'leitos',
  pieces: 'equipamentos',
  offerings: 'ofertas',
  facilities: 'estabelecimentos',
  facility: 'estabelecimento',
  inhabitants: 'habitantes',
  inhabitant: 'habitante',
  types: 'tipos',
  admissions: 'internações',
  records: 'registros',
  days: 'dias',
  deaths: 'óbitos',
  'bed-days': 'leitos-dia',
  BRL: 'reais',
  procedures: 'procedimentos',
  births: 'nascimentos',
  years: 'anos',
}

/** @param unit unit in the catalog, e.g. beds per 100,000 inhabitants @returns e.g. leitos por 100 mil habitantes */
export function unitText(unit: string | undefined, language: Language): string {
  if (unit === undefined) return ''
  if (language === 'en') return unit
  return unit
    .replace('per 100,000', 'por 100 mil')
    .replace('per 1,000', 'por mil')
    .replace('per 10,000', 'por 10 mil')
    .replace('live births', 'nascidos vivos')
    .replace('fetal deaths', 'óbitos fetais')
    .replace(/of (\d+) to (\d+) years/, 'de $1 a $2 anos')
    .replace(/ per /g, ' por ')
    .split(' ')
    .map((word) => UNITS[word] ?? word)
    .join(' ')
}
