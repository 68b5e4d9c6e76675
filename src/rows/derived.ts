/**
 * Where row files stand: releases/.derived/<release_id>/<format>/, beside the release and outside its digest. In: the manifest of a
 * component release. Out: the row files it should have, and those it has, with what is wrong with them.
 *
 * An index file names each row file with its size and SHA-256 and the SHA-256 of the Parquet it was made of. Everything here can be
 * deleted and made again at any time; store and verification of releases look past the folder.
 */
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { DATASETS, type DatasetName, datasetOf } from '../model/datasets.ts'
import { canonicalJson, digestFile, digestJson } from '../release/digest.ts'
import type { Manifest, ManifestFile } from '../release/manifest.ts'
import { ROW_FORMAT } from './sections.ts'

/** Datasets that have row files, the largest first: they take longest to make. */
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
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const entrySchema = z.strictObject({
  path: z.string().regex(/^[a-z_]+(-\d{6})?\.rows$/),
  bytes: z.number().int().positive(),
  sha256,
  rows: z.number().int().nonnegative(),
  /** The Parquet file it was made of. */
  source: z.string(),
  source_sha256: sha256,
})
const indexSchema = z.strictObject({
  format: z.literal(ROW_FORMAT),
  release_id: z.string(),
  files: z.array(entrySchema),
  /** SHA-256 of the canonical JSON of all this but itself. */
  digest: sha256,
})

export type RowEntry = z.infer<typeof entrySchema>

/** A dataset and period of a release, and the Parquet file that holds it. */
export interface RowSource {
  readonly dataset: DatasetName
  /** YYYYMM; null for datasets without periods. */
  readonly period: number | null
  readonly file: ManifestFile
  /** Name of its row file. */
  readonly path: string
}

export interface RowProblem {
  readonly dataset: string
  readonly reason: string
}

export interface RowFiles {
  readonly folder: string
  readonly good: readonly { readonly source: RowSource; readonly entry: RowEntry }[]
  readonly problems: readonly RowProblem[]
}

export const derivedFolder = (releasesDir: string): string => join(releasesDir, DERIVED)
/** @returns the folder of a release's row files, whether it is there or not */
export const rowFolder = (releasesDir: string, id: string): string =>
  join(releasesDir, DERIVED, id, ROW_FORMAT)

/** @returns folders of a release's row files in other formats: those of earlier versions, which nobody reads any more */
export async function otherFormats(releasesDir: string, id: string): Promise<string[]> {
  const folder = join(releasesDir, DERIVED, id)
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => /^rows-\d+$/.test(name) && name !== ROW_FORMAT)
    .map((name) => join(folder, name))
}

/** @returns what a release should have row files of; a partition of several files has none */
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

/** @returns text of an index file */
export function indexText(id: string, files: readonly RowEntry[]): string {
  const body = { format: ROW_FORMAT, release_id: id, files }
  return `${canonicalJson({ ...body, digest: digestJson(body) })}\n`
}

/** @returns the entries of an index file, or why it is refused */
export async function readIndex(releasesDir: string, id: string): Promise<RowEntry[] | string> {
  const text = await readFile(join(rowFolder(releasesDir, id), INDEX), 'utf8').catch(() => null)
  if (text === null) return 'has no row files'
  try {
    const { digest, ...body } = indexSchema.parse(JSON.parse(text))
    if (digest !== digestJson(body)) return 'the index of its row files does not have its digest'
    return body.release_id === id ? body.files : 'its row files are those of another release'
  } catch {
    return 'the index of its row files cannot be read'
  }
}

/**
 * Row files of a release: names, sizes, format and what they were made of are checked, their bytes only when asked for.
 * @param whole checks the SHA-256 of each file as well
 */
export async function checkRowFiles(
  releasesDir: string,
  manifest: Manifest,
  whole = false,
): Promise<RowFiles> {
  const folder = rowFolder(releasesDir, manifest.release_id)
  const sources = rowSources(manifest)
  const entries = await readIndex(releasesDir, manifest.release_id)
  const good: { source: RowSource; entry: RowEntry }[] = []
  const problems: RowProblem[] = []
  if (typeof entries === 'string')
    return { folder, good, problems: sources.length === 0 ? [] : [{ dataset: 'all', reason: entries }] }
  for (const source of sources) {
    const entry = entries.find(({ path }) => path === source.path)
    const reason = await problemOf(folder, source, entry, whole)
    if (entry !== undefined && reason === null) good.push({ source, entry })
    else problems.push({ dataset: source.path.replace(/\.rows$/, ''), reason: reason ?? 'has no row file' })
  }
  return { folder, good, problems }
}

async function problemOf(
  folder: string,
  { file }: RowSource,
  entry: RowEntry | undefined,
  whole: boolean,
): Promise<string | null> {
  if (entry === undefined) return 'has no row file'
  if (entry.source !== file.path || entry.source_sha256 !== file.sha256 || entry.rows !== file.rows)
    return 'its row file was made of another Parquet file'
  const path = join(folder, entry.path)
  const stat = await lstat(path).catch(() => null)
  if (stat === null || !stat.isFile()) return 'its row file is missing'
  if (stat.size !== entry.bytes) return `its row file has ${stat.size} bytes, not ${entry.bytes}`
  if (whole && (await digestFile(path)).sha256 !== entry.sha256)
    return 'its row file does not have the SHA-256 of the index'
  return null
}

/** @returns name of the index file */
export const indexPath = (folder: string): string => join(folder, INDEX)
