/**
 * Locates row files in releases/.derived/<release_id>/<format>/, beside the release and outside its digest. Input: the manifest of
 * a component release. Output: the row files that it should have, those that it has, and what is wrong with them.
 *
 * An index file lists each row file with its size, its SHA-256 and the SHA-256 of its source Parquet. Everything in this folder can
 * be deleted and rebuilt at any time; the store and the verification of releases ignore it.
 */
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { DATASETS, type DatasetName, datasetOf } from '../model/datasets.ts'
import { canonicalJson, digestFile, digestJson } from '../release/digest.ts'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ROW_FORMAT } from './sections.ts'

/** Datasets that have row files. The largest come first, because they take longest to build. */
export const ROW_DATASETS: readonly DatasetName[] = [
  'facilities',
  'specialized_services',
  'equipment_inventory',
  'bed_capacity',
  'outpatient_production',
  'hospital_admissions',
  'health_financing',
  'population',
  'municipalities',
]

const DERIVED = '.derived'
const INDEX = 'index.json'
const NO_INDEX = 'has no row files'
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const entrySchema = z.strictObject({
  path: z.string().regex(/^[a-z_]+(-\d{6})?\.rows$/),
  bytes: z.number().int().positive(),
  sha256,
  /** SHA-256 of the checksums at its end, with which a server checks what it reads. */
  sums_sha256: sha256,
  rows: z.number().int().nonnegative(),
  source: z.string(),
  source_sha256: sha256,
})
const indexSchema = z.strictObject({
  format: z.literal(ROW_FORMAT),
  release_id: z.string(),
  files: z.array(entrySchema),
  /** SHA-256 of the canonical JSON of the other members. */
  digest: sha256,
})

export type RowEntry = z.infer<typeof entrySchema>

/** A dataset and period of a release, and the Parquet file that holds it. */
export interface RowSource {
  readonly dataset: DatasetName
  /** YYYYMM; null for datasets without periods. */
  readonly period: number | null
  readonly file: ManifestFile
  readonly path: string
}

export interface RowProblem {
  readonly dataset: string
  readonly reason: string
}

export interface ListedRowFile {
  readonly source: RowSource
  readonly entry: RowEntry
}

export interface RowFiles {
  readonly folder: string
  /** Files that the index lists and that were built from the current Parquet; some may be damaged. */
  readonly listed: readonly ListedRowFile[]
  readonly good: readonly ListedRowFile[]
  readonly problems: readonly RowProblem[]
  /** Problems other than absence: a file exists or is listed, but is unusable. */
  readonly damaged: readonly RowProblem[]
}

export const derivedFolder = (releasesDir: string): string => join(releasesDir, DERIVED)
/** @returns the folder of a release's row files, whether or not it exists */
export const rowFolder = (releasesDir: string, id: string): string =>
  join(releasesDir, DERIVED, id, ROW_FORMAT)

/** @returns folders of a release's row files in formats of earlier versions, which nothing reads any more */
export async function otherFormats(releasesDir: string, id: string): Promise<string[]> {
  const folder = join(releasesDir, DERIVED, id)
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => /^rows-\d+$/.test(name) && name !== ROW_FORMAT)
    .map((name) => join(folder, name))
}

/** @returns the row files that a release should have; a partition of several files has none */
export function rowSources(manifest: Manifest): RowSource[] {
  const area = manifest.area
  return ROW_DATASETS.filter((name) => DATASETS[name].area === area).flatMap((dataset) =>
    manifest.files.flatMap((file): RowSource[] => {
      const [folder, partition, ...more] = file.path.split('/')
      if (folder !== dataset) return []
      const isPeriodic = datasetOf(dataset).periodic
      const period = isPeriodic ? Number(/=(\d{6})$/.exec(partition ?? '')?.[1]) : null
      const name = (isPeriodic ? more[0] : partition) ?? ''
      if (name !== 'part-0.parquet') return []
      return [{ dataset, period, file, path: `${dataset}${period === null ? '' : `-${period}`}.rows` }]
    }),
  )
}

export function indexText(id: string, files: readonly RowEntry[]): string {
  const body = { format: ROW_FORMAT, release_id: id, files }
  return `${canonicalJson({ ...body, digest: digestJson(body) })}\n`
}

/** @returns the entries of an index file, or why it is rejected */
export async function readIndex(releasesDir: string, id: string): Promise<RowEntry[] | string> {
  const folder = rowFolder(releasesDir, id)
  const text = await readFile(join(folder, INDEX), 'utf8').catch(() => null)
  if (text === null)
    return (await readdir(folder).catch(() => [])).length === 0
      ? NO_INDEX
      : 'the index of its row files is missing'
  try {
    const { digest, ...body } = indexSchema.parse(JSON.parse(text))
    if (digest !== digestJson(body)) return 'the index of its row files does not have its digest'
    return body.release_id === id ? body.files : 'its row files are those of another release'
  } catch {
    return 'the index of its row files cannot be read'
  }
}

/** Checks names, sizes, format and source of a release's row files. @param fullCheck also checks the SHA-256 of each file */
export async function checkRowFiles(
  releasesDir: string,
  manifest: Manifest,
  fullCheck = false,
): Promise<RowFiles> {
  const folder = rowFolder(releasesDir, manifest.release_id)
  const sources = rowSources(manifest)
  const entries = await readIndex(releasesDir, manifest.release_id)
  const listed: ListedRowFile[] = []
  const good: ListedRowFile[] = []
  const problems: RowProblem[] = []
  const damaged: RowProblem[] = []
  const result = { folder, listed, good, problems, damaged }
  const addProblem = (dataset: string, reason: string, isDamaged: boolean): void => {
    problems.push({ dataset, reason })
    if (isDamaged) damaged.push({ dataset, reason })
  }
  if (typeof entries === 'string') {
    if (sources.length > 0) addProblem('all', entries, entries !== NO_INDEX)
    return result
  }
  for (const source of sources) {
    const { file } = source
    const dataset = datasetPart(source)
    const entry = entries.find(({ path }) => path === source.path)
    if (entry === undefined) addProblem(dataset, 'has no row file', false)
    else if (entry.source !== file.path || entry.source_sha256 !== file.sha256 || entry.rows !== file.rows)
      addProblem(dataset, damageText(source, 'was made of another Parquet file'), true)
    else {
      listed.push({ source, entry })
      const reason = await damageOf(folder, entry, fullCheck)
      if (reason === null) good.push({ source, entry })
      else addProblem(dataset, damageText(source, reason), true)
    }
  }
  return result
}

/** @returns dataset and month of a row file, as problems name them */
export const datasetPart = ({ path }: RowSource): string => path.replace(/\.rows$/, '')
/** @returns the message about an unusable row file @param reason continues the sentence after its name */
export const damageText = ({ path }: RowSource, reason: string): string => `its row file ${path} ${reason}`

async function damageOf(folder: string, entry: RowEntry, fullCheck: boolean): Promise<string | null> {
  const path = join(folder, entry.path)
  const stat = await lstat(path).catch(() => null)
  if (stat === null || !stat.isFile()) return 'is missing'
  if (stat.size !== entry.bytes) return `has ${stat.size} bytes, not ${entry.bytes}`
  if (!fullCheck) return null
  const digest = await digestFile(path).catch((error: NodeJS.ErrnoException) => error)
  if (digest instanceof Error) return `cannot be read (${digest.code})`
  return digest.sha256 === entry.sha256 ? null : 'does not have the SHA-256 of the index'
}

export const indexPath = (folder: string): string => join(folder, INDEX)
