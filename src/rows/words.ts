/**
 * Which rows hold a text, by the words they are made of. In: each row's folded text. Out: positions of the rows that
 * contain what is searched, exactly those a scan would find.
 *
 * A text without a space lies within one word, so it is looked for in the few distinct words instead of in every row. One
 * with spaces is looked for in the rows of its rarest word, letter by letter, and only as far as rows are asked for.
 */
import { type Check, collectPositions, everyRow, type Positions } from './positions.ts'

export interface WordIndex {
  /** Distinct words in order of first appearance, each with a line feed before and behind. */
  readonly words: string
  /** Where each word begins in `words`. */
  readonly starts: Uint32Array
  /** Words of bucket i, the trigrams that hash to i: wordNumbers[bucketEnds[i - 1]] to wordNumbers[bucketEnds[i]]. */
  readonly bucketEnds: Uint32Array
  readonly wordNumbers: Uint32Array
  /** Rows of word i: positions[ends[i - 1]] to positions[ends[i]], ascending. */
  readonly ends: Uint32Array
  readonly positions: Uint32Array
  /** The texts themselves, laid end to end, and where each ends. */
  readonly texts: Uint8Array
  readonly textEnds: Uint32Array
}

/** Collects the words of texts, row by row. @param rows how many there will be */
export function collectWords(rows: number): {
  /** @throws for a text that cannot be told from two */
  add(text: string): void
  finish(): Omit<WordIndex, 'texts' | 'textEnds'>
} {
  const numbers = new Map<string, number>()
  const counts: number[] = []
  const lastRow: number[] = []
  /** Word of each (row, word) pair, rows in order; cut by rowEnds. */
  let pairs = new Uint32Array(rows * 8)
  let pairCount = 0
  const rowEnds = new Uint32Array(rows)
  let row = 0
  return {
    add(text) {
      if (text.includes('\n')) throw new RangeError('a searched text holds a line feed')
      for (const word of text.split(' ')) {
        if (word === '') continue
        let number = numbers.get(word)
        if (number === undefined) {
          number = numbers.size
          numbers.set(word, number)
          counts.push(0)
          lastRow.push(-1)
        }
        if (lastRow[number] === row) continue
        lastRow[number] = row
        counts[number] = (counts[number] ?? 0) + 1
        if (pairCount === pairs.length) {
          const larger = new Uint32Array(pairs.length * 2 + 8)
          larger.set(pairs)
          pairs = larger
        }
        pairs[pairCount] = number
        pairCount += 1
      }
      rowEnds[row] = pairCount
      row += 1
    },
    finish() {
      const ends = new Uint32Array(counts.length)
      const next = new Uint32Array(counts.length)
      let end = 0
      for (const [number, count] of counts.entries()) {
        next[number] = end
        end += count
        ends[number] = end
      }
      const positions = new Uint32Array(pairCount)
      let pair = 0
      for (let at = 0; at < row; at += 1)
        for (; pair < (rowEnds[at] ?? 0); pair += 1) {
          const number = pairs[pair] ?? 0
          positions[next[number] ?? 0] = at
          next[number] = (next[number] ?? 0) + 1
        }
      const starts = new Uint32Array(counts.length)
      let length = 1
      for (const [number, word] of [...numbers.keys()].entries()) {
        starts[number] = length
        length += word.length + 1
      }
      const words = `\n${[...numbers.keys()].join('\n')}\n`
      return { words, starts, ...bucketsOf(words, starts), ends, positions }
    },
  }
}

/**
 * Rows whose text holds another. @param text folded as the rows' texts are
 * @param more rows that are found anyhow: only a text without a space may have them
 */
export function findRows(
  index: WordIndex,
  text: string,
  more: (add: (position: number) => void) => void = () => undefined,
): Positions {
  const rows = index.textEnds.length
  const found = collectPositions(rows)
  const addRowsOf = (words: readonly number[]): void => {
    for (const word of words) {
      const end = index.ends[word] ?? 0
      for (let at = startOf(index, word); at < end; at += 1) found.add(index.positions[at] ?? 0)
    }
  }
  const parts = text.split(' ')
  // No text holds a line feed.
  if (parts.length === 1) {
    if (!text.includes('\n')) addRowsOf(wordsWith(index, text))
    more((position) => found.add(position))
    return found.finish()
  }
  if (text.includes('\n')) return found.finish()
  const rarest = parts
    .flatMap((part, place) => {
      if (part === '') return []
      // Between two spaces stands a whole word; at either end the text may begin or end within one.
      const before = place === 0 ? '' : '\n'
      const behind = place === parts.length - 1 ? '' : '\n'
      const words = wordsWith(index, `${before}${part}${behind}`)
      const count = words.reduce((sum, word) => sum + (index.ends[word] ?? 0) - startOf(index, word), 0)
      return [{ words, count }]
    })
    .sort((left, right) => left.count - right.count)[0]
  const check = checkFor(index, Buffer.from(text))
  // Nothing but spaces: any row may have them.
  if (rarest === undefined) return everyRow(rows, check)
  addRowsOf(rarest.words)
  return found.finish(check)
}

