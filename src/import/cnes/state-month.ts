/**
 * Stages the state files of one month. In: opened files, mun and old_mun. Out: st_fac and st_<fact> with published rows.
 * A facility that no ST file lists is taken from the rows of facts, which repeat its attributes.
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

/** Distinct columns, because several attributes may come from one column. */
export const columnsOf = (lineage: readonly Lineage[]): string[] => [
  ...new Set(lineage.map(({ column }) => column)),
]

/** @returns the facts with files, and the number of facilities with contradicting rows */
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
    const groupFiles = files.filter(({ file }) => file.group === group)
    const columns = [...new Set([...FACT_LINEAGE[fact].state.map(({ column }) => column), ...repeated])]
    await createTextTable(session, `st_${fact}`, columns)
    for (const opened of groupFiles) await appendRows(session, `st_${fact}`, opened, columns)
    if (groupFiles.length > 0) facts.add(fact)
  }
  for (const opened of files.filter(({ file }) => file.group === 'ST'))
    await appendRows(session, 'st_fac', opened, facilityColumns)
  const contradicting = await addRepeatedFacilities(session, repeated)
  return { facts, contradicting }
}

/**
 * Adds facilities that no ST file lists to st_fac, each from one row of its facts. Rows with a known municipality come first,
 * then the row with most filled cells. @returns number of facilities with contradicting rows
 */
async function addRepeatedFacilities(session: Session, repeated: readonly string[]): Promise<number> {
  const columns = repeated.map(quoteName)
  const hasKnownMunicipality = `left(trim(CODUFMUN), 6) IN (SELECT code6 FROM mun UNION ALL SELECT code6 FROM old_mun)`
  const filled = columns.map((column) => `CAST(coalesce(trim(${column}), '') <> '' AS INTEGER)`).join(' + ')
  await session.run(
    `CREATE TEMP TABLE repeated_facilities AS
     SELECT * FROM (${FACT_NAMES.map(
       (fact, order) =>
         `SELECT ${applyRule('code7', 'CNES')} AS code, ${hasKnownMunicipality} AS is_known, ${filled} AS filled, ${order} AS fact_order, source_file, source_row, ${columns.join(', ')} FROM st_${fact}`,
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
