/**
 * Files of FNS, SICONFI and SIOPS → a release: what is added up and what is not, what is refused or set aside, what is never read,
 * that years are shared by releases, and that the real files give what was measured on them.
 */
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { utils, write } from '@e965/xlsx'
import { unzipSync } from 'fflate'
import t, { type Test } from 'tap'
import { checkRelease } from '../../src/import/check-release.ts'
import { categoryPath } from '../../src/import/financing/accounts.ts'
import { readHundredths, readMonth } from '../../src/import/financing/amounts.ts'
import { monthOfName } from '../../src/import/financing/fns.ts'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { readManifest } from '../../src/release/verify.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('financing')
/** The list and the census alone: outlines take longer than everything else. */
const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
  join(small.snapshots, 'ibge', name),
)
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const ask = async (sql: string): Promise<Record<string, unknown>[]> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJson() as Record<string, unknown>[]
const table = (releasesDir: string, id: string | null, dataset: string): string =>
  `read_parquet('${join(releasesDir, id ?? '', dataset)}/*/*.parquet', hive_partitioning = true)`

/** With the list of municipalities and the census alone: releases that are made with it find it here. */
const places = temporaryFolder('places')
await importPaths(ibge, { releasesDir: places, maxRejected: 0 })

async function importFiles(files: Readonly<Record<string, string | Buffer>>, maxRejected = 0) {
  const folder = temporaryFolder('financing')
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const releasesDir = temporaryFolder('releases')
  cpSync(places, releasesDir, { recursive: true })
  const result = await importPaths([folder], { releasesDir, maxRejected })
  const manifest = await readManifest(releasesDir, result.financing ?? '')
  const accounts = await ask(
    `SELECT * FROM ${table(releasesDir, result.financing, 'health_financing')} ORDER BY ALL`,
  )
  return { releasesDir, result, manifest, accounts }
}
async function refused(t: Test, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const thrown = await importFiles(files).then(
    () => null,
    (error: unknown) => error,
  )
  t.ok(thrown instanceof ImportError, String(thrown))
  return String(thrown)
}

t.test('amounts are rounded to cents by their digits', async (t) => {
  for (const [text, cents] of [
    ['1336110,08', 133_611_008n],
    ['14306,5', 1_430_650n],
    ['27357', 2_735_700n],
    ['7708340.4400000004', 770_834_044n],
    ['722327.5199999999', 72_232_752n],
    ['139432.35999999999', 13_943_236n],
    ['0.005', 1n],
    ['-0.005', -1n],
    ['0.0049999', 0n],
    ['1.005', 101n],
    ['R$ 1.234.567,89', 123_456_789n],
    ['1.234.567', 123_456_700n],
    ['15,23 %', 1523n],
    ['(12,30)', -1230n],
    ['1.5E+3', 150_000n],
    ['123E-4', 1n],
    ['99999999999999.99', 9_999_999_999_999_999n],
    ['', null],
    ['NA', null],
    ['1,2,3', null],
    ['-', null],
    [',', null],
  ] as const)
    t.equal(readHundredths(text), cents, text)
})

t.test('dates of every format', async (t) => {
  for (const [text, month] of [
    ['21/12/2020', 202012],
    ['2/12/2020', 202012],
    ['21/10/22', 202210],
    ['2024-12-05 00:00:00.000000', 202412],
    ['45925', 202509],
    ['31/13/2020', null],
    ['', null],
  ] as const)
    t.equal(readMonth(text), month, text)
  t.equal(monthOfName('repasse-faf-com-populacao-2026-acumulado-ate-marco.csv'), 3)
  t.equal(monthOfName('REPASSE_FAF_acumulado_até_março.csv'), 3)
  t.equal(monthOfName('REPASSE-FAF-COM-POPULACAO-2024.csv'), null)
  t.equal(categoryPath([' a  b', 'c']), 'a b > c')
  const long = categoryPath(['ã'.repeat(300), 'x'])
  t.ok(Buffer.byteLength(long) <= 480)
  t.not(long, categoryPath(['ã'.repeat(300), 'y']), 'two long paths stay two')
})

