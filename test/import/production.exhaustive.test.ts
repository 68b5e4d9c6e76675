/**
 * Files of outpatient production → a release: what rows add up to, parts of a month, what is refused or set aside, what is never
 * read, and that the real files give what was measured on them.
 */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readInOrder } from '../../src/import/aggregated/decoders.ts'
import { checkRelease } from '../../src/import/check-release.ts'
import { importPaths } from '../../src/import/import.ts'
import {
  careMonthOf,
  readProduction,
  recogniseProductionFile,
} from '../../src/import/sia/production-files.ts'
import { readManifest } from '../../src/release/verify.ts'
import { planFacilities } from '../../tools/demo/facilities.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { PRODUCTION_COLUMNS, productionRow } from '../../tools/demo/production.ts'
import { createChance } from '../../tools/demo/random.ts'
import { makeDbc } from '../fixtures/dbf-builder.ts'
import { partition, prepareImports } from '../fixtures/file-imports.ts'
import { productionDbf as dbf, PLAIN_PRODUCTION as plain } from '../fixtures/production-files.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('production')
const { ibge, importRows, refused, ask } = await prepareImports(small.snapshots, 'sia', dbf)
const rowsOf = (releasesDir: string, id: string | null, period = '*'): string =>
  partition(releasesDir, id, 'outpatient_production', period)

t.test('names', (t) => {
  t.same(recogniseProductionFile('PAAC2310.dbc'), { uf: 'AC', period: 202310, part: '0' })
  t.same(recogniseProductionFile('PASP2501a.dbc'), { uf: 'SP', period: 202501, part: 'a' })
  t.same(recogniseProductionFile('PARJ2501B.DBC'), { uf: 'RJ', period: 202501, part: 'b' })
  t.same(recogniseProductionFile('PAPA2501 (1).dbf'), { uf: 'PA', period: 202501, part: '0' })
  t.same(recogniseProductionFile('paap9412.dbc'), { uf: 'AP', period: 199412, part: '0' })
  for (const name of ['PAXX2501.dbc', 'PASP2513.dbc', 'PASP2501ab.dbc', 'PSSP2501.dbc', 'PASP2501.csv'])
    t.equal(recogniseProductionFile(name), null, name)
  t.equal(careMonthOf('202605'), '2026-05')
  t.equal(careMonthOf('9412'), '1994-12')
  t.equal(careMonthOf('0003'), '2000-03')
  for (const cell of ['', '2026', '202613', '20265', '2000']) t.equal(careMonthOf(cell), null, cell)
  t.end()
})

