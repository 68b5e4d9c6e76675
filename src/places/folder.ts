/** A folder of releases as a place. */
import { createReadStream } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RELEASE_ID } from '../release/manifest.ts'
import { readPointer } from '../release/pointer.ts'
import { TRUST_FILE } from '../release/verify.ts'
import { type Place, PlaceError } from './place.ts'

const ATTESTATIONS = 'attestations'

/** @param path folder of releases, which need not exist */
export function folderPlace(path: string): Place {
  const orNull = <Value>(reading: Promise<Value>): Promise<Value | null> =>
    reading.catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
      throw new PlaceError(`${path} cannot be read (${error.code}).`, true)
    })
  return {
    name: path,
    current: () => readPointer(path),
    list: async () => ((await orNull(readdir(path))) ?? []).filter((name) => RELEASE_ID.test(name)).sort(),
    read: (file) => orNull(readFile(join(path, file))),
    async open(file, start) {
      const handle = await orNull(open(join(path, file), 'r'))
      return handle === null ? null : createReadStream('', { fd: handle, start, highWaterMark: 1 << 20 })
    },
    attestations: async (id) =>
      ((await orNull(readdir(join(path, id, ATTESTATIONS)))) ?? [])
        .map((name) => `${ATTESTATIONS}/${name}`)
        .filter((name) => TRUST_FILE.test(name)),
  }
}
