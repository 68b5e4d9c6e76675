/** Metrics of the Union's transfers to health funds. They are yearly flows. Values only. */
import type { DatasetName } from '../datasets.ts'
import { both, counted, metricsOf, ratio, sum } from '../declare.ts'
import type { Fact } from '../types.ts'

export const FACTS = {
  federal_health_transfers: {
    capability: 'analytics.query.read',
    isFlow: true,
    hasUnknowns: true,
    dimensions: [
      'state',
      'municipality',
      'region',
      'health_region',
      'health_macroregion',
      'reference_period',
      // A year of transfers cannot be told by quarter or quadrimester.
      'reference_year',
    ],
  },
} as const satisfies Partial<Record<DatasetName, Fact>>

export const METRICS = metricsOf('extended', {
  federal_health_transfers: {
    ...counted(
      sum('federal_health_transfers', 'transferred_cents'),
      'BRL',
      'Transferências federais fundo a fundo',
      'Federal transfers to health funds',
      both(
        'Transferências do Fundo Nacional de Saúde (FNS) a fundos de municípios e estados no ano, brutas, em reais da época. Um ano é a competência do seu último mês (2025-12).',
        'Transfers of the national health fund (FNS) to funds of municipalities and states in a year, gross, in reais of the time. A year is the reference period of its last month (2025-12).',
      ),
    ),
    isMoney: true,
  },
  federal_health_transfers_per_capita: ratio(
    'federal_health_transfers',
    'population_census',
    1,
    'BRL per inhabitant',
    'Transferências federais fundo a fundo por habitante',
    'Federal transfers to health funds per inhabitant',
  ),
})