t.test('rows that are alike are added up, every one of them', async (t) => {
  const { releasesDir, result, manifest } = await importRows({
    'PARR2605.dbc': makeDbc(
      dbf([
        plain,
        plain,
        plain,
        // Not approved: a row, presented, and worth nothing.
        { ...plain, PA_INDICA: '0', PA_QTDAPR: '0', PA_VALAPR: '0.00' },
        {
          ...plain,
          PA_CMP: '202602',
          PA_VL_CL: '5.00',
          PA_VL_CF: '1.00',
          PA_VL_INC: '0.05',
          PA_VALAPR: '18.65',
        },
        { ...plain, PA_DOCORIG: 'C', PA_NIVCPL: '', PA_TPFIN: '' },
      ]),
    ),
  })
  const rows = await ask(
    `SELECT * EXCLUDE (source_sha256) FROM ${rowsOf(releasesDir, result.sia)} ORDER BY care_period, instrument_code`,
  )
  t.match(rows, [
    { care_period: '2026-02', records: '1', value_approved_cents: '1865' },
    { care_period: '2026-05', instrument_code: 'C', complexity_code: '00', financing_code: '00' },
    {
      reference_period: '202605',
      care_period: '2026-05',
      cnes_code: '2566168',
      uf: 'RR',
      municipality_ibge_code: 1400100,
      municipality_name: 'Boa Vista',
      procedure_code: '0301010048',
      procedure_group_code: '03',
      procedure_subgroup_code: '0301',
      procedure_form_code: '030101',
      financing_code: '06',
      complexity_code: '02',
      instrument_code: 'I',
      processing_uf: 'RR',
      file_part: '0',
      records: '4',
      quantity_presented: '12',
      quantity_approved: '6',
      value_presented_cents: '7560',
      value_approved_cents: '3780',
      source_file: 'PARR2605.dbc',
      source_rows: 6,
    },
  ])
  t.equal(rows.length, 3)
  t.match(manifest, {
    area: 'sia',
    scope: 'rr',
    month: 202605,
    coverage: { outpatient_production: { 202605: { family: 'state', states: ['RR'] } } },
    counts: {
      production_records_202605: 6,
      production_records_not_approved_202605: 1,
      production_records_of_earlier_months_of_care_202605: 1,
      production_records_approved_above_presented_202605: 0,
    },
  })
  t.match(result.analytics, /^demo-analytics-rr-202605-/)
  const checks = new Map(manifest.checks.map(({ name, violations }) => [name, violations]))
  for (const name of [
    'production_values_are_sums_of_parts',
    'production_records_equal_snapshot',
    'production_sums_equal_snapshot',
  ])
    t.equal(checks.get(`${name}_202605`), 0, name)
  t.same(
    await ask(
      `SELECT care_period FROM read_parquet('${join(releasesDir, result.sia ?? '', 'care_periods/*.parquet')}') ORDER BY 1`,
    ),
    [{ care_period: '2026-02' }, { care_period: '2026-05' }],
  )
  await checkRelease(releasesDir, result.sia ?? '', join(releasesDir, '.check'))
})

t.test('a month in parts is one month, and each row is of one part', async (t) => {
  const { releasesDir, result, manifest } = await importRows({
    'PARR2605a.dbf': [plain, plain],
    'PARR2605b.dbc': makeDbc(dbf([plain])),
    'PARR2605C.dbf': [{ ...plain, PA_QTDAPR: '1', PA_VALAPR: '6.30' }],
    'PAAC2605.dbf': [{ ...plain, PA_UFMUN: '120040', PA_GESTAO: '120000' }],
  })
  t.same(
    await ask(
      `SELECT processing_uf AS uf, file_part, source_file, records::INT AS n FROM ${rowsOf(releasesDir, result.sia)} ORDER BY ALL`,
    ),
    [
      { uf: 'AC', file_part: '0', source_file: 'PAAC2605.dbf', n: 1 },
      { uf: 'RR', file_part: 'a', source_file: 'PARR2605a.dbf', n: 2 },
      { uf: 'RR', file_part: 'b', source_file: 'PARR2605b.dbc', n: 1 },
      { uf: 'RR', file_part: 'c', source_file: 'PARR2605C.dbf', n: 1 },
    ],
  )
  t.equal(manifest.counts.production_parts_RR_202605, 3)
  t.equal(manifest.counts.production_parts_AC_202605, undefined)
  t.same(manifest.snapshots.map(({ file, rows }) => [file, rows]).sort(), [
    ['PAAC2605.dbf', 1],
    ['PARR2605C.dbf', 1],
    ['PARR2605a.dbf', 2],
    ['PARR2605b.dbc', 1],
  ])
  t.same(manifest.coverage.outpatient_production?.['202605'], { family: 'state', states: ['AC', 'RR'] })
  await checkRelease(releasesDir, result.sia ?? '', join(releasesDir, '.check'))
})

