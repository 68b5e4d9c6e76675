/**
 * Files of hospital admissions → a release: what rows add up to, what is refused or set aside, what is never read, and that the
 * real files give what was measured on them.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkRelease } from '../../src/import/check-release.ts'
import { importPaths } from '../../src/import/import.ts'
import { decodeDbc } from '../../src/import/readers/dbc.ts'
import { readDbfColumns } from '../../src/import/readers/dbf.ts'
import { ageGroupOf, integerCell, parseDiagnosis } from '../../src/import/sih/admission-cells.ts'
import { readAdmissions, recogniseAdmissionFile } from '../../src/import/sih/admission-files.ts'
import { AGE_GROUPS } from '../../src/model/demography/code-lists.ts'
import { residentRowsOf } from '../../src/query/provenance/published-admissions.ts'
import { publishedRowsOf } from '../../src/query/provenance/published-rows.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { readManifest } from '../../src/release/verify.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { ADMISSION_COLUMNS, admissionsDbf } from '../../tools/demo/admissions.ts'
import { personalTexts, personsIn } from '../fixtures/admission-persons.ts'
import { makeDbc } from '../fixtures/dbf-builder.ts'
import { partition, prepareImports } from '../fixtures/file-imports.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
type Cells = Readonly<Record<string, string>>
/** An admission that nothing is wrong with. */
const plain: Cells = {
  UF_ZI: '140000',
  ANO_CMPT: '2026',
  MES_CMPT: '05',
  IDENT: '1',
  MUNIC_RES: '140010',
  MUNIC_MOV: '140010',
  SEXO: '3',
  PROC_REA: '0310010039',
  VAL_SH: '300.10',
  VAL_SP: '100.05',
  VAL_TOT: '400.15',
  DT_SAIDA: '20260510',
  DIAG_PRINC: 'O800',
  COD_IDADE: '4',
  IDADE: '25',
  DIAS_PERM: '2',
  MORTE: '0',
  CAR_INT: '02',
  CNES: '2566168',
  COMPLEX: '02',
  FINANC: '06',
}
const dbf = (rows: readonly Cells[]): Buffer => admissionsDbf(ADMISSION_COLUMNS, rows, [26, 5, 28])

const { ibge, importRows, refused, ask } = await prepareImports(small.snapshots, 'sih', dbf)

t.test('names', (t) => {
  t.same(recogniseAdmissionFile('RDSP2510.dbc'), { kind: 'RD', uf: 'SP', period: 202510 })
  t.same(recogniseAdmissionFile('rdrr9504.DBF'), { kind: 'RD', uf: 'RR', period: 199504 })
  t.same(recogniseAdmissionFile('SPSP2510.dbc'), { kind: 'SP', uf: 'SP', period: 202510 })
  t.equal(recogniseAdmissionFile('RDXX2510.dbc'), null)
  t.equal(recogniseAdmissionFile('RDSP2513.dbc'), null)
  t.equal(recogniseAdmissionFile('LTSP2510.dbc'), null)
  t.end()
})

t.test('cells', (t) => {
  const cell = (text: string, decimals: number): number =>
    integerCell(Buffer.from(`xx${text}yy`), 2, text.length, decimals)
  t.equal(cell('      1234.56', 2), 123_456)
  t.equal(cell('1234.5', 2), 123_450)
  t.equal(cell('  12', 2), 1200)
  t.equal(cell('0.07', 2), 7)
  t.equal(cell('.5', 2), 50)
  t.equal(cell('-1.50', 2), -150)
  t.equal(cell('   31', 0), 31)
  for (const text of ['', '     ', '1.234', '1,50', 'x', '.', '-', '1 2', '1.2.3'])
    t.ok(Number.isNaN(cell(text, 2)), text)
  t.equal(ageGroupOf('2', '29'), '00-04')
  t.equal(ageGroupOf('3', '11'), '00-04')
  t.equal(ageGroupOf('4', '79'), '75-79')
  t.equal(ageGroupOf('4', '80'), '80+')
  t.equal(ageGroupOf('5', '3'), '80+')
  t.equal(ageGroupOf('0', '20'), '')
  t.equal(ageGroupOf('4', '00'), '00-04')
  for (const unit of ['4', '5']) t.equal(ageGroupOf(unit, ''), '', 'a blank is no age of 0')
  const meets = (group: string, cells: string): boolean => {
    const { where } = residentRowsOf((field) => (field === 'age_group' ? group : ''))
    return new RegExp(where.find(({ columns }) => columns[0] === 'COD_IDADE')?.pattern ?? '').test(cells)
  }
  for (const unit of ['', '0', '2', '3', '4', '5'])
    for (const cell of ['', '0', '00', '3', '04', '005', '20', '79', '080', '99', '101'])
      t.same(
        ['', ...AGE_GROUPS].filter((group) => meets(group, `${unit} ${cell}`)),
        [ageGroupOf(unit, cell)],
        `published rows of COD_IDADE ${unit}, IDADE ${cell}`,
      )
  t.end()
})

