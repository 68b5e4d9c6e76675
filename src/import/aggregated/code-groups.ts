/** Sums of rows by their codes, held as one text and a run of numbers per group: an object each would take three times the memory. */

export class Sums<Codes extends readonly string[]> {
  /** Codes joined by bars. */
  readonly key: string
  readonly values: Float64Array

  constructor(key: string, values: Float64Array) {
    this.key = key
    this.values = values
  }

  get codes(): Codes {
    return this.key.split('|') as unknown as Codes
  }
}

/** Groups packed into one string and one array, which cross processes in a tenth of the time of objects. */
export interface PackedSums {
  /** One line per group, with its codes joined by bars. Codes contain only digits and letters. */
  readonly codes: string
  readonly values: Float64Array
}

const FIRST_GROUPS = 1024

export class CodeGroups<Codes extends readonly string[]> implements Iterable<Sums<Codes>> {
  /** Codes joined by bars → group number, in the order of first appearance. */
  readonly #numbers = new Map<string, number>()
  readonly #positions: readonly number[]
  #sums: Float64Array

  /** @param positions positions of the summed values in the values of a row; the sums have this order */
  constructor(positions: readonly number[]) {
    this.#positions = positions
    this.#sums = new Float64Array(FIRST_GROUPS * positions.length)
  }

  /** @param key codes joined by bars; @param values values of a row */
  add(key: string, values: readonly number[]): void {
    const positions = this.#positions
    const width = positions.length
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#numbers.size
      this.#numbers.set(key, number)
      if ((number + 1) * width > this.#sums.length) {
        const enlarged = new Float64Array(this.#sums.length * 2)
        enlarged.set(this.#sums)
        this.#sums = enlarged
      }
    }
    const sums = this.#sums
    const start = number * width
    for (let index = 0; index < width; index += 1)
      sums[start + index] = (sums[start + index] as number) + (values[positions[index] as number] as number)
  }

  *[Symbol.iterator](): Generator<Sums<Codes>> {
    const width = this.#positions.length
    let start = 0
    for (const key of this.#numbers.keys()) {
      yield new Sums(key, this.#sums.subarray(start, start + width))
      start += width
    }
  }

  pack(): PackedSums {
    return {
      codes: [...this.#numbers.keys()].join('\n'),
      values: this.#sums.slice(0, this.#numbers.size * this.#positions.length),
    }
  }
}

/** @returns the function with a memory of its results, for cells that a file repeats */
export function remember<Result>(parse: (cell: string) => Result): (cell: string) => Result {
  const results = new Map<string, Result>()
  return (cell) => {
    let result = results.get(cell)
    if (result === undefined) {
      result = parse(cell)
      results.set(cell, result)
    }
    return result
  }
}