t.test('gaps between parts, and parts beside a whole month, are refused', async (t) => {
  const [a, b, c, whole] = ['PARR2605a.dbf', 'PARR2605b.dbf', 'PARR2605c.dbf', 'PARR2605.dbf'] as const
  t.match(await refused(t, { [a]: [plain], [c]: [plain] }), /is part c of its month, and part b is not there/)
  t.match(await refused(t, { [b]: [plain] }), /is part b of its month, and part a is not there/)
  t.match(
    await refused(t, { [a]: [plain], [whole]: [plain] }),
    /is a part of the month that .*PARR2605\.dbf holds whole/,
  )
  t.match(await refused(t, { [b]: [plain], [whole]: [plain] }), /holds whole/)
  t.match(
    await refused(t, { [a]: [plain], 'PARR2605a.dbc': makeDbc(dbf([plain])), [b]: [plain] }),
    /is the same month, state and part as/,
  )
  t.match(
    await refused(t, { [whole]: [plain], 'PARR2605.dbc': makeDbc(dbf([plain])) }),
    /is the same month, state and part as/,
  )
})

t.test(
  'a row that cannot be read is set aside with its number; values that do not add up end the import',
  async (t) => {
    const { releasesDir, result, manifest } = await importRows(
      {
        'PARR2605.dbf': [
          plain,
          { ...plain, PA_QTDAPR: '1x' },
          { ...plain, PA_PROC_ID: '' },
          { ...plain, PA_CMP: '202613' },
          { ...plain, PA_UFMUN: '149999', PA_CODUNI: '' },
          { ...plain, PA_UFMUN: '130260' },
          { ...plain, PA_QTDAPR: '' },
          // A sum with an empty part cannot be compared; the row itself is whole.
          { ...plain, PA_VL_CF: '' },
        ],
      },
      1,
    )
    t.same(
      await ask(
        `SELECT source_row, reason FROM read_parquet('${join(releasesDir, result.sia ?? '', 'set_aside_production/*.parquet')}')`,
      ),
      [
        { source_row: 3, reason: 'unreadable_number' },
        { source_row: 4, reason: 'no_procedure' },
        { source_row: 5, reason: 'no_month_of_care' },
        { source_row: 8, reason: 'unreadable_number' },
      ],
    )
    t.match(manifest.counts, {
      production_records_202605: 4,
      production_records_without_facility_202605: 1,
      production_records_of_facilities_elsewhere_202605: 1,
    })
    t.same(
      await ask(
        `SELECT uf, municipality_ibge_code AS m, cnes_code AS c FROM ${rowsOf(releasesDir, result.sia)} ORDER BY m`,
      ),
      [
        { uf: 'AM', m: 1302603, c: '2566168' },
        { uf: 'RR', m: 1400000, c: '0000000' },
        { uf: 'RR', m: 1400100, c: '2566168' },
      ],
    )
    t.match(
      await refused(t, { 'PARR2605.dbf': [plain, { ...plain, PA_VALAPR: '12.61' }] }),
      /production_values_are_sums_of_parts_202605 \(1\)/,
    )
    t.match(
      await refused(t, { 'PARR2605.dbf': [plain, { ...plain, PA_QTDAPR: '1x' }] }),
      /sets aside 1 of 2 rows/,
    )
  },
)

t.test('files that are refused, each with what to do', async (t) => {
  t.match(await refused(t, { 'PARR2604.dbf': [plain] }), /a row \(2\) of another month than its name says/)
  t.match(await refused(t, { 'PAAC2605.dbf': [plain] }), /a row \(2\) of another state than its name says/)
  t.match(await refused(t, { 'PARR9406.dbf': [plain] }), /before July 1994, whose values are not in reais/)
  const whole = dbf(Array.from({ length: 900 }, () => plain))
  t.match(await refused(t, { 'PARR2605.dbf': whole.subarray(0, 200_000) }), /is cut: 900 records do not fit/)
  const packed = makeDbc(whole)
  t.match(await refused(t, { 'PARR2605.dbc': packed.subarray(0, packed.length - 800) }), /cut/)
  const lacking = PRODUCTION_COLUMNS.filter(({ name }) => name !== 'PA_QTDAPR' && name !== 'PA_CMP')
  t.match(
    await refused(t, { 'PARR2605.dbf': dbf([plain], lacking) }),
    /lacks the column PA_CMP or PA_DATREF, PA_QTDAPR of a PA file/,
  )
  const early = PRODUCTION_COLUMNS.filter(({ name }) => name !== 'PA_VL_INC' && name !== 'PA_NIVCPL')
  const { manifest } = await importRows({ 'PARR2605.dbf': dbf([plain], early) })
  t.notOk(
    manifest.checks.some(({ name }) => name.startsWith('production_values_are_sums')),
    'without all parts of the value nothing is said of their sum',
  )
})

