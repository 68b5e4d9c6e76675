/** Each form of IBGE's files, made small: what is read, from which cell, and what every broken one is told. */
import { type CellObject, utils, write } from '@e965/xlsx'
import t, { type Test } from 'tap'
import { type IbgeTable, readIbge, recogniseIbge } from '../../src/import/demography/ibge-files.ts'
import { readPopulationCell } from '../../src/import/demography/ibge-table.ts'
import { ImportError } from '../../src/import/import-error.ts'

type Cell = string | number | null
type Sheets = Record<string, Cell[][]>

const spreadsheet = (bookType: 'xlsx' | 'biff8', sheets: Sheets): Buffer => {
  const book = utils.book_new()
  for (const [name, rows] of Object.entries(sheets))
    utils.book_append_sheet(book, utils.aoa_to_sheet(rows), name)
  return write(book, { bookType, type: 'buffer' })
}
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const triples = ({ population }: IbgeTable): string[] =>
  population.map(
    (cell) =>
      `${cell.row} ${cell.municipality_code} ${cell.reference_year} ${cell.population_type} ${cell.population}`,
  )
const balanced = (t: Test, table: IbgeTable): boolean =>
  t.equal(table.published, table.municipalities.length + table.population.length + table.set_aside.length)
/** The problem is named, the remedy given, and the message holds the file but no cell. */
const refuses = (t: Test, file: string, bytes: Buffer, problem: RegExp): void => {
  try {
    readIbge(file, bytes)
    t.fail(`${file} was read; expected ${problem}`)
  } catch (error) {
    if (!(error instanceof ImportError)) throw error
    t.match(error.problem, problem)
    t.equal(error.file, file)
    t.not(error.remedy, '')
  }
}

const DTB_HEADER = ['UF', 'Nome_UF', 'Município', 'Código Município Completo', 'Nome_Município']
const dtbCsv = (...rows: string[][]): Buffer =>
  Buffer.from(
    `${[DTB_HEADER, ...rows].map((row) => row.map((cell) => `"${cell}"`).join(',')).join('\r\n')}\r\n`,
  )
const dtbSheet = (...rows: Cell[][]): Buffer =>
  spreadsheet('biff8', { DTB_Municípios: [['TÍTULO'], ['RELATÓRIO'], [], [], [], [], DTB_HEADER, ...rows] })
const NEW_TOWN = ['51', 'Mato Grosso', '01837', '5101837', 'Boa Esperança do Norte']

/** A name, and the cell that it was read from. */
const named = (name: string, name_column = 'Nome_Município') => ({ name, name_column, name_raw: name })

t.test('municipality list, spreadsheet: header on row 7, a cell beyond the header', async (t) => {
  const table = readIbge(
    'dtb.xls',
    dtbSheet(['11', 'Rondônia', '00015', '1100015', "Alta Floresta D'Oeste"], [...NEW_TOWN, 'Novo!']),
  )
  t.equal(table.family, 'ibge-dtb')
  t.same(table.municipalities, [
    { row: 8, column: 'Código Município Completo', ibge_code: 1100015, ...named("Alta Floresta D'Oeste") },
    { row: 9, column: 'Código Município Completo', ibge_code: 5101837, ...named('Boa Esperança do Norte') },
  ])
  balanced(t, table)
  refuses(t, 'dtb.xls', dtbSheet(NEW_TOWN, NEW_TOWN), /twice \(row 9\)/)
  refuses(t, 'dtb.xls', dtbSheet(['51', 'Mato Grosso', '01837', '510183', 'Boa']), /seven digits.*row 8/)
  refuses(t, 'dtb.xls', dtbSheet(), /no municipality/)
})