t.test('before 1998 a code that looks like one of CID-10 is of CID-9', (t) => {
  for (const code of ['V270', 'E8660', 'E866', '4860'])
    t.match(parseDiagnosis(code, 199712), { category: '', chapter: '', icsapGroup: '', causeGroup: '' }, code)
  t.match(parseDiagnosis('E86', 199801), { category: 'E86', chapter: '04', icsapGroup: '02' })
  t.equal(parseDiagnosis('4860', 199801).category, '')
  t.end()
})

t.test('rows that are alike are added up, and continuations are no admissions', async (t) => {
  const { releasesDir, result, manifest } = await importRows({
    'RDRR2605.dbc': makeDbc(
      dbf([
        plain,
        plain,
        { ...plain, DT_SAIDA: '20260331', VAL_SH: '0.00', VAL_SP: '0.00', VAL_TOT: '0.00' },
        { ...plain, IDENT: '5', DIAS_PERM: '31', MORTE: '1', DT_SAIDA: '20260531', UTI_MES_TO: '4' },
        { ...plain, VAL_SH_FED: '10.00', VAL_SP_GES: '1.00', VAL_TOT: '411.15', CAR_INT: '01' },
      ]),
    ),
  })
  const rows = await ask(
    `SELECT * EXCLUDE (source_sha256) FROM ${partition(releasesDir, result.sih ?? '', 'hospital_admissions')} ORDER BY care_character_code`,
  )
  t.match(rows, [
    {
      reference_period: '202605',
      cnes_code: '2566168',
      uf: 'RR',
      municipality_ibge_code: 1400100,
      municipality_name: 'Boa Vista',
      procedure_code: '0310010039',
      procedure_group_code: '03',
      procedure_subgroup_code: '0310',
      procedure_form_code: '031001',
      processing_uf: 'RR',
      admission_records: 1,
      admissions: 1,
      value_total_cents: '41115',
      value_hospital_cents: '31010',
      value_professional_cents: '10105',
      source_file: 'RDRR2605.dbc',
      source_rows: 5,
    },
    {
      care_character_code: '02',
      admission_records: 4,
      admissions: 3,
      days_of_stay: 37,
      icu_days: 4,
      deaths: 1,
      value_total_cents: '120045',
      discharges_in_month: 2,
    },
  ])
  t.equal(rows.length, 2)
  const [residents] = await ask(
    `SELECT * FROM ${partition(releasesDir, result.sih ?? '', 'hospital_admissions_by_residence')}`,
  )
  t.match(residents, {
    residence_uf: 'RR',
    residence_municipality_code: 1400100,
    diagnosis_chapter_code: '15',
    diagnosis_category_code: 'O80',
    age_group: '25-29',
    sex: 'F',
    admissions: 4,
    admission_records: 5,
  })
  t.match(manifest, {
    area: 'sih',
    scope: 'rr',
    month: 202605,
    coverage: {
      hospital_admissions: { 202605: { family: 'state', states: ['RR'] } },
      hospital_admissions_by_residence: { 202605: { family: 'state', states: ['RR'] } },
    },
  })
  t.match(result.analytics, /^demo-analytics-rr-202605-/)
  const names = manifest.checks.map(({ name }) => name)
  for (const name of ['admission_values_are_sums_of_parts', 'admissions_are_first_or_continued'])
    t.ok(names.includes(`${name}_202605`), name)
  t.equal(manifest.snapshots[0]?.rows, 5)
  await checkRelease(releasesDir, result.sih ?? '', join(releasesDir, '.check'))
})

