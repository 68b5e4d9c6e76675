/** The reader of TabWin conversion tables: an invented table with every trap, and DATASUS's own where they are here. */
import { readFileSync } from 'node:fs'
import t from 'tap'

import { ImportError } from '../../src/import/import-error.ts'
import { cnvLookup, looksLikeCnv, readCnv } from '../../src/import/readers/cnv.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'

const line = (subtotal: string, order: number, label: string, codes: string): string =>
  `${subtotal.padStart(3)}${String(order).padStart(4)}  ${label.padEnd(50)} ${codes}`
const bytes = (lines: readonly string[], end = '\r\n'): Buffer => Buffer.from(lines.join(end), 'latin1')

t.test('every form of a line', async (t) => {
  const table = readCnv(
    bytes([
      '   6 4   ',
      '; a comment',
      line('', 1, '1. Group of many', '1000-1999,'),
      line(' 01', 2, 'Órgão Público', '1015                '),
      line('', 3, 'Two codes', '2000,2999'),
      line('', 4, 'Empty or no code', '0000,    ,9000-9999,X1X1'),
      line('', 4, 'Empty or no code', '0001'),
      'not a line of this layout',
      line('', 5, 'Too wide a code', '12345'),
      line('', 6, 'No code', ''),
      '\u001a',
    ]),
    'invented.cnv',
  )
  t.equal(table.codeWidth, 4)
  t.same(table.unread, [8, 9, 10], 'rows that do not fit are named')
  t.same(
    table.lines.map(({ row, order, subtotal, label }) => [row, order, subtotal, label]),
    [
      [3, 1, null, '1. Group of many'],
      [4, 2, 1, 'Órgão Público'],
      [5, 3, null, 'Two codes'],
      [6, 4, null, 'Empty or no code'],
      [7, 4, null, 'Empty or no code'],
    ],
  )
  const find = cnvLookup(table)
  const rowOf = (code: string): number | null => find(code)?.row ?? null
  t.equal(rowOf('1015'), 4, 'the line after the range of its group')
  t.equal(rowOf('1016'), 3)
  t.same([rowOf('2000'), rowOf('2500'), rowOf('2999')], [5, null, 5], 'a comma is no range')
  t.same([rowOf(''), rowOf('    '), rowOf('X1X1'), rowOf('0001'), rowOf('9500')], [6, 6, 6, 7, 6])
  t.same([rowOf('101'), rowOf('10150')], [null, null])
})

t.test('UTF-8, Windows-1252, line ends', async (t) => {
  const lines = ['1 6', line('', 1, '110040 Alto Paraíso', '110040')]
  for (const [name, content] of [
    ['Windows-1252', bytes(lines)],
    ['UTF-8', Buffer.from(lines.join('\n'), 'utf8')],
  ] as const) {
    t.equal(readCnv(content, 'x.cnv').lines[0]?.label, '110040 Alto Paraíso', name)
    t.ok(looksLikeCnv(content), name)
  }
  t.notOk(looksLikeCnv(Buffer.from('CO_UNIDADE;CO_CNES\n1;2\n')))
  t.throws(() => readCnv(Buffer.from('A;B\n1;2\n'), 'x.cnv'), ImportError)
  t.throws(() => readCnv(Buffer.from('A;B\n1;2\n'), 'x.cnv'), /^x\.cnv: is not a TabWin conversion table/)
})

t.test('the tables DATASUS publishes', { skip: skipWithoutShared }, async (t) => {
  const read = (path: string) => readCnv(readFileSync(sharedPath(path)), path)
  for (const [path, lines, codes] of [
    ['datasus_tables/natjur.cnv', 74, 74],
    ['datasus_tables/br_municip.cnv', 5597, 5652],
    ['datasus_tables/br_municgestor.cnv', 5596, 5648],
    ['territory/br_regsaud.cnv', 5635, 5665],
    ['territory/br_macsaud.cnv', 5635, 5665],
    ['territory/br_regsaudn.cnv', 5597, 5652],
    ['territory/br_macsaudn.cnv', 5597, 5652],
  ] as const) {
    const table = read(path)
    t.same(table.unread, [], path)
    t.equal(table.lines.length, lines, path)
    t.equal(
      table.lines.reduce((sum, line) => sum + line.codes.length, 0),
      codes,
      path,
    )
  }
  const municipality = cnvLookup(read('datasus_tables/br_municip.cnv'))
  t.equal(municipality('260000')?.label, '260000 Município ignorado - PE')
  t.equal(municipality('269999')?.label, '260000 Município ignorado - PE')
  t.equal(municipality('261000')?.label, '261000 Palmares')
  t.equal(municipality('358001')?.label, '355030 São Paulo')
  t.equal(municipality('358059'), null)
  t.equal(municipality('539924')?.label, '530010 Brasília')
  t.equal(municipality('      ')?.label, '000000 Ignorado ou exterior')
  const region = cnvLookup(read('territory/br_regsaud.cnv'))
  t.equal(region('510183')?.label, '51014 Teles Pires')
  t.equal(region('530000')?.label, 'Ignorado - DF', 'under two labels: the last')
  const nature = cnvLookup(read('datasus_tables/natjur.cnv'))
  t.same([nature('1023')?.row, nature('1000')?.row, nature('4000')?.row], [4, 2, 65])
})