t.test('municipality list, CSV: quotes, separators and apostrophes in names', async (t) => {
  const table = readIbge(
    'dtb.csv',
    dtbCsv(['35', 'São Paulo', '1', '3500105', 'Vila ""Nova"", a velha'], NEW_TOWN),
  )
  t.same(
    table.municipalities.map(({ row, ibge_code, name }) => [row, ibge_code, name]),
    [
      [2, 3500105, 'Vila "Nova", a velha'],
      [3, 5101837, 'Boa Esperança do Norte'],
    ],
  )
  const whole = dtbCsv(NEW_TOWN)
  refuses(
    t,
    'dtb.csv',
    whole.subarray(0, whole.length - 6),
    /is cut: its last line \(2\) has 5 of 5 values, the last without its end/,
  )
  refuses(t, 'dtb.csv', whole.subarray(0, whole.length - 30), /is cut: its last line \(2\) has 4 of 5 values/)
  t.same(
    readIbge('dtb.csv', Buffer.from(whole.toString().trimEnd())),
    readIbge('dtb.csv', whole),
    'a last line without its line break is whole',
  )
  refuses(t, 'dtb.csv', Buffer.from(whole.toString('utf8'), 'latin1'), /not UTF-8/)
  refuses(
    t,
    'dtb.csv',
    Buffer.from(whole.toString('utf8').replace('Código', 'Codico')),
    /Código Município Completo/,
  )
  refuses(t, 'dtb.csv', Buffer.from(whole.toString('utf8').replace('Nome_Mun', 'Mun')), /Nome_Município/)
  refuses(t, 'dtb.csv', dtbCsv(NEW_TOWN, ['51']), /1 values under 5 columns \(row 3\)/)
  refuses(t, 'dtb.csv', dtbCsv(NEW_TOWN, NEW_TOWN), /twice \(row 3\)/)
  refuses(t, 'dtb.csv', Buffer.alloc(0), /empty/)
})

t.test('municipality list, Localidades API: a municipality without micro-region is read', async (t) => {
  const state = { 'regiao-intermediaria': { UF: { id: 51, sigla: 'MT' } } }
  const town = { id: 5101837, nome: 'Boa Esperança do Norte', microrregiao: null, 'regiao-imediata': state }
  const table = readIbge('municipios.json', json([town]))
  t.equal(table.family, 'ibge-localidades')
  t.same(table.municipalities, [
    { row: 1, column: 'id', ibge_code: 5101837, ...named('Boa Esperança do Norte', 'nome') },
  ])
  refuses(t, 'municipios.json', json([town, town]), /twice \(row 2\)/)
  for (const broken of [{ ...town, id: 510183 }, { ...town, nome: null }, { ...town, nome: {} }, null, 7, []])
    refuses(t, 'municipios.json', json([town, broken]), /seven digits and a name \(row 2\)/)
})

const ESTIMATE_TITLE = 'ESTIMATIVAS DA POPULAÇÃO RESIDENTE COM DATA DE REFERÊNCIA EM 1º DE JULHO DE 2024'
const HEADER = ['UF', 'COD. UF', 'COD. MUNIC', 'NOME DO MUNICÍPIO', ' POPULAÇÃO ESTIMADA ']
const estimates = (rows: Cell[][], sheet = 'MUNICÍPIOS', title = ESTIMATE_TITLE): Buffer =>
  spreadsheet('biff8', {
    'BRASIL E UFs': [
      [title],
      ['BRASIL E UNIDADES DA FEDERAÇÃO', 'POPULAÇÃO ESTIMADA'],
      ['Brasil', 33],
      ['Norte', 33],
      ['Rondônia', '33(1)'],
      ['Fonte: IBGE.'],
    ],
    [sheet]: [[title], HEADER, ...rows],
  })

