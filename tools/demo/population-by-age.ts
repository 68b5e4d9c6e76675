/**
 * Invents population by municipality, sex and single year of age, in the layout of POPSBRyy.zip: one dBase file per year. As
 * published, it lacks the municipality younger than the census, and its totals differ from other sources.
 */
import { dbfHeader, recordBytes } from './dbf.ts'
import type { DemoMunicipality } from './geography.ts'
import type { Chance } from './random.ts'

const COLUMNS = [
  { name: 'COD_MUN', type: 'C', width: 7 },
  { name: 'ANO', type: 'C', width: 4 },
  { name: 'SEXO', type: 'C', width: 4 },
  { name: 'IDADE', type: 'C', width: 3 },
  { name: 'POP', type: 'N', width: 9 },
] as const
const RECORD_BYTES = recordBytes(COLUMNS)
const AGES = 81
/** Factor over the census, because totals of this source differ. */
const ABOVE_CENSUS = 1.04
/** Men and women of each age, as shares of all: there are fewer old people, and more of them are women. */
const SHARES = ['1', '2'].map((sex) =>
  Array.from({ length: AGES }, (_, age) => {
    const fall = Math.max(0, age - 38) / 42
    const left = (1 - 0.78 * fall ** 1.5) * (sex === '1' ? 1.02 - 0.0035 * age : 1)
    return (age === AGES - 1 ? 5.5 : 1) * left
  }),
)
const SUM = SHARES.flat().reduce((sum, share) => sum + share, 0)

/** @returns the dBase file of a year: towns in code order, then sex, then age */
export function populationByAgeDbf(towns: readonly DemoMunicipality[], year: number, chance: Chance): Buffer {
  const counted = towns.flatMap(({ code, census }) => (census === null ? [] : [{ code, census }]))
  const records = counted.length * SHARES.length * AGES
  // Creation date: 15 December of the year.
  const header = dbfHeader(COLUMNS, records, [year % 100, 12, 15])
  const bytes = Buffer.alloc(header.length + records * RECORD_BYTES, ' ')
  bytes.set(header)
  let offset = header.length
  for (const { code, census } of counted) {
    const total = census * ABOVE_CENSUS * (1 + (chance(code, 10) - 0.4) * 0.01 * (year - 2022))
    const spread = 0.85 + 0.3 * chance(code, 12)
    SHARES.forEach((shares, sex) => {
      shares.forEach((share, age) => {
        const size = (total * share) / SUM
        // Some municipalities are younger than others.
        const population = Math.round(size * (age < 30 ? spread : 2 - spread))
        bytes.write(
          ` ${code}${year}${sex + 1}   ${String(age).padStart(3, '0')}${String(population).padStart(9)}`,
          offset,
          'latin1',
        )
        offset += RECORD_BYTES
      })
    })
  }
  return bytes
}
