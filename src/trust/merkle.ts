/**
 * The Merkle tree of RFC 6962 over SHA-256: hashes of leaves and nodes, roots, inclusion proofs. Pure; bytes only. A log has
 * one entry per release made and per promotion, some hundreds a year, so trees are computed from all leaves. tiles.ts stores
 * trees; log-entry.ts defines entries.
 */
import { createHash } from 'node:crypto'

const LEAF = Buffer.from([0])
const NODE = Buffer.from([1])
export const HASH_BYTES = 32

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export const leafHash = (entry: Uint8Array): Buffer => sha256(LEAF, entry)
const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(NODE, left, right)

/** @returns the largest power of two below a size of at least 2 */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

/** @param leaves hashes of the leaves; without leaves the root is the digest of empty input */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (first === undefined) return sha256()
  if (leaves.length === 1) return first
  const split = splitOf(leaves.length)
  return nodeHash(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)))
}

/** @returns sibling hashes on the way from a leaf to the root, the leaf's sibling first (RFC 6962, 2.1.1) */
export function inclusionPath(leaves: readonly Buffer[], index: number): Buffer[] {
  if (leaves.length < 2) return []
  const split = splitOf(leaves.length)
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)]
  return index < split
    ? [...inclusionPath(left, index), rootOf(right)]
    : [...inclusionPath(right, index - split), rootOf(left)]
}

/**
 * Computes the root from a leaf and the hashes of a proof (RFC 9162, 2.1.3.2).
 * @returns the root of a tree of that size with the leaf at the index, or null when the proof's shape is wrong
 */
export function rootFromPath(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | null {
  if (!Number.isSafeInteger(size) || index < 0 || index >= size) return null
  let [position, last, hash] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return null
    if (position % 2 === 1 || position === last) {
      hash = nodeHash(sibling, hash)
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2)
        last = Math.floor(last / 2)
      }
    } else hash = nodeHash(hash, sibling)
    position = Math.floor(position / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? hash : null
}