const FNS =
  'BLOCO,GRUPO,ESTRATÉGIA,UF,MUNICIPIO,CO_MUNICIPIO_IBGE,QT_POPULACAO,NU_ANO_REFERENCIA_IBGE,CNPJ,ENTIDADE,BANCO,AGENCIA,CONTA,TP_REPASSE,TP_REPASSE_ESTADO,ST_FAF,ST_HU,DT_ULTIMA_LIBERACAO,VL_BRUTO,VL_LIQUIDO,VL_SALDO_CONTA,DT_SALDO_CONTA'
const fnsRow = (place: string, strategy: string, gross: string, net = gross, kind = 'MUNICIPAL'): string =>
  `Bloco,Grupo,${strategy},RR,X,${place},1,2023,1,FUNDO,1,4321,998877,${kind},N,S,N,21/12/2024,"${gross}","${net}","7777777,77",31/12/2024`
const fns = (...rows: string[]): string => `${[FNS, ...rows].join('\n')}\n`

t.test(
  'two bank accounts of a strategy are added up, gross and net apart; funds of states are states',
  async (t) => {
    const { releasesDir, result, manifest, accounts } = await importFiles({
      'REPASSE-FAF-COM-POPULACAO-2024.csv': fns(
        fnsRow('140010', 'A', '100,05', '90,00'),
        fnsRow('140010', 'A', '200'),
        fnsRow('140010', 'B', '1,5'),
        fnsRow('140010', 'B', '5', '5', 'ESTADUAL'),
        fnsRow('530010', 'B', '7', '7', 'ESTADUAL'),
      ),
    })
    t.same(
      accounts.map(({ entity_code, sphere, stage, category_path, amount_cents, published_rows }) => [
        entity_code,
        sphere,
        stage,
        category_path,
        Number(amount_cents),
        published_rows,
      ]),
      [
        ['14', 'E', 'transferred_gross', 'Bloco > Grupo > B', 500, ['5']],
        ['14', 'E', 'transferred_net', 'Bloco > Grupo > B', 500, ['5']],
        ['1400100', 'M', 'transferred_gross', 'Bloco > Grupo > A', 30_005, ['2', '3']],
        ['1400100', 'M', 'transferred_gross', 'Bloco > Grupo > B', 150, ['4']],
        ['1400100', 'M', 'transferred_net', 'Bloco > Grupo > A', 29_000, ['2', '3']],
        ['1400100', 'M', 'transferred_net', 'Bloco > Grupo > B', 150, ['4']],
        ['5300108', 'M', 'transferred_gross', 'Bloco > Grupo > B', 700, ['6']],
        ['5300108', 'M', 'transferred_net', 'Bloco > Grupo > B', 700, ['6']],
      ],
    )
    const funds = await ask(
      `SELECT * FROM ${table(releasesDir, result.financing, 'federal_health_transfers')} ORDER BY entity_code`,
    )
    const known = funds.filter(({ transferred_cents }) => transferred_cents !== null)
    t.same(
      known.map(({ entity_code, transferred_cents, transferred_net_cents }) => [
        entity_code,
        Number(transferred_cents),
        Number(transferred_net_cents),
      ]),
      [
        ['14', 500, 500],
        ['1400100', 30_155, 29_150],
        ['5300108', 700, 700],
      ],
    )
    t.equal(funds.length, 1 + 15 + 1, 'an extract: what lacks of its states stands there without an amount')
    t.equal(manifest.counts.funds_without_transfers_RR_202412, 14)
    t.match(manifest, { area: 'financing', month: 202412, scope: 'br' })
    const unread = manifest.headers?.[0]?.unread ?? []
    for (const column of ['BANCO', 'CONTA', 'VL_SALDO_CONTA']) t.ok(unread.includes(column), column)
    t.notOk(unread.includes('ESTRATÉGIA'))
    await checkRelease(releasesDir, result.financing ?? '', temporaryFolder('scratch'))
  },
)

