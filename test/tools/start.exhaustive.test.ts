/** `npm start` with its output in a file: the key of the demonstration is in a file of mode 0600, and not in that output. */
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '../../tools/free-port.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const KEY = /sus_[0-9a-z]{8}_[0-9A-Za-z]{20,}/

t.test('a first start', async (t) => {
  const releasesDir = temporaryFolder('start')
  const child = spawn(process.execPath, [bin, 'start', '--scale', 'small'], {
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  for (let turn = 0; turn < 4800 && !output.includes('Try it'); turn += 1) await wait(50)
  const keyFile = join(releasesDir, 'demonstration-key')
  t.match(output, `A key that may read everything is in ${keyFile} (mode 0600).`)
  t.notMatch(output, KEY)
  t.equal(statSync(keyFile).mode & 0o777, 0o600)
  const key = readFileSync(keyFile, 'utf8').trim()
  t.match(key, KEY)
  const [, address] = /Explorer: (\S+)\//.exec(output) ?? []
  t.equal((await fetch(`${address}/v1/states`, { headers: { authorization: `Bearer ${key}` } })).status, 200)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})
