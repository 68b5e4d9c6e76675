/**
 * No CPF gets out: not the thousands the demonstration invents, not those planted here in every place and spelling a
 * publisher's file has. Every text of the release is searched, in every window of eleven digits.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { openStateFile } from '../../src/import/cnes/state-files.ts'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { inventCpf } from '../../tools/demo/random.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { columnOf, readZip, splitTable } from '../fixtures/raw-base.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const raw = await readZip(join(small.snapshots, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP'))
const ibge = join(small.snapshots, 'ibge')
const connection = await (await DuckDBInstance.create(':memory:')).connect()

/** Runs of digits, the usual marks inside a number taken out; then each window of eleven. */
function findCpfs(text: string, wanted: ReadonlySet<string>): string[] {
  const found: string[] = []
  for (const [run] of text.replaceAll(/(?<=\d)[.\-/](?=\d)/g, '').matchAll(/\d{11,}/g))
    for (let start = 0; start + 11 <= run.length; start += 1)
      if (wanted.has(run.slice(start, start + 11))) found.push(run)
  return found
}

/** Every column of every table as text, and every JSON file; @returns texts searched */
async function searchReleases(t: Test, releasesDir: string, wanted: ReadonlySet<string>): Promise<number> {
  let texts = 0
  for (const id of readdirSync(releasesDir).filter((name) => name.startsWith('demo-'))) {
    for (const file of readdirSync(join(releasesDir, id)).filter((name) => name.endsWith('.json')))
      t.same(findCpfs(readFileSync(join(releasesDir, id, file), 'utf8'), wanted), [], `${file}`)
    const manifest = JSON.parse(readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8')) as Manifest
    for (const [dataset, { fields }] of Object.entries(manifest.datasets)) {
      const found = new Set<string>()
      // Column by column: numbers of two columns must not join into one.
      const columns = fields.map(({ name }) => `CAST("${name}" AS VARCHAR)`)
      const rows = await connection.runAndReadAll(
        `SELECT DISTINCT unnest([${columns.join(', ')}]) AS text
         FROM read_parquet('${releasesDir}/${id}/${dataset}/**/*.parquet', union_by_name = true, hive_partitioning = true)`,
      )
      for (const [text] of rows.getRowsJson()) {
        texts += 1
        if (typeof text === 'string') for (const run of findCpfs(text, wanted)) found.add(run)
      }
      t.same([...found], [], dataset)
    }
  }
  return texts
}

t.test('the search finds what it must', (t) => {
  const cpf = inventCpf(123_456_789)
  const wanted = new Set([cpf])
  const written = `${cpf.slice(0, 3)}.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-${cpf.slice(9)}`
  for (const text of [cpf, `Nome ${cpf}`, `000${cpf}`, written, `{number: ${written}}`, `${cpf}7`])
    t.equal(findCpfs(text, wanted).length, 1)
  t.same(findCpfs(`${cpf.slice(0, 10)} ${cpf.slice(10)}`, wanted), [])
  t.end()
})

t.test('no CPF of the demonstration is in its release', async (t) => {
  const invented = new Set<string>()
  const facilities = splitTable(raw.get('tbEstabelecimento202605.csv') ?? Buffer.alloc(0))
  const services = splitTable(raw.get('rlEstabServClass202605.csv') ?? Buffer.alloc(0))
  const places: [typeof facilities, string][] = [
    [facilities, 'NU_CPF'],
    [facilities, 'CO_CPFDIRETORCLN'],
    [facilities, 'NO_RAZAO_SOCIAL'],
    [services, 'CO_CNPJCPF'],
  ]
  for (const [table, column] of places) {
    const place = columnOf(table, column)
    const before = invented.size
    for (const row of table.rows)
      for (const [cpf] of (row[place] ?? '').matchAll(/(?<!\d)\d{11}(?!\d)/g)) invented.add(cpf)
    t.ok(invented.size > before || column === 'NO_RAZAO_SOCIAL' || column === 'NU_CPF', column)
  }
  t.ok(invented.size > 4000, `${invented.size} CPFs`)
  t.ok((await searchReleases(t, small.releasesDir, invented)) > 100_000)
})

const dotted = (cpf: string): string =>
  `${cpf.slice(0, 3)}.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-${cpf.slice(9)}`

t.test('CPFs planted in every text of the national base stay out', async (t) => {
  const folder = temporaryFolder('planted')
  const planted = new Set<string>()
  const plant = (write: (cpf: string) => string): string => {
    const cpf = inventCpf(987_650_000 + planted.size)
    planted.add(cpf)
    return write(cpf)
  }
  const edit = (file: string, cells: readonly [column: string, write: (cpf: string) => string][]): void => {
    const bytes = raw.get(file) ?? Buffer.alloc(0)
    const table = splitTable(bytes)
    const lines = bytes.toString('latin1').split('\n')
    cells.forEach(([column, write], index) => {
      // Each in a row of its own, past the first two, which the demonstration repeats.
      const parts = (lines[10 + index] ?? '').split('";"')
      const place = columnOf(table, column)
      if (place < 0) throw new Error(column)
      parts[place] = `${place === 0 ? '"' : ''}${plant(write)}`
      lines[10 + index] = parts.join('";"')
    })
    writeFileSync(join(folder, file), lines.join('\n'), 'latin1')
  }
  for (const [name, bytes] of raw) writeFileSync(join(folder, name), bytes)
  const spellings: ((cpf: string) => string)[] = [
    (cpf) => cpf,
    dotted,
    (cpf) => `Maria ${cpf}`,
    (cpf) => `Maria ${dotted(cpf)} ME`,
    (cpf) => `CPF:${cpf}.`,
    (cpf) => `X${cpf}Y`,
    (cpf) => `${cpf} ${plant((second) => second)}`,
    (cpf) => `${cpf.slice(0, 9)}-${cpf.slice(9)}`,
  ]
  const names = [
    'NO_RAZAO_SOCIAL',
    'NO_FANTASIA',
    'NO_LOGRADOURO',
    'NO_COMPLEMENTO',
    'NO_BAIRRO',
    'NU_ENDERECO',
  ]
  edit('tbEstabelecimento202605.csv', [
    ...names.flatMap((column) => spellings.map((write) => [column, write] as [string, typeof write])),
    ['NU_CNPJ', (cpf) => cpf],
    ['NU_CNPJ', (cpf) => `000${cpf}`],
    ['NU_CNPJ_MANTENEDORA', (cpf) => `000${cpf}`],
    ['NO_EMAIL', (cpf) => `${cpf}@example.invalid`],
    ['NU_FAX', (cpf) => cpf],
    ['CO_USUARIO', (cpf) => cpf],
    ['NU_ALVARA', (cpf) => cpf],
    ['REG_DIRETORCLN', (cpf) => cpf],
    ['NO_URL', (cpf) => cpf],
  ])
  edit('tbMantenedora202605.csv', [
    ['NO_RAZAO_SOCIAL', (cpf) => `Mantenedora ${cpf}`],
    ['NO_RAZAO_SOCIAL', dotted],
  ])
  edit('rlEstabServClass202605.csv', [
    ['CO_CNPJCPF', (cpf) => cpf],
    ['CO_CNPJCPF', (cpf) => `${cpf}   `],
    ['CO_CNPJCPF', (cpf) => `000${cpf}`],
    ['CO_CNPJCPF', dotted],
    ['CO_USUARIO', (cpf) => cpf],
  ])
  edit('rlEstabEquipamento202605.csv', [['CO_USUARIO', (cpf) => cpf]])
  edit('rlEstabComplementar202605.csv', [['CO_USUARIO', (cpf) => cpf]])
  t.ok(planted.size > 60, `${planted.size} planted`)
  const releasesDir = join(folder, 'releases')
  const result = await importPaths([ibge, folder], { releasesDir, maxRejected: 0.001 })
  t.ok(result.cnes)
  await searchReleases(t, releasesDir, planted)
})

t.test('neither a row that cannot be read nor an error shows its cells', async (t) => {
  const cpf = inventCpf(555_444_333)
  const wanted = new Set([cpf])
  const folder = temporaryFolder('errors')
  const facts = (raw.get('rlEstabServClass202605.csv') ?? Buffer.alloc(0)).toString('latin1').split('\n')
  for (const [name, bytes] of raw) writeFileSync(join(folder, name), bytes)
  facts[20] = `"${cpf}";"broken"`
  facts[30] = `"${cpf}";"${cpf}";"${cpf}${'";"x'.repeat(30)}"`
  writeFileSync(join(folder, 'rlEstabServClass202605.csv'), facts.join('\n'), 'latin1')
  const releasesDir = join(folder, 'releases')
  const steps: string[] = []
  const result = await importPaths([ibge, folder], {
    releasesDir,
    maxRejected: 0.001,
    onProgress: (step) => steps.push(step),
  })
  t.same(findCpfs(JSON.stringify([result, steps]), wanted), [])
  await searchReleases(t, releasesDir, wanted)

  const broken: [string, string][] = [
    ['rlEstabServClass202605.csv', `"${cpf}","CO_UNIDADE"\n`],
    ['rlEstabServClass202605.csv', `"${cpf}";"CO_SERVICO"\n"${cpf}";"1"\n`],
    [
      'tbEstabelecimento202605.csv',
      `${(raw.get('tbEstabelecimento202605.csv') ?? '').toString('latin1').split('\n')[0]}\n"${cpf}\n`,
    ],
  ]
  for (const [name, text] of broken) {
    const path = join(folder, `broken-${broken.findIndex(([, other]) => other === text)}`)
    mkdirSync(path)
    for (const [other, bytes] of raw) writeFileSync(join(path, other), bytes)
    writeFileSync(join(path, name), text, 'latin1')
    const error = await importPaths([ibge, path], { releasesDir, maxRejected: 0.001 }).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    t.ok(error instanceof ImportError, String(error instanceof Error ? error.name : error))
    t.same(findCpfs(String(error), wanted), [], `${name}: ${String(error).slice(0, 60)}`)
  }
})

t.test('the owner of a file by state does not leave its reader', async (t) => {
  const cpfs = Array.from({ length: 40 }, (_, index) => inventCpf(111_222_000 + index))
  const person = (index: number, spelled: string): Record<string, string> => ({
    ...EQ_ROW,
    CNES: String(2_000_000 + index),
    CPF_CNPJ: spelled,
    PF_PJ: '1',
    NIV_DEP: '1',
    CNPJ_MAN: '00000000000000',
    TP_UNID: '22',
  })
  const rows = cpfs.map((cpf, index) => person(index, index % 2 === 0 ? cpf : `000${cpf}`))
  const company = { ...person(40, '11222333000181'), PF_PJ: '3' }
  const dbf = makeDbf({ columns: EQ_COLUMNS, rows: [...rows, company] })
  const wanted = new Set(cpfs)
  t.equal(findCpfs(dbf.toString('latin1'), wanted).length >= 40, true, 'they are in the file')
  for (const [name, bytes] of [
    ['EQRR2309.dbf', dbf],
    ['EQRR2309.dbc', makeDbc(dbf)],
  ] as const) {
    const file = await openStateFile(name, bytes)
    t.equal(file.rows, 41)
    const read = [...file.read(file.columns)]
    t.same(findCpfs(JSON.stringify(read.map(({ values }) => values)), wanted), [], name)
    const owner = file.columns.indexOf('CPF_CNPJ')
    t.equal(read.at(-1)?.values[owner], '11222333000181', 'a company keeps its number')
    t.throws(() => [...file.read(['NO_EMAIL'])], TypeError)
  }
  const folder = temporaryFolder('state')
  writeFileSync(join(folder, 'EQRR2309.dbc'), makeDbc(dbf))
  // DATASUS's table of names writes the number before the name.
  writeFileSync(
    join(folder, 'CADGERRR.csv'),
    [
      'CNES;CPF_CNPJ;FANTASIA;RAZ_SOCI;LOGRADOU;NUM_END;COMPLEME;BAIRRO;CODUFMUN;EXCLUIDO',
      ...cpfs.map((cpf, index) =>
        [
          2_000_000 + index,
          cpf,
          `Consultorio ${cpf}`,
          `CPF ${dotted(cpf)} -Pessoa Demonstrativa ${cpf}`,
          `Rua ${cpf}`,
          cpf,
          dotted(cpf),
          cpf,
          '140010',
          '0',
        ].join(';'),
      ),
      '',
    ].join('\n'),
  )
  const releasesDir = join(folder, 'releases')
  const result = await importPaths([ibge, folder], { releasesDir, maxRejected: 0.001 })
  t.equal(result.rows.equipment_inventory, 41)
  await searchReleases(t, releasesDir, wanted)
})
