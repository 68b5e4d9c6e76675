/**
 * Imports published files: builds one release per area that has files, and the analytics release that joins all areas. Each
 * release is written to a staging folder, checked and renamed into place. An import that fails or is killed leaves the releases
 * folder unchanged. File formats are not handled here but in the area folders (area.ts).
 */
import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { AREA_NAMES, AREAS_BY_NEED, type Area, areaOf } from '../model/areas.ts'
import { datasetOf } from '../model/datasets.ts'
import { ADDED_UP_TABLES } from '../model/dimensions.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import type { Acquisition } from '../release/acquisition.ts'
import type { Manifest } from '../release/manifest.ts'
import { readPointer } from '../release/pointer.ts'
import { readManifest } from '../release/verify.ts'
import {
  cleanReleases,
  commitRelease,
  createStaging,
  digestFiles,
  type PreparedRelease,
  prepareRelease,
} from '../release/writer.ts'
import { type MadeRows, type PreparedRows, prepareRows } from '../rows/make.ts'
import type { AreaFiles, AreaImporter, BuiltArea } from './area.ts'
import { checkArea } from './check-area.ts'
import { oddCounts } from './cnes/checks.ts'
import { CNES } from './cnes/importer.ts'
import { describeExisting, withContent } from './content.ts'
import { DEMOGRAPHY } from './demography/importer.ts'
import { createUnrecognisedError, discover, sizeOfPaths } from './discover.ts'
import { FINANCING } from './financing/importer.ts'
import { ImportError } from './import-error.ts'
import { buildFlowPreAggregates, buildPreAggregates } from './pre-aggregates.ts'
import { openSession, type Session } from './session.ts'
import { SIA } from './sia/importer.ts'
import { SIH } from './sih/importer.ts'
import { SIM } from './sim/importer.ts'
import { SINASC } from './sinasc/importer.ts'
import { countUndecoded } from './undecoded.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from './write-parquet.ts'

const IMPORTERS_BY_AREA: Readonly<Record<Area, AreaImporter>> = {
  cnes: CNES,
  demography: DEMOGRAPHY,
  sih: SIH,
  sia: SIA,
  sim: SIM,
  sinasc: SINASC,
  financing: FINANCING,
}
/** Build order: each area follows the areas that it needs. */
const IMPORTERS = AREAS_BY_NEED.map((area) => IMPORTERS_BY_AREA[area])
/** Recognition order. Any workbook could be one of IBGE, so importers that know their files by name come first. */
const RECOGNISERS = [...IMPORTERS].sort(
  (left, right) => Number(right.recognisesNames === true) - Number(left.recognisesNames === true),
)

/** Change it whenever import rules change. It is part of every manifest, so release ids change with it. */
const IMPORTER_VERSION = '0.1.0'
export const DEFAULT_MAX_REJECTED = 0.001

export interface ImportOptions {
  readonly releasesDir: string
  /** Largest accepted share of rejected rows, 0 to 1. */
  readonly maxRejected: number
  readonly threads?: number
  readonly onProgress?: (step: string) => void
  /** Accepts an import without any population. Such a release has no rates. */
  readonly withoutPopulation?: boolean
  /** Accepts population files without some municipalities. Their values and sums over them are null. */
  readonly partialPopulation?: boolean
  readonly makesRows?: boolean
  /** Returns the signature that is stored with the manifest. Without it, releases are not signed. */
  readonly sign?: (releaseId: string) => string
}

/** By area: the id of its new release, or null if no file of the area was imported. */
export interface ImportResult extends Readonly<Record<Area, string | null>> {
  readonly analytics: string
  readonly rows: Readonly<Record<string, number>>
  readonly rejected: Readonly<Record<string, number>>
  /** Unusual loaded rows: count name of the manifests → rows or facilities, if above 0. */
  readonly odd: Readonly<Record<string, number>>
  readonly unknown: readonly string[]
  /** New row files by release id. */
  readonly rowFiles: Readonly<Record<string, MadeRows>>
}

interface AreaRelease {
  readonly manifest: Manifest
  readonly folder: string
  readonly contentId: string
}