t.test('estimates of the DOU: code in two cells, year from the title, totals beside', async (t) => {
  const rows: Cell[][] = [
    ['RO', 11, '00015', 'A', 30],
    ['RO', '11', 23, 'B', '3'],
    [],
    ['Fonte: IBGE. (2023)'],
    [' '],
  ]
  for (const sheet of ['MUNICÍPIOS', 'Municípios', 'municipios']) {
    const table = readIbge('estimativa_dou_1999.xls', estimates(rows, sheet))
    t.equal(table.family, 'ibge-estimates')
    t.same(triples(table), [
      '3 1100015 2024 ESTIMATED_POPULATION 30',
      '4 1100023 2024 ESTIMATED_POPULATION 3',
    ])
    t.same([table.population[0]?.column, table.population[0]?.raw], ['POPULAÇÃO ESTIMADA', '30'])
    t.same(table.totals, [
      { level: 'BR', code: '0', reference_year: 2024, population: 33 },
      { level: 'UF', code: '11', reference_year: 2024, population: 33 },
    ])
    balanced(t, table)
  }
  refuses(t, 'e.xls', estimates([['RO', 11, null, 'A', 30]]), /without a code \(row 3\)/)
  refuses(t, 'e.xls', estimates([[null, null, null, 'A', 30]]), /without a code \(row 3\)/)
  refuses(t, 'e.xls', estimates([['RO', 11, '00015', 'A', null]]), /neither a number.*row 3/)
  refuses(t, 'e.xls', estimates([['RO', 11, '00015', 'A', 1.5]]), /neither a number.*row 3/)
  refuses(t, 'e.xls', estimates([...rows.slice(0, 1), ...rows.slice(0, 1)]), /twice for one year \(row 4\)/)
  refuses(t, 'e.xls', estimates(rows, 'MUNICÍPIOS', 'ESTIMATIVAS'), /year/)
  const other = spreadsheet('biff8', {
    Resumo: [
      ['UF', 'POPULAÇÃO'],
      ['RO', 1],
    ],
  })
  refuses(t, 'e.xls', other, /no sheet/)
  const short = spreadsheet('biff8', {
    MUNICÍPIOS: [[ESTIMATE_TITLE], HEADER.slice(0, 4), ['RO', 11, '00015', 'A']],
  })
  refuses(t, 'e.xls', short, /lacks the column of the population/)
})

t.test('population sent to the audit court: footnotes inside numbers', async (t) => {
  const title = 'POPULAÇÃO APURADA IBGE \n- CENSO DEMOGRÁFICO 2022 E MALHA TERRITORIAL 2023 -'
  const table = readIbge(
    'tcu.xls',
    spreadsheet('biff8', {
      Municípios: [
        ['Relação da População dos Municípios para publicação no DOU em 2023 (lei nº 143, de 17.07.2013)'],
        [...HEADER.slice(0, 4), title],
        ['RO', 11, '00205', 'Porto Velho', '460.434(1)'],
        ['AM', 13, '00029', 'A', '18.834 (3)'],
        ['PE', 26, '16407', 'B', '96372(20)'],
        ['RO', 11, '00015', 'C', 21494],
        [],
        ['(1) População judicial: 999.999 habitantes.'],
      ],
    }),
  )
  t.equal(table.family, 'ibge-tcu')
  t.same(triples(table), [
    '3 1100205 2022 CENSUS_POPULATION 460434',
    '4 1300029 2022 CENSUS_POPULATION 18834',
    '5 2616407 2022 CENSUS_POPULATION 96372',
    '6 1100015 2022 CENSUS_POPULATION 21494',
  ])
  t.equal(table.population[0]?.raw, '460.434(1)')
})

