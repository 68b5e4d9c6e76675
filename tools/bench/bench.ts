/**
 * `npm run bench`: measures the server against PostgreSQL, a bare Fastify app, raw DuckDB and another checkout.
 *
 *   --quick             small demonstration, short runs, one of each
 *   --scale small       small demonstration, runs of full length
 *   --only NAME[,NAME]  only these scenarios; their tables in this folder have the names
 *   --against DIR       another installed checkout of this repository, which some scenarios compare
 *   --work DIR          folder that keeps demonstrations between runs
 *   --seconds N, --runs N, --minutes N and --share S (for soak: duration, and share of the capacity)
 *
 * All servers are started and ended here, on the loopback. Sides run in turn on one machine. The table holds medians; a JSON
 * file in DIR has every run. The bench stops when a rival returns other data than the server.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { ADMISSIONS } from './admissions.ts'
import { ANALYTICS } from './analytics.ts'
import { awaitPreparation, endAll, endOnSignals, type Server, startApp, startOurs } from './children.ts'
import { type Bench, type Row, type Scenario, walkFacilities } from './context.ts'
import { EXPLORER } from './explorer.ts'
import { FAIRNESS } from './fairness.ts'
import { FIRST_REQUESTS } from './first-requests.ts'
import { makeAdmissions, makeFixture, makePair, makeVitalRecords, openDirect } from './fixture.ts'
import { startLoad } from './load.ts'
import { NEW_QUERIES } from './new-queries.ts'
import { OPERATIONS } from './operations.ts'
import { findPostgres, startRival } from './rival.ts'
import { ROUTES } from './routes.ts'
import { SETUP } from './setup.ts'
import { SOAK } from './soak.ts'
import { VITAL_RECORDS } from './vital-records.ts'
import { WIRE } from './wire.ts'

const SCENARIOS: readonly Scenario[] = [
  ...ROUTES,
  ...ANALYTICS,
  ...NEW_QUERIES,
  ...ADMISSIONS,
  ...VITAL_RECORDS,
  ...WIRE,
  ...FIRST_REQUESTS,
  ...OPERATIONS,
  ...FAIRNESS,
  ...SOAK,
  ...EXPLORER,
  ...SETUP,
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    scale: { type: 'string' },
    only: { type: 'string' },
    against: { type: 'string' },
    work: { type: 'string', default: join(tmpdir(), 'sus-data-bench') },
    seconds: { type: 'string' },
    runs: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    share: { type: 'string', default: '0.7' },
  },
})
const wanted = values.only?.split(',').map((name) => name.trim())
const unknown = wanted?.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name)) ?? []
if (unknown.length > 0) {
  process.stderr.write(
    `No scenario ${unknown.join(', ')}. There are:\n${SCENARIOS.map(({ name, what }) => `  ${name.padEnd(18)} ${what}\n`).join('')}`,
  )
  process.exit(2)
}

const scale = values.scale ?? (values.quick ? 'small' : 'national')
if (scale !== 'small' && scale !== 'national') {
  process.stderr.write(`--scale is small or national, not ${scale}.\n`)
  process.exit(2)
}

const work = resolve(values.work)
mkdirSync(work, { recursive: true })
const folder = mkdtempSync(join(work, 'run-'))
const clean = (): void => rmSync(folder, { recursive: true, force: true })
endOnSignals(clean)

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)
const rows: Row[] = []
const records: { readonly row: Row; readonly runs: unknown }[] = []
/** @returns a function that calls `make` at most once */
const once = <Value>(make: () => Promise<Value>): (() => Promise<Value>) => {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make()
    return made
  }
}

try {
  const fixture = await makeFixture(work, scale, 1, say)
  const direct = await openDirect(fixture)
  const keysFile = join(folder, 'keys.json')
  const { secret } = createKey(keysFile, { name: 'bench', capabilities: CAPABILITIES, rate: 100_000_000 })
  const logOf = (name: string): string => join(folder, `${name.replaceAll(/\W+/g, '-')}.log`)
  const startFrom = (
    root: string | undefined,
    name: string,
    env: Readonly<Record<string, string>>,
    releasesDir: string,
  ): Promise<Server> =>
    startOurs({
      name,
      ...(root === undefined ? {} : { root }),
      releasesDir,
      keysFile,
      secret,
      env,
      logFile: logOf(name),
    })
  const postgres = findPostgres()
  if (postgres === null) say('PostgreSQL is not installed: scenarios against it are skipped')
  const start: Bench['start'] = (name, env, { releasesDir }) => startFrom(undefined, name, env, releasesDir)
  const prepared = async (server: Server): Promise<Server> => awaitPreparation(server, logOf(server.name))
  const ours = once(async () => prepared(await start('sus-data', {}, fixture)))
  const bench: Bench = {
    quick: values.quick,
    seconds: Number(values.seconds ?? (values.quick ? 1 : 5)),
    runs: Number(values.runs ?? (values.quick ? 1 : 5)),
    minutes: Number(values.minutes),
    share: Number(values.share),
    folder,
    keysFile,
    fixture,
    direct,
    load: startLoad(),
    ours,
    uncached: once(async () =>
      prepared(await start('sus-data, nothing cached', { SUS_CACHE_BYTES: '0' }, fixture)),
    ),
    rival: once(
      async (): Promise<Server | null> =>
        postgres === null ? null : startRival(postgres, fixture, direct, say),
    ),
    bare: once(() => startApp('bare Fastify', 'bare-server.ts', {})),
    start,
    startOther: async (name, { releasesDir }) =>
      values.against === undefined
        ? null
        : prepared(await startFrom(resolve(values.against), name, {}, releasesDir)),
    pair: once(() => makePair(work, fixture.scale, say)),
    admissions: once(() => makeAdmissions(work, fixture, say)),
    vitalRecords: once(() => makeVitalRecords(work, fixture.scale, say)),
    logOf,
    fixtureOf: (scale, periods) => makeFixture(work, scale, periods, say),
    walk: once(async () => walkFacilities(await ours())),
    row(row, runs) {
      rows.push(row)
      records.push({ row, runs })
      say(lineOf(row))
    },
    say,
  }
  for (const scenario of SCENARIOS)
    if (wanted === undefined ? scenario.isExtra !== true : wanted.includes(scenario.name)) {
      say(`${scenario.name}: ${scenario.what}`)
      // A failing scenario must not hide the results of the others.
      try {
        await scenario.run(bench)
      } catch (error) {
        process.exitCode = 1
        say(`${scenario.name} FAILED: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  direct.close()
} finally {
  await endAll()
  clean()
}

const machine = {
  cores: availableParallelism(),
  cpu: cpus()[0]?.model ?? '',
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  scale,
}
const createdAt = new Date().toISOString()
const file = join(work, `bench-${createdAt.slice(0, 19).replaceAll(/\D/g, '')}.json`)
writeFileSync(file, `${JSON.stringify({ machine, at: createdAt, records }, null, 1)}\n`)
process.stdout.write(
  `${['| scenario | ours | against | ratio | goal | met |', '|---|---|---|---|---|---|', ...rows.map(lineOf)].join('\n')}\n`,
)
say(`every run is in ${file}`)
if (rows.some(({ met }) => met === false)) say('some goals are not met')

function lineOf({ scenario, ours, against, ratio, goal, met }: Row): string {
  const cells = [
    scenario,
    ours,
    against,
    ratio === null ? '–' : ratio.toFixed(2),
    goal,
    met === null ? '–' : met ? 'yes' : 'no',
  ]
  return `| ${cells.join(' | ')} |`
}
