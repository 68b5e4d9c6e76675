/** At national scale, admissions of the demonstration follow the seasons, and regions differ; the small scale is even. */
import t from 'tap'
import { admissionRows } from '../../tools/demo/admissions.ts'
import { planFacilities } from '../../tools/demo/facilities.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import { pneumoniaFactor } from '../../tools/demo/regions.ts'

const chance = createChance(1)
const all = listMunicipalities(chance)
const plan = planFacilities(all, new Set(['RR', 'RS']), 4000, chance)

const pneumoniasOf = (uf: string, period: number, hasRegions: boolean): { count: number; all: number } => {
  const rows = [...admissionRows(uf, period, 0, { plan, all, chance, rate: 0.002, hasRegions }).rows]
  return { count: rows.filter(({ PROC_REA }) => PROC_REA === '0303140151').length, all: rows.length }
}

t.test('pneumonias of the south are most frequent in July, and least in January', (t) => {
  const [winter, summer] = [pneumoniasOf('RS', 202507, true), pneumoniasOf('RS', 202601, true)]
  t.ok(winter.count > 2 * summer.count, `${winter.count} and ${summer.count}`)
  t.ok(winter.all > summer.all)
  const even = [pneumoniasOf('RS', 202507, false), pneumoniasOf('RS', 202601, false)].map(
    ({ count }) => count,
  )
  t.ok(Math.abs((even[0] ?? 0) / (even[1] ?? 1) - 1) < 0.15, even.join(' and '))
  t.end()
})

t.test('the year has its mean, whatever the region', (t) => {
  const months = Array.from({ length: 12 }, (_, index) => index + 1)
  for (const uf of ['RR', 'BA', 'SP', 'RS', 'GO']) {
    const factors = months.map((month) => pneumoniaFactor(uf, month))
    const mean = factors.reduce((sum, factor) => sum + factor, 0) / 12
    t.ok(Math.abs(mean - 1) < 1e-9, `${uf}: ${mean}`)
  }
  t.end()
})