t.test('what is not known is null or not informed, never guessed', async (t) => {
  const { releasesDir, result, manifest } = await importRows({
    'RDRR2605.dbf': [
      { ...plain, MUNIC_RES: '140999', SEXO: '0', COD_IDADE: '0', DIAG_PRINC: '065099' },
      { ...plain, MUNIC_RES: '999999', CAR_INT: '', COMPLEX: '', FINANC: '' },
      { ...plain, MUNIC_RES: '', MUNIC_MOV: '000000', DIAG_PRINC: 'D50' },
      { ...plain, MUNIC_RES: '530180', MUNIC_MOV: '130260', DIAG_PRINC: 'D489' },
    ],
  })
  const id = result.sih ?? ''
  t.same(
    await ask(
      `SELECT DISTINCT uf, municipality_ibge_code AS m, care_character_code AS c FROM ${partition(releasesDir, id, 'hospital_admissions')} ORDER BY m, c`,
    ),
    [
      { uf: 'AM', m: 1302603, c: '02' },
      { uf: 'RR', m: 1400000, c: '02' },
      { uf: 'RR', m: 1400100, c: '00' },
      { uf: 'RR', m: 1400100, c: '02' },
    ],
  )
  t.same(
    await ask(
      `SELECT residence_uf AS uf, residence_municipality_code AS m, diagnosis_chapter_code AS d, age_group AS a, sex FROM ${partition(releasesDir, id, 'hospital_admissions_by_residence')} ORDER BY m, d`,
    ),
    [
      { uf: 'RR', m: 1400000, d: null, a: null, sex: null },
      { uf: 'DF', m: 5300108, d: '02', a: '25-29', sex: 'F' },
      { uf: null, m: null, d: '03', a: '25-29', sex: 'F' },
      { uf: null, m: null, d: '15', a: '25-29', sex: 'F' },
    ],
  )
  t.match(manifest.counts, {
    admission_records_202605: 4,
    admission_records_of_hospitals_elsewhere_202605: 1,
    admission_records_without_residence_202605: 2,
    admission_records_without_diagnosis_202605: 1,
  })
})

t.test(
  'a row that cannot be read is set aside with its number; values that do not add up end the import',
  async (t) => {
    const { releasesDir, result, manifest } = await importRows(
      {
        'RDRR2605.dbf': [
          plain,
          { ...plain, DIAS_PERM: '1x' },
          { ...plain, PROC_REA: '' },
          { ...plain, DIAS_PERM: '' },
          { ...plain, MORTE: '' },
          { ...plain, VAL_TOT: '' },
          { ...plain, UTI_MES_TO: '' },
          { ...plain, VAL_SH: '' },
        ],
      },
      1,
    )
    t.same(manifest.set_aside, [
      { file: 'RDRR2605.dbf', reason: 'no_procedure', rows: 1 },
      { file: 'RDRR2605.dbf', reason: 'unreadable_number', rows: 6 },
    ])
    t.same(
      await ask(
        `SELECT source_row, reason FROM read_parquet('${join(releasesDir, result.sih ?? '', 'set_aside_admissions/*.parquet')}')`,
      ),
      [
        { source_row: 3, reason: 'unreadable_number' },
        { source_row: 4, reason: 'no_procedure' },
        // The value of an empty cell is unknown, not 0.
        ...[5, 6, 7, 8, 9].map((source_row) => ({ source_row, reason: 'unreadable_number' })),
      ],
    )
    t.match(
      await refused(t, { 'RDRR2605.dbf': [plain, { ...plain, DIAS_PERM: '1x' }] }),
      /sets aside 1 of 2 rows/,
    )
    t.match(
      await refused(t, { 'RDRR2605.dbf': [plain, { ...plain, VAL_TOT: '400.16' }] }),
      /admission_values_are_sums_of_parts_202605 \(1\)/,
    )
    t.match(
      await refused(t, { 'RDRR2605.dbf': [{ ...plain, IDENT: '9' }] }),
      /admissions_are_first_or_continued_202605 \(1\)/,
    )
  },
)