t.test('a workbook of a national year, of more than 16 MiB, says the same as its CSV', async (t) => {
  const lines = Array.from({ length: 25_000 }, (_, index) =>
    fnsRow(
      ['140010', '140005', '140017'][index % 3] ?? '',
      `ESTRATÉGIA ${index % 40}`,
      `${index},${String(index % 100).padStart(2, '0')}`,
    ),
  )
  const grid = lines.map((line) =>
    (line.match(/"[^"]*"|[^,]+/g) ?? []).map((cell, column) => {
      const text = cell.replaceAll('"', '')
      // Dates are days since the epoch of spreadsheets, here 2024-12-21.
      if (column === 17) return 45_647
      return column > 17 && column < 21 ? Number(text.replace(',', '.')) : text
    }),
  )
  const book = utils.book_new()
  utils.book_append_sheet(book, utils.aoa_to_sheet([['Repasses'], FNS.split(','), ...grid]), 'Plan1')
  const bytes = write(book, { type: 'buffer', bookType: 'xlsx', compression: true }) as Buffer
  const sheet = unzipSync(bytes)['xl/worksheets/sheet1.xml']
  t.ok((sheet?.length ?? 0) > 16 * 2 ** 20, `${sheet?.length} bytes`)
  const [csv, xlsx] = [
    await importFiles({ 'REPASSE-FAF-COM-POPULACAO-2024.csv': fns(...lines) }),
    await importFiles({ 'REPASSE-FAF-COM-POPULACAO-2024.xlsx': bytes }),
  ]
  const amounts = ({ accounts }: Awaited<ReturnType<typeof importFiles>>) =>
    accounts.map(({ entity_code, stage, category_path, reference_month, amount_cents }) => [
      entity_code,
      stage,
      category_path,
      reference_month,
      amount_cents,
    ])
  t.equal(amounts(xlsx).length, 3 * 40 * 2)
  t.same(amounts(xlsx), amounts(csv))
  // A title stands above the header, so each row is one below that of the CSV.
  const rows = (value: unknown, more: number): number[] =>
    (value as string[]).map((row) => Number(row) + more)
  t.same(
    xlsx.accounts.map(({ published_rows }) => rows(published_rows, 0)),
    csv.accounts.map(({ published_rows }) => rows(published_rows, 1)),
  )
})

t.test('Latin-1 and semicolons say the same', async (t) => {
  const utf8 = fns(fnsRow('140010', 'ATENÇÃO', '100,05'))
  const latin1 = Buffer.from(
    utf8
      .replaceAll('"', '')
      .replace(/,(?=\d\d[,\n])/g, '@')
      .replaceAll(',', ';')
      .replaceAll('@', ','),
    'latin1',
  )
  const one = await importFiles({ 'REPASSE-FAF-COM-POPULACAO-2024.csv': utf8 })
  const other = await importFiles({ 'REPASSE-FAF-COM-POPULACAO-2024.csv': latin1 })
  const plain = (rows: readonly Record<string, unknown>[]) =>
    rows.map(({ source_sha256: _digest, ...row }) => row)
  t.same(plain(other.accounts), plain(one.accounts))
  t.match(one.accounts[0], { category_path: 'Bloco > Grupo > ATENÇÃO', amount_cents: '10005' })
})

