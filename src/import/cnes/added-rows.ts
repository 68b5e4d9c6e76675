/**
 * Sums the published rows that share a key into one record of beds or equipment, as the publisher's tables do.
 * A facility may declare one type in several rows, some of them identical; TabNet counts each row.
 * In: fact_<fact>, one row per published row. Out: added_<fact> holds the records summed from several rows, and the view
 * record_<fact> holds all records. Provenance lists every row of a record. facts.ts consolidates services, which are not summed.
 */
import type { FactName } from '../../model/cnes/lineage.ts'
import type { Session } from '../session.ts'
import { fileOf, type PeriodInput, positionColumns } from './published-rows.ts'

export type QuantityFact = Exclude<FactName, 'specialized_services'>

export const isQuantityFact = (fact: FactName): fact is QuantityFact => fact !== 'specialized_services'

/** SELECT of the keys that occur more than once among the accepted rows. */
export const repeatedKeys = (fact: FactName): string =>
  `SELECT cnes_number, rank FROM fact_${fact} WHERE reason IS NULL GROUP BY cnes_number, rank HAVING count(*) > 1`

const MAX_INTEGER = 2_147_483_647

/** SQL of a row's SUS quantity: the published one, else the existing quantity when the row's SUS flag is set. */
export const equipmentSus = ({ family }: PeriodInput): string => {
  const flag = `CASE WHEN tp_sus_code = '1' THEN quantity_existing ELSE 0 END`
  return family === 'base' ? `coalesce(quantity_sus_published, ${flag})` : flag
}

interface RecordColumns {
  readonly codes: readonly string[]
  readonly sums: readonly (readonly [name: string, sql: string])[]
  /** Other values, with the SQL for one row and the aggregate over the rows of a key. */
  readonly others: readonly (readonly [name: string, row: string, rows: string])[]
}

/** Precedence of SUS flags: yes, no, not informed. A record offers to SUS what any of its rows offers. */
const TP_SUS_ORDER = `['1', '2', '9', '0']`

const columnsOf = (input: PeriodInput, fact: QuantityFact): RecordColumns => {
  const isPublished = input.family === 'base' ? 'quantity_sus_published IS NOT NULL' : 'false'
  const first = `bed_category_code ORDER BY ${positionColumns(fileOf(input, fact))}`
  return fact === 'bed_capacity'
    ? {
        codes: ['bed_type_code'],
        sums: [
          ['beds_existing', 'beds_existing'],
          ['beds_sus', 'beds_sus'],
        ],
        others: [['bed_category_code', 'bed_category_code', `first(${first})`]],
      }
    : {
        codes: ['category_code', 'equipment_code'],
        sums: [
          ['quantity_existing', 'quantity_existing'],
          ['quantity_in_use', 'quantity_in_use'],
          ['quantity_sus', equipmentSus(input)],
        ],
        others: [
          ['tp_sus_code', 'tp_sus_code', `${TP_SUS_ORDER}[min(list_position(${TP_SUS_ORDER}, tp_sus_code))]`],
          // One quantity derived from the flag makes the sum a derived quantity.
          ['is_sus_published', isPublished, `bool_and(${isPublished})`],
        ],
      }
}

/** Makes added_<fact> and record_<fact>. Rows whose sum overflows an INTEGER get the reason `sum_out_of_range`. */
export async function addUpRows(session: Session, input: PeriodInput, fact: QuantityFact): Promise<void> {
  const { codes, sums, others } = columnsOf(input, fact)
  const nameColumns = (columns: readonly (readonly [string, string])[]): string[] =>
    columns.map(([name, sql]) => `${sql} AS ${name}`)
  const totals = sums.map(([name, sql]) => [name, `sum(${sql})`] as const)
  const fits = totals.map(([, sql]) => `${sql} <= ${MAX_INTEGER}`).join(' AND ')
  await session.run(
    `CREATE TABLE added_${fact} AS
     SELECT cnes_number, rank, CAST(count(*) AS INTEGER) AS published_rows, ${fits} AS fits,
       ${[...codes.map((code) => `any_value(${code}) AS ${code}`), ...nameColumns(totals), ...others.map(([name, , rows]) => `${rows} AS ${name}`)].join(', ')}
     FROM fact_${fact} SEMI JOIN (${repeatedKeys(fact)}) USING (cnes_number, rank)
     WHERE reason IS NULL GROUP BY cnes_number, rank`,
  )
  if ((await session.number(`SELECT count(*) FROM added_${fact} WHERE NOT fits`)) > 0)
    await session.run(
      `UPDATE fact_${fact} SET reason = 'sum_out_of_range' FROM added_${fact} AS added
         WHERE fact_${fact}.cnes_number = added.cnes_number AND fact_${fact}.rank = added.rank AND NOT added.fits;
       DELETE FROM added_${fact} WHERE NOT fits`,
    )
  const single = [
    'cnes_number',
    'rank',
    ...codes,
    ...nameColumns(sums),
    ...nameColumns(others.map(([name, row]) => [name, row])),
  ]
  const several = [
    ...['cnes_number', 'rank', ...codes],
    ...sums.map(([name]) => `CAST(${name} AS INTEGER) AS ${name}`),
    ...others.map(([name]) => name),
  ]
  const isEmpty = (await session.number(`SELECT count(*) FROM added_${fact}`)) === 0
  await session.run(
    `CREATE VIEW record_${fact} AS
     SELECT ${single.join(', ')} FROM fact_${fact} ${isEmpty ? '' : `ANTI JOIN added_${fact} USING (cnes_number, rank)`} WHERE reason IS NULL
     ${isEmpty ? '' : `UNION ALL SELECT ${several.join(', ')} FROM added_${fact}`}`,
  )
}
