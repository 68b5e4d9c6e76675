/**
 * Nothing of a person gets out of outpatient production and financing: not the numbers of the demonstration, not those planted here.
 * Looked for in every column of the releases, in answers, in exports of every format, in the log, and in what bad files are refused with.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { writePointer } from '../../src/release/writer.ts'
import { REPORT_FORMAT_NAMES } from '../../src/report/formats.ts'
import { inventCpf } from '../../tools/demo/random.ts'
import { walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbc } from '../fixtures/dbf-builder.ts'
import { numbersIn, numbersOfFiles, textOf } from '../fixtures/persons.ts'
import { productionDbf as dbf, PLAIN_PRODUCTION as plain } from '../fixtures/production-files.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('production')
const { releasesDir, snapshots } = small
const scratch = temporaryFolder('persons')
const persons = numbersOfFiles(join(snapshots, 'sia'), ['PA_AUTORIZ', 'PA_CNSMED', 'PA_CNPJCPF'])
t.ok(persons.size > 3000, `${persons.size} numbers of the demonstration`)

// A file of FNS with a CPF in every column that has no reader, and in texts of the others.
let planted = 0
const plant = (): string => {
  planted += 1
  const cpf = inventCpf(222_333_000 + planted)
  persons.add(cpf)
  return cpf
}
const dotted = (cpf: string): string =>
  `${cpf.slice(0, 3)}.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-${cpf.slice(9)}`
const FNS =
  'BLOCO,GRUPO,ESTRATÉGIA,UF,MUNICIPIO,CO_MUNICIPIO_IBGE,QT_POPULACAO,NU_ANO_REFERENCIA_IBGE,CNPJ,ENTIDADE,BANCO,AGENCIA,CONTA,TP_REPASSE,TP_REPASSE_ESTADO,ST_FAF,ST_HU,DT_ULTIMA_LIBERACAO,VL_BRUTO,VL_LIQUIDO,VL_SALDO_CONTA,DT_SALDO_CONTA'
const fnsRow = (cells: Readonly<Record<string, string>>): string => {
  const own: Record<string, string> = {
    BLOCO: `Custeio ${plant()}`,
    GRUPO: `Grupo de ${dotted(plant())}`,
    ESTRATÉGIA: `${plant()}`,
    UF: 'RR',
    MUNICIPIO: `Boa Vista ${plant()}`,
    CO_MUNICIPIO_IBGE: '140010',
    QT_POPULACAO: plant(),
    NU_ANO_REFERENCIA_IBGE: '2023',
    CNPJ: `000${plant()}`,
    ENTIDADE: `Maria ${plant()}`,
    BANCO: plant(),
    AGENCIA: plant(),
    CONTA: plant(),
    TP_REPASSE: `MUNICIPAL ${plant()}`,
    TP_REPASSE_ESTADO: plant(),
    ST_FAF: 'S',
    ST_HU: 'N',
    DT_ULTIMA_LIBERACAO: '21/12/2023',
    VL_BRUTO: '"1336110,08"',
    VL_LIQUIDO: '"1336110,08"',
    VL_SALDO_CONTA: `"${plant()},00"`,
    DT_SALDO_CONTA: '31/12/2023',
    ...cells,
  }
  return FNS.split(',')
    .map((column) => own[column] ?? '')
    .join(',')
}
const funds = join(scratch, 'fns')
mkdirSync(funds)
writeFileSync(
  join(funds, 'REPASSE-FAF-COM-POPULACAO-2023.csv'),
  `${[FNS, ...Array.from({ length: 8 }, () => fnsRow({})), fnsRow({ CO_MUNICIPIO_IBGE: plant() }), fnsRow({ VL_BRUTO: dotted(plant()) })].join('\n')}\n`,
)
t.ok(planted > 100, `${planted} planted`)
const steps: string[] = []
const joined = await importPaths([funds], {
  releasesDir,
  maxRejected: 0.5,
  makesRows: true,
  onProgress: (step) => steps.push(step),
})
writePointer(releasesDir, joined.analytics)

t.test('the search finds what it must', async (t) => {
  const cpf = plant()
  for (const text of [cpf, dotted(cpf), `x${cpf}y`, `000${cpf}`, `1${cpf}2`])
    t.equal(numbersIn(text, persons).length, 1)
  t.same(numbersIn(`${cpf.slice(0, 10)} ${cpf.slice(10)}`, persons), [])
})

t.test('no column of a release has any', async (t) => {
  t.same(numbersIn(JSON.stringify([joined, steps]), persons), [])
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  let texts = 0
  for (const id of [small.result.sia, joined.financing, joined.analytics]) {
    const folder = join(releasesDir, id ?? '')
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')))
      t.same(numbersIn(readFileSync(join(folder, file), 'utf8'), persons), [], `${id} ${file}`)
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest
    for (const [dataset, { fields }] of Object.entries(manifest.datasets)) {
      const columns = fields.map(({ name }) => `CAST("${name}" AS VARCHAR)`)
      const rows = await connection.runAndReadAll(
        `SELECT DISTINCT unnest([${columns.join(', ')}]) AS text FROM read_parquet('${folder}/${dataset}/**/*.parquet', union_by_name = true, hive_partitioning = true)`,
      )
      const found = rows
        .getRowsJson()
        .flatMap(([text]) => (typeof text === 'string' ? numbersIn(text, persons) : []))
      texts += rows.currentRowCount
      t.same(found, [], `${id} ${dataset}`)
    }
  }
  t.ok(texts > 10_000, `${texts} texts`)
  const [row] = (
    await connection.runAndReadAll(
      `SELECT category_path, count(*)::INT FROM read_parquet('${join(releasesDir, joined.financing ?? '', 'health_financing/*/*.parquet')}') GROUP BY 1`,
    )
  ).getRows()
  t.same(row, ['Custeio … > Grupo de … > …', 2], 'what is left of texts with one')
})

