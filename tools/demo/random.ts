/**
 * Deterministic chance: a number in [0, 1) from a seed, an index and a purpose. It has no state, so a month can be made
 * without the months before it, and unchanged content stays equal to the byte.
 */
export type Chance = (index: number, purpose: number) => number

export function createChance(seed: number): Chance {
  return (index, purpose) => {
    let mixed =
      Math.imul(index ^ 0x9e3779b9, 0x85ebca6b) ^
      Math.imul(purpose + 0x7f4a7c15, 0xc2b2ae35) ^
      Math.imul(seed + 1, 0x27d4eb2f)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 4294967296
  }
}

/** @returns index of the first share that covers a number in [0, 1) */
export function pickShare(shares: readonly number[], chance: number): number {
  let left = chance
  for (let index = 0; index < shares.length; index += 1) {
    left -= shares[index] ?? 0
    if (left < 0) return index
  }
  return shares.length - 1
}

const digitsOf = (text: string): number[] => [...text].map(Number)
const modulo11 = (digits: readonly number[], weights: readonly number[]): number => {
  const rest = digits.reduce((sum, digit, index) => sum + digit * (weights[index] ?? 0), 0) % 11
  return rest < 2 ? 0 : 11 - rest
}

/** Invents a CPF with valid check digits. @param number up to nine digits */
export function inventCpf(number: number): string {
  const base = String(number % 1_000_000_000).padStart(9, '0')
  const first = modulo11(digitsOf(base), [10, 9, 8, 7, 6, 5, 4, 3, 2])
  const second = modulo11(digitsOf(`${base}${first}`), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
  return `${base}${first}${second}`
}

/** Invents a CNPJ with valid check digits; all begin with 99. @param number up to six digits */
export function inventCnpj(number: number): string {
  const base = `99${String(number % 1_000_000).padStart(6, '0')}0001`
  const first = modulo11(digitsOf(base), [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
  const second = modulo11(digitsOf(`${base}${first}`), [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
  return `${base}${first}${second}`
}