t.test('population sent to the audit court: the count of 2022 is no estimate of 2023', async (t) => {
  const published = 'Relação da População dos Municípios para publicação no DOU em 2023'
  const law = ' (em cumprimento à lei complementar nº 143, de 17.07.2013)'
  const read = (file: string, title: string, column: string): string => {
    const { family, population } = readIbge(
      file,
      spreadsheet('biff8', {
        Municípios: [[title], [...HEADER.slice(0, 4), column], ['RO', 11, '00015', 'C', 21494]],
      }),
    )
    return `${family} ${population[0]?.reference_year} ${population[0]?.population_type}`
  }
  const count = 'ibge-tcu 2022 CENSUS_POPULATION'
  t.equal(read('POP_TCU_2023_Municipios_POP2022_Malha2023.xls', published, 'POPULAÇÃO'), count)
  t.equal(read('a.xls', published + law, 'POPULAÇÃO'), count)
  t.equal(read('a.xls', published, 'POPULAÇÃO - Censo de 2022'), count)
  t.equal(
    read('POP_TCU_2024.xls', `Estimativas da população em 2024${law}`, 'POPULAÇÃO ESTIMADA'),
    'ibge-estimates 2024 ESTIMATED_POPULATION',
  )
  // The same table as text, whose only header is the year.
  const wide = (file: string): string => {
    const { population } = readIbge(file, Buffer.from('code_muni;2023\n1100015;21494\n'))
    return `${population[0]?.reference_year} ${population[0]?.population_type} ${population[0]?.column}`
  }
  t.equal(wide('POP_TCU_2023_Municipios_POP2022_Malha2023.csv'), '2022 CENSUS_POPULATION 2023')
  t.throws(() => wide('populacao.csv'), /a population of 2023 \(row 2\).*the count of 2022/)
  t.throws(() => read('a.xls', published, 'POPULAÇÃO'), /a population of 2023.*the count of 2022/)
})

const sidra = (rows: Cell[][], variable = 'Variável - População residente (Pessoas)', number = 202): Buffer =>
  spreadsheet('xlsx', {
    Tabela: [
      [`Tabela ${number} - População residente`],
      [variable],
      ...rows,
      ['Fonte: IBGE - Censo Demográfico'],
      [],
    ],
    Notas: [['Legenda'], ['-', 'Zero absoluto']],
  })

t.test('SIDRA export in its three shapes', async (t) => {
  const sideBySide = sidra([
    ['Município', 'Situação do domicílio', 'Ano x Sexo'],
    [null, null, '2000', '2010'],
    [null, null, 'Total', 'Total'],
    ['1100015', 'Total', 26533, 24392],
    ['2399903', 'Total', '...', '...'],
  ])
  const two = readIbge('tabela202.xlsx', sideBySide)
  t.equal(two.family, 'sidra-table')
  t.same(triples(two), ['6 1100015 2000 CENSUS_POPULATION 26533', '6 1100015 2010 CENSUS_POPULATION 24392'])
  t.same(two.set_aside, [
    { row: 7, column: '2000', reason: 'mark_not_available' },
    { row: 7, column: '2010', reason: 'mark_not_available' },
  ])
  t.equal(two.published, 4)

  const codeAlone = sidra(
    [
      ['Município', 'Ano'],
      [null, '2007'],
      ['1100015', 23857],
    ],
    undefined,
    793,
  )
  t.same(triples(readIbge('t.xlsx', codeAlone)), ['5 1100015 2007 ESTIMATED_POPULATION 23857'])

  const estimate = 'Variável - População residente estimada (Pessoas)'
  const named = sidra(
    [
      ['Cód.', 'Município', 'Ano'],
      [null, null, '2020', '2021'],
      ['1100023', 'Ariquemes (RO)', 9, 10],
    ],
    estimate,
    6579,
  )
  t.same(triples(readIbge('t.xlsx', named)), [
    '5 1100023 2020 ESTIMATED_POPULATION 9',
    '5 1100023 2021 ESTIMATED_POPULATION 10',
  ])

  const three = sidra(
    [
      ['Município', 'Forma de declaração da idade', 'Ano x Sexo x Idade'],
      [null, null, '2022'],
      [null, null, 'Total'],
      [null, null, 'Total'],
      ['1100015', 'Total', 21494],
    ],
    undefined,
    9514,
  )
  t.same(triples(readIbge('t.xlsx', three)), ['7 1100015 2022 CENSUS_POPULATION 21494'])
})