t.test('two hundred thousand rows are added up in the memory of their groups', secondRing, async (t) => {
  const folder = temporaryFolder('large')
  const path = join(folder, 'PARR2605.dbf')
  const block = dbf(
    Array.from({ length: 1000 }, (_, row) => ({ ...plain, PA_CODUNI: String(2_000_000 + (row % 100)) })),
  )
  const header = Buffer.from(block.subarray(0, block.readUInt16LE(8)))
  header.writeUInt32LE(200_000, 4)
  const records = block.subarray(header.length, -1)
  writeFileSync(path, header)
  for (let part = 0; part < 200; part += 1) writeFileSync(path, records, { flag: 'a' })
  const before = process.memoryUsage().rss
  const read = await readProduction(path, 'PARR2605.dbf', { uf: 'RR', period: 202605, part: '0' })
  const grown = process.memoryUsage().rss - before
  t.equal(read.rows, 200_000)
  t.same(read.totals, [200_000, 600_000, 400_000, 200_000 * 1890, 200_000 * 1260])
  t.equal([...read.groups].length, 100)
  t.ok(grown < read.bytes / 2, `${read.bytes} bytes in ${grown} of memory`)
  rmSync(path)
})

t.test('files read side by side are what they are one after another', async (t) => {
  const folder = temporaryFolder('side-by-side')
  const jobs = ['a', 'b', 'c'].map((part, index) => {
    const name = `PARR2605${part}.dbf`
    const rows = Array.from({ length: 9000 + index * 500 }, (_, row) => ({
      ...plain,
      PA_CODUNI: String(2_000_000 + (row % (300 + index))),
      PA_CMP: row % 50 === 0 ? '202604' : '202605',
    }))
    const bytes = dbf(rows)
    writeFileSync(join(folder, name), bytes)
    const promise = { uf: 'RR', period: 202605, part }
    return { kind: 'production' as const, path: join(folder, name), name, promise, bytes: bytes.length }
  })
  const readWith = async (processes: number): Promise<object[]> => {
    const found: object[] = []
    for await (const { groups, ...read } of readInOrder([jobs], processes))
      found.push({ ...read, groups: [...groups].map(({ codes, values }) => [codes, [...values]]) })
    return found
  }
  const alone = await readWith(1)
  t.same(await readWith(2), alone)
  t.match(alone, [{ rows: 9000 }, { rows: 9500 }, { rows: 10_000 }])
  // What is wrong with a file is said as if it had been read here.
  const [first] = jobs
  if (first === undefined) throw new TypeError('no file')
  const other = { ...first, promise: { ...first.promise, period: 202604 } }
  await t.rejects(async () => {
    for await (const { rows } of readInOrder([[other, ...jobs.slice(1)]], 2)) t.ok(rows > 0)
  }, /a row \(2\) of another month than its name says/)
})

const PERSONAL = ['PA_CNSMED', 'PA_AUTORIZ', 'PA_CNPJCPF', 'PA_CNPJMNT'] as const

