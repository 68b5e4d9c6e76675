/**
 * The rows behind records that were added up, in real files: each row of a file is behind one record of each table, their cells add up
 * to what the record says, and the cells are those that another reader finds.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { findPublishedRows } from '../../src/import/published-rows.ts'
import { decodeDbc } from '../../src/import/readers/dbc.ts'
import { readDbfColumns } from '../../src/import/readers/dbf.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

interface LineageRecord {
  readonly contribution: number
  readonly published_rows: {
    readonly count: number
    readonly where: { readonly columns: string[]; readonly pattern: string }[]
    readonly is_exact: boolean
  }
  readonly sources: readonly { readonly sha256: string }[]
}
const CASES = [
  { file: 'sih/RDRR0801.dbc', metric: 'admissions_value', group: 'state', column: 'VAL_TOT' },
  { file: 'sih/RDRR0801.dbc', metric: 'admissions_value', group: 'residence_state', column: 'VAL_TOT' },
  { file: 'sih/RDRR0801.dbc', metric: 'admissions_value', group: 'flows', column: 'VAL_TOT' },
  { file: 'sih/RDRR9504.dbc', metric: 'admissions_value', group: 'state', column: 'VAL_TOT' },
  { file: 'sia/PAAP0607.dbc', metric: 'outpatient_quantity_approved', group: 'state', column: 'PA_QTDAPR' },
] as const
/** Records that are followed to their rows; of files with more, the first. */
const RECORDS = 400

t.test('rows behind records of real files', { skip: skipWithoutShared }, async (t) => {
  const { folder, releasesDir } = await makeSmallRelease()
  const path = join(folder, 'real')
  mkdirSync(path)
  for (const file of new Set(CASES.map((own) => own.file)))
    cpSync(sharedPath(file), join(path, file.slice(4)))
  const made = await importPaths([path], { releasesDir, maxRejected: 0.05 })
  writePointer(releasesDir, made.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  for (const { file, metric, group, column } of CASES) {
    const name = file.slice(4)
    const month = Number(name.slice(4, 6)) > 50 ? `19${name.slice(4, 6)}` : `20${name.slice(4, 6)}`
    const records: LineageRecord[] = []
    const query = {
      metrics: [metric],
      group_by: [],
      filters: [
        { dimension: 'reference_period', operator: 'EQ', value: `${month}-${name.slice(6, 8)}` },
        ...(group === 'state' ? [{ dimension: 'state', operator: 'EQ', value: name.slice(2, 4) }] : []),
        ...(group === 'residence_state' || group === 'flows'
          ? [{ dimension: 'residence_state', operator: 'EQ', value: name.slice(2, 4) }]
          : []),
        ...(group === 'flows' ? [{ dimension: 'state', operator: 'EQ', value: name.slice(2, 4) }] : []),
      ],
      key: {},
    }
    for (let offset = 0; offset < RECORDS; offset += 1000) {
      const { status, body, text } = await client.post('/v1/analytics/lineage', {
        ...query,
        rows: true,
        limit: 1000,
        offset,
      })
      t.equal(status, 200, text.slice(0, 200))
      records.push(...body.data)
      if (!body.pagination.has_more) break
    }
    t.ok(records.length > 20, `${name}: ${records.length} records`)
    const table = await decodeDbc(readFileSync(sharedPath(file)), name)
    const place = readDbfColumns(table).find((own) => own.name === column)
    const [begin, width] = [table.readUInt16LE(8), table.readUInt16LE(10)]
    /** The cell of a row as its bytes stand in the file. */
    const cellAt = (row: number): string => {
      const start = begin + (row - 2) * width + (place?.offset ?? 0)
      return table.toString('latin1', start, start + (place?.length ?? 0)).trim()
    }
    const seen = new Set<number>()
    let exactCount = 0
    const wrong: string[] = []
    for (const record of records.slice(0, RECORDS)) {
      const { where, count, is_exact } = record.published_rows
      const found = await findPublishedRows(join(path, name), where, { limit: 100_000, offset: 0 })
      if (!is_exact) continue
      exactCount += 1
      const label = JSON.stringify(record.published_rows)
      if (found.count !== count) wrong.push(`${found.count} rows for ${label}`)
      if (found.sha256 !== record.sources[0]?.sha256) wrong.push(`another file for ${label}`)
      let sum = 0
      for (const { row, cells: own } of found.rows) {
        if (seen.has(row)) wrong.push(`row ${row} is behind two records`)
        seen.add(row)
        if (own[column] !== cellAt(row)) wrong.push(`row ${row}: ${own[column]}`)
        sum += Number(own[column])
      }
      if (Math.abs(sum - record.contribution) > 0.001)
        wrong.push(`${sum} for ${record.contribution}: ${label}`)
      for (const { cells: own } of found.rows.slice(0, 1))
        for (const personal of [
          'NASC',
          'CEP',
          'N_AIH',
          'GESTOR_CPF',
          'DT_SAIDA',
          'DT_INTER',
          'PA_AUTORIZ',
          'PA_CNSMED',
        ])
          if (personal in own) wrong.push(`${personal} is shown`)
    }
    t.ok(exactCount > records.slice(0, RECORDS).length / 2, `${exactCount} records name their rows exactly`)
    t.same(wrong.slice(0, 5), [], `${name} by ${group}: ${wrong.length} wrong; ${seen.size} rows`)
  }
  // The command reads the same, and refuses another file.
  const { body } = await client.post('/v1/analytics/lineage', {
    metrics: ['admissions'],
    filters: [
      { dimension: 'reference_period', operator: 'EQ', value: '2008-01' },
      { dimension: 'state', operator: 'EQ', value: 'RR' },
    ],
    key: {},
    rows: true,
    limit: 3,
  })
  const answer = join(folder, 'lineage.json')
  writeFileSync(answer, JSON.stringify(body))
  const run = (file: string): { readonly count: number; readonly problems: readonly string[] } => {
    const main = `import('./tools/cli.ts').then(async ({ main }) => { process.exitCode = await main(process.argv.slice(1)) })`
    const args = ['--import', 'tsx', '-e', main, '--', 'published-rows', file, '--lineage', answer, '--json']
    try {
      return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    } catch (error) {
      return JSON.parse((error as { stdout: string }).stdout)
    }
  }
  const found = run(join(path, 'RDRR0801.dbc'))
  t.same([found.count, found.problems], [body.data[0].published_rows.count, []])
  t.match(run(join(path, 'RDRR9504.dbc')).problems.join(), /SHA-256/)
})