t.test('files that are refused, each with what to do', async (t) => {
  for (const kind of ['RJ', 'ER', 'SP']) {
    const text = await refused(t, { [`${kind}RR2605.dbc`]: Buffer.from('x') })
    t.match(text, new RegExp(`\\(${kind}\\), which are not counted as admissions`))
    t.match(text, /import the approved admissions of the month, RDRR2605\.dbc/)
  }
  t.match(
    await refused(t, { 'RDRR9406.dbc': Buffer.from('x') }),
    /before July 1994, whose values are not in reais/,
  )
  t.match(
    await refused(t, { 'RDRR2605.dbf': [plain], 'RDRR2605.dbc': makeDbc(dbf([plain])) }),
    /is the same month and state as/,
  )
  t.match(await refused(t, { 'RDRR2604.dbf': [plain] }), /a row \(2\) of another month than its name says/)
  t.match(await refused(t, { 'RDAC2605.dbf': [plain] }), /a row \(2\) of another state than its name says/)
  const whole = dbf(Array.from({ length: 400 }, () => plain))
  t.match(await refused(t, { 'RDRR2605.dbf': whole.subarray(0, 200_000) }), /is cut: 400 records do not fit/)
  const packed = makeDbc(whole)
  t.match(await refused(t, { 'RDRR2605.dbc': packed.subarray(0, packed.length - 800) }), /cut/)
  const changed = Buffer.from(packed)
  changed[packed.readUInt16LE(8)] = (changed[packed.readUInt16LE(8)] ?? 0) ^ 1
  t.match(await refused(t, { 'RDRR2605.dbc': changed }), /CRC-32/)
  const lacking = admissionsDbf(
    ADMISSION_COLUMNS.filter(({ name }) => name !== 'MORTE'),
    [plain],
    [26, 5, 28],
  )
  t.match(await refused(t, { 'RDRR2605.dbf': lacking }), /lacks the column MORTE of an RD file/)
  const withoutIcu = admissionsDbf(
    ADMISSION_COLUMNS.filter(({ name }) => !name.startsWith('UTI_')),
    [plain],
    [26, 5, 28],
  )
  t.match(await refused(t, { 'RDRR2605.dbf': withoutIcu }), /lacks the column UTI_MES_TO of an RD file/)
  t.match(await refused(t, { 'RDRR9605.dbf': withoutIcu }), /lacks the column UTI_TOTAL of an RD file/)
})

t.test('code tables alone are nothing to import', async (t) => {
  const releasesDir = join(temporaryFolder('tables'), 'releases')
  const result = await importPaths([...ibge, join(small.snapshots, 'sigtap')], {
    releasesDir,
    maxRejected: 0,
  })
  t.equal(result.sih, null)
})

t.test('two hundred thousand rows are added up in the memory of their groups', secondRing, async (t) => {
  const folder = temporaryFolder('large')
  const path = join(folder, 'RDRR2605.dbf')
  const block = dbf(Array.from({ length: 1000 }, () => plain))
  const header = Buffer.from(block.subarray(0, block.readUInt16LE(8)))
  header.writeUInt32LE(200_000, 4)
  const records = block.subarray(header.length, -1)
  writeFileSync(path, header)
  for (let part = 0; part < 200; part += 1) writeFileSync(path, records, { flag: 'a' })
  const before = process.memoryUsage().rss
  const read = await readAdmissions(path, 'RDRR2605.dbf', { kind: 'RD', uf: 'RR', period: 202605 })
  const grown = process.memoryUsage().rss - before
  t.equal(read.rows, 200_000)
  t.equal([...read.byHospital][0]?.values[5], 200_000 * 40_015)
  t.ok(grown < read.bytes / 2, `${read.bytes} bytes in ${grown} of memory`)
  rmSync(path)
})