t.test('what cannot be loaded is set aside or refused by a sentence', async (t) => {
  const good = fnsRow('140010', 'A', '1')
  const { manifest } = await importFiles(
    {
      'REPASSE-2024.csv': fns(
        good,
        fnsRow('140010', 'A', 'x'),
        fnsRow('149999', 'A', '1'),
        fnsRow('', 'A', '1'),
      ),
    },
    0.9,
  )
  t.same(
    manifest.set_aside.map(({ reason, rows }) => [reason, rows]),
    [
      ['amount_is_no_number', 1],
      ['no_municipality', 1],
      ['unknown_government', 1],
    ],
  )
  t.match(
    await refused(t, { 'REPASSE-2024.csv': fns(good, fnsRow('140010', 'A', 'x')) }),
    /sets aside 1 of 2 rows/,
  )
  t.match(await refused(t, { 'repasse.csv': fns(good) }), /does not say the year of its transfers/)
  t.match(
    await refused(t, { 'REPASSE-2024.csv': fns(good).replace('VL_LIQUIDO', 'VL_OUTRO') }),
    /lacks the column VL_LIQUIDO/,
  )
  t.match(
    await refused(t, { 'REPASSE-2024.csv': fns(good), 'REPASSE-2024-v2.csv': fns(good) }),
    /REPASSE-2024.csv: says the same as REPASSE-2024-v2.csv of .* in 2024 \(fns\).*Import one of them/s,
  )
  t.match(await refused(t, { 'REPASSE-2024.csv': `${fns(good)}a,b\n` }), /does not fit its header, or is cut/)
})

const item = (more: object) => ({
  exercicio: 2025,
  demonstrativo: 'RREO',
  periodo: 6,
  periodicidade: 'B',
  instituicao: 'Governo',
  cod_ibge: 14,
  uf: 'RR',
  populacao: 1,
  anexo: 'RREO-Anexo 02',
  esfera: 'E',
  rotulo: 'Total das Despesas Exceto Intra-Orçamentárias',
  coluna: 'DESPESAS LIQUIDADAS ATÉ O BIMESTRE (d)',
  cod_conta: 'RREO2TotalDespesas',
  ...more,
})
const page = (offset: number, hasMore: boolean, ...items: object[]): string =>
  JSON.stringify({ items, hasMore, limit: 3, offset, count: items.length })
const BEFORE = [
  item({ conta: 'Educação', valor: 5 }),
  item({ conta: 'Saúde', valor: 3.5 }),
  item({ conta: 'Atenção Básica', valor: 1.25 }),
]
const BEHIND = [
  item({ conta: 'FU10 - Demais Subfunções', valor: 2.25 }),
  item({ conta: 'Trabalho', valor: 1 }),
  item({ conta: 'FU11 - Administração Geral', valor: 1 }),
]

t.test('subfunctions of health are known by their place, over pages', async (t) => {
  const { accounts, manifest } = await importFiles({
    'one.json': page(3, false, ...BEHIND),
    'two.json': page(0, true, ...BEFORE),
  })
  t.same(
    accounts.map(({ category_path, amount_cents, period, published_rows, source_file }) => [
      category_path,
      Number(amount_cents),
      period,
      published_rows,
      source_file,
    ]),
    [
      ['Despesas exceto intraorçamentárias > Saúde', 350, 'to-bimester-6', ['2'], 'two.json'],
      [
        'Despesas exceto intraorçamentárias > Saúde > Atenção Básica',
        125,
        'to-bimester-6',
        ['3'],
        'two.json',
      ],
      [
        'Despesas exceto intraorçamentárias > Saúde > Demais Subfunções',
        225,
        'to-bimester-6',
        ['4'],
        'one.json',
      ],
    ],
  )
  t.match(manifest.counts, {
    health_totals_compared_with_subfunctions: 1,
    health_totals_unlike_subfunctions: 0,
  })
  const files = { 'one.json': page(3, false, ...BEHIND), 'two.json': page(0, true, ...BEFORE) }
  t.match(await refused(t, { 'two.json': files['two.json'] }), /says that more items follow behind 3/)
  t.match(
    await refused(t, { 'one.json': files['one.json'] }),
    /begins at item 3 where the pages before it end at 0/,
  )
  t.match(await refused(t, { ...files, 'three.json': files['one.json'] }), /is a page that is there twice/)
  const columns = Object.keys(BEFORE[0] ?? {})
  const csv = `${[columns.join(';'), ...[...BEFORE, ...BEHIND].map((row) => Object.values(row).join(';'))].join('\n')}\n`
  t.match(
    await refused(t, { ...files, 'rreo.csv': csv }),
    /is of a government, bimester and annex that .* has, too/,
  )
})