t.test('no answer, export or line of the log has any', async (t) => {
  const lines: string[] = []
  const client = await openClient(releasesDir, 1, { rows: true, log: { write: (line) => lines.push(line) } })
  t.teardown(() => client.close())
  let searched = 0
  const search = (name: string, text: string): void => {
    searched += text.length
    const found = numbersIn(text, persons)
    if (found.length > 0) t.fail(`${name}: ${found.slice(0, 3).join()}`)
  }
  for (const list of [
    '/v1/sia/monthly?reference_period=all',
    '/v1/health-financing/sources?reference_period=all',
  ])
    search(list, JSON.stringify(await walkList(client, list, 100)))
  for (const list of ['/v1/sia/monthly', '/v1/health-financing/sources'])
    search(list, (await client.get(`${list}?limit=100`, { accept: 'text/csv' })).text)
  const file = join(scratch, 'report')
  const { body: catalog } = await client.get('/v1/analytics/catalog')
  const METRICS = [
    ['outpatient_quantity_approved', 'outpatient_value_approved', 'outpatient_approval_share'],
    ['federal_health_transfers'],
  ]
  for (const { code } of catalog.data.dimensions) {
    search(code, (await client.get(`/v1/analytics/dimensions/${code}/values?counts=true&limit=250`)).text)
    for (const metrics of METRICS) {
      const query = { metrics, group_by: [code], limit: 1000 }
      const answer = await client.query(query)
      search(code, answer.text)
      if (answer.status !== 200) continue
      search(code, (await client.post('/v1/analytics/explain', query)).text)
    }
  }
  for (const [metrics, group_by] of [
    [METRICS[0], ['procedure', 'facility']],
    [METRICS[1], ['municipality', 'reference_period']],
  ] as const)
    for (const format of REPORT_FORMAT_NAMES) {
      const reply = await client.post(`/v1/analytics/export?format=${format}`, { metrics, group_by })
      t.equal(reply.status, 200, `${format} ${reply.text.slice(0, 200)}`)
      search(format, await textOf(reply, file))
    }
  for (const [metric, group_by, key] of [
    ['outpatient_value_approved', [], {}],
    ['outpatient_quantity_presented', ['procedure'], { procedure: '0305010107' }],
    ['federal_health_transfers', ['municipality'], { municipality: 1400100 }],
  ] as const) {
    const body = { metrics: [metric], group_by, key, limit: 1000 }
    search(metric, (await client.post('/v1/analytics/lineage', body)).text)
  }
  for (const id of [small.result.sia, joined.financing, joined.analytics])
    search(`${id}`, (await client.get(`/v1/releases/${id}`)).text)
  t.ok(searched > 5_000_000, `${searched} characters`)
  // Whoever asks with a number of a person does not find it in the log.
  for (const person of [...persons].slice(0, 30)) {
    await client.get(`/v1/sia/monthly?cnes_code=${person}`)
    await client.get(`/v1/sia/monthly?procedure_code=${person}`)
    await client.get(`/v1/health-financing/sources?municipality_ibge_code=${person}`)
    await client.get(`/v1/analytics/dimensions/procedure/values?search=${person}`)
    await client.query({
      metrics: ['outpatient_quantity_approved'],
      filters: [{ dimension: 'procedure', operator: 'EQ', value: person }],
    })
  }
  t.ok(lines.length > 200, `${lines.length} lines`)
  t.same([...new Set(lines.flatMap((line) => numbersIn(line, persons)))], [])
})