t.test(
  'codes that municipalities had before are those of today, where the table of DATASUS is imported',
  async (t) => {
    const line = (order: number, code: string, codes: string): string =>
      `${String(order).padStart(7)}  ${`${code} Nome`.padEnd(51)}${codes}\r\n`
    const table = `   3  6\r\n${line(1, '260545', '260545,200010')}${line(2, '330455', '330455,334501-334530')}${line(3, '140010', '140010,140999,110001')}`
    const files = {
      'RDRR2605.dbf': [
        { ...plain, MUNIC_RES: '200010', MUNIC_MOV: '140999' },
        { ...plain, MUNIC_RES: '334507' },
        { ...plain, MUNIC_RES: '110001' },
      ],
    }
    const places = async (more: Readonly<Record<string, Buffer>>): Promise<unknown[]> => {
      const { releasesDir, result, manifest } = await importRows({ ...files, ...more })
      t.equal(manifest.snapshots.length, 1 + Object.keys(more).length)
      const view = { components: { sih: manifest } } as unknown as ReleaseView
      const { is_exact } = publishedRowsOf('hospital_admissions', { municipality_ibge_code: 1_400_100 }, view)
      t.equal(
        is_exact,
        Object.keys(more).length === 0,
        'a condition on a code does not find rows under an old one',
      )
      return (
        await ask(
          `SELECT 'lives' AS how, residence_municipality_code AS place FROM ${partition(releasesDir, result.sih ?? '', 'hospital_admissions_by_residence')}
         UNION SELECT 'admitted', municipality_ibge_code FROM ${partition(releasesDir, result.sih ?? '', 'hospital_admissions')} ORDER BY ALL`,
        )
      ).map(({ how, place }) => `${how} ${place}`)
    }
    t.same(await places({ 'br_municip.cnv': Buffer.from(table) }), [
      'admitted 1400100',
      // A code of the list is that municipality, whatever the table says.
      'lives 1100015',
      'lives 2605459',
      'lives 3304557',
    ])
    t.same(await places({}), [
      'admitted 1400000',
      'admitted 1400100',
      'lives 1100015',
      'lives 3300000',
      'lives null',
    ])
  },
)

t.test('any number of processes reads the same, in the order of the files', secondRing, async (t) => {
  const folder = temporaryFolder('cores')
  // More than one process reads in less time than it starts in.
  const rows = Array.from({ length: 6500 }, (_, index) => ({
    ...plain,
    CNES: String(2_000_000 + (index % 700)),
    DIAS_PERM: String(index % 9),
    ...(index === 4000 ? { MORTE: 'x' } : {}),
  }))
  const inState = (code: string): Buffer => dbf(rows.map((row) => ({ ...row, UF_ZI: `${code}0000` })))
  writeFileSync(join(folder, 'RDRR2605.dbf'), inState('14'))
  writeFileSync(join(folder, 'RDAC2605.dbc'), makeDbc(inState('12')))
  writeFileSync(join(folder, 'RDAM2605.dbf'), inState('13'))
  const releasesDir = join(folder, 'releases')
  const options = { releasesDir, maxRejected: 0.01 }
  const one = await importPaths([...ibge, folder], { ...options, threads: 1 })
  const two = await importPaths([...ibge, folder], { ...options, threads: 2 })
  t.type(one.sih, 'string')
  t.equal(two.sih, one.sih)
  t.equal(two.analytics, one.analytics)
  t.same(two.rejected, { unreadable_number: 3 })
  // Of two files that are wrong the first is named, whichever is found first.
  writeFileSync(join(folder, 'RDAC2605.dbc'), makeDbc(inState('14')))
  writeFileSync(join(folder, 'RDAM2605.dbf'), inState('13').subarray(0, 4_000_000))
  for (const threads of [1, 2]) {
    const thrown = await importPaths([...ibge, folder], { ...options, threads }).catch(
      (error: unknown) => error,
    )
    t.match(String(thrown), /RDAC2605\.dbc: has a row \(2\) of another state than its name says/)
  }
})

t.test('nothing of a person is in a release', async (t) => {
  const wanted = personalTexts()
  t.ok(wanted.size > 1000, `${wanted.size} texts`)
  const published = readFileSync(join(small.snapshots, 'sih/202605/RDRR2605.dbf'), 'latin1')
  t.ok([...wanted].filter((text) => published.includes(text)).length > 300, 'they are in the files')
  const id = small.result.sih ?? ''
  const folder = join(small.releasesDir, id)
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest
  let searched = 0
  for (const [dataset, { fields }] of Object.entries(manifest.datasets)) {
    const columns = fields.map(({ name }) => `CAST("${name}" AS VARCHAR)`)
    const rows = await ask(
      `SELECT DISTINCT unnest([${columns.join(', ')}]) AS text FROM read_parquet('${folder}/${dataset}/**/*.parquet', hive_partitioning = true)`,
    )
    const found = rows.flatMap(({ text }) => (typeof text === 'string' ? personsIn(text, wanted) : []))
    searched += rows.length
    t.same(found, [], dataset)
  }
  t.ok(searched > 300, `${searched} texts searched`)
  for (const column of ['NASC', 'CEP', 'N_AIH', 'GESTOR_CPF', 'CPF_AUT', 'INSC_PN', 'DT_INTER', 'REMESSA'])
    for (const { columns, unread } of manifest.headers ?? [])
      t.ok(columns.includes(column) && unread.includes(column), `${column} is not read`)
})

