/** Columns that only outpatient production has, not hospital admissions. Values only. */
import { cents, code, name, wideQuantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  care_period: code(
    'Month of care (PA_CMP), YYYY-MM: the processing month or an earlier one. Later processing months add production to a month of care.',
  ),
  care_period_name: name('The month of care as it is shown.'),
  instrument_code: code(
    'Instrument of presentation (PA_DOCORIG): C BPA consolidated, I BPA individual, P and S APAC, A RAAS home care, B RAAS psychosocial; before 2008 the letters of the files of that time; 0 not informed.',
  ),
  file_part: code(
    'Part of the state’s month that the row was added up from: a, b, c …; 0 where the month is published in one file.',
  ),
  records: wideQuantity(
    'rows',
    'Rows of the published file, those that were not approved included. A row is no visit and no person: one of BPA consolidated is a whole line of a month.',
  ),
  quantity_presented: wideQuantity(
    'procedures',
    'Quantity presented (PA_QTDPRO), in the unit of the procedure. Medicines are counted in pills.',
  ),
  quantity_approved: wideQuantity(
    'procedures',
    'Quantity approved (PA_QTDAPR), in the unit of the procedure. Medicines are counted in pills.',
  ),
  value_presented_cents: cents('Value presented (PA_VALPRO).'),
  value_approved_cents: cents(
    'Value approved (PA_VALAPR), which is not yet paid: table price times quantity, federal and local complements, increments. A third of the rows has none, because such care is paid by other means.',
  ),
} as const satisfies Record<string, Field>