t.test('SIDRA exports that would give wrong numbers are refused', async (t) => {
  const head: Cell[][] = [
    ['Município', 'Situação do domicílio', 'Ano x Sexo'],
    [null, null, '2010'],
  ]
  const total: Cell[] = [null, null, 'Total']
  const row: Cell[] = ['1100015', 'Total', 5]
  const file = 'tabela202.xlsx'
  refuses(t, file, sidra([...head, [null, null, 'Homens'], row]), /split by sex/)
  refuses(t, file, sidra([...head, [null, null, 'Total', 'Homens'], [...row, 3]]), /split by sex/)
  refuses(t, file, sidra([...head, total, row, [null, 'Urbana', 3]]), /split by sex/)
  refuses(t, file, sidra([...head, total, ['11', 'Total', 5], row]), /seven digits \(row 6, 2010\)/)
  refuses(t, file, sidra([...head, total, row, ['110002', 'Total', 5], row]), /seven digits \(row 7, 2010\)/)
  refuses(t, file, sidra([...head, total, row, row]), /twice for one year \(row 7\)/)
  refuses(
    t,
    file,
    sidra([...head, total, ['1100015', 'Total', null]]),
    /neither a number nor a mark \(row 6, 2010\)/,
  )
  refuses(t, file, sidra([head[0] ?? [], [null, null, 'Ano'], row]), /no year/)
  refuses(t, file, sidra([...head, total]), /no rows by municipality/)
  refuses(
    t,
    file,
    sidra([...head, total, row], 'Variável - População residente - percentual (%)'),
    /variable/,
  )
  refuses(t, file, sidra([...head, total, row], undefined, 5938), /table 5938/)
})

t.test('spreadsheet cells of other kinds are not counts', async (t) => {
  const odd: CellObject[] = [
    { t: 'e', v: 42, w: '#N/A' },
    { t: 'b', v: true },
    { t: 'n', v: 18.834 },
    { t: 'n', v: -5 },
  ]
  for (const bookType of ['xlsx', 'biff8'] as const)
    for (const cell of odd) {
      const sheet = utils.aoa_to_sheet([
        ['Tabela 793 - População residente'],
        ['Variável - População residente (Pessoas)'],
        ['Município', 'Ano'],
        [null, '2007'],
        ['1100015', 5],
        ['1100023', 7],
      ])
      sheet.B5 = cell
      const book = utils.book_new()
      utils.book_append_sheet(book, sheet, 'Tabela')
      refuses(t, 't.xlsx', write(book, { bookType, type: 'buffer' }), /nor a mark \(row 5, 2007\)/)
    }
})

t.test('marks', async (t) => {
  const cells: [string, number | string | null][] = [
    ['-', 0],
    ['0', 0],
    ['...', 'mark_not_available'],
    ['..', 'mark_not_applicable'],
    ['X', 'mark_suppressed'],
    ['A', 'mark_range'],
    ['Z', 'mark_range'],
    [' 18.834 (3)', 18834],
    ['1.234.567', 1234567],
    ['', null],
    ['(1)', null],
    ['1.5', null],
    ['12.34', null],
    ['1,5', null],
    ['-5', null],
    ['x', null],
    ['....', null],
    ['AB', null],
    ['1e5', null],
    ['9999999999', null],
  ]
  for (const [raw, expected] of cells) t.equal(readPopulationCell(raw), expected, `«${raw}»`)
  const marks = ['-', '...', '..', 'X', 'B'].map((mark, at) => `110000${at};${mark}`)
  const table = readIbge('w.csv', Buffer.from(`code_muni;2021\n${marks.join('\n')}\n`))
  t.same(triples(table), ['2 1100000 2021 ESTIMATED_POPULATION 0'])
  t.same(
    table.set_aside.map(({ row, reason }) => `${row} ${reason}`),
    ['3 mark_not_available', '4 mark_not_applicable', '5 mark_suppressed', '6 mark_range'],
  )
  balanced(t, table)
})

