/** Keys on a disk that is full: a tmpfs of a few pages. Skipped where the system lets nobody mount one. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey, listKeys } from '../../src/keys/keys.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = temporaryFolder('full-disk')
const disk = join(folder, 'disk')
mkdirSync(disk)

/** Runs a script in a mount namespace of its own, in which `$DISK` is a disk of 128 KB: nothing of it stays. */
const onSmallDisk = (script: string) =>
  spawnSync('unshare', ['-rm', 'sh', '-c', `mount -t tmpfs -o size=128k none "$DISK" || exit 9\n${script}`], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      DISK: disk,
      MADE: join(folder, 'keys.json'),
      SUS_KEYS_FILE: join(disk, 'keys.json'),
      NODE: process.execPath,
      BIN: bin,
    },
  })
const canMount = onSmallDisk('exit 0').status === 0

t.test(
  'keys are revoked, one after another, while the disk is full',
  { skip: !canMount && 'no tmpfs can be mounted here' },
  async (t) => {
    // Several pages, so that one page that happens to be free is not enough.
    const made = join(folder, 'keys.json')
    for (let index = 0; index < 30; index += 1)
      createKey(made, { name: `${index}`, capabilities: ['geo.read'] })
    const ids = listKeys(made).map(({ id }) => id)
    const keys = '"$NODE" "$BIN" keys'
    const { stdout } = onSmallDisk(`
      cp -p "$MADE" "$DISK/keys.json"
      ${keys} create --name last --capabilities geo.read >&2
      dd if=/dev/zero of="$DISK/fill" bs=1k 2>/dev/null
      dd if=/dev/zero of="$DISK/more" bs=1 count=1 2>/dev/null && echo 'not full'
      ${keys} create --name none --capabilities geo.read >&2 && echo 'created'
      for id in ${ids.slice(0, 3).join(' ')}; do ${keys} revoke $id >&2 || echo "not revoked: $id"; done
      ls -A "$DISK" | tr '\\n' ' '
      echo
      ${keys} list --json`)
    const [names = '', ...json] = stdout.split('\n')
    t.equal(
      names,
      'fill keys.json keys.json.reserve more ',
      'the disk is full, no key was added, no lock is left',
    )
    const { keys: listed } = JSON.parse(json.join('\n')) as {
      keys: { id: string; state: string }[]
    }
    t.equal(listed.length, ids.length + 1, 'no key is lost, and none was added')
    t.same(
      listed.filter(({ state }) => state === 'revoked').map(({ id }) => id),
      ids.slice(0, 3),
    )
  },
)
