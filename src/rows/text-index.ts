/**
 * Finds the rows that contain a text, by the words of their folded text. Input: each row's text as bytes. Output: the index in the
 * row file, and exactly the rows that a scan would find.
 *
 * A text is split at single spaces; two adjacent spaces enclose an empty word. A search consists of parts of words, so each part is
 * looked up in the few distinct words instead of in every row. With several parts, only the rows of the rarest part are tested for
 * the others, and only until the page is full.
 */
import { type ByteString, hashOf } from './phrases.ts'
import { packLists, visitList } from './row-lists.ts'
import { type Check, collectRows, lowerBound, type RowSet } from './row-sets.ts'
import { type ByteRange, readNumbers, type SectionFile, type SectionWriter } from './sections.ts'

/** The index as stored in the file. Words in several rows come first, then words in a single row. */
export interface TextIndexHead {
  /** Distinct words, each between line feeds. */
  readonly words: ByteRange
  /** Offset of each word in `words`. */
  readonly starts: ByteRange
  /** End of each shared word's rows in `lists`; `singles` holds the row of each other word. */
  readonly ends: ByteRange
  readonly lists: ByteRange
  readonly singles: ByteRange
  /** Words by bucket: the words with a trigram that hashes to it. */
  readonly bucketEnds: ByteRange
  readonly buckets: ByteRange
  /** Words of the rows, in windows of rows: the end of each row's words (two bytes), then word numbers (three bytes). */
  readonly windowEnds: ByteRange
  readonly windows: ByteRange
}

export interface TextIndex {
  readonly bytes: number
  /**
   * Finds rows whose text contains every part.
   * @param parts at least one, none with a space or a line feed
   * @param addOthers adds rows that match in another way; only used with a single part
   */
  find(parts: readonly ByteString[], addOthers?: (add: (row: number) => void) => void): RowSet
}

const WINDOW_ROWS = 256
const WORD_BYTES = 3
const BUCKETS = 1 << 16

/** Collects the words of texts, row by row. @param rows number of rows */
export function collectWords(rows: number): {
  /** @throws RangeError for a text with a line feed, which separates words in the file */
  add(text: ByteString): void
  write(out: SectionWriter): TextIndexHead
} {
  const vocabulary = createVocabulary()
  const counts: number[] = []
  const lastRow: number[] = []
  /** Numbers of all words, rows in order; `rowEnds` holds the end of each row. */
  let sequence = new Uint32Array(rows * 8 + 8)
  let length = 0
  const rowEnds = new Uint32Array(rows)
  let row = 0
  return {
    add(text) {
      if (text.includes('\n')) throw new RangeError('a searched text holds a line feed')
      for (let from = 0, to = 0; from <= text.length; from = to + 1) {
        to = text.indexOf(' ', from)
        if (to < 0) to = text.length
        const number = vocabulary.numberOf(text, from, to)
        if (number === counts.length) {
          counts.push(0)
          lastRow.push(-1)
        }
        if (lastRow[number] !== row) counts[number] = (counts[number] ?? 0) + 1
        lastRow[number] = row
        if (length === sequence.length) {
          const larger = new Uint32Array(length * 2)
          larger.set(sequence)
          sequence = larger
        }
        sequence[length] = number
        length += 1
      }
      rowEnds[row] = length
      row += 1
    },
    write(out) {
      const sharedWords = counts.reduce((sum, count) => sum + (count > 1 ? 1 : 0), 0)
      const renumbered = new Uint32Array(counts.length)
      const words = new Array<string>(counts.length)
      let [nextShared, nextSingle] = [0, sharedWords]
      for (const [number, count] of counts.entries()) {
        const position = count === 1 ? nextSingle : nextShared
        if (count === 1) nextSingle += 1
        else nextShared += 1
        renumbered[number] = position
        words[position] = vocabulary.word(number)
      }
      for (let at = 0; at < length; at += 1) sequence[at] = renumbered[sequence[at] ?? 0] ?? 0
      const starts = new Uint32Array(words.length)
      let start = 1
      for (const [number, word] of words.entries()) {
        starts[number] = start
        start += word.length + 1
      }
      const text = `\n${words.join('\n')}\n`
      const singles = new Uint32Array(words.length - sharedWords)
      const seen = new Int32Array(words.length)
      const lists = packLists(sharedWords, (add) => {
        seen.fill(-1)
        for (let at = 0, rowNumber = 0; rowNumber < row; rowNumber += 1)
          for (; at < (rowEnds[rowNumber] ?? 0); at += 1) {
            const word = sequence[at] ?? 0
            if (word >= sharedWords) singles[word - sharedWords] = rowNumber
            else if (seen[word] !== rowNumber) add(word, rowNumber)
            seen[word] = rowNumber
          }
      })
      const buckets = packLists(BUCKETS, (add) => visitTrigrams(text, starts, add))
      const windowEnds = new Uint32Array(Math.ceil(row / WINDOW_ROWS))
      const windows: Buffer[] = []
      let size = 0
      for (let first = 0; first < row; first += WINDOW_ROWS) {
        const window = packWindow(sequence, rowEnds, first, Math.min(row, first + WINDOW_ROWS))
        windows.push(window)
        size += window.length
        windowEnds[first / WINDOW_ROWS] = size
      }
      return {
        words: out.put(Buffer.from(text, 'latin1')),
        starts: out.put(starts),
        ends: out.put(lists.ends),
        lists: out.put(lists.bytes),
        singles: out.put(singles),
        bucketEnds: out.put(buckets.ends),
        buckets: out.put(buckets.bytes),
        windowEnds: out.put(windowEnds),
        windows: out.put(Buffer.concat(windows)),
      }
    },
  }
}

