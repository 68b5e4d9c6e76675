/**
 * Warm-up of a new process: V8 compiles what decodes and writes rows only after some runs, so some large answers are made before
 * anybody asks for one. In: an engine and a release whose tables it holds in memory. Out: nothing; the answers are thrown away.
 */

import { writeQuery } from '../analytics/query.ts'
import type { Engine } from '../engine/types.ts'
import { CAPABILITIES } from '../model/capabilities.ts'
import type { ReleaseView } from '../release/view.ts'
import { makeEnvelope } from './request/envelope.ts'

/** Of answers of 5,571 rows the ninth is as quick as later ones. */
const TIMES = 8
/** A sum and a rate of every municipality. */
const QUESTION = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  limit: 10_000,
}

/** @throws AppError where the release cannot answer the question */
export async function warmUp(engine: Engine, view: ReleaseView): Promise<void> {
  const parts = { engine, view, capabilities: CAPABILITIES, language: 'pt' } as const
  for (let turn = 0; turn < TIMES; turn += 1) makeEnvelope(await writeQuery(QUESTION, parts), {})
}
