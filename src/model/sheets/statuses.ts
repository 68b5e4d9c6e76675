/** Declares the statuses that a value can have, and the numbers below which one is small. Values only. */
import { both } from '../declare.ts'
import type { Text } from '../types.ts'

/** From the first that applies, with the reason that users read. */
export const STATUSES = {
  not_collected: both(
    'não coletado: faltam os arquivos da fonte',
    'not collected: files of the source are missing',
  ),
  incomplete: both(
    'incompleto: falta ao menos um mês do período',
    'incomplete: at least one month of the period is missing',
  ),
  no_denominator: both(
    'sem denominador, ou com denominador zero',
    'without denominator, or with a denominator of zero',
  ),
  partial: both(
    'parcial: só os meses coletados do período',
    'partial: only the collected months of the period',
  ),
  small_number: both(
    'números pequenos: menos de 10 eventos, ou menos de 5.000 habitantes',
    'small numbers: fewer than 10 events, or fewer than 5,000 residents',
  ),
  preliminary: both(
    'preliminar: a fonte ainda costuma rever esses meses',
    'preliminary: the source usually still revises these months',
  ),
  final: both('final', 'final'),
} as const satisfies Readonly<Record<string, Text>>
export type Status = keyof typeof STATUSES

/** A rate of fewer events, or of fewer residents, varies much by chance. */
export const SMALL_NUMBERS = { events: 10, residents: 5000 } as const
