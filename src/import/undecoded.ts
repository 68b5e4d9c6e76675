/**
 * Counts cells of a written release that hold a byte undefined in the publisher's encoding. Readers replace such bytes by U+FFFD
 * (readers/windows-1252.ts).
 */
import { join } from 'node:path'
import type { BuiltArea } from './area.ts'
import { REPLACEMENT_CHARACTER } from './readers/windows-1252.ts'
import { quoteName, quoteText, type Session } from './session.ts'

/** @returns `cells_with_undefined_characters` for the manifest, or an empty object if there are none */
export async function countUndecoded(
  session: Session,
  staging: string,
  { datasets, rowsByFile }: Pick<BuiltArea, 'datasets' | 'rowsByFile'>,
): Promise<Record<string, number>> {
  let cells = 0
  for (const path of rowsByFile.keys()) {
    const [dataset = ''] = path.split('/')
    // Skip provenance tables, because they repeat the cells of their dataset.
    if (dataset.endsWith('_provenance')) continue
    const texts = (datasets[dataset]?.fields ?? []).filter(({ type }) => type === 'VARCHAR')
    if (texts.length === 0) continue
    const counts = texts.map(
      ({ name }) => `count(*) FILTER (contains(${quoteName(name)}, '${REPLACEMENT_CHARACTER}'))`,
    )
    cells += await session.number(
      `SELECT ${counts.join(' + ')} FROM read_parquet(${quoteText(join(staging, path))}, hive_partitioning = false)`,
    )
  }
  return cells === 0 ? {} : { cells_with_undefined_characters: cells }
}
