/**
 * Rows of one key → one record: quantities of beds and equipment are added up, as the publisher's own tables do.
 *
 * A facility may declare one bed or equipment type in several rows, equal ones included; TabNet counts each. In: fact_<fact>
 * (one row a published row). Out: added_<fact>, the records of several rows, and the view record_<fact>, all records. Which
 * rows a record was added up from is in its provenance, whole. Services are not added up: facts.ts consolidates them.
 */
import type { FactName } from '../../model/cnes/lineage.ts'
import type { Session } from '../session.ts'
import { fileOf, type PeriodInput, placeIn } from './published-rows.ts'

export type QuantityFact = Exclude<FactName, 'specialized_services'>

export const isQuantityFact = (fact: FactName): fact is QuantityFact => fact !== 'specialized_services'

/** SELECT of the keys that occur more than once among the rows that are not set aside. */
export const repeatedKeys = (fact: FactName): string =>
  `SELECT cnes_number, rank FROM fact_${fact} WHERE reason IS NULL GROUP BY cnes_number, rank HAVING count(*) > 1`

/** Largest value of a column of the release. */
const MAX_INTEGER = 2_147_483_647

/** SQL of a row's quantity for SUS: the published one, else all that exist where the row says that SUS has them. */
export const equipmentSus = ({ family }: PeriodInput): string => {
  const flag = `CASE WHEN tp_sus_code = '1' THEN quantity_existing ELSE 0 END`
  return family === 'base' ? `coalesce(quantity_sus_published, ${flag})` : flag
}

interface RecordColumns {
  /** Attributes that every row of a key has alike. */
  readonly codes: readonly string[]
  /** Quantities: [name, SQL over one row]. */
  readonly sums: readonly (readonly [name: string, sql: string])[]
  /** Others: [name, SQL over one row, SQL over the rows of a key]. */
  readonly others: readonly (readonly [name: string, row: string, rows: string])[]
}

/** Yes before no before not informed: what one row offers to SUS, the record offers. */
const TP_SUS_ORDER = `['1', '2', '9', '0']`

const columnsOf = (input: PeriodInput, fact: QuantityFact): RecordColumns => {
  const isPublished = input.family === 'base' ? 'quantity_sus_published IS NOT NULL' : 'false'
  const first = `bed_category_code ORDER BY ${placeIn(fileOf(input, fact))}`
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
          // A record with one quantity that was taken from the flag is not a published one.
          ['is_sus_published', isPublished, `bool_and(${isPublished})`],
        ],
      }
}

/** Makes added_<fact> and record_<fact>. Rows whose sum no column holds are marked to be set aside. */
export async function addUpRows(session: Session, input: PeriodInput, fact: QuantityFact): Promise<void> {
  const { codes, sums, others } = columnsOf(input, fact)
  const named = (columns: readonly (readonly [string, string])[]): string[] =>
    columns.map(([name, sql]) => `${sql} AS ${name}`)
  const totals = sums.map(([name, sql]) => [name, `sum(${sql})`] as const)
  const fits = totals.map(([, sql]) => `${sql} <= ${MAX_INTEGER}`).join(' AND ')
  await session.run(
    `CREATE TABLE added_${fact} AS
     SELECT cnes_number, rank, CAST(count(*) AS INTEGER) AS published_rows, ${fits} AS fits,
       ${[...codes.map((code) => `any_value(${code}) AS ${code}`), ...named(totals), ...others.map(([name, , rows]) => `${rows} AS ${name}`)].join(', ')}
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
    ...named(sums),
    ...named(others.map(([name, row]) => [name, row])),
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
