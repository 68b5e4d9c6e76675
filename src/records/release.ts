/** Reads what is constant for a release and needed for its records: once, when the release is opened or first used. */
import type { Engine } from '../engine/types.ts'
import type { Table } from '../model/required-tables.ts'
import { FACT_TABLES, hasGaps, monthsOfRelease, tablesBeside } from '../release/coverage.ts'
import type { ReleaseView } from '../release/view.ts'
import { type Boxes, loadBoxes } from './coordinates.ts'
import { loadTerritories, type Territories } from './territories.ts'

/** An open release with what is constant for it. */
export interface RecordRelease {
  readonly view: ReleaseView
  readonly boxes: Boxes
  readonly territories: Territories
  /** Tables of areas of which any data are uncollected. */
  readonly incomplete: ReadonlySet<Table>
}

const RELEASES = new WeakMap<ReleaseView, Promise<RecordRelease>>()

/** Reads the constants of a release once. The server calls this when it opens a release, so that no request waits for it. */
export function loadRecordRelease(view: ReleaseView, engine: Engine): Promise<RecordRelease> {
  let release = RELEASES.get(view)
  if (release === undefined) {
    release = readConstants(view, engine)
    RELEASES.set(view, release)
    // A statement that failed, such as for lack of time, runs again for the next request.
    release.catch(() => RELEASES.delete(view))
  }
  return release
}

async function readConstants(view: ReleaseView, engine: Engine): Promise<RecordRelease> {
  const [boxes, territories] = await Promise.all([loadBoxes(view, engine), loadTerritories(view, engine)])
  const isIncomplete = (table: Table): boolean =>
    monthsOfRelease(view, tablesBeside(table)).length === 0 || hasGaps(view, tablesBeside(table))
  return { view, boxes, territories, incomplete: new Set(FACT_TABLES.filter(isIncomplete)) }
}
