/**
 * Loads a program of this repository. There is no build step: the first start translates the sources and the packages they
 * use into a few files, and later ones load those, in a fifth of the time that hundreds of small files take.
 *
 * In: the name of a program. Out: its module. A translation stands in node_modules/.cache/sus-data under the SHA-256 of the
 * sources and of the list of packages that npm installed, so that no other code than this is ever run. Where none can be
 * made (a folder that is read-only), the sources are loaded one by one.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** What can be loaded, and where it is. In a translation each is a file of its name beside the others. */
const PROGRAMS = {
  cli: 'tools/cli.ts',
  'report-worker': 'src/report-worker.ts',
  'rows-program': 'src/rows-program.ts',
  'release-trial': 'src/release-trial.ts',
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/sus-data')
/** First in every file of a translation. */
const PRELUDE = 'load-prelude.js'
/** The files of packages that went into a translation, as they were then. */
const PACKAGES = 'packages.json'
/** Parts of tools/ that are in no program. */
const APART = ['tools/bench', 'tools/deploy']
/** Machine code, and large packages that few starts want. */
const LEFT_OUT = ['@duckdb/node-bindings', '@e965/xlsx', '@redis/client', 'apache-arrow']
/** A server that runs goes on loading from the translation it was started from: older ones stay a while. */
const KEPT = 8
const ABANDONED_MS = 3_600_000

/** @param {keyof typeof PROGRAMS} name */
export async function load(name) {
  let folder = findTranslation()
  if (folder === null) {
    await translate()
    folder = findTranslation()
  }
  if (folder !== null) return import(pathToFileURL(join(folder, `${name}.js`)).href)
  const { register } = await import('tsx/esm/api')
  register()
  return import(pathToFileURL(join(ROOT, PROGRAMS[name])).href)
}

/** @returns the folder of the translation of what is here now; null when there is none */
function findTranslation() {
  try {
    const folder = join(CACHE, digestSources(listSources()))
    const packages = JSON.parse(readFileSync(join(folder, PACKAGES), 'utf8'))
    return packages.every(([file, state]) => stateOf(file) === state) ? folder : null
  } catch {
    return null
  }
}

/** Makes the translation of what is here now, if it can. */
async function translate() {
  const making = join(CACHE, `making-${randomUUID()}`)
  try {
    const sources = listSources()
    const folder = join(CACHE, digestSources(sources))
    mkdirSync(making, { recursive: true })
    const { build, stop } = await import('esbuild')
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: PROGRAMS,
      outdir: making,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      // Packages are found as Node.js finds them, whatever tsconfig.json says.
      conditions: [],
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, target: 'es2023' } },
      external: LEFT_OUT,
      banner: { js: `import { require, __dirname, __filename } from './${PRELUDE}'` },
      sourcemap: 'linked',
      sourcesContent: false,
      metafile: true,
      logLevel: 'silent',
    })
    // Its process would stay beside the server.
    await stop()
    copyFileSync(join(ROOT, 'src', PRELUDE), join(making, PRELUDE))
    const inputs = Object.keys(metafile.inputs)
    const packages = inputs.filter((file) => file.split('/').includes('node_modules'))
    const unknown = inputs.filter((file) => !packages.includes(file) && !sources.includes(file))
    if (unknown.length > 0) throw new Error(`${unknown[0]} is not among the sources`)
    writeFileSync(join(making, PACKAGES), JSON.stringify(packages.map((file) => [file, stateOf(file)])))
    // On disk before it has its name: a machine that stops now leaves nothing that looks whole and is not.
    for (const file of readdirSync(making)) sync(join(making, file))
    // Sources that changed meanwhile may not be those that were read.
    if (folder !== join(CACHE, digestSources(listSources()))) return
    // What is there was made before a package was changed by hand.
    if (findTranslation() === null) remove(folder)
    try {
      renameSync(making, folder)
    } catch {
      // Another start was faster.
    }
    removeOld()
  } catch {
    // A folder that is read-only, a program of esbuild that cannot be run: the sources are loaded one by one.
  } finally {
    remove(making)
  }
}

/** @returns every file that says what a translation holds, below the root */
function listSources() {
  const files = ['package.json', 'node_modules/.package-lock.json']
  const list = (folder) => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory() && !APART.includes(path)) list(path)
      else if (/\.[jt]s$/.test(entry.name)) files.push(path)
    }
  }
  list('src')
  list('tools')
  return files.sort()
}

function digestSources(files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const bytes = readFileSync(join(ROOT, file))
    hash.update(`${file}\n${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex')
}

/** Size and time in whole seconds, which an image keeps; npm gives every file of a package the same time. */
function stateOf(file) {
  const { size, mtimeMs } = statSync(join(ROOT, file))
  return `${size} ${Math.floor(mtimeMs / 1000)}`
}

function sync(file) {
  const descriptor = openSync(file, 'r+')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Removes translations nobody is likely to run, and what a start that was killed left. */
function removeOld() {
  const entries = readdirSync(CACHE).map((name) => ({ name, at: statSync(join(CACHE, name)).mtimeMs }))
  const whole = entries.filter(({ name }) => !name.startsWith('making-'))
  const old = whole.sort((left, right) => right.at - left.at).slice(KEPT)
  const abandoned = entries.filter(
    ({ name, at }) => name.startsWith('making-') && at < Date.now() - ABANDONED_MS,
  )
  for (const { name } of [...old, ...abandoned]) remove(join(CACHE, name))
}

/** Removes a folder, if it can: what is left over is only in the way. */
function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // Not ours to remove, or not there.
  }
}