t.test('pages of annex 02 and annex 14 are two answers, unless one answer has both', async (t) => {
  const ASPS_ITEM = item({
    anexo: 'RREO-Anexo 14',
    coluna: 'Valor Apurado Até o Bimestre',
    cod_conta: 'AplicacaoTotalDasDespesasComAcoesEServicosPublicosDeSaude',
    conta: 'Despesas com Ações e Serviços Públicos de Saúde',
    valor: 4,
  })
  const OTHER_14 = item({ anexo: 'RREO-Anexo 14', cod_conta: 'Outra', conta: 'Outra', valor: 9 })
  const sources = ({ accounts }: Awaited<ReturnType<typeof importFiles>>) =>
    accounts.map(({ source, amount_cents, source_file }) => [source, Number(amount_cents), source_file])
  const annex02 = { '02-p1.json': page(0, true, ...BEFORE), '02-p2.json': page(3, false, ...BEHIND) }
  const annex14 = { '14-p1.json': page(0, true, OTHER_14), '14-p2.json': page(1, false, ASPS_ITEM) }
  // Names in the other order must not matter.
  const renamed = Object.fromEntries(
    Object.entries({ ...annex02, ...annex14 }).map(([name, text]) => [
      `${9 - Number(name[4])}-${name}`,
      text,
    ]),
  )
  const amounts = [
    ['siconfi_rreo_02', 350],
    ['siconfi_rreo_02', 125],
    ['siconfi_rreo_02', 225],
    ['siconfi_rreo_14', 400],
  ]
  for (const files of [{ ...annex02, ...annex14 }, renamed])
    t.same(
      sources(await importFiles(files)).map((account) => account.slice(0, 2)),
      amounts,
    )
  // An answer without a filter goes on with another annex on its second page.
  const both = {
    'p1.json': page(0, true, ...BEFORE, ...BEHIND),
    'p2.json': page(6, false, OTHER_14, ASPS_ITEM),
  }
  t.same(sources(await importFiles(both)), [
    ['siconfi_rreo_02', 350, 'p1.json'],
    ['siconfi_rreo_02', 125, 'p1.json'],
    ['siconfi_rreo_02', 225, 'p1.json'],
    ['siconfi_rreo_14', 400, 'p2.json'],
  ])
  for (const missing of ['02-p1.json', '02-p2.json', '14-p1.json', '14-p2.json']) {
    const files = Object.entries({ ...annex02, ...annex14 }).filter(([name]) => name !== missing)
    t.match(await refused(t, Object.fromEntries(files)), /Import every page of an answer/, missing)
  }
  t.match(
    await refused(t, { '02.json': page(0, false, ...BEFORE), '14-p2.json': page(3, false, ASPS_ITEM) }),
    /14-p2\.json: comes after the last page of an answer/,
  )
})

t.test('an empty page of SICONFI is recognised, also as a file that is named', async (t) => {
  const folder = temporaryFolder('financing')
  const paths = ['filled.json', 'empty.json'].map((name) => join(folder, name))
  writeFileSync(paths[0] ?? '', page(0, false, ...BEFORE, ...BEHIND))
  writeFileSync(paths[1] ?? '', page(0, false))
  const releasesDir = temporaryFolder('releases')
  cpSync(places, releasesDir, { recursive: true })
  const result = await importPaths(paths, { releasesDir, maxRejected: 0 })
  const manifest = await readManifest(releasesDir, result.financing ?? '')
  t.same(result.unknown, [])
  t.same(
    manifest.snapshots.map(({ file, rows }) => [file, rows]),
    [
      ['empty.json', 0],
      ['filled.json', 6],
    ],
  )
  await t.rejects(
    importPaths(paths.slice(1), { releasesDir, maxRejected: 0 }),
    /has no account of health in any of its files/,
    'alone it makes no release',
  )
})

