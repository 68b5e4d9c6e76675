/**
 * The index of a file of lines as one file, from the process that makes it to the one that reads it. In: a LinesIndex. Out:
 * the same. A line of JSON says what follows; the arrays stand behind it as they are in memory, at multiples of eight.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { LinesIndex } from './build.ts'
import type { WordIndex } from './words.ts'

type Numbers = Uint8Array | Uint32Array

interface Head {
  readonly rows: number
  readonly bytes: number
  readonly widths: readonly (number | null)[]
  readonly keyWidth: number
  readonly hasWords: boolean
  /** Elements of each array, in the order of `arraysOf`. */
  readonly lengths: readonly number[]
}

const ALIGN = 8
const padded = (bytes: number): number => Math.ceil(bytes / ALIGN) * ALIGN
const WORD_ARRAYS = ['starts', 'bucketEnds', 'wordNumbers', 'ends', 'positions', 'textEnds'] as const

const arraysOf = (index: LinesIndex): Numbers[] => [
  index.keys,
  index.starts,
  index.listBytes,
  index.recordBytes,
  index.odd,
  ...(index.words === null
    ? []
    : [
        ...WORD_ARRAYS.map((name) => (index.words as WordIndex)[name]),
        index.words.texts,
        Buffer.from(index.words.words),
      ]),
]

export function writeIndex(path: string, index: LinesIndex): void {
  const arrays = arraysOf(index)
  const head: Head = {
    rows: index.rows,
    bytes: index.bytes,
    widths: index.widths,
    keyWidth: index.keyWidth,
    hasWords: index.words !== null,
    lengths: arrays.map(({ length }) => length),
  }
  const line = Buffer.from(`${JSON.stringify(head)}\n`)
  const file = openSync(path, 'wx', 0o600)
  writeAll(file, Buffer.concat([line, Buffer.alloc(padded(line.length) - line.length)]))
  for (const { buffer, byteOffset, byteLength } of arrays) {
    writeAll(file, Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength))
    writeAll(file, Buffer.alloc(padded(byteLength) - byteLength))
  }
  closeSync(file)
}

export async function readIndex(path: string): Promise<LinesIndex> {
  const bytes = await readFile(path)
  const lineEnd = bytes.indexOf('\n') + 1
  const head = JSON.parse(bytes.toString('utf8', 0, lineEnd)) as Head
  let at = padded(lineEnd)
  let next = 0
  const take = (elementBytes: 1 | 4): Buffer => {
    const length = (head.lengths[next] ?? 0) * elementBytes
    const part = bytes.subarray(at, at + length)
    if (part.length !== length) throw new RangeError('an index that is cut off')
    at += padded(length)
    next += 1
    return part
  }
  const numbers = (): Uint32Array => {
    const { buffer, byteOffset, byteLength } = take(4)
    // A view where it can be one: a file this large has a buffer of its own, which begins at zero.
    return byteOffset % 4 === 0
      ? new Uint32Array(buffer as ArrayBuffer, byteOffset, byteLength / 4)
      : new Uint32Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer)
  }
  const keys = take(1)
  const [starts, listBytes, recordBytes, odd] = [numbers(), numbers(), numbers(), numbers()]
  const { rows, bytes: fileBytes, widths, keyWidth } = head
  const known = { rows, bytes: fileBytes, widths, keyWidth, keys, starts, listBytes, recordBytes, odd }
  if (!head.hasWords) return { ...known, words: null }
  const own = Object.fromEntries(WORD_ARRAYS.map((name) => [name, numbers()]))
  const texts = take(1)
  const words = take(1).toString('utf8')
  return { ...known, words: { ...own, texts, words } as unknown as WordIndex }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
