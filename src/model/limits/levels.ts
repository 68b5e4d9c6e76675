/**
 * Levels of confidence limits and their constants. The constants are those of docs/statistics.md, rounded once, here; everything computed from
 * them uses only +, −, ×, ÷ and √ of IEEE doubles, so that equal numbers give equal limits on every machine.
 */
export const LIMIT_LEVELS = [0.95, 0.998] as const
export type LimitLevel = (typeof LIMIT_LEVELS)[number]

interface LevelConstants {
  /** Quantile of the standard normal distribution at (1 + level) ÷ 2. */
  readonly z: number
  /** Exact Poisson limits of a count of 0 to 9 events: halves of chi-squared quantiles. */
  readonly poisson: readonly (readonly [lower: number, upper: number])[]
}
export const LEVEL_CONSTANTS: Readonly<Record<LimitLevel, LevelConstants>> = {
  0.95: {
    z: 1.9599639845400543,
    poisson: [
      [0, 3.6888794541139363],
      [0.025317807984289876, 5.571643390938899],
      [0.2422092785439649, 7.224687667723961],
      [0.6186721228956013, 8.767273069742327],
      [1.0898653736263249, 10.241588675403698],
      [1.6234863901184204, 11.668332079322669],
      [2.2018942534908508, 13.059474022518685],
      [2.814363051519866, 14.42267536170238],
      [3.4538321767485014, 15.763189220193315],
      [4.115373097378332, 17.08480345141917],
    ],
  },
  0.998: {
    z: 3.0902323061678136,
    poisson: [
      [0, 6.907755278982137],
      [0.0010005003335835335, 9.233413476451586],
      [0.04540201776948956, 11.228872242412663],
      [0.1905333775684032, 13.062240779188071],
      [0.42855241362842295, 14.794149222537209],
      [0.7393717319178326, 16.45474520368011],
      [1.1071046602556394, 18.06163684019907],
      [1.520336260398809, 19.62617739538424],
      [1.9708139217403657, 21.15619816583998],
      [2.452424404363775, 22.65737330906293],
    ],
  },
}

/** Counts below this have exact Poisson limits; standardized rates have none. */
export const FEW_EVENTS = 10