/** Numbers words by first appearance. A lookup compares in place instead of cutting the word out of its text. */
function createVocabulary(): {
  numberOf(text: ByteString, from: number, to: number): number
  word(number: number): ByteString
} {
  const words: ByteString[] = []
  let table = new Int32Array(1 << 12).fill(-1)
  const findSlot = (text: ByteString, from: number, to: number): number => {
    const mask = table.length - 1
    let at = hashOf(text, from, to) & mask
    for (let number = table[at] ?? -1; number !== -1; number = table[at] ?? -1) {
      const word = words[number] ?? ''
      if (word.length === to - from && text.startsWith(word, from)) break
      at = (at + 1) & mask
    }
    return at
  }
  return {
    numberOf(text, from, to) {
      const at = findSlot(text, from, to)
      const existing = table[at] ?? -1
      if (existing !== -1) return existing
      const number = words.length
      // Copy the bytes, because a substring would keep the complete text in memory.
      words.push(Buffer.from(text.substring(from, to), 'latin1').toString('latin1'))
      table[at] = number
      if (words.length * 2 > table.length) {
        table = new Int32Array(table.length * 4).fill(-1)
        for (const [other, word] of words.entries()) table[findSlot(word, 0, word.length)] = other
      }
      return number
    },
    word: (number) => words[number] ?? '',
  }
}

function packWindow(sequence: Uint32Array, rowEnds: Uint32Array, first: number, last: number): Buffer {
  const begin = first === 0 ? 0 : (rowEnds[first - 1] ?? 0)
  const count = (rowEnds[last - 1] ?? 0) - begin
  const bytes = Buffer.alloc(2 * WINDOW_ROWS + WORD_BYTES * count)
  for (let row = first; row < last; row += 1)
    bytes.writeUInt16LE((rowEnds[row] ?? 0) - begin, 2 * (row - first))
  for (let word = 0; word < count; word += 1)
    bytes.writeUIntLE(sequence[begin + word] ?? 0, 2 * WINDOW_ROWS + WORD_BYTES * word, WORD_BYTES)
  return bytes
}