t.test('wide CSV', async (t) => {
  const read = (text: string): IbgeTable => readIbge('w.csv', Buffer.from(text))
  t.same(triples(read('\uFEFFcode_muni;2007;2022\r\n1100015;7;8\r\n\r\n')), [
    '2 1100015 2007 ESTIMATED_POPULATION 7',
    '2 1100015 2022 CENSUS_POPULATION 8',
  ])
  t.same(read('code_muni;2021;2022\n1100015;;5\n').set_aside, [
    { row: 2, column: '2021', reason: 'mark_not_available' },
  ])
  const bad = (text: string, problem: RegExp): void => refuses(t, 'w.csv', Buffer.from(text), problem)
  bad('code_muni;2021;2022\n1100015;28173', /is cut: its last line \(2\) has 2 of 3 values/)
  t.same(triples(read('code_muni;2022\n1100015;28173')), ['2 1100015 2022 CENSUS_POPULATION 28173'])
  bad('code_muni;2021;2022\n1100015;5\n', /2 values under 3 columns \(row 2\)/)
  bad('code_muni;2022;total\n1100015;5;5\n', /no year/)
  bad('code_muni;2022\n110001;5\n', /seven digits \(row 2, 2022\)/)
  bad('code_muni;2022\n1100015;abc\n', /neither a number nor a mark \(row 2, 2022\)/)
  bad('code_muni;2022\n1100015;5\n1100015;5\n', /twice for one year \(row 3\)/)
  bad('code_muni;2022\n', /no municipality/)
  bad('code_muni;20011\n1100015;5\n', /no year/)
  bad('code_muni;2022\n1100015;5\n;6\n', /seven digits \(row 3, 2022\)/)
})

const LABELS = {
  V: 'Valor',
  D1C: 'Município (Código)',
  D1N: 'Município',
  D2C: 'Variável (Código)',
  D2N: 'Variável',
  D3C: 'Ano (Código)',
  D3N: 'Ano',
}
const element = (V: unknown, D1C: unknown = '1100015', more: object = {}): object => ({
  V,
  D1C,
  D1N: 'A - RO',
  D2C: '9324',
  D2N: 'População residente estimada',
  D3C: '2021',
  D3N: '2021',
  ...more,
})

t.test('values API: dimensions found by their labels', async (t) => {
  const table = readIbge('v.json', json([LABELS, element('22516'), element('...', '5101837')]))
  t.equal(table.family, 'sidra-values')
  t.equal(table.synthetic, false)
  t.same(triples(table), ['2 1100015 2021 ESTIMATED_POPULATION 22516'])
  t.same(table.set_aside, [{ row: 3, column: 'V', reason: 'mark_not_available' }])

  const moved = [
    { D1C: 'Ano (Código)', D2C: 'Município (Código)', V: 'Valor (sus-data demonstration)' },
    { D1C: '2010', D2C: '1100015', V: '5' },
  ]
  const cut = readIbge('v.json', json(moved))
  t.same(triples(cut), ['2 1100015 2010 CENSUS_POPULATION 5'])
  t.equal(cut.synthetic, true)
})

