/** Quotients of integers on both sides of the bounds of 64 bits are those of unbounded integers, and leave DuckDB as they are. */
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { decodeChunk } from '../../src/engine/duckdb/decode.ts'
import { quotientSql } from '../../src/query/analytics/dialect/duckdb/quotients.ts'
import { print, sql, TEXT } from '../../src/sql.ts'
import { createDraws } from '../fixtures/draws.ts'

const huge = (value: bigint) => sql`CAST(${TEXT(`'${value}'`)} AS HUGEINT)`
const sign = (value: bigint): bigint => (value < 0n ? -1n : 1n)
const absolute = (value: bigint): bigint => value * sign(value)
/** Half away from zero. */
const divide = (top: bigint, bottom: bigint, decimals: number): bigint =>
  sign(top) * ((2n * absolute(top) * 10n ** BigInt(decimals) + bottom) / (2n * bottom))

const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
t.teardown(() => {
  connection.closeSync()
  instance.closeSync()
})

t.test('quotients near the bounds', async (t) => {
  const { draw } = createDraws(64)
  const bounds = [15, 14, 16, 17, 18].flatMap((digits) => [
    10n ** BigInt(digits),
    46n * 10n ** BigInt(digits - 1),
  ])
  const bottoms = [1n, 3n, 4n * 10n ** 9n, 4n * 10n ** 9n + 1n, 4n * 10n ** 18n, 4n * 10n ** 18n + 1n]
  const cases = bounds.flatMap((bound) =>
    bottoms.flatMap((bottom) =>
      [0, 1, 2, 3, 4].map((decimals) => {
        const top = (bound + BigInt(draw(7) - 3)) * (draw(2) === 0 ? 1n : -1n)
        return { top, bottom, decimals }
      }),
    ),
  )
  for (const { top, bottom, decimals } of cases) {
    const { text } = print(
      sql`SELECT CAST(${quotientSql(huge(top), huge(bottom), decimals)} AS VARCHAR) AS quotient`,
      () => '',
    )
    const [row] = (await connection.runAndReadAll(text)).getRowObjects()
    t.equal(row?.quotient, String(divide(top, bottom, decimals)), `${top} ÷ ${bottom}, ${decimals} decimals`)
  }
})

t.test('decimals become the numbers that their texts are read as', async (t) => {
  const { draw } = createDraws(65)
  for (const scale of [0, 1, 2, 4, 6]) {
    const values = [7, 15, 16, 17, 30].flatMap((digits) =>
      [1n, -1n].map((side) => side * (BigInt(draw(10 ** 7)) + (digits === 7 ? 0n : 10n ** BigInt(digits)))),
    )
    const rows = [...values, 2n ** 53n - 1n, 2n ** 53n + 1n, 0n].map(
      (value) => `(CAST('${value}e-${scale}' AS DECIMAL(38, ${scale})))`,
    )
    const result = await connection.run(`SELECT * FROM (VALUES ${rows.join(', ')}) AS listed(value)`)
    const chunk = await result.fetchChunk()
    if (chunk === null) throw new Error('no rows')
    const read = (decimals: 'numbers' | 'texts') =>
      decodeChunk(['value'], chunk, { decimals }).map(({ value }) => value)
    t.strictSame(read('numbers'), read('texts').map(Number), `${scale} decimals`)
  }
})
