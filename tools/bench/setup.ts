/** Scenarios of installation: start to ready, a first start in a fresh clone, import of a month, disk. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { end, launch, launchTool, ROOT, run } from './children.ts'
import { type Bench, median, report, residentMb, type Scenario } from './context.ts'

function bytesOf(folder: string, isWanted: (path: string) => boolean): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isWanted)
    .reduce((sum, path) => sum + statSync(path).size, 0)
}

const waitForExit = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })

/** Imports once by command. @returns seconds, and the peak memory of all its processes, in MB */
async function timeImport(
  bench: Bench,
  folder: string,
): Promise<{ readonly seconds: number; readonly peakMb: number }> {
  const startedAt = performance.now()
  const child = launchTool(
    ['import', bench.fixture.dataDir, '--releases', join(folder, 'releases'), '--json'],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  let peakMb = 0
  const timer = setInterval(() => {
    try {
      peakMb = Math.max(peakMb, residentMb({ pid: child.pid ?? 0 }))
    } catch {
      // A child process ended during the measurement.
    }
  }, 100)
  const code = await waitForExit(child)
  clearInterval(timer)
  if (code !== 0) throw new Error(`import ended with ${code}`)
  return { seconds: (performance.now() - startedAt) / 1000, peakMb }
}

async function importMonth(bench: Bench): Promise<void> {
  const runs = []
  let [parquet, all] = [0, 0]
  for (let attempt = 0; attempt < Math.min(3, bench.runs); attempt += 1) {
    const folder = join(bench.folder, 'import')
    runs.push(await timeImport(bench, folder))
    parquet = bytesOf(folder, (path) => path.endsWith('.parquet'))
    all = bytesOf(folder, () => true)
    rmSync(folder, { recursive: true, force: true })
  }
  const seconds = median(runs.map((timed) => timed.seconds))
  const peak = Math.max(...runs.map(({ peakMb }) => peakMb))
  report(
    bench,
    { scenario: 'import of a month', ours: `${seconds.toFixed(1)} s`, value: seconds },
    { atMost: 45, unit: ' s' },
    runs,
  )
  report(
    bench,
    { scenario: 'import: most memory', ours: `${peak} MB`, value: peak },
    { atMost: 2500, unit: ' MB' },
    runs,
  )
  const inMb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
  report(
    bench,
    {
      scenario: 'disk: month and what is made of it',
      ours: inMb(all),
      against: `its Parquet ${inMb(parquet)}`,
      ratio: all / parquet,
    },
    { atMost: 3 },
    { all, parquet },
  )
}

async function startToReady(bench: Bench): Promise<void> {
  const times: number[] = []
  for (let attempt = 0; attempt < Math.max(2, bench.runs); attempt += 1) {
    const startedAt = performance.now()
    const server = await bench.start('start', {}, bench.fixture)
    times.push((performance.now() - startedAt) / 1000)
    await server.stop()
  }
  const time = median(times)
  report(
    bench,
    { scenario: 'ready (start to ready)', ours: `${time.toFixed(2)} s`, value: time },
    { atMost: 2, unit: ' s' },
    times,
  )
}

/** Measures a newcomer's steps: clone, `npm ci`, `npm start`. The demonstration is always the national one. */
async function firstStart(bench: Bench): Promise<void> {
  const folder = join(bench.folder, 'clone')
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? bench.folder, PORT: '0' }
  await run('git', ['clone', '--quiet', '--depth', '1', `file://${ROOT}`, folder])
  const installedAt = performance.now()
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, env })
  const install = (performance.now() - installedAt) / 1000
  const logFile = join(bench.folder, 'first-start.log')
  const log = openSync(logFile, 'w')
  const startedAt = performance.now()
  // Run the command of `npm start` directly, so that it can be ended.
  const child = launch(process.execPath, ['tools/sus-data.js', 'start'], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  let isReady = false
  while (!isReady) {
    const text = readFileSync(logFile, 'utf8')
    if (child.exitCode !== null || performance.now() - startedAt > 900_000)
      throw new Error(`the first start does not get ready: ${text.slice(-1000)}`)
    const address = /"address":"(http:[^"]+)","msg":"listening"/.exec(text)?.[1]
    isReady = address !== undefined && (await fetch(`${address}/ready`).catch(() => null))?.status === 200
    await pause(50)
  }
  const seconds = (performance.now() - startedAt) / 1000
  await end(child)
  rmSync(folder, { recursive: true, force: true })
  const head = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  report(
    bench,
    {
      scenario: `first-start in a fresh clone of ${head}`,
      ours: `${seconds.toFixed(1)} s`,
      against: `npm ci before it ${install.toFixed(1)} s`,
      value: seconds,
    },
    { atMost: 75, unit: ' s' },
    { seconds, install },
  )
}

export const SETUP: readonly Scenario[] = [
  { name: 'ready', what: 'From start to ready, the release verified before.', run: startToReady },
  {
    name: 'first-start',
    what: 'git clone, npm ci, and the first start with its national demonstration; what is committed is measured.',
    isExtra: true,
    run: firstStart,
  },
  {
    name: 'import',
    what: 'A month imported by the command: time, memory, and disk beside its Parquet.',
    run: importMonth,
  },
]
