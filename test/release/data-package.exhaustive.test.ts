/** Data Packages of every area: what they say is never null is never null, and what they call a key tells rows apart. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { dataPackage } from '../../src/release/descriptions/data-package.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

interface Described {
  readonly resources: readonly {
    readonly path: string
    readonly schema: {
      readonly primaryKey?: readonly string[]
      readonly fields: readonly {
        readonly name: string
        readonly constraints?: { readonly required: true }
      }[]
    }
  }[]
}
const connection = await (await DuckDBInstance.create()).connect()

for (const kind of ['production', 'financing', 'vital'] as const) {
  const { releasesDir, result } = await makeSmallRelease(kind)
  for (const id of [
    result.cnes,
    result.demography,
    result.sih,
    result.sia,
    result.sim,
    result.sinasc,
    result.financing,
    result.analytics,
  ]) {
    if (id === null) continue
    t.test(`${kind}: ${id.slice(0, 24)}`, async (t) => {
      const manifest = JSON.parse(readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8')) as Manifest
      const { resources } = dataPackage(manifest, (path) =>
        join(releasesDir, id, path),
      ) as unknown as Described
      const wrong: string[] = []
      for (const { path, schema } of resources) {
        const required = schema.fields.flatMap(({ name, constraints }) =>
          constraints?.required === true ? [name] : [],
        )
        const key = schema.primaryKey ?? []
        const names = [...new Set([...required, ...key])]
        if (names.length === 0) continue
        const nulls = names.map((name) => `count(*) - count("${name}")`)
        const keys =
          key.length === 0 ? 'count(*)' : `count(DISTINCT (${key.map((name) => `"${name}"`).join(', ')}, 1))`
        const [counts = []] = (
          await connection.runAndReadAll(
            `SELECT count(*) - ${keys}, ${nulls.join(', ')} FROM read_parquet('${path}', hive_partitioning = false)`,
          )
        ).getRows()
        for (const [index, count] of counts.entries())
          if (Number(count) !== 0)
            wrong.push(`${path}: ${index === 0 ? key.join(', ') : names[index - 1]} ${count}`)
      }
      t.same(wrong, [])
    })
  }
}
t.teardown(() => connection.closeSync())