/** @throws ImportError with the file and the remedy, after removing everything that was written */
export async function importPaths(paths: readonly string[], options: ImportOptions): Promise<ImportResult> {
  const { releasesDir, onProgress = () => undefined } = options
  await cleanReleases(releasesDir)
  const work = await createStaging(releasesDir)
  const session = await openSession({
    scratch: join(work, 'scratch'),
    threads: options.threads,
    inputBytes: await sizeOfPaths(paths),
  })
  const prepared: PreparedRelease[] = []
  let rowFiles: ReadonlyMap<string, PreparedRows> = new Map()
  const stopCallbacks: (() => Promise<void>)[] = []
  let isOpen = true
  const closeOnce = (): void => {
    if (isOpen) session.close()
    isOpen = false
  }
  try {
    onProgress('recognise files')
    const found = await discover(paths, RECOGNISERS, session.scratch)
    const unknown = [...found.unknown]
    const filesByImporter = new Map<AreaImporter, AreaFiles>()
    for (const importer of IMPORTERS) {
      const files = await importer.open(found.files.get(importer) ?? [], unknown, onProgress)
      if (files !== null) filesByImporter.set(importer, files)
    }
    const unrecognised = found.named.find(({ name }) => unknown.includes(name))
    if (unrecognised !== undefined) throw await createUnrecognisedError(unrecognised)
    if (filesByImporter.size === 0)
      throw new ImportError(
        paths.join(', '),
        `holds no file this importer knows${unknown.length > 0 ? ` (not known: ${unknown.slice(0, 10).join(', ')})` : ''}`,
        'Give it the files DATASUS and IBGE publish, unchanged and with their published names',
      )
    const duckdbVersion = await session.version()
    const synthetic = found.synthetic || [...filesByImporter.values()].some((files) => files.synthetic)
    const previous = await readCurrentAnalytics(releasesDir)
    const releases = new Map<Area, AreaRelease>()
    const imported = new Set([...filesByImporter.keys()].map(({ area }) => area))
    for (const files of filesByImporter.values())
      if (files.begin !== undefined) stopCallbacks.push(files.begin(session, onProgress))
    for (const importer of IMPORTERS) {
      const { area } = importer
      const { needs } = areaOf(area)
      const files = filesByImporter.get(importer)
      if (files === undefined) {
        const isNeeded = [...imported].some((other) => areaOf(other).needs.includes(area))
        const manifest = await findRelease(releasesDir, area, previous, isNeeded)
        if (manifest !== null)
          releases.set(area, await describeExisting(releasesDir, manifest, options.threads))
        continue
      }
      // Fail early: building the months takes longest.
      if (needs.includes('demography')) checkPopulation(releases.get('demography')?.manifest, options)
      onProgress(area)
      const needed = [...releases].filter(([other]) => needs.includes(other))
      const preparedArea = await withStaging(releasesDir, async (staging) => {
        const built = await files.build({
          session,
          staging,
          needed: new Map(needed.map(([other, { folder }]) => [other, folder])),
          onProgress,
          threads: options.threads ?? availableParallelism(),
          partialPopulation: options.partialPopulation === true,
        })
        await checkArea(session, staging, area, built, options.maxRejected)
        const undecoded = await countUndecoded(session, staging, built)
        return prepareRelease(
          staging,
          await withContent(staging, needed, options.threads, {
            ...buildSharedMembers(duckdbVersion, built.checks),
            area,
            scope: built.scope,
            month: built.month,
            synthetic: synthetic || needed.some(([, { manifest }]) => manifest.synthetic),
            datasets: built.datasets,
            files: await digestFiles(staging, built.rowsByFile),
            snapshots: [...built.snapshots].sort((left, right) => (left.file < right.file ? -1 : 1)),
            coverage: built.coverage,
            ...(built.headers === undefined ? {} : { headers: built.headers }),
            counts: { ...built.counts, ...undecoded },
            set_aside: [...built.setAside],
            components: releaseIdsOf(needed),
            census_year: built.censusYear,
            ...(built.territoryEdition === undefined ? {} : { territory_edition: built.territoryEdition }),
          }),
          selectNotes(built, found.acquisitions),
          options.sign,
        )
      })
      // Drop the area's file data from memory before the next area is built.
      filesByImporter.delete(importer)
      prepared.push(preparedArea)
      const { manifest, staging } = preparedArea
      releases.set(area, { manifest, folder: staging, contentId: manifest.content_id ?? '' })
    }

    checkPopulation(releases.get('demography')?.manifest, options)
    onProgress('analytics')
    const analytics = await makeAnalytics(session, options, duckdbVersion, releases)
    prepared.push(analytics)
    if (options.makesRows === true) {
      onProgress('row files')
      // Close DuckDB first to free its memory. Running in parallel would not be faster, because all cores were busy until now.
      closeOnce()
      const components = prepared.filter(({ manifest }) => manifest.area !== 'analytics')
      const sources = components.map(({ manifest, staging }) => ({ manifest, folder: staging }))
      rowFiles = await prepareRows(releasesDir, sources, false)
    }
    // Rename releases only after all of them are complete, so that a failed import leaves none behind.
    for (const release of prepared) await commitRelease(releasesDir, release)
    const madeRows: Record<string, MadeRows> = {}
    for (const [id, rows] of rowFiles) {
      await rows.commit()
      madeRows[id] = rows.made
    }
    const importedIds = AREA_NAMES.map((area): [Area, string | null] => [
      area,
      imported.has(area) ? (releases.get(area)?.manifest.release_id ?? null) : null,
    ])
    return {
      ...(Object.fromEntries(importedIds) as Record<Area, string | null>),
      analytics: analytics.manifest.release_id,
      rows: Object.fromEntries(
        [...releases.values()].flatMap(({ manifest }) =>
          Object.entries(manifest.datasets).map(([name, { rows }]) => [name, rows]),
        ),
      ),
      rejected: sumReasons([...imported].flatMap((area) => releases.get(area)?.manifest.set_aside ?? [])),
      odd: Object.assign(
        {},
        ...[...imported].map((area) => oddCounts(releases.get(area)?.manifest.counts ?? {})),
      ),
      unknown,
      rowFiles: madeRows,
    }
  } finally {
    for (const stop of stopCallbacks) await stop()
    for (const rows of rowFiles.values()) await rows.discard()
    closeOnce()
    for (const folder of [work, ...prepared.map(({ staging }) => staging)])
      await rm(folder, { recursive: true, force: true })
  }
}

