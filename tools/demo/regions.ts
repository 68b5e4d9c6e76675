/**
 * How the major regions of the demonstration differ, and how their admissions follow the seasons: more beds and fewer admissions that
 * primary care would avoid toward the south, pneumonias in its winter and in the rains of the north. Invented. The small demonstration
 * has too few admissions to show it.
 */
import { STATES } from '../../src/model/territory/states.ts'

interface Region {
  /** Beside the mean of the country. */
  readonly admissions: number
  readonly beds: number
  /** Admissions that primary care would avoid, beside the mean. */
  readonly avoidable: number
  /** Month in which pneumonias are most frequent, and how far they rise above their mean then. */
  readonly peak: number
  readonly swing: number
}

const REGIONS: Readonly<Record<number, Region>> = {
  1: { admissions: 0.86, beds: 0.78, avoidable: 1.25, peak: 4, swing: 0.2 },
  2: { admissions: 0.93, beds: 0.9, avoidable: 1.15, peak: 6, swing: 0.25 },
  3: { admissions: 1, beds: 1.02, avoidable: 0.95, peak: 7, swing: 0.35 },
  4: { admissions: 1.16, beds: 1.22, avoidable: 0.85, peak: 7, swing: 0.5 },
  5: { admissions: 0.98, beds: 1, avoidable: 1, peak: 6, swing: 0.25 },
}
const REGION_OF_STATE = new Map(STATES.map(({ uf, region_code }) => [uf, Number(region_code)]))

export function regionOf(uf: string): Region {
  const region = REGIONS[REGION_OF_STATE.get(uf) ?? 0]
  if (region === undefined) throw new TypeError(`${uf} is no state`)
  return region
}

/** @param month 1 to 12 @returns pneumonias beside their mean: the most in the peak month, the least half a year later */
export function pneumoniaFactor(uf: string, month: number): number {
  const { peak, swing } = regionOf(uf)
  const apart = Math.abs(month - peak)
  return 1 + swing * (1 - Math.min(apart, 12 - apart) / 3)
}