t.test(
  'months accumulate, the same files give the same id, and a month that changed is another release',
  secondRing,
  async (t) => {
    const folder = temporaryFolder('months')
    const releasesDir = join(folder, 'releases')
    const options = { releasesDir, maxRejected: 0 }
    const files = (months: readonly string[]): string[] =>
      months.map((month) => join(small.snapshots, 'sih', month))
    const first = await importPaths([...ibge, ...files(['202603', '202604'])], options)
    const second = await importPaths([...ibge, ...files(['202605', '202604', '202603'])], options)
    const again = await importPaths([...files(['202603', '202604', '202605']), ...ibge], options)
    t.not(second.sih, first.sih)
    t.equal(again.sih, second.sih)
    const [older, newer] = await Promise.all(
      [first, second].map(({ sih }) => readManifest(releasesDir, sih ?? '')),
    )
    const months = older?.files.filter(({ path }) => path.includes('reference_period=202603')) ?? []
    t.equal(months.length, 3)
    for (const file of months)
      t.same(
        newer?.files.find(({ path }) => path === file.path),
        file,
      )
    t.same(
      newer?.coverage.hospital_admissions?.['202605']?.states,
      ['AC', 'RR'],
      'a state that is late is not there',
    )
    t.same(newer?.coverage.hospital_admissions?.['202604']?.states, ['AC', 'AP', 'RR'])
  },
)

interface Facts {
  records: number
  totals: { val_tot_cents: number; dias_perm: number; morte: number }
  ident: Record<string, number>
  discharge_month: Record<string, number>
  cnes_distinct: number
  by_munic_mov: Record<string, { aih: number; val_tot_cents: number; dias_perm: number; mortes: number }>
  top10_procedures: [string, number][]
}

/** Rows of a published file, by code that shares nothing with the importer's. A missing column gives null. */
async function publishedCells(name: string, wanted: readonly string[]): Promise<(string | null)[][]> {
  const bytes = await decodeDbc(readFileSync(sharedPath(`sih/${name}.dbc`)), name)
  const columns = new Map(readDbfColumns(bytes).map((column) => [column.name, column]))
  const [begin, size] = [bytes.readUInt16LE(8), bytes.readUInt16LE(10)]
  return Array.from({ length: bytes.readUInt32LE(4) }, (_, row) =>
    wanted.map((column) => {
      const found = columns.get(column)
      if (found === undefined) return null
      const at = begin + row * size + found.offset
      return bytes.toString('latin1', at, at + found.length).trim()
    }),
  )
}

/** Admissions of a published file that ended in its month. */
async function dischargesOf(name: string): Promise<number> {
  const rows = await publishedCells(name, ['ANO_CMPT', 'MES_CMPT', 'IDENT', 'DT_SAIDA'])
  return rows.filter(([year = '', month = '', identity, end]) => {
    const ended = `${year}${month}`
    return identity === '1' && end?.slice(0, ended.length) === ended
  }).length
}

