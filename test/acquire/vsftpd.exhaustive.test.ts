/** The same fetch from an FTP server of another make, Debian's vsftpd: Unix listings, EPSV and PASV of a real server. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { dbcOf, fetchInto, GROUPS, pathOf } from '../fixtures/snapshots.ts'
import { startVsftpd, withoutVsftpd } from '../fixtures/vsftpd.ts'

const JUNE = 202606

t.test('files of vsftpd', { skip: withoutVsftpd }, async (t) => {
  const server = await startVsftpd(new Map(GROUPS.map((group) => [pathOf(group, JUNE), dbcOf(group, JUNE)])))
  t.teardown(server.close)
  const into = temporaryFolder('fetch')
  const env = { SUS_SOURCE_DATASUS: server.url, SUS_FETCH_IDLE_MS: '5000' }
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
