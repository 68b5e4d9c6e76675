/** Notes on constant prices. */
import { declare } from './declare.ts'
import { listMonths } from './lists.ts'

export const PRICES = {
  constant_prices: declare({
    when: 'A query asks for constant prices: the metrics in reais of `prices_of`, and those that prices do not change.',
    params: { metrics: 'codes', prices_of: 'code', unchanged: 'codes' },
    pt: ({ metrics, prices_of, unchanged }, name) =>
      `${metrics.map(name).join(', ')}: em reais de ${prices_of}, pelo IPCA${unchanged.length === 0 ? '' : `; sem mudança, por não serem valores em reais: ${unchanged.map(name).join(', ')}`}.`,
    en: ({ metrics, prices_of, unchanged }, name) =>
      `${metrics.map(name).join(', ')}: in reais of ${prices_of}, by the index IPCA${unchanged.length === 0 ? '' : `; unchanged, because they are no values in reais: ${unchanged.map(name).join(', ')}`}.`,
  }),
  no_price_index: declare({
    when: 'The release has no price index of some months, so their values in constant prices are null; no months: of none.',
    params: { periods: 'months', metrics: 'codes' },
    pt: ({ periods, metrics }, name) =>
      `${metrics.map(name).join(', ')}: sem dado em preços constantes onde ${listMonths(periods, 'pt')} faz falta, porque a versão dos dados não tem o IPCA desse tempo.`,
    en: ({ periods, metrics }, name) =>
      `${metrics.map(name).join(', ')}: null in constant prices where ${listMonths(periods, 'en')} is needed, because the release has no IPCA of that time.`,
  }),
} as const