export function openTextIndex(file: SectionFile, head: TextIndexHead, rows: number): TextIndex {
  const words = file.read(head.words).toString('latin1')
  const [starts, ends, singles, bucketEnds, windowEnds] = [
    readNumbers(file, head.starts),
    readNumbers(file, head.ends),
    readNumbers(file, head.singles),
    readNumbers(file, head.bucketEnds),
    readNumbers(file, head.windowEnds),
  ]
  const sharedWords = ends.length
  const startIn = (list: Uint32Array, at: number): number => (at === 0 ? 0 : (list[at - 1] ?? 0))
  const read = (range: ByteRange, from: number, to: number): Buffer => file.read([range[0] + from, to - from])
  /** Bytes of a word's row list, which approximate its number of rows. */
  const weightOf = (word: number): number =>
    word < sharedWords ? (ends[word] ?? 0) - startIn(ends, word) : 1
  const addRowsOf = (word: number, add: (row: number) => void): void => {
    if (word >= sharedWords) {
      add(singles[word - sharedWords] ?? 0)
      return
    }
    const bytes = read(head.lists, startIn(ends, word), ends[word] ?? 0)
    visitList(bytes, 0, bytes.length, add)
  }

  /** Distinct words that contain a pattern; a line feed in the pattern matches the start or end of a word. */
  const findWords = (pattern: string): number[] => {
    const found: number[] = []
    let rarest = -1
    let least = Number.POSITIVE_INFINITY
    for (let at = 0; at + 3 <= pattern.length; at += 1) {
      const bucket = bucketAt(pattern, at)
      const size = (bucketEnds[bucket] ?? 0) - startIn(bucketEnds, bucket)
      if (size < least) [rarest, least] = [bucket, size]
    }
    if (rarest >= 0) {
      const bytes = read(head.buckets, startIn(bucketEnds, rarest), bucketEnds[rarest] ?? 0)
      visitList(bytes, 0, bytes.length, (word) => {
        // Include the line feeds around the word.
        if (contains(words, (starts[word] ?? 0) - 1, starts[word + 1] ?? words.length, pattern))
          found.push(word)
      })
      return found
    }
    // A pattern without a trigram is searched in all words.
    for (let at = words.indexOf(pattern); at >= 0; at = words.indexOf(pattern, at)) {
      const word = findWordAt(starts, at + (pattern.startsWith('\n') ? 1 : 0))
      found.push(word)
      // Continue with the next word, which shares a line feed with this one.
      at = (starts[word + 1] ?? words.length) - 1
    }
    return found
  }

  /** Creates a predicate for rows that have a word of each set. */
  const createWordCheck = (wordSets: readonly ReadonlySet<number>[]): Check => {
    let [window, base] = [-1, 0]
    let bytes: Buffer = Buffer.alloc(0)
    return (row) => {
      const rowWindow = Math.floor(row / WINDOW_ROWS)
      if (rowWindow !== window) {
        bytes = read(head.windows, startIn(windowEnds, rowWindow), windowEnds[rowWindow] ?? 0)
        window = rowWindow
        base = rowWindow * WINDOW_ROWS
      }
      const first = row === base ? 0 : bytes.readUInt16LE(2 * (row - base - 1))
      const last = bytes.readUInt16LE(2 * (row - base))
      return wordSets.every((wordSet) => {
        for (let at = first; at < last; at += 1) {
          const offset = 2 * WINDOW_ROWS + WORD_BYTES * at
          const word =
            (bytes[offset] ?? 0) | ((bytes[offset + 1] ?? 0) << 8) | ((bytes[offset + 2] ?? 0) << 16)
          if (wordSet.has(word)) return true
        }
        return false
      })
    }
  }

  return {
    bytes: words.length + 4 * (starts.length + ends.length + singles.length + bucketEnds.length),
    find(parts, addOthers = () => undefined) {
      const found = collectRows(rows)
      const [firstPart = '', ...furtherParts] = parts
      if (furtherParts.length === 0) {
        for (const word of findWords(firstPart)) addRowsOf(word, found.add)
        addOthers(found.add)
        return found.finish()
      }
      const lists = parts
        .map((part) => {
          const list = findWords(part)
          return { list, weight: list.reduce((sum, word) => sum + weightOf(word), 0) }
        })
        .sort((left, right) => left.weight - right.weight)
      const [rarest, ...others] = lists
      for (const word of rarest?.list ?? []) addRowsOf(word, found.add)
      return found.finish(createWordCheck(others.map(({ list }) => new Set(list))))
    },
  }
}

/** Tests whether a range of a text contains a pattern, without the cost of cutting the range out. */
function contains(text: string, start: number, end: number, pattern: string): boolean {
  const first = pattern.charCodeAt(0)
  for (let at = start; at <= end - pattern.length; at += 1) {
    if (text.charCodeAt(at) !== first) continue
    let matching = 1
    while (matching < pattern.length && text.charCodeAt(at + matching) === pattern.charCodeAt(matching))
      matching += 1
    if (matching === pattern.length) return true
  }
  return false
}

/** Hash of the trigram at a position. Different trigrams may share a bucket, so callers check each word found. */
const bucketAt = (text: string, at: number): number =>
  (text.charCodeAt(at) * 2521 + text.charCodeAt(at + 1) * 157 + text.charCodeAt(at + 2)) & (BUCKETS - 1)

/** Adds each word's trigrams once, including the line feeds, so that the start and end of words can be searched. */
function visitTrigrams(
  words: string,
  starts: Uint32Array,
  add: (bucket: number, word: number) => void,
): void {
  /** Last word added to each bucket, so that a bucket lists it once. */
  const seen = new Int32Array(BUCKETS).fill(-1)
  for (let word = 0; word < starts.length; word += 1) {
    const end = (starts[word + 1] ?? words.length) - 3
    for (let at = (starts[word] ?? 0) - 1; at <= end; at += 1) {
      const bucket = bucketAt(words, at)
      if (seen[bucket] !== word) add(bucket, word)
      seen[bucket] = word
    }
  }
}

/** The last word that starts at or before a position. */
const findWordAt = (starts: Uint32Array, offset: number): number =>
  Math.max(0, lowerBound(starts, offset + 1) - 1)
