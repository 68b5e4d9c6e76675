/** The same fetch from an FTP server of another make, Debian's vsftpd: Unix listings, EPSV and PASV of a real server. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../../tools/free-port.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { dbcOf, fetchInto, GROUPS, pathOf } from '../fixtures/snapshots.ts'

const BIN = '/usr/sbin/vsftpd'
const JUNE = 202606
const skip =
  existsSync(BIN) && process.getuid?.() === 0 ? false : 'vsftpd is not here, or the user may not start it'

t.test('files of vsftpd', { skip }, async (t) => {
  const folder = temporaryFolder('vsftpd')
  const root = join(folder, 'root')
  for (const group of GROUPS) {
    const path = join(root, pathOf(group, JUNE))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, dbcOf(group, JUNE))
  }
  for (const path of [folder, root]) chmodSync(path, 0o755)
  const port = await freePort()
  const config = join(folder, 'vsftpd.conf')
  const settings = {
    listen: 'YES',
    listen_ipv6: 'NO',
    listen_address: '127.0.0.1',
    listen_port: port,
    background: 'NO',
    anonymous_enable: 'YES',
    local_enable: 'NO',
    anon_root: root,
    secure_chroot_dir: root,
    seccomp_sandbox: 'NO',
    xferlog_enable: 'NO',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(config, lines.join(''))
  const child = spawn(BIN, [config], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  for (let turn = 0; turn < 100 && !(await listens(port)); turn += 1) await wait(50)
  const into = temporaryFolder('fetch')
  const env = { SUS_SOURCE_DATASUS: `ftp://127.0.0.1:${port}`, SUS_FETCH_IDLE_MS: '5000' }
  const report = await fetchInto(into, env)
  t.same(report.failures, [])
  t.same(
    report.files.map(({ status, reason }) => reason ?? status),
    GROUPS.map(() => 'fetched'),
  )
  for (const group of GROUPS)
    t.ok(readFileSync(join(into, 'datasus', pathOf(group, JUNE))).equals(dbcOf(group, JUNE)))
  t.ok((await fetchInto(into, env)).files.every(({ status }) => status === 'present'))
})

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
