/** Files of deaths → sums: each trap of the published layouts by name, and that the real files give what was measured on them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  infantAgeOf,
  isMaternalDeath,
  monthOfDate,
  placeOf,
  yearsOf,
} from '../../../src/import/sim/death-cells.ts'
import { type ReadDeaths, readDeaths, recogniseDeathFile } from '../../../src/import/sim/death-files.ts'
import { makeDbf } from '../../fixtures/dbf-builder.ts'
import { sharedPath, skipWithoutShared } from '../../fixtures/shared-data.ts'
import { temporaryFolder } from '../../fixtures/small-release.ts'

const folder = temporaryFolder('deaths')
type Cells = Readonly<Record<string, string>>
const plain: Cells = {
  TIPOBITO: '2',
  DTOBITO: '10052022',
  IDADE: '470',
  SEXO: '1',
  RACACOR: '4',
  CODMUNRES: '140010',
  CODMUNOCOR: '140010',
  LOCOCOR: '1',
  CAUSABAS: 'I219',
  OBITOGRAV: '2',
  OBITOPUERP: '3',
}
/** Reads deaths of a file; columns stand in the order of the first row. */
async function read(rows: readonly Cells[], year = 2022): Promise<ReadDeaths> {
  const columns = Object.keys(rows[0] ?? {}).map((name) => [name, 40] as const)
  const path = join(folder, `DORR${year}.dbf`)
  writeFileSync(path, makeDbf({ columns, rows }))
  return readDeaths(path, `DORR${year}.dbf`, { kind: 'state', uf: 'RR', period: year * 100 + 12 })
}
const codesOf = async (cells: Cells, year = 2022): Promise<readonly string[]> =>
  [...(await read([{ ...plain, ...cells }], year)).groups][0]?.codes ?? []

t.test('names', async (t) => {
  t.same(recogniseDeathFile('DOTO2022.dbc'), { kind: 'state', uf: 'TO', period: 202212 })
  t.same(recogniseDeathFile('dorr1997.DBC'), { kind: 'state', uf: 'RR', period: 199712 })
  t.same(recogniseDeathFile('DORRR79.DBC'), { kind: 'state', uf: 'RR', period: 197912 })
  t.equal(recogniseDeathFile('DOBR2022.dbc')?.kind, 'country')
  for (const kind of ['DOEXT', 'DOINF', 'DOMAT', 'DOFET', 'DOREXT', 'DORIG'])
    t.equal(recogniseDeathFile(`${kind}20.dbc`)?.kind, kind)
  t.equal(recogniseDeathFile('DOREXT20.dbc')?.uf, 'EX', 'residents abroad are of no state')
  t.equal(recogniseDeathFile('DOEX2020.dbc'), null)
  t.equal(recogniseDeathFile('DOXX2022.dbc'), null)
})

t.test('infant ages', async (t) => {
  const ages = { '000': null, '059': 'early', '123': 'early', '206': 'early', '207': 'late', '227': 'late' }
  for (const [cell, age] of Object.entries(ages))
    t.equal(infantAgeOf(cell), age === null ? null : `${age}_neonatal`, cell)
  for (const cell of ['228', '301', '311']) t.equal(infantAgeOf(cell), 'post_neonatal', cell)
  t.equal(infantAgeOf('400'), 'unknown', '400 is under one year, in no component')
  for (const cell of ['401', '503', '999', '']) t.equal(infantAgeOf(cell), null, cell)
  t.equal(yearsOf('503'), 103)
  t.equal(yearsOf('999'), null)
})

t.test('dates in both orders, and impossible months', async (t) => {
  t.equal(monthOfDate('31121996'), '199612')
  t.equal(monthOfDate('790500'), '197905')
  t.equal(monthOfDate('930000'), '')
  for (const cell of ['', '10132022', '1996', '052022x', '15030202', '15100202', '15032202'])
    t.equal(monthOfDate(cell), '', cell)
  const { groups, totals, setAside, withoutMonth, lastMonth } = await read([
    plain,
    { ...plain, DTOBITO: '10002022' },
    { ...plain, DTOBITO: '' },
    { ...plain, DTOBITO: '15030202' },
  ])
  t.same([totals[0], withoutMonth, lastMonth, setAside], [4, 3, 5, []])
  t.same(
    [...groups].map(({ codes, values }) => [codes[0], values[0]]),
    [
      ['202205', 1],
      ['202200', 3],
    ],
    'they count in the month 00 of the year of the file',
  )
})

