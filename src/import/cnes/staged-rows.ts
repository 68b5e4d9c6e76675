/** Stages the rows of state files as text tables with source_file and source_row. */
import type { Snapshot } from '../../release/manifest.ts'
import { quoteName, type Session } from '../session.ts'
import type { StateFile } from './state-files.ts'

export interface OpenedState {
  readonly file: StateFile
  readonly name: string
  /** Path for messages. */
  readonly shown: string
  readonly snapshot: Snapshot
}

export const createTextTable = (session: Session, table: string, columns: readonly string[]): Promise<void> =>
  session.run(
    `CREATE TABLE ${table} (source_file VARCHAR, source_row INTEGER, ${columns.map((column) => `${quoteName(column)} VARCHAR`).join(', ')})`,
  )

/** Appends rows to a staged table. A column that the file lacks is null, so that provenance does not point to it. */
export async function appendRows(
  session: Session,
  table: string,
  { file, name }: OpenedState,
  columns: readonly string[],
): Promise<void> {
  const present = columns.map((column) => file.columns.includes(column))
  await session.append(table, (appender) => {
    for (const { row, values } of file.read(columns)) {
      appender.appendVarchar(name)
      appender.appendInteger(row)
      for (const [index, value] of values.entries())
        if (present[index] === true) appender.appendVarchar(value)
        else appender.appendNull()
      appender.endRow()
    }
  })
}
