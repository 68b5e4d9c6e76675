/** Headers of dBase tables, compressed or not: marks of other versions, and lengths that cannot be true. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ImportError } from '../../src/import/import-error.ts'
import { decodeDbc, isDbc } from '../../src/import/readers/dbc.ts'
import { openDbf } from '../../src/import/readers/dbf.ts'
import { readDbfRecords } from '../../src/import/readers/dbf-records.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { refuses } from '../fixtures/refused-file.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('dbf')
const table = makeDbf({ columns: EQ_COLUMNS, rows: [EQ_ROW, { ...EQ_ROW, CODEQUIP: '03' }] })
/** @returns values of CODEQUIP as the streaming reader finds them */
async function readTypes(bytes: Buffer): Promise<string[]> {
  const path = join(folder, 'EQRR2309.dbc')
  writeFileSync(path, bytes)
  const types: string[] = []
  await readDbfRecords(path, 'EQRR2309.dbc', ({ columns }) => {
    const column = columns.find(({ name }) => name === 'CODEQUIP')
    return (record, start) => {
      const cell = start + (column?.offset ?? 0)
      types.push(record.toString('latin1', cell, cell + 2))
    }
  })
  return types
}

t.test('a compressed table of any dBase version with this header is read', async (t) => {
  for (const mark of [0x03, 0x43, 0x83]) {
    const dbf = Buffer.from(table)
    dbf[0] = mark
    const dbc = makeDbc(dbf)
    t.ok(isDbc(dbc), `0x${mark.toString(16)}`)
    t.same(await readTypes(dbc), ['02', '03'])
    t.same(await readTypes(dbf), ['02', '03'])
    t.equal(openDbf(await decodeDbc(dbc, 'EQRR2309.dbc'), 'EQRR2309.dbc').records, 2)
    t.notOk(isDbc(dbf), 'not compressed')
  }
  const other = Buffer.from(table)
  other[0] = 0x04
  t.notOk(isDbc(makeDbc(other)), 'columns of dBase 7 have another layout')
  await t.rejects(decodeDbc(makeDbc(other), 'x.dbc'), { message: /x\.dbc: is not a \.dbc file/ })
})

t.test('records of no length are refused, not divided by', async (t) => {
  const dbf = Buffer.from(table)
  dbf.writeUInt16LE(0, 10)
  refuses(t, () => openDbf(dbf, 'EQRR2309.dbf'), /^has columns that do not fill its records$/)
  await t.rejects(readTypes(dbf), ImportError)
  dbf.writeUInt32LE(0, 4)
  refuses(t, () => openDbf(dbf, 'EQRR2309.dbf'), /^has columns that do not fill its records$/)
})
