/**
 * The options of an analyst in a question of the explorer: periods, limits, comparator, status and prices. In: parameters of the address.
 * Out: an `Analysis`, its part of the query body, its parameters again, and its texts. Pure.
 */
import { STATUSES } from '../model/sheets/statuses.ts'
import type { QueryRow } from './api.ts'

export interface Analysis {
  /** '', 12 or another number of months, or year_start. */
  readonly window: string
  /** Periods of which months are missing have the value of the others. */
  readonly partial: boolean
  /** '', 0.95 or 0.998. */
  readonly limits: string
  /** '' or what the rows are compared with. */
  readonly compare: string
  readonly status: boolean
  /** '', a month (YYYY-MM) or a year. */
  readonly prices: string
}

export const NO_ANALYSIS: Analysis = {
  window: '',
  partial: false,
  limits: '',
  compare: '',
  status: false,
  prices: '',
}

/** @param readText reads a parameter of the address; '' when it is missing */
export const readAnalysis = (readText: (name: string) => string): Analysis => ({
  window: readText('window'),
  partial: readText('partial') === 'yes',
  limits: readText('limits'),
  compare: readText('compare'),
  status: readText('status') === 'yes',
  prices: readText('prices'),
})

/** @returns parameters of the address; those with '' are left out */
export const paramsOfAnalysis = ({ window, partial, limits, compare, status, prices }: Analysis) => ({
  window,
  partial: partial ? 'yes' : '',
  limits,
  compare,
  status: status ? 'yes' : '',
  prices,
})

/** @returns the options of the query body; the API refuses values that it does not know */
export const bodyOfAnalysis = ({ window, partial, limits, compare, status, prices }: Analysis) => ({
  ...(window === '' ? {} : { window: /^\d+$/.test(window) ? { months: Number(window) } : { since: window } }),
  ...(partial ? { incomplete: 'allow' } : {}),
  ...(limits === '' ? {} : { limits: /^\d+(\.\d+)?$/.test(limits) ? Number(limits) : limits }),
  ...(compare === '' ? {} : { compare_to: { with: compare } }),
  ...(status ? { status: true } : {}),
  ...(prices === '' ? {} : { prices }),
})

/** @returns lower and upper limit of a metric; null where one is missing */
export function limitsOf(row: QueryRow, metric: string): readonly [number, number] | null {
  const [lower = null, upper = null] = [row.metrics[`${metric}__lower`], row.metrics[`${metric}__upper`]]
  return lower === null || upper === null ? null : [lower, upper]
}

/** Symbols say the same as their texts, so that no meaning depends on color. */
const SYMBOLS = { higher: '▲', lower: '▼', similar: '≈', not_compared: '·' } as const
type Significance = keyof typeof SYMBOLS

/** @returns symbol and text of how a row differs from its comparator; null where it was not compared */
export function significanceOf(
  row: QueryRow,
  metric: string,
  language: 'pt' | 'en',
): { readonly symbol: string; readonly text: string } | null {
  const found = (row.metrics as Readonly<Record<string, unknown>>)[`${metric}__significance`]
  if (typeof found !== 'string' || !Object.hasOwn(SYMBOLS, found)) return null
  const significance = found as Significance
  return { symbol: SYMBOLS[significance], text: ANALYSIS_TEXTS[language].significances[significance] }
}

/** @returns the explanation of a status that asks for attention; null for final values */
export function statusOf(row: QueryRow, metric: string, language: 'pt' | 'en'): string | null {
  const status = row.status?.[metric] ?? 'final'
  return status === 'final' || !Object.hasOwn(STATUSES, status)
    ? null
    : STATUSES[status as keyof typeof STATUSES][language]
}

/** @param window number of months, or year_start @returns the months that a value covers, in words */
export function windowText(window: string, language: 'pt' | 'en'): string {
  const { windows, monthsUpTo } = ANALYSIS_TEXTS[language]
  return Object.entries(windows).find(([code]) => code === window)?.[1] ?? monthsUpTo(window)
}

export const ANALYSIS_TEXTS = {
  pt: {
    title: 'Análise',
    none: 'nenhuma opção',
    window: 'Cada mês cobre',
    windows: { '': 'só ele', '3': '3 meses até ele', '12': '12 meses até ele', year_start: 'o ano até ele' },
    monthsUpTo: (count: string) => `${count} meses até ele`,
    needsMonths: 'Só com Competência nas linhas',
    partial: 'Períodos incompletos com os meses que há',
    limits: 'Limites de confiança',
    levels: { '': 'sem', '0.95': '95 %', '0.998': '99,8 %' },
    compare: 'Comparar lugares com',
    comparators: {
      '': 'nada',
      country: 'o Brasil',
      region: 'a grande região',
      state: 'a unidade da federação',
      health_macroregion: 'a macrorregião de saúde',
      health_region: 'a região de saúde',
      peers: 'municípios semelhantes',
    },
    needsPlaces: 'Só com lugares nas linhas',
    status: 'Mostrar a situação dos valores',
    prices: 'Reais de',
    pricesOf: (time: string) => `reais de ${time} (IPCA)`,
    ownPrices: 'cada mês (nominal)',
    needsMoney: 'Só para valores em reais',
    comparator: 'comparador',
    significances: {
      higher: 'acima do comparador, mais do que o acaso explica',
      lower: 'abaixo do comparador, mais do que o acaso explica',
      similar: 'a diferença do comparador pode ser acaso',
      not_compared: 'não comparado',
    },
    peers: (count: string) => `${count} municípios semelhantes`,
    notComparable:
      'Com a média ou o maior valor de vários meses, as versões não são comparadas. Com o último ou o primeiro mês, sim.',
    sinceMissing: (release: string) =>
      `A versão ${release}, com que esta pergunta é comparada, não está neste servidor.`,
    limitsOf: (lower: string, upper: string) => `limites ${lower} a ${upper}`,
  },
  en: {
    title: 'Analysis',
    none: 'no options',
    window: 'Each month covers',
    windows: {
      '': 'itself',
      '3': '3 months up to it',
      '12': '12 months up to it',
      year_start: 'the year up to it',
    },
    monthsUpTo: (count: string) => `${count} months up to it`,
    needsMonths: 'With the month among the rows only',
    partial: 'Incomplete periods with the months there are',
    limits: 'Confidence limits',
    levels: { '': 'none', '0.95': '95 %', '0.998': '99.8 %' },
    compare: 'Compare places with',
    comparators: {
      '': 'nothing',
      country: 'Brazil',
      region: 'the major region',
      state: 'the state',
      health_macroregion: 'the health macro-region',
      health_region: 'the health region',
      peers: 'municipalities alike',
    },
    needsPlaces: 'With places among the rows only',
    status: 'Show the status of values',
    prices: 'Reais of',
    pricesOf: (time: string) => `reais of ${time} (IPCA)`,
    ownPrices: 'each month (nominal)',
    needsMoney: 'For amounts of reais only',
    comparator: 'comparator',
    significances: {
      higher: 'above the comparator, by more than chance explains',
      lower: 'below the comparator, by more than chance explains',
      similar: 'the difference from the comparator may be chance',
      not_compared: 'not compared',
    },
    peers: (count: string) => `${count} municipalities alike`,
    notComparable:
      'With the mean or the largest value of several months, releases are not compared. With the last or the first month, they are.',
    sinceMissing: (release: string) =>
      `The release ${release}, which this question is compared with, is not on this server.`,
    limitsOf: (lower: string, upper: string) => `limits ${lower} to ${upper}`,
  },
} as const
