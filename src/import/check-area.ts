/**
 * What a release of an area must be before it is kept: few rows set aside, files with rows where those around them have some, and checks
 * that hold. In: what was built, written to the staging folder. Out: an error that says where to look. Cells are never shown.
 */
import { join } from 'node:path'
import type { Area } from '../model/datasets.ts'
import type { Manifest } from '../release/manifest.ts'
import type { BuiltArea } from './area.ts'
import { absentRows, describeEmptied } from './file-contents.ts'
import { ImportError, NAMED_ROWS, namedRows } from './import-error.ts'
import { countsAsRejected, setAsideKey } from './rejected-rows.ts'
import { quoteText, type Session } from './session.ts'

/** Files and reasons that a message names. */
const NAMED_REASONS = 3

/** @throws ImportError where more rows were set aside than is allowed, or the rows fail a check */
export async function checkArea(
  session: Session,
  staging: string,
  area: Area,
  built: BuiltArea,
  maxRejected: number,
): Promise<void> {
  const emptied = built.emptied ?? []
  const absent = absentRows(emptied)
  const share = built.read + absent === 0 ? 0 : (built.rejected + absent) / (built.read + absent)
  if (share > maxRejected && absent > 0)
    throw new ImportError(
      `${area} import`,
      `has files without any row where the months around have rows: ${describeEmptied(emptied)}; that is more than the share of ${maxRejected}`,
      'Fetch these files again; if the publisher’s are empty, allow it with --max-rejected',
    )
  if (share > maxRejected)
    throw new ImportError(
      `${area} import`,
      `sets aside ${built.rejected} of ${built.read} rows (${await describeSetAside(session, staging, built)}), more than the share of ${maxRejected}`,
      'Check the rows in the files, or allow a larger share with --max-rejected',
    )
  const failed = built.checks.filter(({ violations }) => violations !== 0)
  if (failed.length > 0)
    throw new ImportError(
      `${area} import`,
      `fails the check ${failed.map(({ name, violations }) => `${name} (${violations})`).join(', ')}`,
      'Fetch the files again; a release is made only of data that holds together',
    )
}

/** @returns the files and reasons with most rows, each with its first rows where the release lists them */
async function describeSetAside(
  session: Session,
  staging: string,
  { setAside, rowsByFile, firstRows }: BuiltArea,
): Promise<string> {
  const worst = setAside
    .filter(({ reason }) => countsAsRejected(reason))
    .sort((left, right) => right.rows - left.rows)
    .slice(0, NAMED_REASONS)
  const table = [...rowsByFile.keys()].find((path) => /^set_aside|_set_aside/.test(path))
  const named = await Promise.all(
    worst.map(async (entry) => {
      const first =
        table === undefined
          ? (firstRows?.get(setAsideKey(entry.file, entry.reason)) ?? [])
          : await listFirstRows(session, join(staging, table), entry)
      return `${entry.file}: ${entry.reason} ${entry.rows}${first.length === 0 ? '' : `, ${namedRows(first)}`}`
    }),
  )
  return named.join('; ')
}

/** @returns one row more than messages name, so that they say that there are others */
async function listFirstRows(
  session: Session,
  path: string,
  { file, reason }: Manifest['set_aside'][number],
): Promise<number[]> {
  const rows = await session.rows(
    `SELECT DISTINCT source_row AS n FROM read_parquet(${quoteText(path)}, hive_partitioning = false)
     WHERE source_file = ${quoteText(file)} AND reason = ${quoteText(reason)} ORDER BY n LIMIT ${NAMED_ROWS + 1}`,
  )
  return rows.map(({ n }) => Number(n))
}
