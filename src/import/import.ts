/**
 * Published files → releases: one of each area that there are files of, and the analytics release that joins the areas.
 *
 * In: paths. Out: ids, rows, rows set aside. Each release is written beside, checked and renamed into place; an import
 * that fails or is killed leaves the releases folder as it was. What files look like only the areas know (area.ts).
 */
import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Area } from '../model/datasets.ts'
import { CATALOG_VERSION } from '../model/metrics.ts'
import { OUTPATIENT_TABLES } from '../model/sia/datasets.ts'
import { ADMISSION_TABLES } from '../model/sih/datasets.ts'
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
import { type Acquisition, discover, notRecognised, sizeOfPaths } from './discover.ts'
import { FINANCING } from './financing/importer.ts'
import { ImportError } from './import-error.ts'
import { buildFlowPreAggregates, buildPreAggregates } from './pre-aggregates.ts'
import { openSession, type Session } from './session.ts'
import { SIA } from './sia/importer.ts'
import { SIH } from './sih/importer.ts'
import { countUndecoded } from './undecoded.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from './write-parquet.ts'

/** Each after those it needs. */
const AREAS: readonly AreaImporter[] = [DEMOGRAPHY, CNES, SIH, SIA, FINANCING]
/** Whose file is it? Any workbook may be one of IBGE, so those that know theirs by name are asked first. */
const RECOGNISERS: readonly AreaImporter[] = [FINANCING, ...AREAS.filter((area) => area !== FINANCING)]

/** Part of every manifest: a change of the importer's rules changes the ids. */
const IMPORTER_VERSION = '0.1.0'
export const DEFAULT_MAX_REJECTED = 0.001

export interface ImportOptions {
  readonly releasesDir: string
  /** Largest share of rows that may be set aside, 0 to 1. */
  readonly maxRejected: number
  readonly threads?: number
  readonly onProgress?: (step: string) => void
  /** Allows a release without any population, which has no rates. */
  readonly withoutPopulation?: boolean
  /** Allows files of population that lack municipalities: theirs, and sums over them, are null. */
  readonly partialPopulation?: boolean
  /** Makes the row files of the releases as well. */
  readonly makesRows?: boolean
  /** Gives the signature of a release, which stands beside its manifest; without it releases are not signed. */
  readonly sign?: (releaseId: string) => string
}

export interface ImportResult {
  readonly cnes: string | null
  readonly demography: string | null
  readonly sih: string | null
  readonly sia: string | null
  readonly financing: string | null
  readonly analytics: string
  readonly rows: Readonly<Record<string, number>>
  readonly rejected: Readonly<Record<string, number>>
  /** What is odd in rows that were loaded: name of a count of the manifests → rows or facilities; those above 0. */
  readonly odd: Readonly<Record<string, number>>
  /** Files nothing was made of. */
  readonly unknown: readonly string[]
  /** Row files by release; of those that were here already, nothing. */
  readonly rowFiles: Readonly<Record<string, MadeRows>>
}

/** A release of an area, whether just made or here before. */
interface AreaRelease {
  readonly manifest: Manifest
  readonly folder: string
  readonly contentId: string
}

