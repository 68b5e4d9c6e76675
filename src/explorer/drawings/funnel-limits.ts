/**
 * The curves of a funnel plot: for each denominator the values at which the confidence limits of a place touch the value of all places together. Pure.
 *
 * A place outside of them differs by more than chance explains. For proportions they are the centre ± z √(p (1 − p) ÷ D), where Wilson's
 * limits touch it; for rates they come from Byar's approximation. Sources: Spiegelhalter (2005), Funnel plots for comparing institutional
 * performance; Breslow and Day (1987), Statistical Methods in Cancer Research II.
 */

/** A metric of events: `scale` × events ÷ denominator. */
export interface FunnelKind {
  readonly method: 'wilson' | 'poisson'
  readonly scale: number
}

/**
 * @param centre value of all places together, in the unit of the metric
 * @param denominator more than 0
 * @param z quantile of the level, such as 1.96
 * @returns lowest and highest value that chance explains, in the unit of the metric
 */
export function funnelLimits(
  { method, scale }: FunnelKind,
  centre: number,
  denominator: number,
  z: number,
): readonly [lower: number, upper: number] {
  const share = centre / scale
  if (method === 'wilson') {
    const step = z * Math.sqrt((share * (1 - share)) / denominator)
    return [scale * Math.max(0, share - step), scale * Math.min(1, share + step)]
  }
  const expected = share * denominator
  const least = eventsAt((events) => upperByar(events, z), expected, [0, expected])
  // The lower limit of this many events lies above what is expected.
  const many = expected + 4 * z * Math.sqrt(expected) + 4 * z * z + 1
  const most = eventsAt((events) => lowerByar(events, z), expected, [expected, many])
  return [(scale * least) / denominator, (scale * most) / denominator]
}

const cubeOf = (value: number): number => value * value * value
const lowerByar = (events: number, z: number): number =>
  events * cubeOf(1 - 1 / (9 * events) - z / (3 * Math.sqrt(events)))
const upperByar = (events: number, z: number): number =>
  (events + 1) * cubeOf(1 - 1 / (9 * (events + 1)) + z / (3 * Math.sqrt(events + 1)))

const HALVINGS = 40

/** @returns number of events between two bounds at which a rising limit reaches a value; a bound where it does not lie between them */
function eventsAt(
  limitOf: (events: number) => number,
  value: number,
  [from, to]: readonly [number, number],
): number {
  let [low, high] = [from, to]
  for (let count = 0; count < HALVINGS; count += 1) {
    const middle = (low + high) / 2
    if (limitOf(middle) < value) low = middle
    else high = middle
  }
  return (low + high) / 2
}
