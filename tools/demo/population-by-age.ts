/**
 * Invented population by municipality, sex and single year of age, in the layout of POPSBRyy.zip: one dBase file of one year.
 *
 * As published, the municipality younger than the census is not in it, and its totals are not those of the other sources.
 */
import type { DemoMunicipality } from './geography.ts'
import type { Chance } from './random.ts'

/** Name, type and width, as published. */
const COLUMNS = [
  ['COD_MUN', 'C', 7],
  ['ANO', 'C', 4],
  ['SEXO', 'C', 4],
  ['IDADE', 'C', 3],
  ['POP', 'N', 9],
] as const
const RECORD_BYTES = COLUMNS.reduce((sum, [, , width]) => sum + width, 1)
const AGES = 81
/** A source of its own: its totals lie above those of the census. */
const ABOVE_CENSUS = 1.04
/** Men and women of each age, as shares of all: fewer of the old, and of them more women. */
const SHARES = ['1', '2'].map((sex) =>
  Array.from({ length: AGES }, (_, age) => {
    const fall = Math.max(0, age - 38) / 42
    const left = (1 - 0.78 * fall ** 1.5) * (sex === '1' ? 1.02 - 0.0035 * age : 1)
    return (age === AGES - 1 ? 5.5 : 1) * left
  }),
)
const SUM = SHARES.flat().reduce((sum, share) => sum + share, 0)

/** @returns the dBase file of a year: towns in the order of their codes, sex by sex, age by age */
export function populationByAgeDbf(towns: readonly DemoMunicipality[], year: number, chance: Chance): Buffer {
  const counted = towns.flatMap(({ code, census }) => (census === null ? [] : [{ code, census }]))
  const headerBytes = 32 + 32 * COLUMNS.length + 1
  const records = counted.length * SHARES.length * AGES
  const bytes = Buffer.alloc(headerBytes + records * RECORD_BYTES, ' ')
  bytes.fill(0, 0, headerBytes)
  bytes.writeUInt8(0x03, 0)
  // The day it was made: 15 December of the year.
  bytes.set([year % 100, 12, 15], 1)
  bytes.writeUInt32LE(records, 4)
  bytes.writeUInt16LE(headerBytes, 8)
  bytes.writeUInt16LE(RECORD_BYTES, 10)
  bytes.writeUInt8(0x03, 29)
  let offset = 1
  COLUMNS.forEach(([name, type, width], index) => {
    const start = 32 + 32 * index
    bytes.write(name, start, 'latin1')
    bytes.write(type, start + 11, 'latin1')
    bytes.writeUInt32LE(offset, start + 12)
    bytes.writeUInt8(width, start + 16)
    offset += width
  })
  bytes.writeUInt8(0x0d, headerBytes - 1)
  let at = headerBytes
  for (const { code, census } of counted) {
    const total = census * ABOVE_CENSUS * (1 + (chance(code, 10) - 0.4) * 0.01 * (year - 2022))
    const spread = 0.85 + 0.3 * chance(code, 12)
    SHARES.forEach((shares, sex) => {
      shares.forEach((share, age) => {
        const size = (total * share) / SUM
        // Some places are younger than others.
        const population = Math.round(size * (age < 30 ? spread : 2 - spread))
        bytes.write(
          ` ${code}${year}${sex + 1}   ${String(age).padStart(3, '0')}${String(population).padStart(9)}`,
          at,
          'latin1',
        )
        at += RECORD_BYTES
      })
    })
  }
  return bytes
}
