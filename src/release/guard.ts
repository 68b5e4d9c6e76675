/**
 * Watches the files of verified releases while a server runs. In: the files that manifests name, and their states when
 * verified. Out: whether files are still as verified, which callers check before and after each read, and the damaged files.
 * Checking a state (size, times, inode) takes microseconds; a digest takes milliseconds. So a file is read again only when
 * its state has changed, and it counts as intact or damaged until the next change. A scan every two seconds finds damage in
 * files that nobody reads. Changes that the system does not record (a disk that loses bits) stay unnoticed.
 */
import { existsSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { AppError, both } from '../errors.ts'
import { digestFile, sha256Hex } from './digest.ts'
import { fileState, fileStateSync, NO_FILE, settledState } from './file-state.ts'
import { type Manifest, manifestText } from './manifest.ts'
import { wasRemoved } from './promote.ts'
import { componentManifests, type ReleaseView } from './view.ts'

const SCAN_INTERVAL_MS = 2000
const MANIFEST = 'manifest.json'
/** Largest number of reads of a file that keeps changing during the read. */
const READS_MAX = 3

export interface DamagedFile {
  /** `<release id>/<path>`, or the id alone when the release's folder is gone. */
  readonly file: string
  readonly reason: string
  /** True when the file is gone or has another length; false when its bytes differ. */
  readonly isMissing: boolean
}

export interface FileGuard {
  /** Watches the files of a verified release. @param states states of the files when verified, by path in the release */
  watch(folder: string, manifest: Manifest, states: ReadonlyMap<string, string>): void
  /**
   * Checks that files (absolute paths) are as verified; unwatched files pass.
   * @returns null when all are; else a promise that reads the changed files again, which rejects with AppError
   * 'release_damaged' when one is damaged
   */
  check(paths: readonly string[]): Promise<void> | null
  /** @returns the state in which a file was last verified, or null when it is not watched */
  stateOf(path: string): string | null
  /**
   * Numbers the newest change of any of these files. Readers compare it, because a file may change back during a read. Changes of
   * other files, such as those of another release, do not count.
   */
  changes(paths: readonly string[]): number
  damaged(): readonly DamagedFile[]
  /** Stops watching the files of a release's folder. */
  forget(folder: string): void
  look(): Promise<void>
  close(): void
}

export interface GuardOptions {
  /** Called once for each damaged or missing file, and again only after it was intact in between. */
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
  /** Number of the file's last change, in the order of all changes. */
  changedAt: number
  damage: string | null
  /** True when the release was removed on purpose, which is no damage to report. */
  isRemoved: boolean
  checking: Promise<void> | null
}

const OTHER_BYTES = 'does not have the SHA-256 of the manifest'
const FOLDER_GONE = 'is not there any more'
const describe = ({ file, releaseId }: Watched, reason: string): DamagedFile => ({
  file: reason === FOLDER_GONE ? releaseId : file,
  reason,
  isMissing: reason !== OTHER_BYTES,
})

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
      watched.damage === null || watched.isRemoved ? [] : [describe(watched, watched.damage)],
    )
    return [...new Map(found.map((damage) => [damage.file, damage])).values()]
  }
  const read = async (watched: Watched): Promise<void> => {
    let state = NO_FILE
    let damage: string | null = 'changes while it is read'
    for (let attempt = 0; attempt < READS_MAX; attempt += 1) {
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
    watched.changedAt = changes
    const before = watched.damage
    // One report is enough for a folder that is gone.
    const isNamed = damage === FOLDER_GONE && damaged().some(({ file }) => file === watched.releaseId)
    watched.state = state
    watched.damage = damage
    watched.isRemoved = damage === FOLDER_GONE && wasRemoved(dirname(watched.folder), watched.releaseId)
    if (watched.isRemoved) return
    if (damage !== null && before === null && !isNamed) options.onDamaged?.(describe(watched, damage))
    if (damage === null && before !== null) options.onMended?.(watched.file)
  }
  const recheck = (watched: Watched): Promise<void> => {
    watched.checking ??= read(watched).finally(() => {
      watched.checking = null
    })
    return watched.checking
  }
  const recheckAll = async (wanted: readonly Watched[]): Promise<void> => {
    for (const watched of wanted) {
      if (fileStateSync(watched.path) !== watched.state) await recheck(watched)
      if (watched.damage !== null) throw damagedError(describe(watched, watched.damage))
    }
  }
  const look = async (): Promise<void> => {
    for (const watched of [...files.values()])
      if ((await fileState(watched.path)) !== watched.state) await recheck(watched)
  }
  let isScanning = false
  const timer = setInterval(() => {
    if (isScanning) return
    isScanning = true
    // Ignore errors: they occur again at the next scan, and must not end the process.
    look()
      .catch(() => undefined)
      .finally(() => {
        isScanning = false
      })
  }, SCAN_INTERVAL_MS)
  timer.unref()

  return {
    watch(folder, manifest, states) {
      const { release_id, files: listedFiles } = manifest
      const text = Buffer.from(manifestText(manifest))
      const manifestFile = { path: MANIFEST, bytes: text.length, sha256: sha256Hex(text) }
      for (const { path, bytes, sha256 } of [manifestFile, ...listedFiles]) {
        const absolutePath = resolve(folder, path)
        changes += 1
        files.set(absolutePath, {
          folder,
          releaseId: release_id,
          file: `${release_id}/${path}`,
          path: absolutePath,
          bytes,
          sha256,
          state: states.get(path) ?? '',
          changedAt: changes,
          damage: null,
          isRemoved: false,
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
      return wanted.length === 0 ? null : recheckAll(wanted)
    },
    stateOf: (path) => files.get(path)?.state ?? null,
    changes: (paths) => paths.reduce((newest, path) => Math.max(newest, files.get(path)?.changedAt ?? 0), 0),
    damaged,
    forget(folder) {
      const prefix = join(resolve(folder), sep)
      for (const path of [...files.keys()]) if (path.startsWith(prefix)) files.delete(path)
    },
    look,
    close: () => clearInterval(timer),
  }
}

/**
 * Reads files and ensures that they stayed as verified during the read; else reads once more. A file that was replaced and is intact again
 * may have made the read fail, so that is repeated, too.
 * @param read may run twice
 * @throws AppError 'release_damaged', and errors of `read` when no file changed
 */
export async function readUnchanged<Value>(
  guard: FileGuard | null,
  paths: readonly string[],
  read: () => Promise<Value>,
  readsMax = 2,
): Promise<Value> {
  if (guard === null || paths.length === 0) return read()
  for (let attempt = 1; ; attempt += 1) {
    await guard.check(paths)
    const before = guard.changes(paths)
    const outcome = await read().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    // A damaged file makes the engine fail with an unrelated error, so check the files before that.
    const changed = guard.check(paths)
    await changed
    if (changed === null && guard.changes(paths) === before) {
      if ('error' in outcome) throw outcome.error
      return outcome.value
    }
    if (attempt >= readsMax)
      throw new AppError('release_damaged', {
        detail: both(
          'Um arquivo da versão de dados mudou durante a leitura.',
          'A file of the release changed while it was read.',
        ),
        headers: { 'Retry-After': '5' },
      })
  }
}

export const filesOfView = (view: ReleaseView, releasesDir: string): string[] =>
  [view.analytics, ...componentManifests(view)].flatMap(({ release_id, files }) =>
    files.map(({ path }) => resolve(releasesDir, release_id, path)),
  )