/** Does a row's text hold these bytes? Texts are short: a loop finds them before a library has begun. */
function checkFor({ texts, textEnds }: WordIndex, needle: Uint8Array): Check {
  const first = needle[0]
  return (position) => {
    const last = (textEnds[position] ?? 0) - needle.length
    for (let at = position === 0 ? 0 : (textEnds[position - 1] ?? 0); at <= last; at += 1) {
      if (texts[at] !== first) continue
      let same = 1
      while (same < needle.length && texts[at + same] === needle[same]) same += 1
      if (same === needle.length) return true
    }
    return false
  }
}

/** Where the rows of a word begin. */
const startOf = ({ ends }: WordIndex, word: number): number => (word === 0 ? 0 : (ends[word - 1] ?? 0))

/**
 * Numbers of the words in which a pattern occurs, each once; a line feed in it stands for the word's begin or end. The words
 * of its rarest trigram are looked at; a pattern too short to have one is looked for in all of them.
 */
function wordsWith({ words, starts, bucketEnds, wordNumbers }: WordIndex, pattern: string): number[] {
  const found: number[] = []
  let rarest: Uint32Array | null = null
  for (let at = 0; at + 3 <= pattern.length; at += 1) {
    const bucket = bucketAt(pattern, at)
    const own = wordNumbers.subarray(bucket === 0 ? 0 : bucketEnds[bucket - 1], bucketEnds[bucket])
    if (rarest === null || own.length < rarest.length) rarest = own
  }
  if (rarest !== null) {
    // With the line feeds before and behind it.
    for (const word of rarest)
      if (holds(words, (starts[word] ?? 0) - 1, starts[word + 1] ?? words.length, pattern)) found.push(word)
    return found
  }
  for (let at = words.indexOf(pattern); at >= 0; at = words.indexOf(pattern, at)) {
    const word = wordAt(starts, at + (pattern.startsWith('\n') ? 1 : 0))
    found.push(word)
    // On with the next word: its begin shares a line feed with this one's end.
    at = (starts[word + 1] ?? words.length) - 1
  }
  return found
}

/** Does a part of a text hold a pattern? Letter by letter: to cut the part out costs more. */
function holds(text: string, start: number, end: number, pattern: string): boolean {
  const first = pattern.charCodeAt(0)
  for (let at = start; at <= end - pattern.length; at += 1) {
    if (text.charCodeAt(at) !== first) continue
    let same = 1
    while (same < pattern.length && text.charCodeAt(at + same) === pattern.charCodeAt(same)) same += 1
    if (same === pattern.length) return true
  }
  return false
}

const BUCKETS = 1 << 16
/** The trigram at a place, hashed: unequal ones may share a bucket, so what is found there is looked at. */
const bucketAt = (text: string, at: number): number =>
  (text.charCodeAt(at) * 2521 + text.charCodeAt(at + 1) * 157 + text.charCodeAt(at + 2)) & (BUCKETS - 1)

/** Words by trigram, line feeds included, so that a word's begin and end are found as well. */
function bucketsOf(words: string, starts: Uint32Array): Pick<WordIndex, 'bucketEnds' | 'wordNumbers'> {
  /** Last word put into each bucket: a word stands there once. */
  const seen = new Int32Array(BUCKETS)
  const walk = (put: (bucket: number, word: number) => void): void => {
    seen.fill(-1)
    for (let word = 0; word < starts.length; word += 1) {
      const end = (starts[word + 1] ?? words.length) - 3
      for (let at = (starts[word] ?? 0) - 1; at <= end; at += 1) {
        const bucket = bucketAt(words, at)
        if (seen[bucket] === word) continue
        seen[bucket] = word
        put(bucket, word)
      }
    }
  }
  const next = new Uint32Array(BUCKETS)
  let total = 0
  walk((bucket) => {
    next[bucket] = (next[bucket] ?? 0) + 1
    total += 1
  })
  const bucketEnds = new Uint32Array(BUCKETS)
  let end = 0
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const count = next[bucket] ?? 0
    next[bucket] = end
    end += count
    bucketEnds[bucket] = end
  }
  const wordNumbers = new Uint32Array(total)
  walk((bucket, word) => {
    wordNumbers[next[bucket] ?? 0] = word
    next[bucket] = (next[bucket] ?? 0) + 1
  })
  return { bucketEnds, wordNumbers }
}

/** The last word that begins at or before a place. */
function wordAt(starts: Uint32Array, place: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= place) low = middle
    else high = middle - 1
  }
  return low
}
