/**
 * The folder of snapshots: `<publisher>/<path at the publisher>`, with `acquisition.json` in each folder, which says where and
 * when its files were fetched. A file gets its name when it is whole. A file that changed at the publisher takes the name, and
 * the older one stays in `.versions` beside it. Nothing here removes published bytes.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceFile, syncPath } from '../files.ts'
import { readAcquisitionFile, VERSIONS_FOLDER } from '../import/acquisition.ts'
import { ACQUISITION_FILE, type AcquiredFile } from '../release/acquisition.ts'
import { digestFile } from '../release/digest.ts'

/** Files that the operator fetched by hand. `update` imports them with the others. */
export const BY_HAND_FOLDER = 'by-hand'
/** Least time between two writes of a folder's records. Records of a killed run are made again from the files. */
const WRITE_EVERY_MS = 1000

export type Stored = 'fetched' | 'replaced' | 'unchanged'

export interface Snapshots {
  /** @returns the record of a whole file with this size and time at the publisher, or null */
  current(path: string, bytes: number | null, time: string | null): Promise<AcquiredFile | null>
  recordOf(path: string): AcquiredFile | null
  /** Gives a whole file its name. @param part its path under a temporary name */
  store(part: string, path: string, facts: AcquiredFile): Promise<Stored>
  /** Gives a file a new time at the publisher, because its bytes are the same. */
  confirm(path: string, time: string): void
  /** Keeps a file in `.versions` and takes its name away, because another file replaces it under another name. */
  retire(path: string): Promise<void>
  flush(): void
}

interface Folder {
  readonly files: Map<string, AcquiredFile>
  isChanged: boolean
  writtenAt: number
}

export function openSnapshots(): Snapshots {
  const folders = new Map<string, Folder>()
  const folderOf = (path: string): Folder => {
    const name = dirname(path)
    const open = folders.get(name)
    if (open !== undefined) return open
    const files = new Map(Object.entries(readAcquisitionFile(join(name, ACQUISITION_FILE))))
    const folder: Folder = { files, isChanged: false, writtenAt: 0 }
    folders.set(name, folder)
    return folder
  }
  const write = (name: string, folder: Folder): void => {
    const files = Object.fromEntries([...folder.files].sort(([left], [right]) => (left < right ? -1 : 1)))
    replaceFile(join(name, ACQUISITION_FILE), `${JSON.stringify({ format: 1, files }, null, 1)}\n`)
    folder.isChanged = false
    folder.writtenAt = Date.now()
  }
  const change = (path: string, facts: AcquiredFile): void => {
    const folder = folderOf(path)
    folder.files.set(basename(path), facts)
    folder.isChanged = true
    if (Date.now() - folder.writtenAt > WRITE_EVERY_MS) write(dirname(path), folder)
  }
  const recordOf = (path: string): AcquiredFile | null => folderOf(path).files.get(basename(path)) ?? null
  return {
    recordOf,
    async current(path, bytes, time) {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat === undefined || (bytes !== null && stat.size !== bytes)) return null
      const facts = recordOf(path)
      if (facts !== null && facts.bytes === stat.size)
        return time === null || facts.server_time === time ? facts : null
      // A killed run may have stored the file without its record. Its time is that of the publisher.
      if (time === null || mtimeOf(time)?.getTime() !== stat.mtime.getTime()) return null
      const { sha256 } = await digestFile(path)
      return {
        publisher: null,
        url: null,
        retrieved_at: stat.ctime.toISOString(),
        bytes: stat.size,
        server_time: time,
        sha256,
      }
    },
    async store(part, path, facts) {
      const handle = openSync(part, 'r+')
      try {
        fsyncSync(handle)
      } finally {
        closeSync(handle)
      }
      const time = mtimeOf(facts.server_time)
      if (time !== null) utimesSync(part, time, time)
      let stored: Stored = 'fetched'
      if (existsSync(path)) {
        const { sha256 } = await digestFile(path)
        if (sha256 === facts.sha256) {
          // The same bytes under a new date. Renaming gives the file the new date.
          stored = 'unchanged'
        } else {
          keepVersion(path, sha256)
          stored = 'replaced'
        }
      }
      renameSync(part, path)
      syncPath(dirname(path))
      change(path, facts)
      return stored
    },
    confirm(path, time) {
      const facts = recordOf(path)
      if (facts === null) return
      const date = mtimeOf(time)
      if (date !== null) utimesSync(path, date, date)
      change(path, { ...facts, server_time: time })
    },
    async retire(path) {
      const { sha256 } = await digestFile(path)
      keepVersion(path, sha256)
      // A fetch that is killed in between leaves a file without a record, never a record without a file.
      const folder = folderOf(path)
      folder.files.delete(basename(path))
      write(dirname(path), folder)
      rmSync(path)
      syncPath(dirname(path))
    },
    flush() {
      for (const [name, folder] of folders) if (folder.isChanged) write(name, folder)
    },
  }
}

/** Links the file into `.versions`, under its name and the begin of its SHA-256. */
function keepVersion(path: string, sha256: string): void {
  const folder = join(dirname(path), VERSIONS_FOLDER)
  mkdirSync(folder, { recursive: true })
  const version = join(folder, `${basename(path)}.${sha256.slice(0, 12)}`)
  if (existsSync(version)) return
  try {
    linkSync(path, version)
  } catch {
    // Some file systems have no hard links.
    const temporary = `${version}.tmp`
    copyFileSync(path, temporary, constants.COPYFILE_FICLONE)
    renameSync(temporary, version)
  }
  syncPath(folder)
}

/** @returns the publisher's time as a date. It has no zone, so UTC is taken. */
function mtimeOf(time: string | null): Date | null {
  if (time === null) return null
  const date = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(time) ? `${time}:00Z` : time)
  return Number.isNaN(date.getTime()) ? null : date
}

/** Removes parts of other states of a file, which will never be continued. */
export function discardOtherParts(path: string, part: string | null): void {
  const prefix = `.${basename(path)}.`
  let names: string[]
  try {
    names = readdirSync(dirname(path))
  } catch {
    return
  }
  for (const name of names)
    if (name.startsWith(prefix) && name.endsWith('.part') && name !== part)
      rmSync(join(dirname(path), name), { force: true })
}

/** @returns names of files in a folder; none if it does not exist */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** @returns the parsed JSON of a small file that this program wrote, or null */
export function readJsonFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
