/** Fetching onto a disk that is too small, and onto one that fills up meanwhile: a tmpfs. Skipped where nobody may mount one. */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { makeDbf, makeLargeDbc } from '../fixtures/dbf-builder.ts'
import { startFtpServer } from '../fixtures/ftp-server.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { GROUPS, pathOf, publishMonth, TIME } from '../fixtures/snapshots.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const disk = join(temporaryFolder('full-disk'), 'disk')
mkdirSync(disk)
const JUNE = 202606
const server = await startFtpServer()
t.teardown(() => server.close())
publishMonth(server, JUNE)

/** Runs a script in a mount namespace of its own, in which `$DISK` is a disk of that size, while this process is the publisher. */
const onDisk = (size: string, script: string) =>
  new Promise<{ stdout: string; stderr: string; status: number | null }>((resolve) => {
    const mounted = `mount -t tmpfs -o size=${size} none "$DISK" || exit 9\n${script}`
    const fetch = `"${process.execPath}" "${bin}" fetch cnes --states RR --into "$DISK/snapshots"`
    const child = spawn('unshare', ['-rm', 'sh', '-c', mounted.replaceAll('FETCH', fetch)], {
      env: {
        PATH: process.env.PATH,
        DISK: disk,
        SUS_SOURCE_DATASUS: server.url,
        SUS_FETCH_PAUSE_MS: '5',
        SUS_FETCH_IDLE_MS: '20000',
      },
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text) => {
      stdout += text
    })
    child.stderr.on('data', (text) => {
      stderr += text
    })
    child.once('close', (status) => resolve({ stdout, stderr, status }))
  })
const skip = (await onDisk('128k', 'exit 0')).status !== 0 && 'no tmpfs can be mounted here'
const NAMES = 'find "$DISK/snapshots" -name "*.dbc" | sed "s/.*\\///" | sort | tr "\\n" " "'

t.test('a disk that is too small is refused before anything is fetched', { skip }, async (t) => {
  const { stdout, stderr, status } = await onDisk('1m', `FETCH; echo "status $?"; ${NAMES}`)
  t.equal(status, 0)
  t.match(
    stderr,
    /has 1 MB free, and 1 MB are to be fetched; free some space, or choose fewer states or months/,
  )
  t.equal(stdout, 'status 1\n')
  t.equal(server.retrievals.length, 0)
})

t.test('a disk that fills up ends the fetch; with space it continues', { skip }, async (t) => {
  const rows = Array.from({ length: 6000 }, () => ({ CNES: 'a' }))
  const content = makeLargeDbc(makeDbf({ columns: [['CNES', 50]], rows }))
  server.files.set(pathOf('ST', JUNE), { content, time: TIME })
  server.faults.bytesPerSecond = 60_000
  const { stdout, stderr } = await onDisk(
    '80m',
    `FETCH & fetch=$!
     until [ -n "$(find "$DISK/snapshots" -name ".STRR*.part" -size +16k 2>/dev/null)" ]; do sleep 0.05; done
     dd if=/dev/zero of="$DISK/fill" bs=4k 2>/dev/null
     wait $fetch; echo "status $?"
     ${NAMES}; echo
     rm "$DISK/fill"
     FETCH >&2; echo "status $?"
     ${NAMES}; echo
     cksum < "$DISK/snapshots/datasus/dissemin/publicos/CNES/200508_/Dados/ST/STRR2606.dbc" | cut -d " " -f 2`,
  )
  const [failed, before = '', fetched, after = '', bytes] = stdout.trim().split('\n')
  t.match(
    stderr,
    /sus-data: the disk of .*snapshots is full; free some space and run the command again: it continues/,
  )
  t.equal(failed, 'status 1')
  t.notMatch(before, /STRR2606|part/, 'nothing half has a name')
  t.equal(fetched, 'status 0')
  t.same(after.trim().split(' '), GROUPS.map((group) => `${group}RR2606.dbc`).sort())
  t.equal(Number(bytes), content.length)
  t.ok(
    server.retrievals.some(({ path, offset }) => path.includes('/ST/') && offset > 0),
    'the part was continued',
  )
})
