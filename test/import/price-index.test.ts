/** The price index in both of its published forms: what is read, from which cell, and what is refused. */
import { utils, write } from '@e965/xlsx'
import t from 'tap'
import { readIbge, recogniseIbge } from '../../src/import/demography/ibge-files.ts'
import { pickPrices } from '../../src/import/demography/price-index.ts'
import type { ImportError } from '../../src/import/import-error.ts'

const LABELS = {
  NC: 'Nível Territorial (Código)',
  NN: 'Nível Territorial',
  MC: 'Unidade de Medida (Código)',
  MN: 'Unidade de Medida',
  V: 'Valor',
  D1C: 'Brasil (Código)',
  D1N: 'Brasil',
  D2C: 'Variável (Código)',
  D2N: 'Variável',
  D3C: 'Mês (Código)',
  D3N: 'Mês',
}
const values = (...rows: [month: string, value: string, variable?: string][]): Buffer =>
  Buffer.from(
    JSON.stringify([
      LABELS,
      ...rows.map(([D3C, V, D2C = '2266']) => ({
        NC: '1',
        NN: 'Brasil',
        V,
        D1C: '1',
        D1N: 'Brasil',
        D2C,
        D3C,
      })),
    ]),
  )
const TITLE = 'Tabela 1737 - IPCA - Série histórica com número-índice, variação mensal e variações acumuladas'
const INDEX = 'Variável - IPCA - Número-índice (base: dezembro de 1993 = 100)'
function spreadsheet(...rows: (string | number)[][]): Buffer {
  const book = utils.book_new()
  utils.book_append_sheet(book, utils.aoa_to_sheet(rows), 'Tabela')
  utils.book_append_sheet(book, utils.aoa_to_sheet([['Notas']]), 'Notas')
  return write(book, { bookType: 'xlsx', type: 'buffer' })
}
const indexes = (file: string, bytes: Buffer): (readonly [number, string])[] =>
  (readIbge(file, bytes).prices ?? []).map(({ month, index }) => [month, index] as const)

t.test('"values" API: published decimals, other variables set aside', async (t) => {
  const bytes = values(
    ['199312', '100.0000000000000'],
    ['199401', '141.3100000000000'],
    ['199401', '41.31', '63'],
    ['199402', '...'],
  )
  t.ok(recogniseIbge('ipca.json', bytes.subarray(0, 400)))
  const table = readIbge('ipca.json', bytes)
  t.same(table.prices, [
    { row: 2, column: 'V', raw: '100.0000000000000', month: 199312, index: '100' },
    { row: 3, column: 'V', raw: '141.3100000000000', month: 199401, index: '141.31' },
  ])
  t.same(
    table.set_aside.map(({ row, reason }) => [row, reason]),
    [
      [4, 'other_variable'],
      [5, 'mark_not_available'],
    ],
  )
  t.equal(table.published, 4)
  t.equal(table.synthetic, false)
})

t.test('spreadsheet: months in the header or in the first column, small numbers', async (t) => {
  const across = spreadsheet(
    [TITLE],
    [INDEX],
    ['', 'Mês'],
    ['Brasil', 'dezembro 1979', 'janeiro 1980', 'fevereiro 1980'],
    ['Brasil', 7.6183e-9, 0.0000000081, 7403.61],
    ['Fonte: IBGE - Índice Nacional de Preços ao Consumidor Amplo'],
  )
  t.same(indexes('tabela1737.xlsx', across), [
    [197912, '0.0000000076183'],
    [198001, '0.0000000081'],
    [198002, '7403.61'],
  ])
  const down = spreadsheet([TITLE], [INDEX], ['Mês', 'Brasil'], ['março 2026', 7403.6], ['abril 2026', 7440])
  t.same(indexes('tabela1737.xlsx', down), [
    [202603, '7403.6'],
    [202604, '7440'],
  ])
  t.equal(readIbge('tabela1737.xlsx', down).prices?.[0]?.row, 4)
})

t.test('what is no series of index numbers is refused', async (t) => {
  const refused: [string, Buffer, RegExp][] = [
    ['a.json', values(['202601', '7000.1'], ['202603', '7100.2']), /no month between 202601 and 202603/],
    ['a.json', values(['202601', '7000.1'], ['202601', '7000.1']), /the month 202601 twice/],
    ['a.json', values(['202600', '7000.1']), /a value without a month/],
    ['a.json', values(['202601', '-3']), /no index number/],
    ['a.json', values(['202601', '0.00']), /no index number/],
    ['a.json', values(['202601', '1.12345678901234']), /no index number/],
    ['a.json', values(['202601', '0.52', '63']), /has no month of the price index/],
    [
      'b.xlsx',
      spreadsheet([TITLE], ['Variável - IPCA - Variação mensal (%)'], ['', 'Mês']),
      /another variable/,
    ],
  ]
  for (const [file, bytes, problem] of refused)
    try {
      readIbge(file, bytes)
      t.fail(`${problem} was read`)
    } catch (error) {
      t.match((error as ImportError).problem, problem)
    }
})

t.test('the longest series is the source, whatever the order of the files', async (t) => {
  const source = (file: string, ...rows: [string, string][]) => ({
    snapshot: { publisher: 'IBGE', file, archive: null, bytes: 1, sha256: '', rows: rows.length },
    table: readIbge(file, values(...rows)),
  })
  const short = source('a.json', ['202601', '1'])
  const long = source('b.json', ['202601', '1'], ['202602', '2'])
  t.equal(pickPrices([short, long]), long)
  t.equal(pickPrices([long, short]), long)
  t.equal(pickPrices([]), null)
})
