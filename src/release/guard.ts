/**
 * Files of verified releases, watched while a server runs. In: the files as their manifests name them, and their states when they were
 * read. Out: whether files are still as they were verified, which is asked before and after each reading of them, and which are not.
 *
 * The state of a file (size, times, inode) costs microseconds, its digest milliseconds: a file whose state has changed is read again,
 * and is whole or damaged from then on, until its state changes again. Every two seconds all of them are looked at, so that damage is
 * named although nobody has met it. A change that the system does not note (a disk that loses bits) is not seen here.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError, both } from '../errors.ts'
import { digestFile, sha256Hex } from './digest.ts'
import { fileState, fileStateSync, NO_FILE, settledState } from './file-state.ts'
import { type Manifest, manifestText } from './manifest.ts'
import { componentManifests, type ReleaseView } from './view.ts'

const LOOK_MS = 2000
const MANIFEST = 'manifest.json'
/** How often a file that is being written into is read again at once. */
const READS_MAX = 3

export interface DamagedFile {
  /** Release id / path in it; the id alone where the release's folder is gone. */
  readonly file: string
  readonly reason: string
  /** It is gone or has another length; else it holds other bytes. */
  readonly isMissing: boolean
}

export interface FileGuard {
  /** Watches the files of a release that was verified. @param states of the files when they were read, by path in the release */
  watch(folder: string, manifest: Manifest, states: ReadonlyMap<string, string>): void
  /**
   * Are files (absolute paths) as they were verified? Files that are not watched are taken to be. Null: they are. Else what ends once those that
   * have changed were read again; it throws AppError 'release_damaged' where one of them is damaged.
   */
  check(paths: readonly string[]): Promise<void> | null
  /** The state in which a file was verified last; null where it is not watched. */
  stateOf(path: string): string | null
  /** How many times a changed file was read again: who reads files compares it, since a file may change back meanwhile. */
  changes(): number
  damaged(): readonly DamagedFile[]
  /** Looks at all files now, as it does every two seconds. */
  look(): Promise<void>
  close(): void
}

export interface GuardOptions {
  /** Is called once for each file that is found damaged or missing, until it is whole again. */
  readonly onDamaged?: (damage: DamagedFile) => void
  readonly onMended?: (file: string) => void
}

interface Watched {
  readonly folder: string
  readonly releaseId: string
  readonly file: string
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  state: string
  damage: string | null
  checking: Promise<void> | null
}

const OTHER_BYTES = 'does not have the SHA-256 of the manifest'
const FOLDER_GONE = 'is not there any more'
const describe = ({ file, releaseId }: Watched, reason: string): DamagedFile => ({
  file: reason === FOLDER_GONE ? releaseId : file,
  reason,
  isMissing: reason !== OTHER_BYTES,
})

/** @returns what a request gets that needs a damaged file */
export const damagedError = ({ file, reason }: Pick<DamagedFile, 'file' | 'reason'>): AppError =>
  new AppError('release_damaged', {
    detail: both(`O arquivo ${file} está danificado ou ausente.`, `The file ${file} ${reason}.`),
    extra: { file },
    headers: { 'Retry-After': '5' },
  })