t.test('maternal deaths by the official rule', async (t) => {
  for (const cause of ['O159', 'A34', 'O95', 'O98']) t.equal(isMaternalDeath(cause, {}), true, cause)
  for (const cause of ['O96', 'O961', 'O97', 'A33', 'D391'])
    t.equal(isMaternalDeath(cause, { pregnancy: '1' }), false)
  for (const cause of ['B200', 'B24', 'D392', 'E230', 'F53', 'M830']) {
    t.equal(isMaternalDeath(cause, { pregnancy: '2', puerperium: '3' }), false, cause)
    t.equal(isMaternalDeath(cause, { pregnancy: '1' }), true, cause)
    t.equal(isMaternalDeath(cause, { puerperium: '1' }), true, cause)
    t.equal(isMaternalDeath(cause, { puerperium: '2' }), false, `${cause} after 42 days`)
  }
  const { totals } = await read([
    { ...plain, SEXO: '2', IDADE: '430', CAUSABAS: 'O721' },
    { ...plain, SEXO: '2', IDADE: '430', CAUSABAS: 'O961' },
    { ...plain, SEXO: '2', IDADE: '430', CAUSABAS: 'B24X', OBITOGRAV: '1' },
    { ...plain, IDADE: '430', CAUSABAS: 'B24X', OBITOGRAV: '1' },
  ])
  t.same(totals, [4, 2, 0])
})

t.test('codes: what is not known is null or not informed, never 0', async (t) => {
  t.same(await codesOf({}), ['202205', '140010', '140010', 'M', '70-74', '', '03', 'I21', '09', '068', '1'])
  t.equal((await codesOf({ CODMUNRES: '1400100' }))[1], '140010', 'seven digits')
  t.equal((await codesOf({ CODMUNRES: '' }))[1], '')
  t.equal((await codesOf({ CODMUNOCOR: '1302603' }))[2], '130260', 'where it happened')
  t.equal((await codesOf({ CODMUNOCOR: '' }))[2], '')
  t.equal((await codesOf({ RACACOR: '3' }))[6], '04', 'yellow')
  t.equal((await codesOf({ RACACOR: '' }))[6], '99')
  t.same((await codesOf({ IDADE: '999', SEXO: '0', LOCOCOR: '', CAUSABAS: '' })).slice(3), [
    '',
    '',
    '',
    '03',
    '',
    '',
    '',
    '9',
  ])
  t.equal((await codesOf({ CAUSABAS: 'B342' }))[7], 'B34', 'COVID-19')
})

t.test(
  'CID-9: external causes without E have no chapter and are no maternal or chronic deaths',
  async (t) => {
    const old = {
      TIPOBITO: '2',
      DATAOBITO: '790500',
      IDADE: '450',
      SEXO: '2',
      MUNIRES: '1400100',
      MUNIOCOR: '1302603',
      LOCOCOR: '0',
    }
    const { groups, totals } = await read([{ ...old, CAUSABAS: '8199' }], 1979)
    t.same([...groups][0]?.codes, ['197905', '140010', '130260', 'F', '50-54', '', '', '819', '', '', '9'])
    t.same(totals, [1, 0, 0])
  },
)

t.test('places of death before 1996 have other codes', async (t) => {
  const cells = ['0', '1', '2', '3', '4', '5', '6', '9', '', 'constructor']
  t.same(
    cells.map((cell) => placeOf(cell, 1995)),
    ['9', '1', '4', '3', '5', '9', '9', '9', '9', '9'],
  )
  t.same(
    cells.map((cell) => placeOf(cell, 1996)),
    ['9', '1', '2', '3', '4', '5', '6', '9', '9', '9'],
  )
  t.equal(placeOf(null, 1979), '9')
})

