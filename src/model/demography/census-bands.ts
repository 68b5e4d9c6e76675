/** Bands of the census population by which municipalities are compared with their peers. Values only. */
export interface CensusBand {
  readonly code: string
  /** Residents that a municipality of the band has more than. The first band has no lower bound. */
  readonly over: number | null
  /** Largest number of residents of a municipality of the band. The last band has no upper bound. */
  readonly up_to: number | null
}

const BOUNDS = [5_000, 10_000, 20_000, 50_000, 100_000, 500_000]

export const CENSUS_BANDS: readonly CensusBand[] = [...BOUNDS, null].map((up_to, index) => ({
  code: String(index + 1),
  over: BOUNDS[index - 1] ?? null,
  up_to,
}))

/** @returns the code of the band that a population belongs to */
export const censusBandOf = (population: number): string =>
  CENSUS_BANDS.find(({ up_to }) => up_to === null || population <= up_to)?.code ?? ''
