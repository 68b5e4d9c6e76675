/** Access to a folder in place of a server: a mirror on a disk, with the paths of the publisher. */
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer as collect } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { NotThere, type Remote, type RemoteState } from '../types.ts'

const isAbsent = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')

/** @param address file:/// address of the folder */
export function openFolder(address: string): Remote {
  const root = fileURLToPath(address)
  const stateOf = async (path: string): Promise<RemoteState> => {
    try {
      const { size, mtime } = await stat(join(root, path))
      return { bytes: size, time: mtime.toISOString().slice(0, 16) }
    } catch (error) {
      if (isAbsent(error)) throw new NotThere(path)
      throw error
    }
  }
  return {
    async list(folder) {
      try {
        const entries = await readdir(join(root, folder), { withFileTypes: true })
        return await Promise.all(
          entries
            .filter((entry) => entry.isFile())
            .map(async ({ name }) => ({ name, ...(await stateOf(`${folder}/${name}`)) })),
        )
      } catch (error) {
        if (isAbsent(error)) throw new NotThere(folder)
        throw error
      }
    },
    stateOf,
    async transfer(path, offset, _validator, open) {
      const state = await stateOf(path)
      await pipeline(createReadStream(join(root, path), { start: offset }), open(offset))
      return state
    },
    async readRange(path, start, length) {
      await stateOf(path)
      return collect(createReadStream(join(root, path), { start, end: start + length - 1 }))
    },
    close: () => undefined,
  }
}
