/**
 * Accepts or rejects a built area release: its share of rejected rows, unexpectedly empty files, and its checks. The error names
 * files and rows to inspect. It never shows cell values, because they may be personal data.
 */
import { join } from 'node:path'
import type { Area } from '../model/datasets.ts'
import type { Manifest } from '../release/manifest.ts'
import type { BuiltArea } from './area.ts'
import { absentRows, describeEmptied } from './file-contents.ts'
import { ImportError, NAMED_ROWS, type NamedNumbers, nameFirst } from './import-error.ts'
import { countsAsRejected, setAsideKey } from './rejected-rows.ts'
import { quoteText, type Session } from './session.ts'

/** Maximum number of file and reason pairs in one message. */
const NAMED_REASONS = 3

/** @throws ImportError if too many rows were rejected or a check fails */
export async function checkArea(
  session: Session,
  staging: string,
  area: Area,
  built: BuiltArea,
  maxRejected: number,
): Promise<void> {
  const emptied = built.emptied ?? []
  const absentCount = absentRows(emptied)
  const share =
    built.read + absentCount === 0 ? 0 : (built.rejected + absentCount) / (built.read + absentCount)
  if (share > maxRejected && absentCount > 0)
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

/** @returns the file and reason pairs with the most rejected rows, with their first row numbers where the release lists them */
async function describeSetAside(
  session: Session,
  staging: string,
  { setAside, rowsByFile, firstRows }: BuiltArea,
): Promise<string> {
  const largest = setAside
    .filter(({ reason }) => countsAsRejected(reason))
    .sort((left, right) => right.rows - left.rows)
    .slice(0, NAMED_REASONS)
  const rejectedTable = [...rowsByFile.keys()].find((path) => /^set_aside|_set_aside/.test(path))
  const descriptions = await Promise.all(
    largest.map(async (entry) => {
      const first: NamedNumbers | undefined =
        rejectedTable === undefined
          ? firstRows?.get(setAsideKey(entry.file, entry.reason))
          : { noun: 'row', numbers: await listFirstRows(session, join(staging, rejectedTable), entry) }
      const named = first === undefined || first.numbers.length === 0 ? '' : `, ${nameFirst(first)}`
      return `${entry.file}: ${entry.reason} ${entry.rows}${named}`
    }),
  )
  return descriptions.join('; ')
}

/** @returns one row more than messages show, so that a message can indicate that there are others */
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