interface IcsapFacts {
  readonly official_list_all_rows: { readonly by_group: Readonly<Record<string, number>> }
  readonly official_list_without_births_and_long_stay: {
    readonly denominator: number
    readonly by_group: Readonly<Record<string, number>>
  }
}
/** Checks ICSAP groups against the counts of an independent program, race and both ends of flows against the file's own rows. */
async function checkDiagnosesAndFlows(
  t: Test,
  name: string,
  facts: IcsapFacts,
  tables: { readonly residences: string; readonly flows: string },
): Promise<void> {
  const rows = await publishedCells(name, ['IDENT', 'RACA_COR', 'MUNIC_RES', 'MUNIC_MOV', 'DIAG_PRINC'])
  const isCid9 = rows.every(([, , , , diagnosis]) => !/^[A-Z]/.test(diagnosis ?? ''))
  const countsOf = (sums: readonly Readonly<Record<string, unknown>>[]): Record<string, number> =>
    Object.fromEntries(sums.filter(({ n }) => Number(n) > 0).map(({ code, n }) => [String(code), Number(n)]))
  const sumBy = async (table: string, code: string, measure: string): Promise<Record<string, number>> =>
    countsOf(await ask(`SELECT ${code} AS code, sum(${measure})::INT AS n FROM ${table} GROUP BY ALL`))
  const padded = (groups: Readonly<Record<string, number>>): Record<string, number> =>
    countsOf(Object.entries(groups).map(([code, n]) => ({ code: code.padStart(2, '0'), n })))
  const { '00': outside = 0, ...listed } = await sumBy(
    tables.residences,
    'icsap_group_code',
    'admission_records',
  )
  if (isCid9) t.same([outside, listed], [0, { null: rows.length }], `${name}: CID-9 has no group`)
  else {
    t.same(listed, padded(facts.official_list_all_rows.by_group), `${name}: groups of all rows`)
    const compared = facts.official_list_without_births_and_long_stay
    const { '00': none, ...ofUniverse } = await sumBy(
      tables.residences,
      'icsap_group_code',
      'icsap_admissions',
    )
    t.same([none, ofUniverse], [undefined, padded(compared.by_group)], `${name}: groups of the universe`)
    t.same(
      await ask(`SELECT sum(icsap_universe_admissions)::INT AS n FROM ${tables.residences}`),
      [{ n: compared.denominator }],
      `${name}: the universe`,
    )
  }
  const countCells = (index: number): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const row of rows) counts[String(row[index])] = (counts[String(row[index])] ?? 0) + 1
    return counts
  }
  t.same(await sumBy(tables.residences, 'race_code', 'admission_records'), countCells(1), `${name}: race`)
  const six = (column: string): string =>
    `CASE WHEN ${column} // 100000 = 53 THEN '530010' ELSE CAST(${column} // 10 AS VARCHAR) END`
  t.same(
    await sumBy(tables.flows, six('hospital_municipality_code'), 'admission_records'),
    countCells(3),
    `${name}: flows by hospital`,
  )
  const listedHomes = await ask(
    `SELECT ${six('residence_municipality_code')} AS code, sum(admission_records)::INT AS n FROM ${tables.flows}
     WHERE residence_municipality_code % 100000 >= 10 GROUP BY ALL`,
  )
  const homes = countCells(2)
  t.ok(listedHomes.length > 0)
  for (const { code, n } of listedHomes)
    if (code !== '530010') t.equal(n, homes[String(code)], `${name}: flows by residence ${code}`)
  t.same(
    await ask(
      `SELECT residence_municipality_code AS m, diagnosis_chapter_code AS d, sum(days_of_stay) AS n FROM ${tables.flows} GROUP BY ALL ORDER BY ALL`,
    ),
    await ask(
      `SELECT residence_municipality_code AS m, diagnosis_chapter_code AS d, sum(days_of_stay) AS n FROM ${tables.residences} GROUP BY ALL ORDER BY ALL`,
    ),
    `${name}: flows are the admissions by residence`,
  )
}

