/**
 * The contents of a release's files under the schemas of its Data Package, as Frictionless reads them: types, required fields and
 * keys of the first rows of each file. Frictionless reads Parquet through pandas, which turns a null integer into NaN, and counts no
 * bytes of it. So DuckDB writes the rows as CSV first.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { dataPackage } from '../../src/release/descriptions/data-package.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

interface Resource {
  readonly name: string
  readonly path: string
  readonly schema: { readonly fields: readonly { readonly name: string; readonly type: string }[] }
}
/** Rows of each file that are validated. */
const ROWS = countOf(60, 5)
/** Stands for a null, because an empty text is a value. */
const NULL = '\\N'
const SCRIPT = `
import json, sys
from frictionless import Package
report = Package(sys.argv[1]).validate()
errors = [f"{task.name}: {error.message}" for task in report.tasks for error in task.errors]
print(json.dumps({"rows": sum(task.stats.get("rows", 0) for task in report.tasks), "errors": errors + [e.message for e in report.errors]}))
`
const folder = temporaryFolder('frictionless')
const connection = await (await DuckDBInstance.create()).connect()
t.teardown(() => connection.closeSync())

/** @returns the path of a Data Package of CSV files, and the number of their rows */
async function writePackage(
  releasesDir: string,
  id: string,
): Promise<{ readonly path: string; readonly rows: number }> {
  const manifest = JSON.parse(readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8')) as Manifest
  const described = dataPackage(manifest, (path) => join(releasesDir, id, path)) as unknown as {
    readonly resources: readonly Resource[]
  }
  const target = join(folder, id)
  mkdirSync(target, { recursive: true })
  let rows = 0
  const resources = []
  for (const { name, path, schema } of described.resources) {
    const columns = schema.fields.map((field) =>
      field.type === 'array' || field.type === 'object'
        ? `to_json("${field.name}") AS "${field.name}"`
        : `"${field.name}"`,
    )
    const [[count] = []] = (
      await connection.runAndReadAll(
        `COPY (SELECT ${columns.join(', ')} FROM read_parquet('${path}', hive_partitioning = false) LIMIT ${ROWS})
         TO '${join(target, `${name}.csv`)}' (FORMAT csv, HEADER true, NULLSTR '${NULL}')`,
      )
    ).getRows()
    rows += Number(count)
    resources.push({
      name,
      path: `${name}.csv`,
      format: 'csv',
      mediatype: 'text/csv',
      encoding: 'utf-8',
      schema: { ...schema, missingValues: [NULL] },
    })
  }
  writeFileSync(join(target, 'datapackage.json'), JSON.stringify({ name: 'contents', resources }))
  return { path: join(target, 'datapackage.json'), rows }
}

for (const kind of ['production', 'financing'] as const)
  t.test(kind, { skip: withoutPython('frictionless') }, async (t) => {
    const { releasesDir, result } = await makeSmallRelease(kind)
    const { cnes, demography, sih, sia, financing, analytics } = result
    for (const id of [cnes, demography, sih, sia, financing, analytics]) {
      if (id === null) continue
      const { path, rows } = await writePackage(releasesDir, id)
      const { stdout, stderr } = await runPython(SCRIPT, path)
      t.same(JSON.parse(stdout || '{}'), { rows, errors: [] }, `${id} ${stderr}`)
    }
  })

t.test('a value that its schema refuses is found', { skip: withoutPython('frictionless') }, async (t) => {
  const { releasesDir, result } = await makeSmallRelease('production')
  const { path } = await writePackage(releasesDir, result.cnes ?? '')
  const file = join(path, '..', 'bed_types.csv')
  const [header, first = '', ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [header, first.replaceAll(/[^,]+/g, () => NULL), ...rest].join('\n'))
  const { stdout } = await runPython(SCRIPT, path)
  t.match(JSON.parse(stdout).errors, [/bed_types/])
})
