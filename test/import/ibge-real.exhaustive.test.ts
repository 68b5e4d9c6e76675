/**
 * Every real IBGE file reads to what was counted on it, and to what a plain look at its cells says: the text of the
 * file (CSV, JSON) or of SheetJS's own CSV of the sheet, scanned here by other code.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { read, utils } from '@e965/xlsx'
import t from 'tap'
import { type IbgeTable, readIbge, recogniseIbge } from '../../src/import/demography/ibge-files.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'

interface Counted {
  readonly family: string
  readonly municipalities?: number
  readonly population?: number
  readonly setAside?: number
  /** Sum of all municipalities by year. */
  readonly sums?: Readonly<Record<string, number>>
}

const SERIES = { population: 5570 * 19 - 63, setAside: 63 }
const CENSUSES = { population: 5566 * 2 - 60, setAside: 60, sums: { 2000: 169_799_170, 2010: 190_755_799 } }
const CENSUS = { population: 5570, sums: { 2022: 203_080_756 } }
const FILES: Readonly<Record<string, Counted>> = {
  'RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls': { family: 'ibge-dtb', municipalities: 5571 },
  'RELATORIO_DTB_BRASIL_MUNICIPIO_2022.csv': { family: 'ibge-dtb', municipalities: 5570 },
  'estimativa_dou_2024.xls': { family: 'ibge-estimates', population: 5570, sums: { 2024: 212_583_750 } },
  'POP_TCU_2023_Municipios_POP2022_Malha2023.xls': {
    family: 'ibge-tcu',
    population: 5570,
    sums: { 2022: 203_078_668 },
  },
  'tabela9514.xlsx': { family: 'sidra-table', ...CENSUS },
  'tabela9514.csv': { family: 'sidra-wide', ...CENSUS },
  'tabela202.xlsx': { family: 'sidra-table', ...CENSUSES },
  'tabela202.csv': { family: 'sidra-wide', ...CENSUSES },
  'tabela793.xlsx': { family: 'sidra-table', population: 5564 },
  'tabela793.csv': { family: 'sidra-wide', population: 5564 },
  'tabela6579.xlsx': { family: 'sidra-table', ...SERIES },
  'tabela6579_v2.xlsx': { family: 'sidra-table', ...SERIES },
  'tabela6579.csv': { family: 'sidra-wide', ...SERIES },
  'sidra_values_6579_2017_excerpt.json': { family: 'sidra-values', population: 13, setAside: 1 },
}
const HEAD_BYTES = 65_536
const CENSUS_YEARS = [2000, 2010, 2022]
const PORTO_VELHO = '1100205'
const YOUNGEST = '5101837'

const bytesOf = (file: string): Buffer => readFileSync(sharedPath(`ibge/${file}`))
const sum = (numbers: readonly number[]): number => numbers.reduce((before, number) => before + number, 0)
const sumsByYear = ({ population }: IbgeTable): Record<string, number> =>
  population.reduce<Record<string, number>>((sums, { reference_year, population }) => {
    sums[reference_year] = (sums[reference_year] ?? 0) + population
    return sums
  }, {})
const cellsOf = ({ population }: IbgeTable): Map<string, number> =>
  new Map(population.map((cell) => [`${cell.municipality_code} ${cell.reference_year}`, cell.population]))

/** Lines as a person sees them in the file: index 0 is row 1. Line breaks inside cells are blanks. */
const linesOf = (file: string): string[] => {
  const bytes = bytesOf(file)
  if (!/\.xlsx?$/.test(file)) return bytes.toString('utf8').split('\n')
  const { SheetNames, Sheets } = read(bytes)
  const sheet = Sheets[SheetNames.find((name) => !/^(BRASIL|Notas)/.test(name)) ?? '']
  if (sheet === undefined) return []
  const text = utils.sheet_to_csv(sheet, { FS: '\t', blankrows: true, rawNumbers: true })
  return text.replaceAll(/"([^"]|"")*"/g, (cell) => cell.replaceAll('\n', ' ')).split('\n')
}

