/** The command line as people call it: the real bin in a process of its own. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { sharedCursorSecret } from '../../src/keys/cursor-secret.ts'
import { openKeyStore } from '../../src/keys/keys.ts'
import { readLinkedReleases } from '../../src/keys/link-record.ts'
import { linkSecretOf, openLink, takeToken } from '../../src/keys/links.ts'
import { COMMANDS } from '../../tools/cli.ts'
import { commandHelp } from '../../tools/command.ts'
import { createProgress } from '../../tools/progress.ts'
import { startServerProcess } from '../fixtures/server.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sus-cli-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: join(folder, 'releases'), ...env },
  })
  return { stdout, stderr, status }
}

t.test('the bin can be called', async (t) => {
  if (process.platform !== 'win32') accessSync(bin, constants.X_OK)
  t.match(readFileSync(bin, 'utf8'), /^#!\/usr\/bin\/env node\n/)
})

t.test('help', async (t) => {
  const { stdout, stderr, status } = run(['--help'])
  t.equal(status, 0)
  t.equal(stderr, '')
  t.match(run(['keys', '--help']), {
    stdout: commandHelp((await import('../../tools/commands/keys.ts')).command),
    status: 0,
  })
  for (const [name, load] of Object.entries(COMMANDS)) {
    const { command } = await load()
    t.equal(command.name, name)
    t.ok(stdout.includes(`  ${name} `), `--help lists ${name}`)
    const help = commandHelp(command)
    for (const option of Object.keys(command.options))
      t.ok(help.includes(`--${option} `), `the help of ${name} tells of --${option}`)
  }
})

t.test('what is not understood is one line saying what is allowed; exit 2', async (t) => {
  const calls: readonly (readonly [string[], RegExp])[] = [
    [['keyz'], /unknown command "keyz"; commands: .*keys/],
    [['toString'], /unknown command "toString"/],
    [['keys'], /one of: create, list, revoke, rotate/],
    [['keys', 'drop'], /one of: create, list, revoke, rotate/],
    [['keys', 'list', '--all'], /unknown option '--all'; options of keys: --name, .*--help/],
    [['keys', 'list', '--name', 'x'], /keys list does not take --name; options of keys list: --json/],
    [['keys', 'list', 'x'], /keys list takes options only/],
    [['keys', 'create', '--name'], /--name.*; options of keys/],
    [['keys', 'create', '--name', 'x'], /needs --name NAME and --capabilities/],
    [['demo', '--states', 'BA,XX'], /--states names "XX", but takes abbreviations of states: RO, AC, /],
    [['demo', '--states', 'BA', '--scale', 'national'], /leave out --scale national/],
    [['demo', '--states', 'BA', '--gaps'], /leave out --periods, --states and --scale national/],
    [
      ['keys', 'create', '--name', 'x', '--capabilities', 'geo'],
      /unknown capability "geo"; allowed: all, geo\.read/,
    ],
    [['keys', 'create', '--name', 'x', '--capabilities', 'all', '--rate', '0'], /--rate is "0", but must be/],
    [['keys', 'revoke'], /keys revoke takes one ID/],
  ]
  for (const [args, message] of calls) {
    const { stdout, stderr, status } = run(args)
    t.match(stderr, message)
    t.equal(stderr.trimEnd().split('\n').length, 1, 'one line')
    t.equal(stdout, '')
    t.equal(status, 2, args.join(' '))
  }
})

t.test('what fails is one line; exit 1', async (t) => {
  t.same(run(['keys', 'list'], { PORT: 'x' }), {
    stdout: '',
    stderr: 'sus-data: PORT is "x", but must be a whole number from 0 to 65535.\n',
    status: 1,
  })
  t.match(run(['keys', 'revoke', 'zzzzzzzz']), {
    stderr: /^sus-data: There is no key with this id.*\n$/,
    status: 1,
  })
  t.match(run(['keys', 'create', '--name', 'x', '--capabilities', 'all', '--expires', 'soon']).status, 1)
})

t.test('JSON that was cut is named in a sentence, without the words of the parser', async (t) => {
  const folder = t.testdir({ 'cut.json': '{"data":[]}x', 'report.json': '{"format":1}x', 'F.csv': 'a;b' })
  for (const args of [
    ['published-rows', join(folder, 'F.csv'), '--lineage', join(folder, 'cut.json')],
    ['verify-report', join(folder, 'report.json')],
  ]) {
    const { status, stderr } = run(args)
    t.not(status, 0)
    t.match(stderr, /^sus-data: \S+\.json (is not JSON|was cut or changed).*again/)
    t.notMatch(stderr, /at position/)
  }
})

t.test('keys: create, list, rotate, revoke', async (t) => {
  t.match(run(['keys', 'list']), { stdout: 'There are no keys.\n', status: 0 })
  const made = run([
    'keys',
    'create',
    '--name',
    'painel',
    '--capabilities',
    'geo.read,facilities.read',
    '--rate',
    '9',
  ])
  t.equal(made.status, 0)
  const secret = /^sus_[0-9a-z]{8}_[0-9a-z]{58}$/m.exec(made.stdout)?.[0] ?? ''
  const id = secret.slice(4, 12)
  const store = openKeyStore(join(folder, 'releases', 'keys.json'))
  t.teardown(() => store.close())
  t.match(store.authenticate(secret), { id, name: 'painel', rate_per_minute: 9 })

  const linked = run([
    'keys',
    'link',
    id,
    '--address',
    '/v1/states',
    '--form',
    'csv',
    '--server',
    'https://d.br/',
    '--json',
  ])
  const { link, scope, expires_at } = JSON.parse(linked.stdout)
  t.match(link, new RegExp(`^https://d\\.br/v1/states\\?access_token=susl_${id}_`))
  t.equal(scope, 'address')
  t.ok(Date.parse(expires_at) > Date.now() + 6 * 86_400_000, 'seven days')
  const signing = sharedCursorSecret(join(folder, 'releases', 'keys.json'))
  const taken = takeToken(link.replace('https://d.br', ''))
  if (signing === null || taken === null) throw new Error('no link')
  t.equal(taken.accept, 'text/csv')
  t.equal(openLink(taken.link, 'GET', linkSecretOf(signing), store)?.id, id, 'a server takes it')
  t.notOk(existsSync(join(folder, 'releases', 'keys.json.links')), 'the address names no release')
  const release = `cnes-br-202605-${'0'.repeat(64)}`
  mkdirSync(join(folder, 'releases', release))
  t.equal(run(['keys', 'link', id, '--address', `/v1/releases/${release}`]).status, 0)
  t.same(
    [...readLinkedReleases(join(folder, 'releases', 'keys.json')).keys()],
    [release],
    'prune keeps what a link names',
  )
  rmSync(join(folder, 'releases', release), { recursive: true })
  t.match(run(['keys', 'link', id]), { status: 2, stderr: /needs --address/ })
  t.match(run(['keys', 'link', id, '--address', '/docs']), { status: 1, stderr: /a path of the API/ })
  const rotated = JSON.parse(run(['keys', 'rotate', id, '--overlap-hours', '0', '--json']).stdout)
  t.match(rotated, {
    replaces: id,
    name: 'painel',
    capabilities: ['geo.read', 'facilities.read'],
    secret: /^sus_/,
  })
  t.match(JSON.parse(run(['keys', 'revoke', rotated.id, '--json']).stdout), {
    id: rotated.id,
    state: 'revoked',
  })
  const listed = run(['keys', 'list', '--json'])
  t.match(JSON.parse(listed.stdout), {
    keys: [
      { id, state: 'expired' },
      { id: rotated.id, state: 'revoked' },
    ],
  })
  const table = run(['keys', 'list']).stdout
  t.equal(table.trimEnd().split('\n').length, 3)
  t.notOk((listed.stdout + table).includes(secret.slice(13)), 'a secret is never shown again')
  t.match(
    run(['keys', 'create', '--name', 'old', '--capabilities', 'all', '--expires', '2020-01-01']).stdout,
    /expired already/,
  )
})

t.test(
  'serve names a host that it cannot listen on, and a folder of releases that does not exist',
  async (t) => {
    // An address of documentation, which no machine has.
    const refused = run(['serve'], { HOST: '192.0.2.1', PORT: '0' })
    t.equal(refused.status, 1)
    t.match(
      refused.stderr,
      /^sus-data: HOST is "192\.0\.2\.1", but must be an IP address of this machine, or a host name/,
    )

    const missing = join(folder, 'nowhere')
    const { child, ended, log } = await startServerProcess(missing, { waitsFor: '/health' })
    child.kill('SIGTERM')
    await ended
    t.ok(
      log().includes(
        `"SUS_RELEASES_DIR":${JSON.stringify(missing)},"msg":"the folder of releases does not exist"`,
      ),
    )
  },
)

t.test('progress is a line a step where there is no terminal, and nothing with --json', async (t) => {
  const texts: string[] = []
  const stream = {
    isTTY: false,
    write: (text: string) => texts.push(text) > 0,
  } as unknown as NodeJS.WriteStream
  for (const silent of [false, true]) {
    const progress = createProgress({ silent, stream })
    progress.step('first')
    progress.step('second', 10)
    progress.advance(5)
    progress.stop()
  }
  t.same(texts, ['first\n', 'second\n'])
})
