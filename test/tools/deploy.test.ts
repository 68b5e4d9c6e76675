/** Image and service unit, read as text: what they copy and name is there, and nobody is root. No container is needed. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSettings, SETTINGS } from '../../src/settings.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const withoutComments = (text: string): string => text.replaceAll(/^\s*#.*$/gm, '')
const known = new Map(Object.values(SETTINGS).map(({ name }) => [name as string, true]))

/** Containerfile as instructions: lines that end with \ go on. */
const instructions = withoutComments(read('tools/deploy/Containerfile'))
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1).trim() }))
const of = (name: string): string[] => instructions.filter((one) => one.name === name).map(({ rest }) => rest)
/** NAME=value pairs of a line. */
const pairs = (line: string): [string, string][] =>
  [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
const isOurs = ([name]: readonly [string, string]): boolean => name !== 'NODE_ENV'

t.test('image: what is copied is there', async (t) => {
  const copied = of('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(/\s+/).slice(0, -1))
  t.ok(copied.length >= 4)
  for (const path of copied) t.ok(existsSync(`${root}${path}`), path)
  const top = new Set(copied.map((path) => path.split('/')[0]))
  const sent = read('tools/deploy/Containerfile.dockerignore').matchAll(/^!(\S+)$/gm)
  t.same(new Set([...sent].map(([, path]) => path)), top, 'the ignore file lets through what is copied')
  t.match(of('CMD').at(-1), 'tools/sus-data.js')
})

t.test('image: built with the packages of development, run with those of production', async (t) => {
  const second = instructions.findLastIndex(({ name }) => name === 'FROM')
  const [build, image] = [instructions.slice(0, second), instructions.slice(second)]
  const [first = '', ...more] = build.filter(({ name }) => name === 'RUN').map(({ rest }) => rest)
  t.match(first, /^npm ci --ignore-scripts /, 'no package runs a program of its own')
  t.match(more.join('\n'), /^npm run build && npm prune --omit=dev --ignore-scripts /)
  const copied = image
    .filter(({ name }) => name === 'COPY')
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  t.same(
    copied.filter((path) => !path.startsWith('--')).sort(),
    ['/app/dist', '/app/node_modules', 'LICENSE', 'package.json', 'tools/sus-data.js'],
    'neither sources nor tools of development; tools/deploy/smoke.sh runs exactly these',
  )
})

t.test('image: user, base and stop', async (t) => {
  const users = of('USER')
  t.ok(users.length > 0)
  for (const user of users) t.match(user, /^[1-9]\d*:[1-9]\d*$/, 'a number that is not 0')
  const order = instructions.map(({ name }) => name)
  t.ok(order.lastIndexOf('USER') < order.lastIndexOf('CMD'))
  for (const base of of('FROM'))
    t.match(base, /^node:[\w${}.-]+( AS \w+)?$/, 'a name without a registry host')
  const [, major = '0'] = /NODE_VERSION=(\d+)/.exec(of('ARG').join('\n')) ?? []
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  t.ok(
    Number(major) >= Number(/\d+/.exec(engines.node)?.[0]),
    'the base is a Node.js that package.json takes',
  )
  t.same(of('STOPSIGNAL'), ['SIGTERM'])
  t.match(of('HEALTHCHECK').join(), '/health')
})

t.test('image: settings are settings and parse', async (t) => {
  const given = of('ENV').flatMap(pairs).filter(isOurs)
  t.ok(given.length >= 4)
  for (const [name] of given) t.ok(known.has(name), name)
  const settings = readSettings(Object.fromEntries(given))
  t.equal(settings.host, '0.0.0.0')
  t.not(settings.keysFile, `${settings.releasesDir}/keys.json`, 'keys are not among the releases')
})

t.test('unit: settings, program and user', async (t) => {
  const unit = withoutComments(read('tools/deploy/sus-data.service'))
  const value = (key: string): string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, text = '']) => text)
  const given = value('Environment').flatMap(pairs).filter(isOurs)
  t.ok(given.length >= 4)
  for (const [name] of given) t.ok(known.has(name), name)
  readSettings(Object.fromEntries(given))
  t.not(value('User')[0] ?? 'root', 'root')
  const [, program = ''] = / node (\S+) serve$/.exec(value('ExecStart')[0] ?? '') ?? []
  t.ok(existsSync(`${root}${program}`), program)
  t.match(value('ExecReload')[0], /-HUP/)
  t.same(value('ProtectSystem'), ['strict'])
  t.same(value('NoNewPrivileges'), ['yes'])
  const stopSeconds = Number(value('TimeoutStopSec')[0])
  t.ok(stopSeconds * 1000 > readSettings({}).queryTimeoutMs, 'a query may end before the process is killed')
  const [, documentation = ''] =
    /^file:\/\/\/opt\/sus-data\/(.*)$/.exec(value('Documentation')[0] ?? '') ?? []
  t.ok(existsSync(`${root}${documentation}`), documentation)
})
