/** Suggests the five names nearest to a misspelt one, by edit distance. Pure. */

export function nearest(name: string, names: readonly string[]): string[] {
  return [...names]
    .map((candidate) => ({ candidate, distance: editDistance(name.slice(0, 60), candidate) }))
    .sort((left, right) => left.distance - right.distance || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, 5)
    .map(({ candidate }) => candidate)
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1)
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1),
        ),
      )
    previous = current
  }
  return previous.at(-1) ?? 0
}
