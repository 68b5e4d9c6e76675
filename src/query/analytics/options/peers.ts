/**
 * Groups municipalities with their peers: those of the same major region and the same band of the census population. Pure.
 *
 * A query that is compared with peers has this grouping beside its groupings. It takes the last slot, which is free: a query groups by
 * six dimensions at most, and one of them is the municipality.
 */
import { both } from '../../../errors.ts'
import { CENSUS_BANDS, type CensusBand, censusBandOf } from '../../../model/demography/census-bands.ts'
import { type DimensionCode, GROUPINGS_MAX, groupingCode } from '../../../model/dimensions.ts'
import { STATES } from '../../../model/territory/states.ts'
import type { ReleaseView } from '../../../release/view.ts'
import { refuse } from '../../refusals.ts'
import { type Grouping, sortValues } from './groupings.ts'

export const peersOf = (municipality: DimensionCode): DimensionCode =>
  groupingCode(municipality, GROUPINGS_MAX)
export const PEERS = {
  municipality: peersOf('municipality'),
  residence_municipality: peersOf('residence_municipality'),
}
export const isPeers = (code: DimensionCode | null): boolean =>
  code === PEERS.municipality || code === PEERS.residence_municipality

/** Residents by municipality code, by the census of the release. */
export type CensusPopulation = ReadonlyMap<number, number>

/** @throws AppError 'invalid_request' when the release has no census @returns the year of the census */
export function checkPeers({ components: { demography } }: ReleaseView): number {
  const year = demography?.census_year ?? null
  if (year !== null) return year
  throw refuse(
    'invalid_request',
    '/compare_to/with',
    both(
      'peers precisa da população do censo, que esta versão dos dados não tem',
      'peers needs the census population, which this release does not hold',
    ),
  )
}

/** @returns groups of peers by major region and band; a municipality without census population is in none */
export function groupPeers(dimension: DimensionCode, populations: CensusPopulation): Grouping {
  const members = new Map<string, number[]>()
  for (const [municipality, population] of populations) {
    const region = REGION_OF_STATE.get(Math.floor(municipality / 100_000))
    if (region === undefined) continue
    const code = `${region}-${censusBandOf(population)}`
    const group = members.get(code)
    if (group === undefined) members.set(code, [municipality])
    else group.push(municipality)
  }
  return {
    code: peersOf(dimension),
    name: 'peers',
    dimension,
    groups: [...members]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([code, municipalities]) => ({
        code,
        name: code,
        members: sortValues(municipalities),
      })),
    others: 'group',
  }
}

const REGION_OF_STATE = new Map(STATES.map(({ ibge_code, region_code }) => [Number(ibge_code), region_code]))

/** @returns the bands as the catalog publishes them */
export const describeBands = (language: 'pt' | 'en') =>
  CENSUS_BANDS.map((band) => ({ ...band, label: labelOfBand(band, language) }))

function labelOfBand({ over, up_to }: CensusBand, language: 'pt' | 'en'): string {
  const isEnglish = language === 'en'
  const show = (residents: number | null): string =>
    String(residents).replace(/\B(?=(\d{3})+$)/g, isEnglish ? ',' : '.')
  if (over === null) return isEnglish ? `up to ${show(up_to)} residents` : `até ${show(up_to)} habitantes`
  if (up_to === null) return isEnglish ? `over ${show(over)} residents` : `mais de ${show(over)} habitantes`
  return isEnglish
    ? `over ${show(over)}, up to ${show(up_to)} residents`
    : `mais de ${show(over)} até ${show(up_to)} habitantes`
}
