/**
 * The files by state of one month → staged tables. In: opened files, mun and old_mun. Out: st_fac and st_<fact>, rows as published. A
 * facility that no file of facilities lists is taken from the rows of facts, which repeat what it is.
 */
import {
  FACILITY_LINEAGE,
  FACT_LINEAGE,
  FACT_NAMES,
  type FactName,
  REPEATED_FACILITY_LINEAGE,
} from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { applyRule } from '../rules.ts'
import { quoteName, type Session } from '../session.ts'
import { stageFileStates } from './municipality-codes.ts'
import { appendRows, createTextTable, type OpenedState } from './staged-rows.ts'
import { GROUP_FACT } from './state-coverage.ts'

/** Each column once: several attributes may come from one. */
export const columnsOf = (lineage: readonly Lineage[]): string[] => [
  ...new Set(lineage.map(({ column }) => column)),
]

/**
 * Stages the files of one month; facilities that no ST file lists are taken from the rows that repeat their attributes.
 * @returns facts that there are files of, and the number of facilities whose rows contradict each other
 */
export async function stageStateMonth(
  session: Session,
  files: readonly OpenedState[],
): Promise<{ readonly facts: Set<FactName>; readonly contradicting: number }> {
  const facts = new Set<FactName>()
  const facilityColumns = columnsOf(FACILITY_LINEAGE.state)
  const repeated = columnsOf(REPEATED_FACILITY_LINEAGE)
  await createTextTable(session, 'st_fac', facilityColumns)
  await stageFileStates(
    session,
    files.map(({ name, file }) => ({ name, uf: file.uf })),
  )
  for (const [group, fact] of Object.entries(GROUP_FACT)) {
    const own = files.filter(({ file }) => file.group === group)
    const columns = [...new Set([...FACT_LINEAGE[fact].state.map(({ column }) => column), ...repeated])]
    await createTextTable(session, `st_${fact}`, columns)
    for (const opened of own) await appendRows(session, `st_${fact}`, opened, columns)
    if (own.length > 0) facts.add(fact)
  }
  for (const opened of files.filter(({ file }) => file.group === 'ST'))
    await appendRows(session, 'st_fac', opened, facilityColumns)
  const contradicting = await addRepeatedFacilities(session, repeated)
  return { facts, contradicting }
}

/**
 * Adds to st_fac the facilities that no ST file lists, each by one of the rows that repeat its attributes: a row with a municipality
 * that is known before one without, then the row with most cells, then the first.
 *
 * @param repeated columns that rows of facts repeat of their facility
 * @returns facilities whose rows say different things
 */
async function addRepeatedFacilities(session: Session, repeated: readonly string[]): Promise<number> {
  const columns = repeated.map(quoteName)
  const isKnown = `left(trim(CODUFMUN), 6) IN (SELECT code6 FROM mun UNION ALL SELECT code6 FROM old_mun)`
  const filled = columns.map((column) => `CAST(coalesce(trim(${column}), '') <> '' AS INTEGER)`).join(' + ')
  await session.run(
    `CREATE TEMP TABLE repeated_facilities AS
     SELECT * FROM (${FACT_NAMES.map(
       (fact, order) =>
         `SELECT ${applyRule('code7', 'CNES')} AS code, ${isKnown} AS is_known, ${filled} AS filled, ${order} AS fact_order, source_file, source_row, ${columns.join(', ')} FROM st_${fact}`,
     ).join(' UNION ALL ')})
     WHERE code IS NOT NULL AND code NOT IN (SELECT ${applyRule('code7', 'CNES')} AS listed FROM st_fac WHERE listed IS NOT NULL);
     INSERT INTO st_fac BY NAME
     SELECT DISTINCT ON (code) source_file, source_row, ${columns.join(', ')}
     FROM repeated_facilities ORDER BY code, is_known DESC, filled DESC, fact_order, source_file, source_row`,
  )
  const contradicting = await session.number(
    `SELECT count(*) FROM (SELECT code FROM repeated_facilities GROUP BY code HAVING count(DISTINCT row(${columns.join(', ')})) > 1)`,
  )
  await session.run('DROP TABLE repeated_facilities')
  return contradicting
}
