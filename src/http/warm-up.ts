/** Warms up a new process with large answers: V8 compiles the code that decodes and writes rows only after some runs. */

import { writeQuery } from '../analytics/query.ts'
import type { Engine } from '../engine/types.ts'
import { CAPABILITIES } from '../model/capabilities.ts'
import type { ReleaseView } from '../release/view.ts'
import { makeEnvelope } from './request/envelope.ts'

/** With answers of 5,571 rows, the ninth is as fast as later ones. */
const WARM_UP_RUNS = 8
const WARM_UP_QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  limit: 10_000,
}

/** @throws AppError when the release cannot answer the query */
export async function warmUp(engine: Engine, view: ReleaseView): Promise<void> {
  const parts = { engine, view, capabilities: CAPABILITIES, language: 'pt' } as const
  for (let run = 0; run < WARM_UP_RUNS; run += 1) makeEnvelope(await writeQuery(WARM_UP_QUERY, parts), {})
}
