/**
 * Published files → verified-by-construction releases: demography, cnes, and the analytics release that joins them.
 *
 * In: paths. Out: ids, rows, rows set aside. Each release is written beside, checked and renamed into place; an import
 * that fails or is killed leaves the releases folder as it was.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { sha256Hex } from '../release/digest.ts'
import type { Manifest, Snapshot } from '../release/manifest.ts'
import { readPointer } from '../release/store.ts'
import { readManifest } from '../release/verify.ts'
import {
  cleanStaging,
  commitRelease,
  createStaging,
  digestFiles,
  type PreparedRelease,
  prepareRelease,
} from '../release/writer.ts'
import { buildCnes } from './cnes/import-cnes.ts'
import { type IbgeTable, readIbge } from './demography/files.ts'
import { type BuiltArea, buildDemography, type IbgeSource } from './demography/import-demography.ts'
import { type Discovery, discover } from './discover.ts'
import { ImportError, UnknownContent } from './import-error.ts'
import { mergeOutputs } from './output.ts'
import { buildPreAggregates } from './pre-aggregates.ts'
import { openSession, type Session } from './session.ts'

/** Part of every manifest: a change of the importer's rules changes the ids. */
export const IMPORTER_VERSION = '0.1.0'
export const DEFAULT_MAX_REJECTED = 0.001

export interface ImportOptions {
  readonly releasesDir: string
  /** Largest share of rows that may be set aside, 0 to 1. */
  readonly maxRejected: number
  readonly threads?: number
  readonly onProgress?: (step: string) => void
}

export interface ImportResult {
  readonly cnes: string | null
  readonly demography: string | null
  readonly analytics: string
  readonly rows: Readonly<Record<string, number>>
  readonly rejected: Readonly<Record<string, number>>
  /** Files nothing was made of. */
  readonly unknown: readonly string[]
}

/** @throws ImportError naming the file and the remedy; nothing is left behind */
export async function importPaths(paths: readonly string[], options: ImportOptions): Promise<ImportResult> {
  const { releasesDir, onProgress = () => undefined } = options
  await cleanStaging(releasesDir)
  const work = await createStaging(releasesDir)
  const session = await openSession({ scratch: join(work, 'scratch'), threads: options.threads })
  const prepared: PreparedRelease[] = []
  try {
    onProgress('recognise files')
    const found = await discover(paths, session.scratch)
    const version = await session.version()
    const unknown = [...found.unknown]
    const ibge = await readIbgeFiles(found, unknown, onProgress)
    if (ibge.length + found.base.size + found.state.length === 0)
      throw new ImportError(
        paths.join(', '),
        `holds no file this importer knows (not known: ${unknown.slice(0, 10).join(', ')})`,
        'Give it the files DATASUS and IBGE publish, unchanged and with their published names',
      )
    const synthetic = found.synthetic || ibge.some(({ table }) => table.synthetic)
    const previous = await currentAnalytics(releasesDir)

    let demography: Manifest | null = null
    let lists: string
    if (ibge.length > 0) {
      onProgress('demography')
      const made = await makeRelease(
        releasesDir,
        options,
        found,
        version,
        synthetic,
        'demography',
        'br',
        ibge.map(({ snapshot }) => snapshot),
        {},
        (staging) => buildDemography(session, staging, ibge),
      )
      prepared.push(made)
      demography = made.manifest
      lists = made.staging
    } else {
      demography = await findDemography(releasesDir, previous)
      lists = join(releasesDir, demography?.release_id ?? '')
    }

    let cnes: Manifest | null = null
    let facts = ''
    if (found.base.size + found.state.length > 0) {
      if (demography === null)
        throw new ImportError(
          'CNES files',
          'come without a municipality list',
          "Add IBGE's list of municipalities and population to the import, or import them first",
        )
      const municipalities = join(lists, 'municipalities/part-0.parquet')
      const snapshots: Snapshot[] = []
      let scope = 'br'
      const made = await makeRelease(
        releasesDir,
        options,
        found,
        version,
        synthetic || demography.synthetic,
        'cnes',
        () => scope,
        snapshots,
        { demography: demography.release_id },
        async (staging) => {
          const built = await buildCnes(session, staging, found, municipalities, onProgress)
          snapshots.push(...built.snapshots)
          scope = built.scope
          return built
        },
      )
      prepared.push(made)
      cnes = made.manifest
      facts = made.staging
    } else if (previous?.components.cnes !== undefined) {
      cnes = await readManifest(releasesDir, previous.components.cnes)
      facts = join(releasesDir, cnes.release_id)
    }

    onProgress('analytics')
    const joined = await makeAnalytics(session, releasesDir, version, cnes, facts, demography)
    prepared.push(joined)
    // Nothing is in its place until everything is whole: an import that fails leaves no release at all.
    for (const release of prepared) await commitRelease(releasesDir, release)
    const analytics = joined.manifest
    return {
      cnes: found.base.size + found.state.length > 0 ? (cnes?.release_id ?? null) : null,
      demography: ibge.length > 0 ? (demography?.release_id ?? null) : null,
      analytics: analytics.release_id,
      rows: Object.fromEntries(
        [demography, cnes].flatMap((manifest) =>
          Object.entries(manifest?.datasets ?? {}).map(([name, { rows }]) => [name, rows]),
        ),
      ),
      rejected: sumReasons([
        ...(ibge.length > 0 ? (demography?.set_aside ?? []) : []),
        ...(cnes?.set_aside ?? []),
      ]),
      unknown,
    }
  } finally {
    session.close()
    for (const folder of [work, ...prepared.map(({ staging }) => staging)])
      await rm(folder, { recursive: true, force: true })
  }
}

