/** Files of deaths of a year → coverage and answers: the months that they cover, and what they carry. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { promoteRelease } from '../../../src/release/promote.ts'
import { openClient } from '../../fixtures/client.ts'
import { makeDbf } from '../../fixtures/dbf-builder.ts'
import { prepareImports } from '../../fixtures/file-imports.ts'
import { sharedPath, skipWithoutShared } from '../../fixtures/shared-data.ts'
import { makeSmallRelease } from '../../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>
const plain: Cells = {
  ...{ TIPOBITO: '2', DTOBITO: '10052020', IDADE: '470', SEXO: '1', RACACOR: '4', CODMUNRES: '140010' },
  ...{ CODMUNOCOR: '140010', LOCOCOR: '1', CAUSABAS: 'I219', OBITOGRAV: '2', OBITOPUERP: '3' },
}
const COLUMNS = Object.keys(plain).map((name) => [name, 10] as const)
const dbf = (rows: readonly Cells[]): Buffer => makeDbf({ columns: COLUMNS, rows })
const small = await makeSmallRelease('admissions')
const { importRows } = await prepareImports<Cells>(small.snapshots, 'sim', dbf)

/** @returns a question about one year of a state, and the coverage of the release */
async function openDeaths(
  t: Test,
  files: Readonly<Record<string, readonly Cells[] | Buffer>>,
  maxRejected = 0,
) {
  const { releasesDir, result, manifest } = await importRows(files, maxRejected)
  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir, 1)
  t.teardown(() => client.close())
  async function ask(uf: string, year: number, question: object = {}) {
    const filters = [
      { dimension: 'reference_year', operator: 'EQ', value: year },
      { dimension: 'residence_state', operator: 'EQ', value: uf },
    ]
    const { status, body, text } = await client.query({ metrics: ['deaths'], filters, ...question })
    if (status !== 200) throw new Error(text)
    return body
  }
  return { ask, coverage: manifest.coverage }
}

t.test('a month whose only death has no code is no gap of its year', async (t) => {
  const { ask, coverage } = await openDeaths(t, {
    'DORR2020.dbf': [plain, { ...plain, DTOBITO: '10062020', CAUSABAS: '', RACACOR: '' }],
    'DOAC2020.dbf': ['02', '04'].map((month) => ({
      ...plain,
      ...{ DTOBITO: `10${month}2020`, CODMUNRES: '120040', RACACOR: '' },
    })),
  })
  t.same(
    ['202001', '202004', '202005', '202006'].map((month) => coverage.deaths?.[month]?.not_carried),
    [{ race: ['AC'] }, { race: ['AC'] }, undefined, undefined],
    'every month of a file that does not carry race says so',
  )
  const { data } = await ask('RR', 2020, {
    metrics: ['external_cause_deaths', 'premature_ncd_deaths'],
    incomplete: 'allow',
  })
  t.same(data[0].metrics, { external_cause_deaths: 0, premature_ncd_deaths: 0 })
})

t.test('deaths of Roraima in 1997 have their race', { skip: skipWithoutShared }, async (t) => {
  const facts = JSON.parse(readFileSync(sharedPath('sim/facts.json'), 'utf8'))
  const { ask } = await openDeaths(t, { 'DORR1997.dbc': readFileSync(sharedPath('sim/DORR1997.dbc')) }, 0.05)
  const { data } = await ask('RR', 1997, { group_by: ['race'] })
  const rows: { dimensions: { race: { code: string } }; metrics: { deaths: number } }[] = data
  const measured: Readonly<Record<string, number>> = facts['DORR1997.dbc'].race
  t.same(Object.fromEntries(rows.map(({ dimensions, metrics }) => [dimensions.race.code, metrics.deaths])), {
    '01': measured['1'],
    '02': measured['2'],
    '03': measured['4'],
    '05': measured['5'],
    '99': measured[''],
  })
})

const FINAL = 'SIM/CID10/DORES/'
const PRELIMINARY = 'SIM/PRELIM/DORES/'
t.test('a final file covers its year, and so does one without rows or without months', async (t) => {
  const withoutMonth = (CODMUNRES: string): Cells => ({ ...plain, DTOBITO: '', CODMUNRES })
  const { ask, coverage } = await openDeaths(t, {
    [`${FINAL}DORR2020.dbf`]: [plain],
    [`${FINAL}DOAC2020.dbf`]: [],
    [`${PRELIMINARY}DOAP2020.dbf`]: [{ ...plain, CODMUNRES: '160030' }],
    [`${PRELIMINARY}DORO2020.dbf`]: [withoutMonth('110002')],
    [`${PRELIMINARY}DOTO2020.dbf`]: [],
    'DOAM2018.dbf': [withoutMonth('130260'), withoutMonth('130260')],
    'DOPA2017.dbf': [],
    'SIM/CID10/DOFET/DOFET17.dbf': [],
  })
  for (const [uf, year, deaths] of [
    ['RR', 2020, 1],
    ['AC', 2020, 0],
    ['AP', 2020, null],
    ['RO', 2020, 1],
    ['TO', 2020, null],
    ['AM', 2018, 2],
    ['PA', 2017, 0],
  ] as const)
    t.equal((await ask(uf, year)).data[0].metrics.deaths, deaths, `${uf} ${year}`)
  t.match(
    (await ask('PA', 2017)).meta.notes.find(({ code }: { code: string }) => code === 'empty_file'),
    { states: ['PA'] },
  )
  const statesOf = (month: string): unknown => coverage.deaths?.[month]?.states
  t.same(statesOf('202001'), ['AC', 'AP', 'RO', 'RR', 'TO'])
  t.same(statesOf('202012'), ['AC', 'RO', 'RR'], 'a preliminary file ends with its last month')
  t.same(coverage.fetal_deaths?.['201712']?.empty, 'all')
})