t.test('values API: only totals of the population are taken', async (t) => {
  const labels = { ...LABELS, D4C: 'Sexo (Código)', D4N: 'Sexo' }
  const split = readIbge(
    'v.json',
    json([
      labels,
      element('9', '1100015', { D2C: '93', D3C: '2022', D4C: '6794', D4N: 'Total' }),
      element('4', '1100015', { D2C: '93', D3C: '2022', D4C: '4', D4N: 'Homens' }),
      element('100', '1100015', { D2C: '1000093', D3C: '2022', D4C: '6794', D4N: 'Total' }),
    ]),
  )
  t.same(triples(split), ['2 1100015 2022 CENSUS_POPULATION 9'])
  t.same(split.set_aside, [
    { row: 3, column: 'V', reason: 'not_a_total' },
    { row: 4, column: 'V', reason: 'other_variable' },
  ])
  balanced(t, split)

  const bad = (value: unknown, problem: RegExp): void => refuses(t, 'v.json', json(value), problem)
  bad([{ ...LABELS, D1C: 'Unidade da Federação (Código)' }, element('5', '11')], /lacks municipality/)
  bad([LABELS, element('5', '11')], /seven digits \(row 2/)
  bad([LABELS, element('5', '1100015', { D3C: undefined })], /without a year \(row 2\)/)
  bad([LABELS, element(null)], /neither a number nor a mark \(row 2/)
  bad([LABELS, element('5'), element('5')], /twice for one year \(row 3\)/)
  bad([LABELS, element(22.516)], /neither a number nor a mark \(row 2/)
  const { D4C } = labels
  const men = element('4', '1100015', { D4C: '4' })
  bad([{ ...LABELS, D4C }, men], /category by its code alone/)
  bad([LABELS, null], /no municipality/)
  bad([LABELS], /no municipality/)
})

const place = (id: unknown, level: string, serie: unknown): object => ({
  localidade: { id, nivel: { id: level, nome: '' }, nome: 'A' },
  serie,
})

t.test('aggregates API v3: municipalities, totals of other levels, categories', async (t) => {
  const sexes = (label: string): object[] => [{ id: '2', nome: 'Sexo', categoria: { '1': label } }]
  const answer = [
    {
      id: '9324',
      resultados: [
        { classificacoes: sexes('Homens'), series: [place('1100015', 'N6', { '2021': '1' })] },
        {
          classificacoes: sexes('Total'),
          series: [
            place('1', 'N1', { '2021': '30' }),
            place('11', 'N3', { '2021': '30', '2020': '...' }),
            place('1100015', 'N6', { '2020': '...', '2021': '30' }),
          ],
        },
      ],
    },
    { id: '1009324', resultados: [{ series: [place('1100015', 'N6', { '2021': '100' })] }] },
  ]
  const table = readIbge('a.json', json(answer))
  t.equal(table.family, 'ibge-aggregates')
  t.same(triples(table), ['4 1100015 2021 ESTIMATED_POPULATION 30'])
  t.equal(table.population[0]?.column, 'serie.2021')
  t.same(table.set_aside, [
    { row: 1, column: 'serie.2021', reason: 'not_a_total' },
    { row: 4, column: 'serie.2020', reason: 'mark_not_available' },
    { row: 5, column: 'serie.2021', reason: 'other_variable' },
  ])
  t.same(table.totals, [
    { level: 'BR', code: '1', reference_year: 2021, population: 30 },
    { level: 'UF', code: '11', reference_year: 2021, population: 30 },
  ])
  balanced(t, table)
  const one = (series: unknown): unknown => [{ id: '93', resultados: [{ series }] }]
  refuses(t, 'a.json', json(one([place('110001', 'N6', { '2022': '5' })])), /seven digits \(row 1/)
  refuses(t, 'a.json', json(one([place('1100015', 'N6', { '2022-01': '5' })])), /without a year/)
  const twice = [place('1100015', 'N6', { '2022': '5' }), place('1100015', 'N6', { '2022': '5' })]
  refuses(t, 'a.json', json(one(twice)), /twice for one year \(row 2\)/)
  const hole = place('1100015', 'N6', { '2010': '4', '2022': null })
  refuses(t, 'a.json', json(one([hole])), /neither a number nor a mark \(row 1, serie.2022\)/)
  const levelless = [{ localidade: { id: '1100015' }, serie: { '2022': '5' } }]
  t.same(triples(readIbge('a.json', json(one(levelless)))), ['1 1100015 2022 CENSUS_POPULATION 5'])
})

t.test('whatever the bytes, the operator gets an ImportError', async (t) => {
  const odd = [
    '[null]',
    '[1]',
    '[[]]',
    '[]',
    '{}',
    '"x"',
    'null',
    '[{"resultados":null}]',
    '[{"D1C":1},3]',
    '[{}]',
  ]
  for (const text of [
    ...odd,
    '[{"id":"93","resultados":[{"series":[{"localidade":null,"serie":3}]}]}]',
    '[{"id":"93","resultados":[null,{"series":null,"classificacoes":[null]}]}]',
  ])
    t.throws(() => readIbge('a.json', Buffer.from(text)), ImportError, text)
  const whole = json([LABELS, element('22516')])
  for (let end = 1; end < whole.length; end += 1)
    t.throws(() => readIbge('a.json', whole.subarray(0, end)), ImportError)

  const book = estimates([['RO', 11, '00015', 'A', 30]])
  const zipped = sidra([
    ['Município', 'Ano'],
    [null, '2007'],
    ['1100015', 5],
  ])
  for (const [file, bytes] of [['e.xls', book] as const, ['t.xlsx', zipped] as const])
    for (const share of [0.01, 0.2, 0.5, 0.8, 0.9])
      t.throws(
        () => readIbge(file, bytes.subarray(0, Math.floor(bytes.length * share))),
        ImportError,
        `${file} cut at ${share}`,
      )
  for (const text of ['', 'UF;COD', '<html><table><tr><td>1', '\u0000'.repeat(600)])
    t.throws(() => readIbge('e.xls', Buffer.from(text)), ImportError)
})

t.test('files are recognised by name and content', async (t) => {
  const yes: [string, Buffer][] = [
    ['dtb.xls', dtbSheet(NEW_TOWN)],
    ['TABELA.XLSX', sidra([])],
    ['dtb.csv', dtbCsv(NEW_TOWN)],
    ['w.csv', Buffer.from('code_muni;2022\n1100015;5\n')],
    ['v.json', json([LABELS])],
    ['a.json', json([{ id: '93', resultados: [] }])],
    ['l.json', json([{ id: 5101837, nome: 'B', microrregiao: null }])],
  ]
  for (const [name, bytes] of yes) {
    t.equal(recogniseIbge(name, bytes), true, name)
    t.equal(recogniseIbge(`${name}.txt`, bytes), false, `${name}.txt`)
  }
  const no: [string, Buffer][] = [
    ['dtb.xls', Buffer.from('UF,Município\n')],
    ['municipios.csv', Buffer.from('codigo_ibge,nome,latitude\n1100015,A,1\n')],
    ['snapshot.json', json({ publisher: 'x' })],
    ['other.json', json([{ id: 1 }])],
    ['uf.geojson', json([LABELS])],
    ['v.json', Buffer.alloc(0)],
    ['w.csv', Buffer.from([0xff, 0xfe, 0x63, 0x00])],
  ]
  for (const [name, bytes] of no) t.equal(recogniseIbge(name, bytes), false, name)
})

t.test('a national table parses in well under a second', async (t) => {
  const codes = Array.from({ length: 5571 }, (_, at) => String(1_100_000 + at))
  const years = Array.from({ length: 19 }, (_, at) => String(2003 + at))
  const wide = Buffer.from(
    `code_muni;${years.join(';')}\n${codes.map((code) => `${code};${years.join(';')}\n`).join('')}`,
  )
  const values = json([LABELS, ...codes.map((code) => element('22516', code))])
  for (const [file, bytes, rows] of [
    ['w.csv', wide, 5571 * 19] as const,
    ['v.json', values, 5571] as const,
  ]) {
    const started = performance.now()
    t.equal(readIbge(file, bytes).population.length, rows)
    const spent = performance.now() - started
    t.ok(spent < 2000, `${file}: ${Math.round(spent)} ms`)
  }
})
