/** A read is repeated where a file that it read changed, and not where files of other releases did. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sha256Hex } from '../../src/release/digest.ts'
import { fileStateSync } from '../../src/release/file-state.ts'
import { createFileGuard, readUnchanged } from '../../src/release/guard.ts'
import type { Manifest } from '../../src/release/manifest.ts'

const dir = t.testdir()
const guard = createFileGuard()
t.teardown(() => guard.close())
/** @returns the path of the only file of a watched release */
function watchRelease(release_id: string): string {
  const folder = join(dir, release_id)
  mkdirSync(folder)
  const file = join(folder, 'beds.parquet')
  writeFileSync(file, release_id)
  const files = [
    { path: 'beds.parquet', bytes: release_id.length, sha256: sha256Hex(Buffer.from(release_id)), rows: 1 },
  ]
  const manifest = { release_id, files } as unknown as Manifest
  guard.watch(folder, manifest, new Map([['beds.parquet', fileStateSync(file)]]))
  return file
}
const [mine, other] = [watchRelease('mine'), watchRelease('other')]
let time = 1_700_000_000
/** Changes the state of a file and lets the guard read it again, as a hard link to it does. */
async function touch(path: string): Promise<void> {
  time += 1
  utimesSync(path, time, time)
  await guard.check([path])
}

t.test('changes of other releases during a read do not count', async (t) => {
  let reads = 0
  const read = async (): Promise<string> => {
    reads += 1
    for (let change = 0; change < 3; change += 1) await touch(other)
    return 'read'
  }
  t.equal(await readUnchanged(guard, [mine], read), 'read')
  t.equal(reads, 1)
})

t.test('a change of a file that is read repeats the read once, then refuses', async (t) => {
  let reads = 0
  const changeFirst = (changes: number) => async (): Promise<string> => {
    reads += 1
    if (reads <= changes) await touch(mine)
    return 'read'
  }
  t.equal(await readUnchanged(guard, [mine, other], changeFirst(1)), 'read')
  t.equal(reads, 2)
  reads = 0
  await t.rejects(readUnchanged(guard, [mine, other], changeFirst(2)), { code: 'release_damaged' })
  t.equal(reads, 2)
})

t.test(
  'a read that fails is repeated where a file changed meanwhile, and its error is thrown where none did',
  async (t) => {
    let reads = 0
    const failFirst = (path: string | null) => async (): Promise<string> => {
      reads += 1
      if (reads > 1) return 'read'
      if (path !== null) await touch(path)
      throw new TypeError('no such file')
    }
    t.equal(await readUnchanged(guard, [mine], failFirst(mine)), 'read')
    for (const path of [null, other]) {
      reads = 0
      await t.rejects(readUnchanged(guard, [mine], failFirst(path)), { message: 'no such file' })
      t.equal(reads, 1)
    }
  },
)

t.test('a release that is watched again during a read counts as changed', async (t) => {
  let reads = 0
  const read = async (): Promise<number> => {
    reads += 1
    if (reads === 1) {
      guard.forget(join(dir, 'other'))
      const files = [{ path: 'beds.parquet', bytes: 5, sha256: sha256Hex(Buffer.from('other')), rows: 1 }]
      const manifest = { release_id: 'other', files } as unknown as Manifest
      guard.watch(join(dir, 'other'), manifest, new Map([['beds.parquet', fileStateSync(other)]]))
    }
    return reads
  }
  t.equal(await readUnchanged(guard, [other], read), 2)
})
