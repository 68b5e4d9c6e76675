/** Columns of health financing. Values only. */
import { code, name, quantity } from '../declare.ts'
import type { Field } from '../types.ts'

/** Integer cents; null when nothing was published. */
const cents = (description: string): Field => ({
  type: 'integer',
  nullable: true,
  isWide: true,
  unit: 'cents of BRL',
  description,
})

export const FIELDS = {
  source: code('Who published it: fns, siconfi_rreo_02, siconfi_rreo_14 or siops. Sources may not be added.'),
  entity_code: code(
    'Government that has the account: IBGE code of a municipality (7 digits) or of a state (2 digits), as text.',
  ),
  entity_name: name('Name of the municipality or state.'),
  sphere: code('Sphere of the government: M municipality, E state.'),
  period: code(
    'Part of the year: year; bimester-1 … bimester-6, that bimester alone; to-bimester-1 … to-bimester-6, cumulative from January.',
  ),
  stage: code(
    'Stage of the amount: transferred, budgeted, committed, liquidated, paid … Stages may not be added.',
  ),
  stage_name: code('Column or stage as published.'),
  category_path: code(
    'Purpose of the amount as published, from the widest to the narrowest category, separated by " > ".',
  ),
  amount_cents: cents('Amount; null where the row is a percentage.'),
  percentage: {
    type: 'percentage',
    nullable: true,
    unit: '%',
    description: 'Percentage; null where the row is an amount.',
  },
  published_rows: {
    type: 'codes',
    description:
      'Rows of the published file that were added up, header = 1; of a JSON answer, items from 1 on.',
  },
  published_column: code('Column of the published file.'),
  transferred_cents: cents('Transferred in the year, gross (VL_BRUTO); null where the file has no row.'),
  transferred_net_cents: cents('The same net of discounts (VL_LIQUIDO).'),
  fund_rows: quantity('rows', 'Published rows of the fund: blocks, groups, strategies and bank accounts.'),
} as const satisfies Record<string, Field>