function sumReasons(setAside: Manifest['set_aside']): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { reason, rows } of setAside) sums[reason] = (sums[reason] ?? 0) + rows
  return sums
}

const releaseIdsOf = (releases: Iterable<readonly [Area, AreaRelease]>): Manifest['components'] =>
  Object.fromEntries([...releases].map(([area, { manifest }]) => [area, manifest.release_id]))

const buildSharedMembers = (duckdbVersion: string, checks: readonly NamedCheck[]) => ({
  format: 1 as const,
  importer_version: IMPORTER_VERSION,
  duckdb_version: duckdbVersion,
  catalog_version: CATALOG_VERSION,
  checks: checks.map(({ name, violations }) => ({ name, violations })),
})

function checkPopulation(demography: Manifest | undefined, { withoutPopulation }: ImportOptions): void {
  // A missing municipality list gets its own error later.
  if (
    demography === undefined ||
    withoutPopulation === true ||
    (demography.datasets.population?.rows ?? 0) > 0
  )
    return
  throw new ImportError(
    'import',
    'comes without any population, so that every rate per inhabitant would be null',
    "Add IBGE's census or estimates to the import, or allow it with --without-population",
  )
}

function selectNotes({ snapshots }: BuiltArea, acquisitions: readonly Acquisition[]): Acquisition[] | null {
  // Facts with a digest belong to those bytes only: another file may have taken the name since.
  const digests = new Map<string, Set<string>>()
  for (const { file, archive, sha256 } of snapshots) {
    const name = archive?.file.split('/')[0] ?? file
    digests.set(name, (digests.get(name) ?? new Set()).add(archive?.sha256 ?? sha256))
  }
  const notes = acquisitions.filter(
    ({ file, sha256 }) => digests.has(file) && (sha256 === null || digests.get(file)?.has(sha256) === true),
  )
  return notes.length > 0 ? notes : null
}