/** @throws ImportError naming the file and the remedy; nothing is left behind */
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
  const stops: (() => Promise<void>)[] = []
  let isOpen = true
  const closeOnce = (): void => {
    if (isOpen) session.close()
    isOpen = false
  }
  try {
    onProgress('recognise files')
    const found = await discover(paths, RECOGNISERS, session.scratch)
    const unknown = [...found.unknown]
    const opened = new Map<AreaImporter, AreaFiles>()
    for (const importer of AREAS) {
      const files = await importer.open(found.files.get(importer) ?? [], unknown, onProgress)
      if (files !== null) opened.set(importer, files)
    }
    const strange = found.named.find(({ name }) => unknown.includes(name))
    if (strange !== undefined) throw await notRecognised(strange)
    if (opened.size === 0)
      throw new ImportError(
        paths.join(', '),
        `holds no file this importer knows${unknown.length > 0 ? ` (not known: ${unknown.slice(0, 10).join(', ')})` : ''}`,
        'Give it the files DATASUS and IBGE publish, unchanged and with their published names',
      )
    const version = await session.version()
    const synthetic = found.synthetic || [...opened.values()].some((files) => files.synthetic)
    const previous = await currentAnalytics(releasesDir)
    const releases = new Map<Area, AreaRelease>()
    const imported = new Set([...opened.keys()].map(({ area }) => area))
    for (const files of opened.values())
      if (files.begin !== undefined) stops.push(files.begin(session, onProgress))
    for (const importer of AREAS) {
      const { area, needs } = importer
      const files = opened.get(importer)
      if (files === undefined) {
        const isNeeded = [...opened.keys()].some((other) => other.needs.includes(area))
        const manifest = await findRelease(releasesDir, area, previous, isNeeded)
        if (manifest !== null)
          releases.set(area, await describeExisting(releasesDir, manifest, options.threads))
        continue
      }
      // Before months are built, which takes longest.
      if (needs.includes('demography')) checkPopulation(releases.get('demography')?.manifest, options)
      onProgress(area)
      const needed = [...releases].filter(([other]) => needs.includes(other))
      const made = await withStaging(releasesDir, async (staging) => {
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
            ...describe(version, built.checks),
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
            components: idsOf(needed),
            census_year: built.censusYear,
            ...(built.territoryEdition === undefined ? {} : { territory_edition: built.territoryEdition }),
          }),
          notesOf(built, found.acquisitions),
          options.sign,
        )
      })
      // What was read of its files is not held in memory while others are built.
      opened.delete(importer)
      prepared.push(made)
      const { manifest, staging } = made
      releases.set(area, { manifest, folder: staging, contentId: manifest.content_id ?? '' })
    }

    checkPopulation(releases.get('demography')?.manifest, options)
    onProgress('analytics')
    const joined = await makeAnalytics(session, options, version, releases)
    prepared.push(joined)
    if (options.makesRows === true) {
      onProgress('row files')
      // Its memory is theirs now: both cores were busy until here, so it would be no quicker beside.
      closeOnce()
      const components = prepared.filter(({ manifest }) => manifest.area !== 'analytics')
      const sources = components.map(({ manifest, staging }) => ({ manifest, folder: staging }))
      rowFiles = await prepareRows(releasesDir, sources, false)
    }
    // Nothing is in its place until everything is whole: an import that fails leaves no release at all.
    for (const release of prepared) await commitRelease(releasesDir, release)
    const madeRows: Record<string, MadeRows> = {}
    for (const [id, rows] of rowFiles) {
      await rows.commit()
      madeRows[id] = rows.made
    }
    const idOf = (area: Area): string | null =>
      imported.has(area) ? (releases.get(area)?.manifest.release_id ?? null) : null
    return {
      cnes: idOf('cnes'),
      demography: idOf('demography'),
      sih: idOf('sih'),
      sia: idOf('sia'),
      financing: idOf('financing'),
      analytics: joined.manifest.release_id,
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
    for (const stop of stops) await stop()
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

const idsOf = (releases: Iterable<readonly [Area, AreaRelease]>): Manifest['components'] =>
  Object.fromEntries([...releases].map(([area, { manifest }]) => [area, manifest.release_id]))

/** What all manifests have in common: versions, and the outcome of checks. */
const describe = (version: string, checks: readonly NamedCheck[]) => ({
  format: 1 as const,
  importer_version: IMPORTER_VERSION,
  duckdb_version: version,
  catalog_version: CATALOG_VERSION,
  checks: checks.map(({ name, violations }) => ({ name, violations })),
})

/** @throws ImportError where there is no population at all and the operator did not say so */
function checkPopulation(demography: Manifest | undefined, { withoutPopulation }: ImportOptions): void {
  // Without a municipality list there is another error.
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

/** The operator's notes about the files of a release; null where there are none. */
function notesOf({ snapshots }: BuiltArea, acquisitions: readonly Acquisition[]): Acquisition[] | null {
  const files = new Set(snapshots.map(({ file, archive }) => archive?.file.split('/')[0] ?? file))
  const notes = acquisitions.filter(({ file }) => files.has(file))
  return notes.length > 0 ? notes : null
}

async function withStaging<Made>(
  releasesDir: string,
  make: (staging: string) => Promise<Made>,
): Promise<Made> {
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
  version: string,
  releases: ReadonlyMap<Area, AreaRelease>,
): Promise<PreparedRelease> {
  const cnes = releases.get('cnes')
  const demography = releases.get('demography')
  // Of the months there are; of releases of places alone, what those say.
  const ofMonths = [cnes, releases.get('sih'), releases.get('sia')].flatMap(
    (release) => release?.manifest ?? [],
  )
  // Financing is of years, which reach to December before it has come.
  const ofYears = [releases.get('financing'), demography].flatMap((release) => release?.manifest ?? [])
  const described = ofMonths.length > 0 ? ofMonths : ofYears.slice(0, 1)
  const [first] = described
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
    for (const [area, tables] of [
      ['sih', ADMISSION_TABLES],
      ['sia', OUTPATIENT_TABLES],
    ] as const) {
      const made = releases.get(area)
      if (made !== undefined)
        flows.push(...(await buildFlowPreAggregates(session, staging, tables, made.folder, made.manifest)))
    }
    const { datasets, rowsByFile } = mergeOutputs([...built.outputs, ...flows])
    return prepareRelease(
      staging,
      await withContent(staging, releases, threads, {
        ...describe(version, built.checks),
        area: 'analytics',
        scope: described.every(({ scope }) => scope === first.scope) ? first.scope : 'br',
        month: Math.max(...described.map(({ month }) => month)),
        synthetic: [...releases.values()].some(({ manifest }) => manifest.synthetic),
        datasets,
        files: await digestFiles(staging, rowsByFile),
        snapshots: [],
        coverage: {},
        counts: {},
        set_aside: [],
        components: idsOf(releases),
        census_year: demography?.manifest.census_year ?? null,
      }),
      null,
      sign,
    )
  })
}

async function currentAnalytics(releasesDir: string): Promise<Manifest | null> {
  const id = await readPointer(releasesDir)
  return id === null ? null : readManifest(releasesDir, id).catch(() => null)
}

/** The promoted release of an area; where there is none and another release is to be made with it, the newest one here. */
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
