/**
 * The demonstration with gaps as files: what is published and what is not, and that its files by state say what the national
 * base of the same seed says. Read by plain code that shares nothing with the generator or the importer.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { columnOf, type RawTable, readZip, splitTable } from '../fixtures/raw-base.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const out = temporaryFolder('demo-gaps')
const written = await writeDemonstration({ out, scale: 'small', periods: 1, seed: 1, gaps: true })
const cnes = join(out, 'cnes')

const digests = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(folder, path)).isFile())
      .sort()
      .map((path) => [
        path,
        createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex'),
      ]),
  )

/** Cells of a dBase table, untrimmed, by column. */
function readDbf(path: string): Record<string, string>[] {
  const bytes = readFileSync(path)
  const [start, length] = [bytes.readUInt16LE(8), bytes.readUInt16LE(10)]
  const columns: [name: string, width: number][] = []
  for (let at = 32; bytes[at] !== 0x0d; at += 32)
    columns.push([bytes.toString('latin1', at, at + 11).replace(/\0.*/, ''), bytes.readUInt8(at + 16)])
  return Array.from({ length: bytes.readUInt32LE(4) }, (_, index) => {
    let at = start + index * length + 1
    return Object.fromEntries(
      columns.map(([name, width]) => {
        at += width
        return [name, bytes.toString('latin1', at - width, at)]
      }),
    )
  })
}
const sum = (rows: readonly Record<string, string>[], column: string): number =>
  rows.reduce((total, row) => total + Number(row[column]), 0)

t.test('months, tables and states that are missing', async (t) => {
  const months: Record<string, string> = {}
  for (const month of readdirSync(cnes).sort())
    months[month] = readdirSync(join(cnes, month))
      .filter((name) => name !== 'snapshot.json')
      .map((name) => name.replace(/(\d{4})\.dbf$/, ''))
      .join(' ')
  t.same(months, {
    '2009-12': 'EQAC SRAC SRRR STRR',
    '2025-12': 'STAP STRR',
    '2026-01': 'EQAC LTAC LTRR',
    '2026-02': 'BASE_DE_DADOS_CNES_202602.ZIP',
    '2026-04': 'LTAC LTAP LTRR SRRR STAC STAP STRR',
    '2026-05': 'EQRR LTAC LTRR SRAC SRRR STAC STRR',
  })
  t.same(
    written.filter(({ path, bytes }) => statSync(path).size !== bytes),
    [],
  )
  const notes = JSON.parse(readFileSync(join(cnes, '2026-05/snapshot.json'), 'utf8')) as {
    synthetic: boolean
    files: Record<string, { sha256: string }>
  }
  t.equal(notes.synthetic, true)
  t.same(
    Object.fromEntries(Object.entries(notes.files).map(([name, { sha256 }]) => [`2026-05/${name}`, sha256])),
    Object.fromEntries(Object.entries(digests(cnes)).filter(([path]) => /2026-05.*\.dbf$/.test(path))),
  )
})

t.test('one seed, one set of bytes', secondRing, async (t) => {
  const again = temporaryFolder('demo-gaps-again')
  await writeDemonstration({ out: again, scale: 'small', periods: 3, seed: 1, gaps: true })
  t.same(digests(again), digests(out))
})

t.test('files by state say what the national base of the month says', async (t) => {
  const whole = temporaryFolder('demo-whole')
  await writeDemonstration({ out: whole, scale: 'small', periods: 1, seed: 1 })
  const tables = await readZip(join(whole, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP'))
  const read = (name: string): Record<string, string>[] => {
    const table: RawTable = splitTable(tables.get(`${name}202605.csv`) ?? Buffer.alloc(0))
    return table.rows.map((row) =>
      Object.fromEntries(table.columns.map((column) => [column, row[columnOf(table, column)] ?? ''])),
    )
  }
  const open = new Map(
    read('tbEstabelecimento')
      .filter((row) => row.CO_MOTIVO_DESAB === '' && row.CO_ESTADO_GESTOR === '14')
      .map((row) => [row.CO_UNIDADE, row]),
  )
  const ofRoraima = (name: string): Record<string, string>[] =>
    read(name).filter((row) => open.has(row.CO_UNIDADE))
  const byState = (name: string): Record<string, string>[] => readDbf(join(cnes, '2026-05', name))
  const registry = byState('STRR2605.dbf')
  t.same(
    registry.map(({ CNES, TP_UNID, NAT_JUR }) => [CNES, TP_UNID, NAT_JUR]),
    [...open.values()].map((row) => [row.CO_CNES, row.TP_UNIDADE?.trim(), row.CO_NATUREZA_JUR]),
  )
  t.ok(new Set(registry.map(({ VINC_SUS }) => VINC_SUS)).size === 2)
  const beds = byState('LTRR2605.dbf')
  const nationalBeds = ofRoraima('rlEstabComplementar')
  t.ok(sum(beds, 'QT_EXIST') > 0)
  t.equal(sum(beds, 'QT_EXIST'), sum(nationalBeds, 'QT_EXIST'))
  t.equal(sum(beds, 'QT_SUS'), sum(nationalBeds, 'QT_SUS'))
  t.equal(sum(byState('EQRR2605.dbf'), 'QT_USO'), sum(ofRoraima('rlEstabEquipamento'), 'QT_USO'))
  const services = byState('SRRR2605.dbf')
  t.equal(services.length, ofRoraima('rlEstabServClass').length)
  t.same([...new Set(services.map(({ CARACTER, CNESTERC }) => `${CARACTER}${CNESTERC}`))], ['1       '])
  const old = readDbf(join(cnes, '2009-12/SRRR0912.dbf'))
  t.same([...new Set(old.map(({ CARACTER }) => CARACTER))].sort(), ['1', '2', '3'], 'in 2009 they say it')
  t.ok(old.some(({ CNESTERC = '' }) => /^\d{7}$/.test(CNESTERC)))
})

t.test('rows are of the state and month of the file', async (t) => {
  const CODES: Record<string, string> = { AC: '12', AP: '16', RR: '14' }
  for (const { path } of written.filter(({ path }) => path.endsWith('.dbf'))) {
    const [, uf = '', month = ''] = /^..(..)(\d{4})/.exec(basename(path)) ?? []
    const rows = readDbf(path)
    // One file is published empty.
    t.equal(rows.length === 0, basename(path) === 'EQAC0912.dbf', basename(path))
    if (rows.length === 0) continue
    t.same([...new Set(rows.map(({ COMPETEN }) => COMPETEN))], [`20${month}`])
    t.same([...new Set(rows.map(({ CODUFMUN = '' }) => CODUFMUN.slice(0, 2)))], [CODES[uf]])
  }
})