t.test('indicators of SIOPS: money and percentages, and an answer without data is no zero', async (t) => {
  const { accounts, manifest } = await importFiles({
    'siops-indicador-municipal-140010-2023-2.json': JSON.stringify([
      { numero_indicador: '2.1', ds_indicador: 'Despesa por habitante', indicador_calculado: 'R$ 1.050,25' },
      { numero_indicador: '3.2', ds_indicador: 'Receita própria', indicador_calculado: '15,23 %' },
    ]),
    'siops-indicador-municipal-140005-2023-2.json': JSON.stringify([{ error: 'x', message: 'y' }]),
  })
  t.same(
    accounts.map(({ entity_code, amount_cents, percentage, period, reference_period }) => [
      entity_code,
      amount_cents,
      percentage,
      period,
      Number(reference_period),
    ]),
    [
      ['1400100', '105025', null, 'to-bimester-6', 202312],
      ['1400100', null, '15.23', 'to-bimester-6', 202312],
    ],
  )
  t.equal(manifest.counts.siops_answers_without_indicators, 1)
  t.match(
    await refused(t, { 'siops-indicador-municipal-140010-2023-99.json': '[{"numero_indicador":"1.1"}]' }),
    /is of the period 99/,
  )
  t.match(await refused(t, { 'indicadores.json': '[{"numero_indicador":"1.1"}]' }), /does not say whose/)
})

t.test('the demonstration: nothing of bank accounts or balances is in its release', async (t) => {
  const folder = join(small.releasesDir, small.result.financing ?? '')
  const texts = [readFileSync(join(folder, 'manifest.json'), 'utf8')]
  for (const dataset of readdirSync(folder).filter((name) => !name.includes('.'))) {
    const rows = await ask(
      `SELECT * FROM read_parquet('${join(folder, dataset)}/**/*.parquet', union_by_name = true)`,
    )
    texts.push(JSON.stringify(rows))
  }
  const all = texts.join('\n')
  t.ok(all.length > 100_000)
  for (const planted of ['99887', '7777777', '777777777', '"4321"']) t.notOk(all.includes(planted), planted)
  const manifest = await readManifest(small.releasesDir, small.result.financing ?? '')
  t.same(manifest.set_aside, [])
  t.ok(manifest.checks.length > 5 && manifest.checks.every(({ violations }) => violations === 0))
  t.match(manifest.counts, { health_totals_unlike_subfunctions: 0, siops_answers_without_indicators: 1 })
  t.same(manifest.datasets.federal_health_transfers?.periods, [202412, 202512, 202603])
  t.match(manifest, { synthetic: true, month: 202604 })
})

t.test('the same files give the same id, and a year that does not change is shared', async (t) => {
  const folder = temporaryFolder('years')
  cpSync(join(small.snapshots, 'financing', 'fns'), folder, { recursive: true })
  const releasesDir = temporaryFolder('releases')
  cpSync(places, releasesDir, { recursive: true })
  const make = (threads: number) => importPaths([folder], { releasesDir, maxRejected: 0, threads })
  const first = await make(1)
  t.equal((await make(2)).financing, first.financing)
  const name = readdirSync(folder).find((file) => file.includes('2026')) ?? ''
  const text = readFileSync(join(folder, name), 'utf8')
  writeFileSync(join(folder, name), text.replace(/,(\d+)\.(\d\d),(\d+)\.(\d\d),/, ',1$1.$2,1$3.$4,'))
  const second = await make(2)
  t.not(second.financing, first.financing)
  const inode = (id: string | null, period: number): number =>
    statSync(join(releasesDir, id ?? '', `health_financing/reference_period=${period}/part-0.parquet`)).ino
  t.equal(inode(second.financing, 202412), inode(first.financing, 202412), 'a hard link')
  t.not(inode(second.financing, 202603), inode(first.financing, 202603), 'replaced whole')
})