t.test('real files', { skip: skipWithoutShared }, async (t) => {
  const tables = new Map(Object.keys(FILES).map((file) => [file, readIbge(file, bytesOf(file))]))
  const tableOf = (file: string): IbgeTable => {
    const table = tables.get(file)
    if (table === undefined) throw new Error(`no table of ${file}`)
    return table
  }

  t.test('are recognised, and nothing else in the folder is', async (t) => {
    const recognised = readdirSync(sharedPath('ibge')).filter((file) =>
      recogniseIbge(file, bytesOf(file).subarray(0, HEAD_BYTES)),
    )
    t.same(recognised.sort(), Object.keys(FILES).sort())
  })

  t.test('hold what was counted on them', async (t) => {
    for (const [file, counted] of Object.entries(FILES)) {
      const { municipalities = 0, population = 0, setAside = 0, sums = {} } = counted
      const table = tableOf(file)
      t.equal(table.family, counted.family, file)
      t.equal(table.synthetic, false, `${file} is not of the demonstration`)
      t.equal(table.municipalities.length, municipalities, `${file}: municipalities`)
      t.equal(table.population.length, population, `${file}: values`)
      t.equal(table.set_aside.length, setAside, `${file}: marks`)
      t.equal(table.published, municipalities + population + setAside, `${file}: all published cells`)
      t.ok(
        table.set_aside.every(({ reason }) => reason === 'mark_not_available'),
        `${file}: every mark is ...`,
      )
      t.match(sumsByYear(table), sums, `${file}: sums`)
      for (const { reference_year, population_type } of table.population)
        if ((population_type === 'CENSUS_POPULATION') !== CENSUS_YEARS.includes(reference_year))
          t.fail(`${file}: ${reference_year} is ${population_type}`)
    }
  })

  t.test('give the values of a plain look at the row they name', async (t) => {
    for (const file of Object.keys(FILES).filter((file) => file.endsWith('.json') === false)) {
      const { municipalities, population } = tableOf(file)
      const lines = linesOf(file)
      const rows = [...municipalities, ...population]
      const twenty = Array.from({ length: 20 }, (_, n) => rows[Math.floor((n * (rows.length - 1)) / 19)])
      for (const row of twenty) {
        if (row === undefined) throw new Error(`${file} has no rows`)
        const cells = (lines[row.row - 1] ?? '')
          .replaceAll('"', '')
          .trim()
          .split(/[\t;]|,(?! )/)
        if ('name' in row) {
          t.ok(cells.includes(String(row.ibge_code)) && cells.includes(row.name), `${file}, row ${row.row}`)
          continue
        }
        const joined = `${cells[1]?.padStart(2, '0')}${cells[2]?.padStart(5, '0')}`
        const estimate = /^(estimativa|POP)/.test(file)
        t.equal(estimate ? joined : cells[0], row.municipality_code, `${file}, row ${row.row}: code`)
        const header = lines.slice(0, 6).map((line) => line.replaceAll('"', '').split(/[\t;]/))
        const at = estimate
          ? 4
          : (header.find((titles) => titles.includes(row.column))?.indexOf(row.column) ?? -1)
        t.equal(cells[at], row.raw, `${file}, row ${row.row}: cell as published`)
        t.equal(Number(cells[at]?.replace(/ ?\(.*/, '').replaceAll('.', '')), row.population)
      }
    }
  })

  t.test('the values API: element by element', async (t) => {
    const file = 'sidra_values_6579_2017_excerpt.json'
    const elements = JSON.parse(bytesOf(file).toString('utf8')) as Record<string, string>[]
    for (const { row, raw, municipality_code, reference_year } of tableOf(file).population)
      t.match(elements[row - 1], { V: raw, D1C: municipality_code, D3C: String(reference_year) })
    const [mark] = tableOf(file).set_aside
    t.match(elements[(mark?.row ?? 0) - 1], { V: '...', D1C: YOUNGEST })
  })

  t.test('one table exported twice, and its reshaped copy, agree cell by cell', async (t) => {
    for (const [file, ...others] of [
      ['tabela6579.xlsx', 'tabela6579_v2.xlsx', 'tabela6579.csv'],
      ['tabela202.xlsx', 'tabela202.csv'],
      ['tabela793.xlsx', 'tabela793.csv'],
      ['tabela9514.xlsx', 'tabela9514.csv'],
    ] as const)
      for (const other of others)
        t.same(cellsOf(tableOf(other)), cellsOf(tableOf(file)), `${other} = ${file}`)
    const api = tableOf('sidra_values_6579_2017_excerpt.json')
    const series = cellsOf(tableOf('tabela6579.xlsx'))
    for (const [key, value] of cellsOf(api)) t.equal(series.get(key), value, key)
  })

  t.test('totals the file publishes are the sums of its municipalities', async (t) => {
    const { totals, population } = tableOf('estimativa_dou_2024.xls')
    t.same(
      totals.filter(({ level }) => level === 'BR').map(({ population }) => population),
      [212_583_750],
    )
    t.equal(totals.filter(({ level }) => level === 'UF').length, 27)
    for (const { level, code, population: published } of totals)
      t.equal(
        sum(
          population
            .filter(({ municipality_code }) => level === 'BR' || municipality_code.startsWith(code))
            .map(({ population }) => population),
        ),
        published,
        `${level} ${code}`,
      )
  })

  t.test('traps of single files', async (t) => {
    const court = tableOf('POP_TCU_2023_Municipios_POP2022_Malha2023.xls').population
    t.match(
      court.find(({ municipality_code }) => municipality_code === PORTO_VELHO),
      { population: 460_434, raw: '460.434(1)' },
    )
    t.equal(court.filter(({ raw }) => raw.includes('(')).length, 29, 'cells with a footnote')

    const list = tableOf('RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls').municipalities
    t.ok(
      list.some(({ ibge_code, name }) => String(ibge_code) === YOUNGEST && name === 'Boa Esperança do Norte'),
    )
    t.equal(new Set(list.map(({ ibge_code }) => Math.floor(ibge_code / 100_000))).size, 27, 'states')
    t.equal(
      new Set(list.map(({ ibge_code }) => Math.floor(ibge_code / 10))).size,
      5571,
      'six digits are unique',
    )
    t.same(
      list.map(({ ibge_code }) => ibge_code).filter((code) => code % 10_000 === 0),
      [3150000, 4220000, 5210000],
      'real codes that end in 0000',
    )

    const known = new Set(list.map(({ ibge_code }) => String(ibge_code)))
    for (const [file, table] of tables)
      t.ok(
        table.population.every(({ municipality_code }) => known.has(municipality_code)),
        `${file}: every value belongs to a municipality of the list`,
      )
    const lines = linesOf('tabela202.csv')
    const oddRow = lines.findIndex((line) => line.startsWith('2399903;')) + 1
    t.same(
      tableOf('tabela202.csv')
        .set_aside.filter(({ row }) => row === oddRow)
        .map(({ column }) => column),
      ['2000', '2010'],
      'the row that is no municipality has only marks',
    )
  })
})