async function withStaging<Result>(
  releasesDir: string,
  make: (staging: string) => Promise<Result>,
): Promise<Result> {
  const staging = await createStaging(releasesDir)
  try {
    return await make(staging)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

function makeAnalytics(
  session: Session,
  { releasesDir, sign, threads }: ImportOptions,
  duckdbVersion: string,
  releases: ReadonlyMap<Area, AreaRelease>,
): Promise<PreparedRelease> {
  const cnes = releases.get('cnes')
  const demography = releases.get('demography')
  // Monthly areas determine the month and scope. Yearly areas do so only if there is no monthly one.
  const releasesWith = (periods: 'months' | 'years' | 'none'): Manifest[] =>
    AREA_NAMES.filter((area) => areaOf(area).periods === periods).flatMap(
      (area) => releases.get(area)?.manifest ?? [],
    )
  const monthlyReleases = releasesWith('months')
  // A year counts until December, which may still lie in the future.
  const describingReleases =
    monthlyReleases.length > 0
      ? monthlyReleases
      : [...releasesWith('years'), ...releasesWith('none')].slice(0, 1)
  const [first] = describingReleases
  if (first === undefined)
    throw new ImportError('import', 'made no release', 'Give it the files DATASUS and IBGE publish')
  return withStaging(releasesDir, async (staging) => {
    const built =
      cnes === undefined
        ? { outputs: [], checks: [] }
        : await buildPreAggregates(session, staging, cnes.folder, cnes.manifest)
    const failed = built.checks.find(({ violations }) => violations !== 0)
    if (failed !== undefined)
      throw new ImportError(
        'analytics',
        `fails the check ${failed.name} (${failed.violations})`,
        'Import the CNES files again with the municipality list in use',
      )
    const flows: DatasetOutput[] = []
    for (const [area, { folder, manifest }] of releases) {
      const tables = ADDED_UP_TABLES.filter((table) => datasetOf(table).area === area)
      flows.push(...(await buildFlowPreAggregates(session, staging, tables, folder, manifest)))
    }
    const { datasets, rowsByFile } = mergeOutputs([...built.outputs, ...flows])
    return prepareRelease(
      staging,
      await withContent(staging, releases, threads, {
        ...buildSharedMembers(duckdbVersion, built.checks),
        area: 'analytics',
        scope: describingReleases.every(({ scope }) => scope === first.scope) ? first.scope : 'br',
        month: Math.max(...describingReleases.map(({ month }) => month)),
        synthetic: [...releases.values()].some(({ manifest }) => manifest.synthetic),
        datasets,
        files: await digestFiles(staging, rowsByFile),
        snapshots: [],
        coverage: {},
        counts: {},
        set_aside: [],
        components: releaseIdsOf(releases),
        census_year: demography?.manifest.census_year ?? null,
      }),
      null,
      sign,
    )
  })
}

async function readCurrentAnalytics(releasesDir: string): Promise<Manifest | null> {
  const id = await readPointer(releasesDir)
  return id === null ? null : readManifest(releasesDir, id).catch(() => null)
}

/** @returns the promoted release of an area; if there is none and the import needs one, the newest existing release */
async function findRelease(
  releasesDir: string,
  area: Area,
  previous: Manifest | null,
  isNeeded: boolean,
): Promise<Manifest | null> {
  const promoted = previous?.components[area]
  if (promoted !== undefined) return readManifest(releasesDir, promoted)
  if (!isNeeded) return null
  const ids = (await readdir(releasesDir)).filter((name) => name.replace(/^demo-/, '').startsWith(`${area}-`))
  const manifests = await Promise.all(ids.map((id) => readManifest(releasesDir, id).catch(() => null)))
  return (
    manifests
      .filter((manifest) => manifest !== null)
      .sort((left, right) => right.month - left.month || (left.release_id < right.release_id ? -1 : 1))[0] ??
    null
  )
}