t.test('nothing of a person is in a release', async (t) => {
  const chance = createChance(1)
  const all = listMunicipalities(chance)
  const plan = planFacilities(all, new Set(['RR', 'AC', 'AP']), 4000, chance)
  const facilities = Array.from({ length: plan.count }, (_, index) => index).filter(
    (index) => all[plan.place[index] ?? 0]?.uf === 'RR',
  )
  const towns = all.filter(({ uf }) => uf === 'RR')
  const planted = Array.from({ length: 400 }, (_, number) =>
    productionRow(number, 202605, facilities, towns, { plan, all, chance }),
  )
  const wanted = new Set(planted.flatMap((row) => PERSONAL.flatMap((column) => row[column] || [])))
  // CPFs stand behind three zeros.
  for (const text of [...wanted]) if (text.startsWith('000')) wanted.add(text.slice(3))
  t.ok(wanted.size > 400, `${wanted.size} texts`)
  const { releasesDir, result, manifest } = await importRows({ 'PARR2605.dbf': planted })
  const folder = join(releasesDir, result.sia ?? '')
  let searched = 0
  for (const [dataset, { fields }] of Object.entries(manifest.datasets)) {
    const columns = fields.map(({ name }) => `CAST("${name}" AS VARCHAR)`)
    const rows = await ask(
      `SELECT DISTINCT unnest([${columns.join(', ')}]) AS text FROM read_parquet('${folder}/${dataset}/**/*.parquet', hive_partitioning = true)`,
    )
    searched += rows.length
    t.same(
      rows.filter(({ text }) => typeof text === 'string' && [...wanted].some((own) => text.includes(own))),
      [],
      dataset,
    )
  }
  t.ok(searched > 200, `${searched} texts searched`)
  const manifestText = readFileSync(join(folder, 'manifest.json'), 'utf8')
  t.notOk([...wanted].some((text) => manifestText.includes(text)))
  for (const column of [...PERSONAL, 'PA_MUNPCN', 'PA_IDADE', 'PA_SEXO', 'PA_CIDPRI'])
    for (const { columns, unread } of manifest.headers ?? [])
      t.ok(columns.includes(column) && unread.includes(column), `${column} is not read`)
})

t.test('months accumulate as hard links, and a month that changed is another release', async (t) => {
  const folder = temporaryFolder('months')
  const releasesDir = join(folder, 'releases')
  const options = { releasesDir, maxRejected: 0 }
  const files = (months: readonly string[]): string[] =>
    months.map((month) => join(small.snapshots, 'sia', month))
  const first = await importPaths([...ibge, ...files(['202604'])], options)
  const second = await importPaths([...ibge, ...files(['202605', '202604'])], options)
  const again = await importPaths([...files(['202604', '202605']), ...ibge], options)
  t.not(second.sia, first.sia)
  t.equal(again.sia, second.sia)
  const path = 'outpatient_production/reference_period=202604/part-0.parquet'
  t.equal(
    statSync(join(releasesDir, second.sia ?? '', path)).ino,
    statSync(join(releasesDir, first.sia ?? '', path)).ino,
    'a month that did not change is the same file',
  )
  const newer = await readManifest(releasesDir, second.sia ?? '')
  const coverage = newer.coverage.outpatient_production
  t.same(coverage?.['202605']?.states, ['AC', 'RR'], 'a state that is late is not there')
  t.same(coverage?.['202604']?.states, ['AC', 'AP', 'RR'])
  // A newer file of a state's month stands for the whole of it.
  const changed = temporaryFolder('changed')
  for (const name of readdirSync(join(small.snapshots, 'sia/202605')).filter((name) => /^PAAC/.test(name)))
    writeFileSync(join(changed, name), readFileSync(join(small.snapshots, 'sia/202605', name)))
  writeFileSync(join(changed, 'PARR2605.dbf'), dbf([plain]))
  const third = await importPaths([...ibge, ...files(['202604']), changed], options)
  t.same(
    await ask(
      `SELECT sum(records)::INT AS n, count(DISTINCT source_file)::INT AS files FROM ${rowsOf(releasesDir, third.sia, '202605')} WHERE processing_uf = 'RR'`,
    ),
    [{ n: 1, files: 1 }],
  )
  const sum = `SELECT sum(records)::INT AS n FROM`
  t.same(
    await ask(`${sum} ${rowsOf(releasesDir, third.sia, '202605')} WHERE processing_uf = 'AC'`),
    await ask(`${sum} ${rowsOf(releasesDir, second.sia, '202605')} WHERE processing_uf = 'AC'`),
  )
})

