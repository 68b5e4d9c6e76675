/**
 * The append-only log of releases made and promoted: a Merkle tree in static files under `log/` of the releases folder. In:
 * events and the operator's signing key. Out: entries, each with an inclusion proof. An append holds a lock. It writes tiles
 * first and the checkpoint last, so a crash leaves the previous log, plus files that the next append overwrites.
 * log-verify.ts detects tampering.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceFile, syncPath, withFileLock } from '../files.ts'
import { type Checkpoint, checkpointText, formatProof, openCheckpoint } from './checkpoint.ts'
import { decodeEntry, encodeEntry, LOG_FORMAT, type LogEntry, type NewEntry } from './log-entry.ts'
import { inclusionPath, leafHash, rootOf } from './merkle.ts'
import { NoteError, type NoteSigner, signNote } from './note.ts'
import { bundlesOf, decodeBundle, encodeBundle, hashTilesOf, pathOf, TILE_WIDTH, type Tile } from './tiles.ts'

export class LogError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LogError'
  }
}

export const CHECKPOINT = 'checkpoint'
export const logFolder = (releasesDir: string): string => join(releasesDir, 'log')

export interface Log {
  readonly checkpoint: Checkpoint
  readonly entries: readonly LogEntry[]
}

/** @returns the checkpoint's note, or null when there is no log */
export function readCheckpoint(folder: string): string | null {
  try {
    return readFileSync(join(folder, CHECKPOINT), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Reads the log that the operator's key signed. @returns null when there is none yet
 * @throws LogError when another key signed it, or its entries do not match its checkpoint
 */
export function readLog(folder: string, signer: NoteSigner): Log | null {
  const note = readCheckpoint(folder)
  if (note === null) return null
  let checkpoint: Checkpoint
  try {
    checkpoint = openCheckpoint(note, [signer.verifier])
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    throw new LogError(
      `${join(folder, CHECKPOINT)} ${error.message}; use the key and the name that it was begun with, or move the folder away to begin another log.`,
    )
  }
  const bytes = readEntries(folder, checkpoint.size)
  const entries = bytes.map(decodeEntry).filter((entry) => entry !== null)
  if (entries.length !== checkpoint.size || !rootOf(bytes.map(leafHash)).equals(checkpoint.root))
    throw new LogError(
      `${folder} is damaged: its entries are not those of its checkpoint; sus-data log verify says more.`,
    )
  return { checkpoint, entries }
}

/** Reads entries from the bundles; a missing or invalid bundle contributes none. */
function readEntries(folder: string, size: number): Buffer[] {
  return bundlesOf(size).flatMap((tile) => {
    try {
      return (decodeBundle(readFileSync(join(folder, pathOf(tile)))) ?? []).slice(0, tile.width)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
}

export interface Appended {
  readonly entry: LogEntry
  readonly index: number
}

/**
 * Appends entries and writes a checkpoint after each, so that the proof of an entry does not depend on when it is made.
 * @param choose returns the entries to append, given the existing ones; it runs while the lock is held
 * @returns the complete log and the appended entries
 * @throws LogError as readLog; FileLockError when another process holds the lock
 */
export function appendToLog(
  folder: string,
  signer: NoteSigner,
  choose: (entries: readonly LogEntry[]) => readonly NewEntry[],
): { readonly log: readonly LogEntry[]; readonly appended: readonly Appended[] } {
  mkdirSync(folder, { recursive: true })
  return withFileLock(join(folder, CHECKPOINT), (assertHeld) => {
    const entries = [...(readLog(folder, signer)?.entries ?? [])]
    const appended = choose(entries).map((newEntry): Appended => {
      // Times in the log never decrease, even when the clock was set back.
      const last = entries.at(-1)?.time ?? ''
      const now = new Date().toISOString()
      const entry: LogEntry = { format: LOG_FORMAT, ...newEntry, time: now > last ? now : last }
      entries.push(entry)
      return { entry, index: entries.length - 1 }
    })
    if (appended.length === 0) return { log: entries, appended }
    const bytes = entries.map(encodeEntry)
    const leaves = bytes.map(leafHash)
    for (const { index } of appended) {
      const size = index + 1
      writeTiles(folder, bytes.slice(0, size), leaves.slice(0, size))
      replaceFile(join(folder, CHECKPOINT), checkpointOf(leaves.slice(0, size), signer), {
        beforeRename: assertHeld,
      })
    }
    return { log: entries, appended }
  })
}

/** @returns the signed checkpoint of a tree; its bytes are reproducible, because Ed25519 is deterministic */
const checkpointOf = (leaves: readonly Buffer[], signer: NoteSigner): string =>
  signNote(
    checkpointText({ origin: signer.verifier.name, size: leaves.length, root: rootOf(leaves) }),
    signer,
  )

/** @returns the proof that an entry is in the tree that ended with it */
export function proveEntry(entries: readonly LogEntry[], index: number, signer: NoteSigner): string {
  const bytes = entries.slice(0, index + 1).map(encodeEntry)
  const leaves = bytes.map(leafHash)
  return formatProof({
    entry: bytes[index] ?? Buffer.alloc(0),
    index,
    path: inclusionPath(leaves, index),
    checkpoint: checkpointOf(leaves, signer),
  })
}

function writeTiles(folder: string, entries: readonly Buffer[], leaves: readonly Buffer[]): void {
  const bundle = bundlesOf(entries.length).at(-1)
  if (bundle === undefined) return
  writeTile(folder, bundle, encodeBundle(entries.slice(bundle.index * TILE_WIDTH)))
  // The last tile of a level changes with the last entry when all tiles below it are full.
  const last = new Map(hashTilesOf(leaves).map((lastTile) => [lastTile.tile.level, lastTile]))
  for (let level = 0, count = leaves.length; ; level += 1, count /= TILE_WIDTH) {
    const lastTile = last.get(level)
    if (lastTile === undefined) return
    writeTile(folder, lastTile.tile, lastTile.bytes)
    if (count % TILE_WIDTH !== 0) return
  }
}

function writeTile(folder: string, tile: Tile, bytes: Buffer): void {
  const path = join(folder, pathOf(tile))
  const firstCreated = mkdirSync(dirname(path), { recursive: true })
  replaceFile(path, bytes)
  // New folders are entries of their parent folders, so sync those, too.
  if (firstCreated !== undefined)
    for (let created = dirname(path); created !== folder; created = dirname(created))
      syncPath(dirname(created))
}
