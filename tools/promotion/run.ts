/** Opens a release together with the one in service and runs the promotion checks, for `import` and `promote`. */
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { openStore } from '../../src/release/store.ts'
import { ReleaseRefused } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type PromotionReport, runPromotionChecks } from './checks.ts'

/** @throws ReleaseRefused when the release does not verify */
export async function checkPromotion(releasesDir: string, id: string): Promise<PromotionReport> {
  const { duckdbMemory, duckdbThreads, reportTimeoutMs } = readSettings()
  const engine = await createEngine({
    releasesDir,
    memory: duckdbMemory,
    threads: duckdbThreads,
    timeoutMs: reportTimeoutMs,
    concurrency: 1,
    queue: 4,
  })
  const store = await openStore({ releasesDir, prepare: (view) => engine.open(view) })
  try {
    const view = await store.pin(id)
    if (view === null) {
      const problem = store.problems().find(({ release_id }) => release_id === id)
      throw new ReleaseRefused(id, 'manifest.json', problem?.reason ?? 'is not a release here')
    }
    return await runPromotionChecks(engine, view, store.current())
  } finally {
    store.close()
    await engine.close()
  }
}