t.test('fetal rows are set aside, and a file of another year is refused', async (t) => {
  const { totals, setAside } = await read([plain, { ...plain, TIPOBITO: '1', IDADE: '' }])
  t.equal(totals[0], 1)
  t.same(setAside, [{ row: 3, reason: 'fetal_death' }])
  await t.rejects(read([plain], 2021), /no death of the year/)
})

t.test('a file whose residents are all of another state is refused', async (t) => {
  const elsewhere = { ...plain, CODMUNRES: '160030' }
  const unknown = { ...plain, CODMUNRES: '' }
  await t.rejects(read([elsewhere, unknown]), /no death of the state of its name/)
  t.equal((await read([elsewhere, plain])).totals[0], 2, 'one resident is enough')
  t.equal(
    (await read([unknown, { ...plain, CODMUNRES: '000000' }])).totals[0],
    2,
    'nobody is known to live elsewhere',
  )
})

t.test('a file of fetal deaths: they are no deaths, and rows that are not fetal are set aside', async (t) => {
  const fetal = { ...plain, TIPOBITO: '1', IDADE: '', CAUSABAS: 'P95X', GESTACAO: '5', SEXO: '2' }
  const path = join(folder, 'DOFET22.dbf')
  const readFetal = (rows: readonly Cells[]): Promise<ReadDeaths> => {
    const columns = Object.keys(fetal).map((name) => [name, 20] as const)
    writeFileSync(path, makeDbf({ columns, rows }))
    return readDeaths(path, 'DOFET22.dbf', { kind: 'DOFET', uf: 'BR', period: 202212 })
  }
  const read1 = await readFetal([
    fetal,
    fetal,
    { ...fetal, GESTACAO: '9', SEXO: '0', RACACOR: '', CODMUNRES: '' },
    { ...fetal, GESTACAO: '8', DTOBITO: '00002022' },
    { ...fetal, GESTACAO: '7', SEXO: '1' },
    { ...fetal, GESTACAO: 'A', SEXO: '1' },
    { ...fetal, TIPOBITO: '2' },
    { ...fetal, DTOBITO: '10052021' },
  ])
  t.same([read1.fetalTotal, read1.totals, read1.groups, read1.withoutMonth], [6, [0, 0, 0], [], 1])
  t.same(
    [...read1.fetal].map(({ codes, values }) => [...codes, values[0]]),
    [
      ['202205', '140010', 'F', '03', 'P95', '16', '097', '37-41', '1', 2],
      ['202205', '', '', '99', 'P95', '16', '097', '', '1', 1],
      ['202200', '140010', 'F', '03', 'P95', '16', '097', '28-36', '1', 1],
      ['202205', '140010', 'M', '03', 'P95', '16', '097', '', '1', 2],
    ],
    'a code of gestation that no class has is unknown',
  )
  t.same(read1.setAside, [
    { row: 8, reason: 'not_fetal' },
    { row: 9, reason: 'other_year' },
  ])
  await t.rejects(readFetal([{ ...fetal, DTOBITO: '10052021' }]), /no fetal death of the year/)
})

t.test('premature deaths of chronic diseases: 30 to 69 years', async (t) => {
  const { totals } = await read(
    [
      ['429', 'I219'],
      ['430', 'I219'],
      ['469', 'C509'],
      ['470', 'C509'],
      ['450', 'E149'],
      ['450', 'J180'],
      ['450', 'J440'],
      ['450', 'C980'],
    ].map(([IDADE = '', CAUSABAS = '']) => ({ ...plain, IDADE, CAUSABAS })),
  )
  t.equal(totals[2], 4)
})

t.test('columns that may identify a person are never read', async (t) => {
  const persons = { DTNASC: '01021950', HORAOBITO: '2359', NUMSUS: '898001160660761', REGISTRO: '12345678' }
  const read1 = JSON.stringify([...(await read([{ ...persons, ...plain }])).groups])
  for (const value of Object.values(persons)) t.notMatch(read1, value)
  t.notMatch(read1, '20220510')
})

