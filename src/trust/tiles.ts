/**
 * How a log stands in files (C2SP tlog-tiles): tiles of 256 hashes, bundles of 256 entries, each at its path. Pure.
 *
 * Not responsible for: reading and writing files (log.ts).
 */
import { HASH_BYTES, rootOf } from './merkle.ts'

export const TILE_WIDTH = 256
/** What the length of an entry is written in. */
const LENGTH_BYTES = 2
export const ENTRY_BYTES_MAX = 65_535

export interface Tile {
  /** 0: hashes of leaves; each further level: hashes of full tiles below; 'entries': the entries themselves. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256. */
  readonly width: number
}

/** Paths of tiles and bundles, below the folder of a log. */
export const TILE_PATH = /^tile\/(entries|\d|[1-5]\d|6[0-3])\/(x\d{3}\/){0,5}\d{3}(\.p\/[1-9]\d{0,2})?$/

/** 1234067 → x001/x234/067, with the width behind it where it is not full */
export function pathOf({ level, index, width }: Tile): string {
  const groups: string[] = []
  let rest = index
  do {
    groups.unshift(String(rest % 1000).padStart(3, '0'))
    rest = Math.floor(rest / 1000)
  } while (rest > 0)
  const place = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
  return `tile/${level}/${place}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** @returns whether a tree of that size has the tile at a path: bytes beyond it were not signed and may be written anew */
export function isTileOf(path: string, size: number): boolean {
  const [, level = '', place = '', partial] =
    /^tile\/(entries|\d+)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(path) ?? []
  if (level === '') return false
  const index = Number(place.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? TILE_WIDTH : Number(partial)
  const leaves = level === 'entries' ? 1 : TILE_WIDTH ** Number(level)
  return (index * TILE_WIDTH + width) * leaves <= size
}

/** @returns tiles of one level of a tree: the full ones, then the partial one */
function tilesOfLevel(level: Tile['level'], count: number): Tile[] {
  const full = Math.floor(count / TILE_WIDTH)
  const tiles = Array.from({ length: full }, (_, index): Tile => ({ level, index, width: TILE_WIDTH }))
  const width = count % TILE_WIDTH
  return width === 0 ? tiles : [...tiles, { level, index: full, width }]
}

/** @returns bundles of the entries of a tree */
export const bundlesOf = (size: number): Tile[] => tilesOfLevel('entries', size)

/** @returns every tile of a tree with its bytes; @param leaves hashes of all leaves */
export function hashTilesOf(leaves: readonly Buffer[]): { readonly tile: Tile; readonly bytes: Buffer }[] {
  const found: { tile: Tile; bytes: Buffer }[] = []
  for (let level = 0, hashes = leaves; hashes.length > 0; level += 1) {
    const above: Buffer[] = []
    for (const tile of tilesOfLevel(level, hashes.length)) {
      const held = hashes.slice(tile.index * TILE_WIDTH, tile.index * TILE_WIDTH + tile.width)
      found.push({ tile, bytes: Buffer.concat(held) })
      if (tile.width === TILE_WIDTH) above.push(rootOf(held))
    }
    hashes = above
  }
  return found
}

/** @returns paths of all tiles of hashes of a tree */
export function hashTilePathsOf(size: number): string[] {
  const paths: string[] = []
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH))
    paths.push(...tilesOfLevel(level, count).map(pathOf))
  return paths
}

/** @returns the hashes in a tile of that many bytes */
export const hashesIn = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.floor(bytes.length / HASH_BYTES) }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )

/** @param entries of at most 65,535 bytes each */
export const encodeBundle = (entries: readonly Buffer[]): Buffer =>
  Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(LENGTH_BYTES)
      length.writeUInt16BE(entry.length)
      return [length, entry]
    }),
  )

/** @returns the entries, or null where the bytes are no bundle */
export function decodeBundle(bytes: Buffer): Buffer[] | null {
  const entries: Buffer[] = []
  let place = 0
  while (place < bytes.length) {
    if (place + LENGTH_BYTES > bytes.length) return null
    const end = place + LENGTH_BYTES + bytes.readUInt16BE(place)
    if (end > bytes.length) return null
    entries.push(bytes.subarray(place + LENGTH_BYTES, end))
    place = end
  }
  return entries
}
