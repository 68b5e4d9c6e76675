/** Datasets of health financing: accounts of all sources as published, and the Union's transfers, which metrics sum. */
import { equals, withinPlaces } from '../declare.ts'
import type { Dataset } from '../types.ts'
import { SOURCE_CODES, STAGE_CODES } from './code-lists.ts'

export const DATASETS = {
  health_financing: {
    name: 'health_financing',
    area: 'financing',
    periodic: true,
    listsAllPeriods: true,
    key: ['source', 'entity_code', 'sphere', 'reference_year', 'period', 'stage', 'category_path'],
    fields: [
      'reference_period',
      'source',
      'entity_code',
      'entity_name',
      'uf',
      'sphere',
      'reference_year',
      'period',
      'stage',
      'stage_name',
      'category_path',
      'amount_cents',
      'percentage',
      'source_file',
      'source_sha256',
      'source_rows',
      'published_rows',
      'published_column',
    ],
    filters: {
      source: equals({ list: SOURCE_CODES }),
      uf: equals({ uf: true }),
      municipality_ibge_code: { kind: 'municipality', column: 'entity_code' },
      ...withinPlaces('entity_code'),
      reference_year: equals({ year: true }),
      stage: equals({ list: STAGE_CODES }),
    },
    sorts: ['uf', 'entity_name', 'reference_year', 'amount_cents'],
    description:
      'Accounts of health financing by source, government, year, period, stage and category: transfers of the Union (FNS), expense and minimum as declared to the treasury (SICONFI, RREO annexes 02 and 14), accounts and indicators of SIOPS. Sources answer different questions and may not be added.',
  },
  federal_health_transfers: {
    name: 'federal_health_transfers',
    area: 'financing',
    periodic: true,
    key: ['entity_code'],
    fields: [
      'reference_period',
      'entity_code',
      'uf',
      'municipality_ibge_code',
      'reference_year',
      'transferred_cents',
      'transferred_net_cents',
      'fund_rows',
    ],
    internal: ['source_file', 'source_cells'],
    // Funds of states, and funds that a file of the country does not name.
    nullable: ['municipality_ibge_code', 'source_cells'],
    description:
      'Transfers of the national health fund (FNS) by fund and year, one partition a year, named by its last month. A municipality without a row in an extract of the national file has one here without an amount.',
  },
} as const satisfies Record<string, Dataset>