t.test('every real file is what was measured on it', { skip: skipWithoutShared }, async (t) => {
  const facts = (
    JSON.parse(readFileSync(sharedPath('facts-sih-sia-financing.json'), 'utf8')) as {
      sih_rd: Record<string, Facts>
    }
  ).sih_rd
  const icsap = JSON.parse(readFileSync(sharedPath('icsap/facts-icsap.json'), 'utf8')) as Record<
    string,
    IcsapFacts
  >
  const releasesDir = temporaryFolder('admissions-real')
  const result = await importPaths(
    [
      sharedPath('ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls'),
      sharedPath('ibge/tabela9514.xlsx'),
      ...readdirSync(sharedPath('sih')).map((name) => sharedPath(`sih/${name}`)),
      ...['tb_grupo', 'tb_sub_grupo', 'tb_forma_organizacao', 'tb_procedimento'].flatMap((table) =>
        ['', '_layout'].map((part) => sharedPath(`sigtap/202510/${table}${part}.txt`)),
      ),
      sharedPath('cid10/CID-10-CAPITULOS.CSV'),
      sharedPath('cid10/CID-10-CATEGORIAS.CSV'),
    ],
    { releasesDir, maxRejected: 0 },
  )
  const id = result.sih ?? ''
  const manifest = await readManifest(releasesDir, id)
  t.same(manifest.set_aside, [])
  t.equal(Object.keys(facts).length, 7)
  for (const [name, fact] of Object.entries(facts)) {
    const { period = 0 } = recogniseAdmissionFile(`${name}.dbc`) ?? {}
    const hospitals = partition(releasesDir, id, 'hospital_admissions', String(period))
    const residences = partition(releasesDir, id, 'hospital_admissions_by_residence', String(period))
    const sums =
      'sum(admission_records)::INT AS records, sum(admissions)::INT AS admissions, sum(days_of_stay)::INT AS days, sum(deaths)::INT AS deaths, sum(value_total_cents)::BIGINT::VARCHAR AS cents'
    const expected = {
      records: fact.records,
      admissions: fact.ident['1'],
      days: fact.totals.dias_perm,
      deaths: fact.totals.morte,
      cents: String(fact.totals.val_tot_cents),
    }
    const byMunicipality = await ask(
      `SELECT CAST(municipality_ibge_code // 10 AS VARCHAR) AS code, ${sums} FROM ${hospitals} GROUP BY ALL ORDER BY code`,
    )
    t.same(
      byMunicipality.map(({ code, records, days, deaths, cents }) => [code, records, days, deaths, cents]),
      Object.entries(fact.by_munic_mov)
        .sort(([left], [right]) => (left < right ? -1 : 1))
        .map(([code, own]) => [code, own.aih, own.dias_perm, own.mortes, String(own.val_tot_cents)]),
      `${name} by municipality`,
    )
    for (const [procedure, records] of fact.top10_procedures)
      t.same(
        await ask(
          `SELECT sum(admission_records)::INT AS n FROM ${hospitals} WHERE procedure_code = '${procedure}'`,
        ),
        [{ n: records }],
        `${name} ${procedure}`,
      )
    const [facilities] = await ask(
      `SELECT count(DISTINCT cnes_code) FILTER (cnes_code <> '0000000')::INT AS n, count(*) FILTER (length(procedure_code) = 10 AND procedure_group_code IS NULL)::INT AS without_group FROM ${hospitals}`,
    )
    t.same(facilities, { n: fact.cnes_distinct, without_group: 0 })
    const ended = Object.entries(fact.discharge_month)
      .filter(([month]) => String(period).endsWith(month.slice(0, 4)) || month === String(period))
      .reduce((sum, [, rows]) => sum + rows, 0)
    // The facts count continuations of long stays, too, which are no admissions: of those files the cells are read again.
    const discharges = await dischargesOf(name)
    if ((fact.ident['5'] ?? 0) === 0) t.equal(discharges, ended, `${name}: the facts`)
    const flows = partition(releasesDir, id, 'hospital_admission_flows', String(period))
    await checkDiagnosesAndFlows(t, name, icsap[name] as IcsapFacts, { residences, flows })
    for (const table of [hospitals, residences, flows])
      t.same(await ask(`SELECT ${sums} FROM ${table}`), [expected], `${name}: all tables add up`)
    for (const table of [hospitals, residences])
      t.same(await ask(`SELECT sum(discharges_in_month)::INT AS n FROM ${table}`), [{ n: discharges }], name)
  }
  const checks = new Map(manifest.checks.map((check) => [check.name, check.violations]))
  for (const period of [199504, 199705, 200801, 201405, 201412, 202203, 202302])
    t.equal(checks.get(`admission_values_are_sums_of_parts_${period}`), 0)
  t.equal(result.rows.procedure_groups, 9)
  const named = await ask(
    `SELECT * FROM read_parquet('${join(releasesDir, id, 'procedures/*.parquet')}') WHERE procedure_code = '0411010034'`,
  )
  t.match(named, [
    { procedure_name: 'OPERAÇÃO CESARIANA', source_file: 'tb_procedimento.txt', procedure_group_code: '04' },
  ])
  await checkRelease(releasesDir, id, join(releasesDir, '.check'))
})