export function createFileGuard(options: GuardOptions = {}): FileGuard {
  const files = new Map<string, Watched>()
  let changes = 0

  const damaged = (): DamagedFile[] => {
    const found = [...files.values()].flatMap((watched) =>
      watched.damage === null ? [] : [describe(watched, watched.damage)],
    )
    return [...new Map(found.map((damage) => [damage.file, damage])).values()]
  }
  const read = async (watched: Watched): Promise<void> => {
    let state = NO_FILE
    let damage: string | null = 'changes while it is read'
    for (let turn = 0; turn < READS_MAX; turn += 1) {
      state = await settledState(watched.path)
      const digest = state === NO_FILE ? null : await digestFile(watched.path).catch(() => null)
      if ((await fileState(watched.path)) !== state) continue
      damage =
        digest === null
          ? existsSync(watched.folder)
            ? 'is missing or cannot be read'
            : FOLDER_GONE
          : digest.bytes !== watched.bytes
            ? `has ${digest.bytes} bytes where the manifest says ${watched.bytes}`
            : digest.sha256 === watched.sha256
              ? null
              : OTHER_BYTES
      break
    }
    changes += 1
    const before = watched.damage
    // Of a folder that is gone one line is enough.
    const isNamed = damage === FOLDER_GONE && damaged().some(({ file }) => file === watched.releaseId)
    watched.state = state
    watched.damage = damage
    if (damage !== null && before === null && !isNamed) options.onDamaged?.(describe(watched, damage))
    if (damage === null && before !== null) options.onMended?.(watched.file)
  }
  const readAgain = (watched: Watched): Promise<void> => {
    watched.checking ??= read(watched).finally(() => {
      watched.checking = null
    })
    return watched.checking
  }
  const readAll = async (wanted: readonly Watched[]): Promise<void> => {
    for (const watched of wanted) {
      if (fileStateSync(watched.path) !== watched.state) await readAgain(watched)
      if (watched.damage !== null) throw damagedError(describe(watched, watched.damage))
    }
  }
  const look = async (): Promise<void> => {
    for (const watched of [...files.values()])
      if ((await fileState(watched.path)) !== watched.state) await readAgain(watched)
  }
  let isLooking = false
  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    // What goes wrong here goes wrong again the next time; nothing may end the process.
    look()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false
      })
  }, LOOK_MS)
  timer.unref()

  return {
    watch(folder, manifest, states) {
      const { release_id, files: listed } = manifest
      const text = Buffer.from(manifestText(manifest))
      const own = { path: MANIFEST, bytes: text.length, sha256: sha256Hex(text) }
      for (const { path, bytes, sha256 } of [own, ...listed]) {
        const at = resolve(folder, path)
        files.set(at, {
          folder,
          releaseId: release_id,
          file: `${release_id}/${path}`,
          path: at,
          bytes,
          sha256,
          state: states.get(path) ?? '',
          damage: null,
          checking: null,
        })
      }
    },
    check(paths) {
      const wanted: Watched[] = []
      for (const path of paths) {
        const watched = files.get(path)
        if (watched === undefined) continue
        if (watched.damage !== null || fileStateSync(path) !== watched.state) wanted.push(watched)
      }
      return wanted.length === 0 ? null : readAll(wanted)
    },
    stateOf: (path) => files.get(path)?.state ?? null,
    changes: () => changes,
    damaged,
    look,
    close: () => clearInterval(timer),
  }
}

/**
 * Reads files, and is sure that they were as they were verified all the while; else reads once more.
 * @param read may run twice
 * @throws AppError 'release_damaged'; what `read` throws of files that are whole
 */
export async function readUnchanged<Value>(
  guard: FileGuard | null,
  paths: readonly string[],
  read: () => Promise<Value>,
  readsMax = 2,
): Promise<Value> {
  if (guard === null || paths.length === 0) return read()
  for (let turn = 1; ; turn += 1) {
    await guard.check(paths)
    const before = guard.changes()
    let value: Value
    try {
      value = await read()
    } catch (error) {
      // An engine that meets a damaged file says something of its own.
      await guard.check(paths)
      throw error
    }
    const changed = guard.check(paths)
    if (changed === null && guard.changes() === before) return value
    await changed
    if (turn >= readsMax)
      throw new AppError('release_damaged', {
        detail: both(
          'Um arquivo da versão de dados mudou durante a leitura.',
          'A file of the release changed while it was read.',
        ),
        headers: { 'Retry-After': '5' },
      })
  }
}

/** @returns all files of a release and of those that it joins, as absolute paths */
export const filesOfView = (view: ReleaseView, releasesDir: string): string[] =>
  [view.analytics, ...componentManifests(view)].flatMap(({ release_id, files }) =>
    files.map(({ path }) => resolve(releasesDir, release_id, path)),
  )