const ROMAN = 'I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII'.split(' ')
const SEX_NAMES: Readonly<Record<string, string>> = { '1': 'M', '2': 'F' }
const COMPONENTS: Readonly<Record<string, string>> = {
  'early neonatal 0-6 d': 'early_neonatal',
  'late neonatal 7-27 d': 'late_neonatal',
  'post-neonatal 28-364 d': 'post_neonatal',
  '4xx with 00': 'unknown',
}

t.test('the real files give what was measured on them', { skip: skipWithoutShared }, async (t) => {
  const facts = JSON.parse(readFileSync(sharedPath('sim/facts.json'), 'utf8')) as Record<
    string,
    Record<string, unknown>
  >
  for (const [file, fact] of Object.entries(facts)) {
    const nameParts = recogniseDeathFile(file.replace('.masked', ''))
    if (nameParts === null) throw new TypeError(file)
    const year = Math.floor(nameParts.period / 100)
    const result = await readDeaths(sharedPath(`sim/${file}`), file, { ...nameParts, kind: 'state' })
    const groups = [...result.groups]
    /** @returns deaths by a code of the groups */
    const sumsBy = (index: number): Record<string, number> => {
      const sums: Record<string, number> = {}
      for (const { codes, values } of groups)
        sums[codes[index] ?? ''] = (sums[codes[index] ?? ''] ?? 0) + (values[0] ?? 0)
      return sums
    }
    t.equal(result.rows, fact.rows, file)
    t.equal((result.totals[0] ?? 0) + result.setAside.length, fact.rows, file)
    // Rows that are set aside are in the facts, too.
    if (result.setAside.length > 0) continue
    const measured = (name: string): [string, number][] =>
      Object.entries((fact[name] ?? {}) as Record<string, number>)
    const placesBefore1996 = { '1': '1', '2': '4', '3': '3', '4': '5', '0': '9' } as Record<string, string>
    t.same(
      sumsBy(10),
      Object.fromEntries(
        measured('place_of_death_LOCOCOR').map(([cell, n]) => [
          (year < 1996 ? placesBefore1996[cell] : cell) || '9',
          n,
        ]),
      ),
      `${file} places`,
    )
    t.same(
      sumsBy(0),
      Object.fromEntries(
        measured('deaths_by_month').map(([month, n]) => [
          month.startsWith('bad') ? `${year}00` : month.replace('-', ''),
          n,
        ]),
      ),
      file,
    )
    for (const [sex, deaths] of measured('sex').filter(([code]) => code in SEX_NAMES))
      t.equal(sumsBy(3)[SEX_NAMES[sex] ?? ''], deaths, `${file} sex ${sex}`)
    for (const [component, deaths] of measured('infant_component'))
      if (component in COMPONENTS)
        t.equal(sumsBy(5)[COMPONENTS[component] ?? ''], deaths, `${file} ${component}`)
    for (const [chapter, deaths] of measured('icd10_chapter'))
      t.equal(sumsBy(8)[String(ROMAN.indexOf(chapter) + 1).padStart(2, '0')], deaths, `${file} ${chapter}`)
    for (const [residence, deaths] of fact.residence_top10 as [string, number][])
      t.equal(sumsBy(1)[residence.slice(0, 6)], deaths, `${file} ${residence}`)
    /** @returns deaths outside of the residence, by the first digits of both codes */
    const outside = (digits: number): number =>
      groups.reduce(
        (sum, { codes: [, residence, occurrence], values }) =>
          residence.slice(0, digits) === occurrence.slice(0, digits) ? sum : sum + (values[0] ?? 0),
        0,
      )
    t.equal(outside(6), fact.occurrence_outside_residence_municipality, `${file} outside of the municipality`)
    t.equal(outside(2), fact.occurrence_outside_residence_state, `${file} outside of the state`)
  }
})