interface Sums {
  readonly rows: number
  readonly qtdapr: number
  readonly valapr_cents: number
}
interface Facts {
  readonly sia_pa: {
    readonly PAAC2310: {
      readonly records: number
      readonly by_docorig: Record<string, [number, number, number]>
      readonly by_indica: Record<string, number[]>
      readonly mvm_cmp: Record<string, [number, number, number]>
      readonly by_ufmun: Record<string, Sums>
      readonly by_cmp: Record<string, Sums>
      readonly by_group2: Record<string, Sums>
      readonly dist_pa_tpfin: Record<string, number>
      readonly dist_pa_nivcpl: Record<string, number>
      readonly top10_proc_by_qtdapr: [string, number, number, number][]
      readonly top10_proc_by_valapr: [string, number, number, number][]
      readonly distinct: Record<string, number>
    }
  }
  readonly sia_pa_before_2008: Record<
    string,
    {
      records: number
      qtdpro: number
      qtdapr: number
      valpro_cents: number
      valapr_cents: number
      'datref/datpr': Record<string, number>
    }
  >
}

t.test('every real file is what was measured on it', { skip: skipWithoutShared }, async (t) => {
  const facts = JSON.parse(readFileSync(sharedPath('facts-sih-sia-financing.json'), 'utf8')) as Facts
  const releasesDir = temporaryFolder('production-real')
  const result = await importPaths(
    [
      sharedPath('ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls'),
      sharedPath('ibge/tabela9514.xlsx'),
      ...readdirSync(sharedPath('sia')).map((name) => sharedPath(`sia/${name}`)),
      ...['tb_grupo', 'tb_sub_grupo', 'tb_forma_organizacao', 'tb_procedimento'].flatMap((table) =>
        ['', '_layout'].map((part) => sharedPath(`sigtap/202510/${table}${part}.txt`)),
      ),
    ],
    { releasesDir, maxRejected: 0 },
  )
  const id = result.sia ?? ''
  const manifest = await readManifest(releasesDir, id)
  t.same(manifest.set_aside, [])
  const acre = facts.sia_pa.PAAC2310
  const rows = rowsOf(releasesDir, id, '202310')
  const SUMS =
    'sum(records)::INT AS rows, sum(quantity_approved)::INT AS qtdapr, sum(value_approved_cents)::BIGINT::VARCHAR AS valapr_cents'
  const by = async (expression: string): Promise<Record<string, unknown>[]> =>
    ask(`SELECT ${expression} AS code, ${SUMS} FROM ${rows} GROUP BY 1 ORDER BY 1`)
  const wanted = (sums: Readonly<Record<string, Sums | readonly number[]>>): Record<string, unknown>[] =>
    Object.entries(sums)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([code, own]) => {
        const [count, quantity, cents] = 'rows' in own ? [own.rows, own.qtdapr, own.valapr_cents] : own
        return { code, rows: count, qtdapr: quantity, valapr_cents: String(cents) }
      })
  t.same(
    await ask(
      `SELECT sum(records)::INT AS n, sum(quantity_presented)::INT AS p, sum(quantity_approved)::INT AS a, sum(value_presented_cents)::BIGINT::VARCHAR AS vp, sum(value_approved_cents)::BIGINT::VARCHAR AS va FROM ${rows}`,
    ),
    [{ n: 107_322, p: 1_368_145, a: 1_359_926, vp: '1028932143', va: '1023797614' }],
  )
  t.equal(acre.records, 107_322)
  t.same(await by('CAST(municipality_ibge_code // 10 AS VARCHAR)'), wanted(acre.by_ufmun), 'by municipality')
  t.same(await by('procedure_group_code'), wanted(acre.by_group2), 'by group')
  t.same(await by('instrument_code'), wanted(acre.by_docorig), 'by instrument')
  t.same(await by("replace(care_period, '-', '')"), wanted(acre.by_cmp), 'by month of care')
  const counted = async (expression: string): Promise<Record<string, number>> =>
    Object.fromEntries((await by(expression)).map(({ code, rows: count }) => [String(code), Number(count)]))
  t.same(await counted('financing_code'), acre.dist_pa_tpfin)
  t.same(
    await counted('complexity_code'),
    Object.fromEntries(Object.entries(acre.dist_pa_nivcpl).map(([code, count]) => [`0${code}`, count])),
  )
  const procedures = new Map((await by('procedure_code')).map((row) => [row.code, row]))
  for (const [code, count, quantity, cents] of [...acre.top10_proc_by_qtdapr, ...acre.top10_proc_by_valapr])
    t.match(procedures.get(code), { rows: count, qtdapr: quantity, valapr_cents: String(cents) }, code)
  t.same(
    await ask(
      `SELECT count(DISTINCT cnes_code)::INT AS f, count(DISTINCT municipality_ibge_code)::INT AS m, count(DISTINCT procedure_code)::INT AS p FROM ${rows}`,
    ),
    [{ f: acre.distinct.PA_CODUNI, m: acre.distinct.PA_UFMUN, p: acre.distinct.PA_PROC_ID }],
  )
  t.equal(manifest.counts.production_records_not_approved_202310, acre.by_indica['0']?.[0])
  t.equal(
    manifest.checks.find(({ name }) => name === 'production_values_are_sums_of_parts_202310')?.violations,
    0,
  )
  for (const [name, fact] of Object.entries(facts.sia_pa_before_2008)) {
    const { period = 0 } = recogniseProductionFile(`${name}.dbc`) ?? {}
    t.same(
      await ask(
        `SELECT sum(records)::INT AS records, sum(quantity_presented)::INT AS qtdpro, sum(quantity_approved)::INT AS qtdapr, sum(value_presented_cents)::INT AS valpro_cents, sum(value_approved_cents)::INT AS valapr_cents, count(DISTINCT cnes_code)::INT AS facilities FROM ${rowsOf(releasesDir, id, String(period))}`,
      ),
      [
        {
          records: fact.records,
          qtdpro: fact.qtdpro,
          qtdapr: fact.qtdapr,
          valpro_cents: fact.valpro_cents,
          valapr_cents: fact.valapr_cents,
          facilities: 1,
        },
      ],
      name,
    )
    t.same(
      Object.fromEntries(
        (
          await ask(
            `SELECT care_period AS code, sum(records)::INT AS n FROM ${rowsOf(releasesDir, id, String(period))} GROUP BY 1`,
          )
        ).map(({ code, n }) => [code, n]),
      ),
      Object.fromEntries(
        Object.entries(fact['datref/datpr']).map(([months, count]) => [
          careMonthOf(months.split('/')[0] ?? ''),
          count,
        ]),
      ),
      `${name} by month of care`,
    )
  }
  // The published file of Maranhão of 2004-09 has no row: it was collected, and there was nothing.
  t.same(manifest.coverage.outpatient_production?.['200409'], {
    family: 'state',
    states: ['MA'],
    empty: ['MA'],
  })
  t.same(await ask(`SELECT count(*)::INT AS n FROM ${rowsOf(releasesDir, id, '200409')}`), [{ n: 0 }])
  t.match(
    await ask(
      `SELECT * FROM read_parquet('${join(releasesDir, id, 'procedures/*.parquet')}') WHERE procedure_code IN ('0202020380', '001') ORDER BY 1`,
    ),
    [
      { procedure_code: '001', procedure_name: null, procedure_group_code: null },
      {
        procedure_name: 'HEMOGRAMA COMPLETO',
        source_file: 'tb_procedimento.txt',
        procedure_group_code: '02',
      },
    ],
  )
  await checkRelease(releasesDir, id, join(releasesDir, '.check'))
})
