/**
 * Maps a log to files (C2SP tlog-tiles): tiles of 256 hashes, bundles of 256 entries, and their paths. Pure; log.ts reads and
 * writes the files.
 */
import { HASH_BYTES, rootOf } from './merkle.ts'

export const TILE_WIDTH = 256
/** Bytes that hold the length of an entry. */
const LENGTH_BYTES = 2
export const ENTRY_BYTES_MAX = 65_535

export interface Tile {
  /** 0: hashes of leaves. Higher levels: hashes of full tiles below. 'entries': the entries themselves. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256. */
  readonly width: number
}

/** Paths of tiles and bundles below the log folder. */
export const TILE_PATH = /^tile\/(entries|\d|[1-5]\d|6[0-3])\/(x\d{3}\/){0,5}\d{3}(\.p\/[1-9]\d{0,2})?$/

/** 1234067 → x001/x234/067, followed by the width when the tile is not full. */
export function pathOf({ level, index, width }: Tile): string {
  const groups: string[] = []
  let rest = index
  do {
    groups.unshift(String(rest % 1000).padStart(3, '0'))
    rest = Math.floor(rest / 1000)
  } while (rest > 0)
  const place = groups
    .map((group, position) => (position < groups.length - 1 ? `x${group}` : group))
    .join('/')
  return `tile/${level}/${place}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** @returns whether a tree of that size contains the tile at a path; bytes beyond it are unsigned and may still change */
export function isTileOf(path: string, size: number): boolean {
  const [, level = '', indexPath = '', partial] =
    /^tile\/(entries|\d+)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(path) ?? []
  if (level === '') return false
  const index = Number(indexPath.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? TILE_WIDTH : Number(partial)
  const leaves = level === 'entries' ? 1 : TILE_WIDTH ** Number(level)
  return (index * TILE_WIDTH + width) * leaves <= size
}

function tilesOfLevel(level: Tile['level'], count: number): Tile[] {
  const full = Math.floor(count / TILE_WIDTH)
  const tiles = Array.from({ length: full }, (_, index): Tile => ({ level, index, width: TILE_WIDTH }))
  const width = count % TILE_WIDTH
  return width === 0 ? tiles : [...tiles, { level, index: full, width }]
}

export const bundlesOf = (size: number): Tile[] => tilesOfLevel('entries', size)

/** @param leaves hashes of all leaves @returns every tile of a tree with its bytes */
export function hashTilesOf(leaves: readonly Buffer[]): { readonly tile: Tile; readonly bytes: Buffer }[] {
  const found: { tile: Tile; bytes: Buffer }[] = []
  for (let level = 0, hashes = leaves; hashes.length > 0; level += 1) {
    const above: Buffer[] = []
    for (const tile of tilesOfLevel(level, hashes.length)) {
      const tileHashes = hashes.slice(tile.index * TILE_WIDTH, tile.index * TILE_WIDTH + tile.width)
      found.push({ tile, bytes: Buffer.concat(tileHashes) })
      if (tile.width === TILE_WIDTH) above.push(rootOf(tileHashes))
    }
    hashes = above
  }
  return found
}

export function hashTilePathsOf(size: number): string[] {
  const paths: string[] = []
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH))
    paths.push(...tilesOfLevel(level, count).map(pathOf))
  return paths
}

export const hashesIn = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.floor(bytes.length / HASH_BYTES) }, (_, position) =>
    bytes.subarray(position * HASH_BYTES, (position + 1) * HASH_BYTES),
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

/** @returns the entries, or null when the bytes are not a bundle */
export function decodeBundle(bytes: Buffer): Buffer[] | null {
  const entries: Buffer[] = []
  let offset = 0
  while (offset < bytes.length) {
    if (offset + LENGTH_BYTES > bytes.length) return null
    const end = offset + LENGTH_BYTES + bytes.readUInt16BE(offset)
    if (end > bytes.length) return null
    entries.push(bytes.subarray(offset + LENGTH_BYTES, end))
    offset = end
  }
  return entries
}