function sumReasons(setAside: Manifest['set_aside']): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { reason, rows } of setAside) sums[reason] = (sums[reason] ?? 0) + rows
  return sums
}

/** @param unknown gets the names of spreadsheets that are none of IBGE's */
async function readIbgeFiles(
  found: Discovery,
  unknown: string[],
  onProgress: (step: string) => void,
): Promise<IbgeSource[]> {
  const sources: IbgeSource[] = []
  for (const { name, path, archive } of found.ibge) {
    onProgress(name)
    const bytes = await readFile(path)
    const table = readKnown(name, bytes)
    if (table === null) {
      unknown.push(name)
      continue
    }
    const snapshot = {
      publisher: 'IBGE',
      file: name,
      archive,
      bytes: bytes.length,
      sha256: sha256Hex(bytes),
      rows: table.published,
    }
    const twice = sources.find((other) => other.snapshot.file === name)
    if (twice !== undefined) throw new ImportError(name, 'is there twice', 'Import one copy of each file')
    sources.push({ snapshot, table })
  }
  return sources
}

function readKnown(name: string, bytes: Buffer): IbgeTable | null {
  try {
    return readIbge(name, bytes)
  } catch (error) {
    if (error instanceof UnknownContent) return null
    throw error
  }
}

async function makeRelease(
  releasesDir: string,
  options: ImportOptions,
  found: Discovery,
  version: string,
  synthetic: boolean,
  area: 'cnes' | 'demography',
  scope: string | (() => string),
  snapshots: readonly Snapshot[],
  components: Record<string, string>,
  build: (staging: string) => Promise<BuiltArea>,
): Promise<PreparedRelease> {
  const staging = await createStaging(releasesDir)
  try {
    const built = await build(staging)
    const share = built.read === 0 ? 0 : built.rejected / built.read
    if (share > options.maxRejected)
      throw new ImportError(
        `${area} import`,
        `sets aside ${built.rejected} of ${built.read} rows (${worst(built.setAside)}), more than the share of ${options.maxRejected}`,
        'Check the files, or allow a larger share with --max-rejected',
      )
    const failed = built.checks.filter(({ violations }) => violations !== 0)
    if (failed.length > 0)
      throw new ImportError(
        `${area} import`,
        `fails the check ${failed.map(({ name, violations }) => `${name} (${violations})`).join(', ')}`,
        'Fetch the files again; a release is made only of data that holds together',
      )
    const files = await digestFiles(staging, built.rowsByFile)
    const own = new Set(snapshots.map(({ file, archive }) => archive?.file ?? file))
    const acquisitions = found.acquisitions.filter(({ file }) => own.has(file))
    return await prepareRelease(
      staging,
      {
        format: 1,
        area,
        scope: typeof scope === 'string' ? scope : scope(),
        month: built.month,
        synthetic,
        importer_version: IMPORTER_VERSION,
        duckdb_version: version,
        catalog_version: CATALOG_VERSION,
        datasets: built.datasets,
        files,
        snapshots: [...snapshots].sort((left, right) => (left.file < right.file ? -1 : 1)),
        coverage: built.coverage,
        counts: built.counts,
        set_aside: [...built.setAside],
        checks: built.checks.map(({ name, violations }) => ({ name, violations })),
        components,
        census_year: built.censusYear,
      },
      acquisitions.length > 0 ? acquisitions : null,
    )
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

const worst = (setAside: Manifest['set_aside']): string =>
  [...setAside]
    .sort((left, right) => right.rows - left.rows)
    .slice(0, 3)
    .map(({ file, reason, rows }) => `${file}: ${reason} ${rows}`)
    .join('; ')

/** @param facts folder of the cnes release */
async function makeAnalytics(
  session: Session,
  releasesDir: string,
  version: string,
  cnes: Manifest | null,
  facts: string,
  demography: Manifest | null,
): Promise<PreparedRelease> {
  const newest = cnes ?? demography
  if (newest === null)
    throw new ImportError('import', 'made no release', 'Give it the files DATASUS and IBGE publish')
  const staging = await createStaging(releasesDir)
  try {
    const built =
      cnes === null ? { outputs: [], checks: [] } : await buildPreAggregates(session, staging, facts, cnes)
    const failed = built.checks.find(({ violations }) => violations !== 0)
    if (failed !== undefined)
      throw new ImportError(
        'analytics',
        `fails the check ${failed.name} (${failed.violations})`,
        'Import the CNES files again with the municipality list in use',
      )
    const { datasets, rowsByFile } = mergeOutputs(built.outputs)
    return await prepareRelease(
      staging,
      {
        format: 1,
        area: 'analytics',
        scope: newest.scope,
        month: newest.month,
        synthetic: (cnes?.synthetic ?? false) || (demography?.synthetic ?? false),
        importer_version: IMPORTER_VERSION,
        duckdb_version: version,
        catalog_version: CATALOG_VERSION,
        datasets,
        files: await digestFiles(staging, rowsByFile),
        snapshots: [],
        coverage: {},
        counts: {},
        set_aside: [],
        checks: built.checks.map(({ name, violations }) => ({ name, violations })),
        components: {
          ...(cnes === null ? {} : { cnes: cnes.release_id }),
          ...(demography === null ? {} : { demography: demography.release_id }),
        },
        census_year: demography?.census_year ?? null,
      },
      null,
    )
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

async function currentAnalytics(releasesDir: string): Promise<Manifest | null> {
  const id = await readPointer(releasesDir)
  return id === null ? null : readManifest(releasesDir, id).catch(() => null)
}

/** The promoted demography, else the newest one here. */
async function findDemography(releasesDir: string, previous: Manifest | null): Promise<Manifest | null> {
  const promoted = previous?.components.demography
  if (promoted !== undefined) return readManifest(releasesDir, promoted)
  const ids = (await readdir(releasesDir)).filter((name) => /^(demo-)?demography-/.test(name))
  const manifests = await Promise.all(ids.map((id) => readManifest(releasesDir, id).catch(() => null)))
  return (
    manifests
      .filter((manifest) => manifest !== null)
      .sort((left, right) => right.month - left.month || (left.release_id < right.release_id ? -1 : 1))[0] ??
    null
  )
}
