/**
 * Copies the log of releases from a place. In: a place that has a log, and functions that read and write the copy. Out: the copy,
 * which a reader sees in its old or its new state: tiles are written first and the checkpoint last. A copy never goes back and
 * never follows another history.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../files.ts'
import { parseCheckpoint } from '../trust/checkpoint.ts'
import { CHECKPOINT } from '../trust/log.ts'
import { leafHash, rootOf } from '../trust/merkle.ts'
import { NoteError, openNote, readNote, type Verifier } from '../trust/note.ts'
import { bundlesOf, decodeBundle, hashTilesOf, pathOf, TILE_WIDTH } from '../trust/tiles.ts'
import { type Place, PlaceError } from './place.ts'

export interface LogCopy {
  /** Name for messages. */
  readonly name: string
  /** @param path for example `log/checkpoint` */
  read(path: string): Promise<Buffer | null>
  write(path: string, bytes: Buffer): Promise<void>
}

/** @returns the log in a folder of releases as a copy */
export const logInFolder = (releasesDir: string): LogCopy => ({
  name: releasesDir,
  read: (path) => readFile(join(releasesDir, path)).catch(() => null),
  async write(path, bytes) {
    const target = join(releasesDir, path)
    await mkdir(dirname(target), { recursive: true })
    replaceFile(target, bytes)
  },
})

/**
 * @param trusted keys of which one must have signed the checkpoint; without any, no signature is checked
 * @returns true when the copy changed
 * @throws PlaceError when the log is damaged, or the copy is of another log or has more entries
 */
export async function copyLog(from: Place, to: LogCopy, trusted: readonly Verifier[]): Promise<boolean> {
  const path = `log/${CHECKPOINT}`
  const note = await from.read(path)
  const before = await to.read(path)
  if (note === null || before?.equals(note) === true) return false
  const { origin, size, root } = checkpointOf(from.name, note, trusted)
  const entries = await readEntries(from, size)
  const leaves = entries.map(leafHash)
  if (!rootOf(leaves).equals(root))
    throw new PlaceError(`The log at ${from.name} does not have the entries of its checkpoint.`)
  if (before !== null) {
    const old = checkpointOf(to.name, before, [])
    if (old.origin !== origin)
      throw new PlaceError(
        `${to.name} has the log ${old.origin}, and ${from.name} has ${origin}; move one away.`,
      )
    if (old.size > size)
      throw new PlaceError(
        `The log at ${to.name} has ${old.size} entries, and that at ${from.name} only ${size}.`,
      )
    if (!rootOf(leaves.slice(0, old.size)).equals(old.root))
      throw new PlaceError(
        `The log at ${from.name} does not go on from the ${old.size} entries at ${to.name}.`,
      )
  }
  for (const tile of bundlesOf(size)) await copyTile(from, to, `log/${pathOf(tile)}`, tile.width)
  for (const { tile, bytes } of hashTilesOf(leaves)) await to.write(`log/${pathOf(tile)}`, bytes)
  await to.write(path, note)
  return true
}

function checkpointOf(
  name: string,
  note: Buffer,
  trusted: readonly Verifier[],
): ReturnType<typeof parseCheckpoint> {
  try {
    const text = note.toString()
    return parseCheckpoint((trusted.length === 0 ? readNote(text, []) : openNote(text, trusted)).text)
  } catch (error) {
    if (error instanceof NoteError)
      throw new PlaceError(`The log at ${name}: ${CHECKPOINT} ${error.message}.`)
    throw error
  }
}

async function readEntries(from: Place, size: number): Promise<Buffer[]> {
  const entries: Buffer[] = []
  for (const tile of bundlesOf(size)) {
    const bytes = await from.read(`log/${pathOf(tile)}`)
    const bundle = bytes === null ? null : decodeBundle(bytes)
    if (bundle?.length !== tile.width) throw new PlaceError(`The log at ${from.name} lacks ${pathOf(tile)}.`)
    entries.push(...bundle)
  }
  return entries
}

async function copyTile(from: Place, to: LogCopy, path: string, width: number): Promise<void> {
  // A full tile never changes.
  if (width === TILE_WIDTH && (await to.read(path)) !== null) return
  const bytes = await from.read(path)
  if (bytes === null) throw new PlaceError(`The log at ${from.name} lacks ${path}.`)
  await to.write(path, bytes)
}
