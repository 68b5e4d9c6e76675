/**
 * Invents an edition of the territorial base: health regions and macro-regions in the layout of the published archive. Every
 * name says that it is invented; the codes have the published form and mean nothing. As in the published tables,
 * municipalities have a macro-region directly: the first region of each state is in two of them. The tables contain regions
 * without municipalities, codes of unknown municipalities, a name with a line break, and repeated blanks.
 */
import { STATES } from '../../src/model/territory/states.ts'
import type { DemoMunicipality } from './geography.ts'
import { municipalSeats } from './mesh.ts'
import type { Chance } from './random.ts'

/** Name of the archive. The text after base_territorial_ becomes the edition. */
export const TERRITORY_ARCHIVE = 'base_territorial_demonstracao.zip'

/** Municipalities per region. A state has at least three regions, except the Federal District. */
const REGION_SIZE = 13
const REGIONS_MIN = 3
const REGIONS_OF_MACROREGION = 4

type Table = readonly [name: string, rows: readonly (readonly string[])[]]

export function territoryTables(all: readonly DemoMunicipality[], chance: Chance): Table[] {
  const seats = municipalSeats()
  const regions: string[][] = []
  const macroregions: string[][] = []
  const regionOf: string[][] = []
  const macroregionOf: string[][] = []
  const pairs = new Set<string>()
  for (const { ibge_code, uf } of STATES) {
    const towns = neighbours(
      all.filter(({ stateCode }) => stateCode === ibge_code),
      seats,
    )
    const count = Math.min(towns.length, Math.max(REGIONS_MIN, Math.round(towns.length / REGION_SIZE)))
    const macroCount = count === 1 ? 1 : Math.max(2, Math.round(count / REGIONS_OF_MACROREGION))
    const regionCode = (index: number): string => `${ibge_code}${String(index + 1).padStart(3, '0')}`
    const macroCode = (index: number): string => `${ibge_code}${String(index + 1).padStart(2, '0')}`
    macroregionOf.push([`${ibge_code}0000`, `${ibge_code}00`])
    for (const [place, { code }] of towns.entries()) {
      // Regions have uneven sizes.
      const drawn = Math.floor(((place + 0.8 * chance(code, 61)) * count) / towns.length)
      const region = Math.min(count - 1, drawn)
      // Some municipalities of the first region are in the second macro-region.
      const isSplit = region === 0 && macroCount > 1 && place % 3 === 2
      const macro = isSplit ? 1 : Math.floor((region * macroCount) / count)
      const six = String(Math.floor(code / 10))
      regionOf.push([six, regionCode(region)])
      macroregionOf.push([six, macroCode(macro)])
      pairs.add(`${regionCode(region)} ${macroCode(macro)}`)
    }
    for (let index = 0; index < count; index += 1) {
      const blanks = index % 7 === 3 ? '  ' : index % 7 === 5 ? '\n' : ' '
      regions.push(named(regionCode(index), `Região demonstrativa ${index + 1}${blanks}- ${uf}`, 'S', index))
    }
    for (let index = 0; index < macroCount; index += 1)
      macroregions.push(
        named(macroCode(index), `MACRORREGIAO DEMONSTRATIVA ${index + 1}`, 'S', index, [
          `Macrorregião demonstrativa ${index + 1} - ${uf}`,
        ]),
      )
    // Regions of an earlier division, which have no municipalities and no distinguishing status.
    regions.push(named(`${ibge_code}900`, `Região demonstrativa extinta - ${uf}`, 'S', 900))
    macroregions.push(named(`${ibge_code}90`, `REGIAO NAO DEFINIDA - ${uf}`, 'N', 90))
  }
  // The tables name municipalities in the order of their codes.
  for (const table of [regionOf, macroregionOf])
    table.sort(([left = ''], [right = '']) => Number(left) - Number(right))
  // The unknown municipality of the Federal District is in its region, as published.
  regionOf.push(['530000', '53001'])
  return [
    ['tb_regsaud', [['REGSAUD', 'CO_STATUS', 'DS_NOME', 'DS_NOMEPAD', 'DS_ABREV', 'ORDEM'], ...regions]],
    [
      'tb_macsaud',
      [['CO_MACSAUD', 'CO_STATUS', 'DS_NOME', 'DS_NOMEPAD', 'DS_ABREV', 'NU_ORDEM'], ...macroregions],
    ],
    ['rl_municip_regsaud', [['CO_MUNICIP', 'CO_REGSAUD'], ...regionOf]],
    ['rl_municip_macsaud', [['CO_MUNICIP', 'CO_MACSAUD'], ...macroregionOf]],
    [
      'rl_regsaud_macsaud',
      [['CO_REGSAUD', 'CO_MACRORREGIONAL'], ...[...pairs].sort().map((pair) => pair.split(' '))],
    ],
  ]
}

/**
 * Orders municipalities so that those that follow one another are near each other: halves of the longer side, one after the
 * other, each divided in the same way.
 */
function neighbours(
  towns: readonly DemoMunicipality[],
  seats: ReturnType<typeof municipalSeats>,
): readonly DemoMunicipality[] {
  if (towns.length < 2) return towns
  const along = ({ code }: DemoMunicipality, axis: number): number => seats.get(code)?.[axis] ?? 0
  const [height, width] = [0, 1].map((axis) => {
    const places = towns.map((town) => along(town, axis))
    return Math.max(...places) - Math.min(...places)
  }) as [number, number]
  const axis = height > width ? 0 : 1
  const sorted = [...towns].sort(
    (left, right) => along(left, axis) - along(right, axis) || left.code - right.code,
  )
  const middle = sorted.length >> 1
  return [...neighbours(sorted.slice(0, middle), seats), ...neighbours(sorted.slice(middle), seats)]
}

const named = (
  code: string,
  name: string,
  status: string,
  order: number,
  short: readonly string[] = [name],
): string[] => [code, status, name, name.toUpperCase(), ...short, String(order + 1)]