t.test('the real files are what was measured on them', { skip: skipWithoutShared }, async (t) => {
  const facts = JSON.parse(readFileSync(sharedPath('facts-sih-sia-financing.json'), 'utf8'))
  const releasesDir = temporaryFolder('real')
  const paths = ['fns', 'siconfi/rreo_2015_b1_uf12.csv', 'siconfi/rreo_2026_b2_uf12.csv', 'siops'].map(
    (name) => sharedPath(`financing/${name}`),
  )
  const result = await importPaths([...ibge, ...paths], { releasesDir, maxRejected: 0 })
  t.same(result.unknown, [])
  const accounts = table(releasesDir, result.financing, 'health_financing')
  const years = await ask(
    `SELECT reference_year, CAST(sum(amount_cents) FILTER (stage = 'transferred_gross') AS BIGINT) AS gross, CAST(sum(amount_cents) FILTER (stage = 'transferred_net') AS BIGINT) AS net,
       sum(len(published_rows)) FILTER (stage = 'transferred_gross') AS rows, any_value(reference_period) AS period
     FROM ${accounts} WHERE source = 'fns' GROUP BY 1 ORDER BY 1`,
  )
  t.same(
    years.map(({ reference_year, gross, net, rows }) => [
      String(reference_year),
      { rows: Number(rows), vl_bruto_cents: Number(gross), vl_liquido_cents: Number(net) },
    ]),
    Object.entries(facts.fns_sorocaba),
  )
  t.same(
    years.map(({ period }) => Number(period)),
    [202012, 202112, 202212, 202312, 202412, 202512, 202604],
  )
  for (const [file, year] of [
    ['rreo_2015_b1_uf12.csv', 2015],
    ['rreo_2026_b2_uf12.csv', 2026],
  ] as const) {
    const found = await ask(
      `SELECT category_path, stage_name, CAST(amount_cents AS BIGINT) AS cents FROM ${accounts}
       WHERE source = 'siconfi_rreo_02' AND reference_year = ${year} AND category_path LIKE '% > Saúde' AND amount_cents IS NOT NULL`,
    )
    const wanted = Object.entries<number>(facts.siconfi[file].saude_anexo02)
    t.equal(found.length, wanted.length, file)
    for (const [name, cents] of wanted) {
      const [label = '', column = ''] = name.split('|')
      const block = label.includes('Exceto') || label === '' ? 'exceto' : 'Despesas intra'
      const own = found.find(
        ({ category_path, stage_name }) => String(category_path).includes(block) && stage_name === column,
      )
      t.equal(Number(own?.cents), cents, name)
    }
  }
  t.same(
    (
      await ask(
        `SELECT stage, amount_cents, percentage FROM ${accounts} WHERE source = 'siconfi_rreo_14' ORDER BY stage`,
      )
    ).map((row) => Object.values(row)),
    [
      ['applied', '52808132371', null],
      ['applied_share', null, '14.61'],
      ['minimum_share', null, '12.00'],
    ],
  )
  for (const [file, root, category] of [
    [
      'Despesa__3_-_Transferência_Fundo_a_Fundo_de_Recursos_do_SUS_Provenientes_do_Governo_Federal__301_-_Atenção_Basica.csv',
      '3.0.00.00.00.00',
      'Despesa > Fonte 3 > Subfunção 301',
    ],
    ['Receita__Estadual_-_Receitas_de_2020.csv', '1.0.00.00.00.00', 'Receita'],
  ] as const) {
    const wanted = facts.siops_2020_states[file][`sum_of_c${root}_cents_by_phase`]
    const found = await ask(
      `SELECT stage_name, CAST(sum(amount_cents) AS BIGINT) AS cents, count(*) AS n FROM ${accounts}
       WHERE source = 'siops' AND reference_year = 2020 AND starts_with(category_path, '${category} > ${root}') GROUP BY 1`,
    )
    t.same(
      Object.fromEntries(found.map(({ stage_name, cents }) => [stage_name, Number(cents)])),
      wanted,
      category,
    )
  }
  const funds = await ask(
    `SELECT uf, count(*) AS n, count(transferred_cents) AS known FROM ${table(releasesDir, result.financing, 'federal_health_transfers')} WHERE reference_period = 202412 GROUP BY uf`,
  )
  t.same(
    funds.map(({ uf, n, known }) => [uf, Number(n), Number(known)]),
    [['SP', 646, 1]],
    'an extract of one municipality says nothing of the others',
  )
})
