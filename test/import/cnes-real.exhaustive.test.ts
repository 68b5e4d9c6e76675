/** Every real CNES file decodes to what its independent oracle (facts.json, expected/*.csv) says. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { openStateFile } from '../../src/import/cnes/state-files.ts'
import { decodeDbc } from '../../src/import/readers/dbc.ts'
import { openDbf } from '../../src/import/readers/dbf.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'

interface Facts {
  records: number
  header_length: number
  record_length: number
  columns: number
  records_sha256: string
  facilities: number
  municipalities: number
  competence: Record<string, number>
  sums: Record<string, number | Record<string, number>>
}

t.test('real files', { skip: skipWithoutShared }, async (t) => {
  const facts = JSON.parse(readFileSync(sharedPath('cnes/dbc/facts.json'), 'utf8')) as Record<string, Facts>
  const files = Object.entries(facts).filter(([name]) => /^(ST|LT|EQ|SR)[A-Z]{2}\d{4}\./.test(name))
  t.equal(files.length, 20)
  for (const [name, fact] of files) {
    const published = readFileSync(sharedPath(`cnes/dbc/${name}`))
    const bytes = name.endsWith('.gz') ? gunzipSync(published) : await decodeDbc(published, name)
    const dbf = openDbf(bytes, name)
    const body = bytes.subarray(fact.header_length, fact.header_length + fact.records * fact.record_length)
    t.equal(dbf.records, fact.records, `${name}: records`)
    t.equal(dbf.columns.length, fact.columns, `${name}: columns`)
    t.equal(
      createHash('sha256').update(body).digest('hex'),
      fact.records_sha256,
      `${name}: bytes of the records`,
    )

    const file = await openStateFile(name, published)
    t.equal(file.rows, fact.records)
    const column = (wanted: string): string[] =>
      [...file.read([wanted])].map(({ values }) => (values[0] ?? '').trim())
    t.equal(new Set(column('CNES')).size, fact.facilities, `${name}: facilities`)
    t.equal(new Set(column('CODUFMUN')).size, fact.municipalities, `${name}: municipalities`)
    const months = column('COMPETEN').reduce<Record<string, number>>((all, month) => {
      all[month] = (all[month] ?? 0) + 1
      return all
    }, {})
    t.same(months, fact.competence, `${name}: months`)
    for (const [measure, total] of Object.entries(fact.sums ?? {})) {
      if (typeof total !== 'number' || !file.columns.includes(measure)) continue
      const sum = column(measure).reduce((before, cell) => before + Number(cell), 0)
      t.equal(sum, total, `${name}: ${measure}`)
    }
  }
})

t.test('whole files cell by cell', { skip: skipWithoutShared }, async (t) => {
  for (const name of ['LTRR0610', 'EQRR0509', 'SRAP0508']) {
    const dbf = openDbf(await decodeDbc(readFileSync(sharedPath(`cnes/dbc/${name}.dbc`)), name), name)
    const [header = '', ...lines] = readFileSync(sharedPath(`cnes/dbc/expected/${name}.csv`), 'utf8')
      .trimEnd()
      .split(/\r?\n/)
    t.same(
      dbf.columns.map((column) => column.name),
      header.split(';'),
    )
    const cells = lines.map((_, record) =>
      dbf.columns.map((column) => dbf.text(record, column).trimEnd()).join(';'),
    )
    t.same(cells, lines, name)
  }
})

t.test('container examples that are not CNES', { skip: skipWithoutShared }, async (t) => {
  for (const name of ['sids.dbc', 'storm.dbc']) {
    const bytes = await decodeDbc(readFileSync(sharedPath(`cnes/dbc/${name}`)), name)
    t.ok(openDbf(bytes, name).records > 0, name)
  }
})
