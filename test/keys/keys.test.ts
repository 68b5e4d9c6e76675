/** API keys: the text, the file, the running store. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { keyIdOf, makeKeyText } from '../../src/keys/key-text.ts'
import { createKey, KeysError, listKeys, openKeyStore, revokeKey, rotateKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'

const HOUR_MS = 3_600_000
const hasModes = process.platform !== 'win32'

const folder = mkdtempSync(join(tmpdir(), 'sus-keys-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = (): string => join(folder, String(++files), 'keys.json')
const all = { name: 'all', capabilities: CAPABILITIES }

t.test('text of a key', async (t) => {
  const { id, secret } = makeKeyText()
  t.match(secret, /^sus_[0-9a-z]{8}_[0-9a-z]{58}$/)
  t.equal(keyIdOf(secret), id)
  const [body, checksum] = [secret.slice(0, -6), secret.slice(-6)]
  const digest = BigInt(`0x${createHash('sha256').update(`checksum ${body}`).digest('hex')}`)
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  const first30 = [...Array(6)].map((_, place) => digits[Number((digest >> BigInt(251 - 5 * place)) & 31n)])
  t.equal(checksum, first30.join(''), 'what a scanner computes: SHA-256 in base32')
  for (const text of ['', 'sus_', secret.toUpperCase(), `${secret} `, secret.slice(0, -1), `${secret}\n`])
    t.equal(keyIdOf(text), null, JSON.stringify(text))
  t.equal(new Set(Array.from({ length: 1000 }, () => makeKeyText().secret)).size, 1000)
})

t.test('create, authenticate, list', async (t) => {
  const file = newFile()
  t.same(listKeys(file), [], 'a missing file holds no keys')
  const { id, secret } = createKey(file, {
    name: 'painel',
    capabilities: ['geo.read', 'facilities.read', 'geo.read'],
    rate: 60,
  })
  const store = openKeyStore(file)
  t.teardown(() => store.close())
  const key = { id, name: 'painel', capabilities: ['geo.read', 'facilities.read'], rate_per_minute: 60 }
  t.same(store.authenticate(secret), key)
  t.same(listKeys(file), [
    {
      ...key,
      state: 'active',
      created_at: listKeys(file)[0]?.created_at,
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    },
  ])
  if (hasModes) t.equal(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  t.notOk(text.includes(secret) || text.includes(secret.slice(13, 40)), 'the file holds no secret')
  t.notOk(JSON.stringify(listKeys(file)).match(/[0-9a-f]{64}/), 'the list holds no hash')
  t.notOk(existsSync(`${file}.lock`))

  const other = makeKeyText().secret
  for (const wrong of [
    '',
    'x',
    other,
    secret.slice(0, -1),
    secret.replace(id, other.slice(4, 12)),
    'x'.repeat(1e5),
  ])
    t.equal(store.authenticate(wrong), null)
})

t.test('expiry', async (t) => {
  const file = newFile()
  const day = createKey(file, { ...all, expires: '2031-01-31' })
  const time = createKey(file, { ...all, expires: '2031-01-31T12:00:00-03:00' })
  const past = createKey(file, { ...all, expires: '2020-01-01' })
  t.same(
    listKeys(file).map(({ state, expires_at }) => [state, expires_at]),
    [
      ['active', '2031-02-01T00:00:00.000Z'],
      ['active', '2031-01-31T15:00:00.000Z'],
      ['expired', '2020-01-02T00:00:00.000Z'],
    ],
  )
  let now = Date.parse('2031-01-31T14:59:59Z')
  const store = openKeyStore(file, { now: () => now })
  t.teardown(() => store.close())
  t.equal(store.authenticate(past.secret), null)
  t.ok(store.authenticate(time.secret))
  now += 1000
  t.equal(store.authenticate(time.secret), null, 'the end itself is past')
  t.ok(store.authenticate(day.secret), 'the last day counts')
  now = Date.parse('2031-02-01T00:00:00Z')
  t.equal(store.authenticate(day.secret), null)
  for (const expires of ['2031-02-30', '2031', 'tomorrow', '2031-01-31T12:00', ''])
    t.throws(() => createKey(file, { ...all, expires }), KeysError, expires)
})

t.test('arguments that are not allowed leave no file', async (t) => {
  const file = newFile()
  t.throws(() => createKey(file, { name: '', capabilities: CAPABILITIES }), KeysError)
  t.throws(() => createKey(file, { name: 'a\nb', capabilities: CAPABILITIES }), KeysError)
  t.throws(() => createKey(file, { name: 'a', capabilities: [] }), KeysError)
  t.throws(() => createKey(file, { name: 'a', capabilities: ['all' as 'geo.read'] }), KeysError)
  t.throws(() => createKey(file, { ...all, rate: 0 }), KeysError)
  t.throws(() => createKey(file, { ...all, rate: 1.5 }), KeysError)
  t.notOk(existsSync(file))
})

t.test('revoke and rotate', async (t) => {
  const file = newFile()
  const first = createKey(file, { name: 'first', capabilities: ['geo.read'], rate: 7 })
  const second = createKey(file, all)
  t.throws(() => revokeKey(file, 'zzzzzzzz'), KeysError)
  t.throws(() => rotateKey(file, 'zzzzzzzz'), KeysError)
  t.notMatch(
    t.throws(() => revokeKey(file, second.secret)),
    new RegExp(second.secret),
    'a pasted key is not repeated',
  )

  revokeKey(file, second.id)
  const revokedAt = listKeys(file)[1]?.revoked_at
  revokeKey(file, second.id)
  t.equal(listKeys(file)[1]?.revoked_at, revokedAt, 'revoked once')
  t.throws(() => rotateKey(file, second.id), { message: /is revoked/ })

  const rotated = rotateKey(file, first.id, { overlapHours: 2 })
  let now = Date.now()
  const store = openKeyStore(file, { now: () => now })
  t.teardown(() => store.close())
  t.equal(store.authenticate(second.secret), null)
  t.ok(store.authenticate(first.secret), 'the old key works during the overlap')
  t.match(store.authenticate(rotated.secret), {
    name: 'first',
    capabilities: ['geo.read'],
    rate_per_minute: 7,
  })
  now += 2 * HOUR_MS + 1000
  t.equal(store.authenticate(first.secret), null, 'and not after it')
  t.ok(store.authenticate(rotated.secret))

  const ending = createKey(file, { ...all, expires: new Date(Date.now() + HOUR_MS).toISOString() })
  rotateKey(file, ending.id)
  const [old, young] = listKeys(file).slice(-2)
  t.equal(old?.id, ending.id)
  t.ok(Date.parse(old?.expires_at ?? '') < Date.now() + 2 * HOUR_MS, 'a rotation never prolongs the old key')
  t.equal(young?.expires_at, old?.expires_at, 'nor the terms of the new one')
  t.throws(() => rotateKey(file, rotated.id, { overlapHours: -1 }), KeysError)
})

t.test('a running store follows the file', async (t) => {
  const file = newFile()
  const problems: string[] = []
  const store = openKeyStore(file, { pollMs: 10, onProblem: (message) => problems.push(message) })
  t.teardown(() => store.close())
  const until = async (done: () => boolean, what: string): Promise<void> => {
    for (let tries = 0; tries < 300 && !done(); tries += 1) await wait(10)
    t.ok(done(), what)
  }
  const { id, secret } = createKey(file, all)
  await until(() => store.authenticate(secret) !== null, 'a new key works')

  const good = readFileSync(file, 'utf8')
  writeFileSync(file, '{"format": 1, "keys": [', { mode: 0o600 })
  await until(() => problems.length === 1, 'a malformed file is reported')
  t.ok(store.authenticate(secret), 'and the last good list stays')
  writeFileSync(file, good.replace(/"sha256": "[0-9a-f]/, '"sha256": "x'))
  await until(() => problems.length === 2, 'so is one of another shape')
  t.match(problems[1], /not a file of keys \(at \/keys\/0\/sha256\)/)
  t.notMatch(problems.join(), /[0-9a-f]{60}/, 'no hash in a message')
  await wait(50)
  t.equal(problems.length, 2, 'each problem is reported once')

  writeFileSync(file, good)
  revokeKey(file, id)
  await until(() => store.authenticate(secret) === null, 'a revoked key stops working')
  const second = createKey(file, all)
  await until(() => store.authenticate(second.secret) !== null, 'another one works')
  rmSync(file)
  await until(() => store.authenticate(second.secret) === null, 'no file, no keys')
  t.match(
    store.problem(),
    /^[\w.-]+ is missing: no key is valid until it is put back\.$/,
    'without its folder',
  )
  t.ok(problems.at(-1)?.endsWith(store.problem() ?? ' '), 'and it is reported')
  writeFileSync(file, good, { mode: 0o600 })
  await until(() => store.problem() === null, 'until it is there again')
})

t.test('a file others can reach is refused', { skip: hasModes ? false : 'no modes here' }, async (t) => {
  const file = newFile()
  createKey(file, all)
  for (const mode of [0o644, 0o640, 0o602]) {
    chmodSync(file, mode)
    t.throws(() => openKeyStore(file), { message: /has mode .* chmod 600/ })
    t.throws(() => createKey(file, all), KeysError)
  }
  chmodSync(file, 0o600)
  openKeyStore(file).close()
})

t.test('a file that is no file of keys stops the start', async (t) => {
  const file = newFile()
  createKey(file, all)
  const twice = JSON.parse(readFileSync(file, 'utf8')) as { keys: unknown[] }
  const texts = [
    '',
    '[]',
    '{"format":2,"keys":[]}',
    JSON.stringify({ ...twice, keys: [...twice.keys, ...twice.keys] }),
  ]
  for (const text of texts) {
    writeFileSync(file, text)
    t.throws(() => openKeyStore(file), KeysError)
  }
})

t.test('two commands at once lose nothing', async (t) => {
  const file = newFile()
  const keys = fileURLToPath(new URL('../../src/keys/keys.ts', import.meta.url))
  const script = `
    import { createKey } from ${JSON.stringify(keys)}
    for (let i = 0; i < 20; i += 1) createKey(${JSON.stringify(file)}, { name: 'x', capabilities: ['geo.read'] })`
  const commands = [1, 2, 3].map(() =>
    spawn(process.execPath, ['--import=tsx', '--input-type=module', '-e', script], { stdio: 'inherit' }),
  )
  const codes = await Promise.all(commands.map((command) => once(command, 'exit')))
  t.same(codes, [
    [0, null],
    [0, null],
    [0, null],
  ])
  t.equal(listKeys(file).length, 60)
})

t.test('a lock left behind is broken', async (t) => {
  const file = newFile()
  createKey(file, all)
  const gone = spawn(process.execPath, ['-e', ''])
  await once(gone, 'exit')
  writeFileSync(`${file}.lock`, `${gone.pid} left`)
  createKey(file, all)
  t.equal(listKeys(file).length, 2)
  t.notOk(existsSync(`${file}.lock`))
})