t.test('what is wrong with a file is said without its cells', async (t) => {
  const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
    join(snapshots, 'ibge', name),
  )
  const [cpf, card, number] = [plant(), '702345678901234', '3526123456789']
  for (const own of [card, number]) persons.add(own)
  const own = { ...plain, PA_CNSMED: card, PA_AUTORIZ: number, PA_CNPJCPF: `000${cpf}` }
  const good = dbf([own, own])
  /** The same bytes with cells of other columns where those that are read should stand: a record that was shifted. */
  const shifted = (from: string, to: string): Buffer =>
    Buffer.from(
      good.toString('latin1').replaceAll(from, to.padStart(from.length).slice(0, from.length)),
      'latin1',
    )
  const [head = '', ...rest] = readFileSync(join(funds, 'REPASSE-FAF-COM-POPULACAO-2023.csv'), 'utf8').split(
    '\n',
  )
  const cases: readonly (readonly [name: string, bytes: Buffer | string])[] = [
    ['PARR2605.dbf', dbf([own, { ...own, PA_MVM: '202604' }])],
    ['PARR2605.dbf', dbf([{ ...own, PA_UFMUN: '120040' }])],
    ['PARR2605.dbf', good.subarray(0, good.length - 200)],
    ['PARR2605.dbf', dbf([{ ...own, PA_PROC_ID: cpf.slice(0, 9), PA_QTDAPR: cpf.replace('1', 'x') }, own])],
    ['PARR2605.dbf', dbf([{ ...own, PA_QTDAPR: cpf, PA_VALAPR: card }, own])],
    ['PARR2605.dbf', shifted('PA_QTDAPR', 'PA_QTDXXX')],
    ['PARR2605.dbc', makeDbc(good).fill(0x37, 2200)],
    ['PARR2605.dbc', Buffer.concat([good, Buffer.from(card)])],
    ['PARR2605.dbf', Buffer.from(`${card};${cpf};${number}\n`)],
    ['REPASSE-FAF-COM-POPULACAO-2022.csv', [head, `${cpf},"${card}`, ...rest].join('\n')],
    ['REPASSE-FAF-COM-POPULACAO-2022.csv', [head.replace('VL_BRUTO', cpf), ...rest].join('\n')],
    ['REPASSE-FAF-COM-POPULACAO.csv', [head, ...rest].join('\n')],
    [
      'siconfi.json',
      JSON.stringify({ items: [{ demonstrativo: 'RREO', cod_conta: cpf, valor: card }] }).slice(0, -3),
    ],
    ['siops-indicador-municipal-140010-2023-2.json', `[{"numero_indicador": "${cpf}", ${card}`],
  ]
  let refused = 0
  for (const [index, [name, bytes]] of cases.entries()) {
    const folder = join(scratch, `bad-${index}`)
    mkdirSync(folder)
    writeFileSync(join(folder, name), bytes)
    const steps: string[] = []
    const thrown = await importPaths([...ibge, folder], {
      releasesDir: join(folder, 'releases'),
      maxRejected: 0,
      onProgress: (step) => steps.push(step),
    }).then(
      () => null,
      (error: unknown) => error,
    )
    if (thrown !== null) {
      refused += 1
      t.ok(thrown instanceof ImportError, `${index} ${name}: ${String(thrown)}`)
    }
    const text = thrown instanceof Error ? `${thrown.message} ${thrown.stack ?? ''}` : ''
    t.same(numbersIn(`${text} ${steps.join(' ')}`, persons), [], `${index} ${name}: ${text.slice(0, 90)}`)
  }
  t.ok(refused >= cases.length - 2, `${refused} of ${cases.length} are refused`)
})
