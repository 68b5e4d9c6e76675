/** Routes of releases. Any valid key reads manifests; a file needs the capabilities of its table. */
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { ReleaseInfo } from '../../answers/releases.ts'
import { attachScript } from '../../engine/duckdb/attach.ts'
import type { JsonValue } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import type { Key } from '../../keys/keys.ts'
import type { Trust } from '../../keys/trust.ts'
import { capabilitiesOfTable } from '../../model/table-capabilities.ts'
import { readAcquisitions } from '../../release/acquisition.ts'
import { contentIdOf } from '../../release/content.ts'
import { dataPackage } from '../../release/descriptions/data-package.ts'
import { describeMetadata } from '../../release/descriptions/metadata-jsonld.ts'
import { sha256Hex } from '../../release/digest.ts'
import { stateOf } from '../../release/file-state.ts'
import { damagedError } from '../../release/guard.ts'
import { type Manifest, manifestText, RELEASE_FILE, RELEASE_ID } from '../../release/manifest.ts'
import { ReleaseRefused, TRUST_FILE } from '../../release/verify.ts'
import { formatPeriod } from '../../release/view.ts'
import { checkBeside, readAttestations, readLogPlace, readSignatures } from '../../trust/release-notes.ts'
import { chooseRange, rangeOf } from '../connection/ranges.ts'
import { requireAll } from '../request/authorise.ts'
import { matchesTag } from '../request/etag.ts'
import { originOf } from '../request/origin.ts'
import type { Call, FileResult, Route, Services } from '../route.ts'

const MANIFEST = 'manifest.json'
/** Chunk size in bytes. The file's state is compared after each chunk. */
const CHUNK_BYTES = 256 << 10
const OPENS_MAX = 3
const PATHS = { release_id: z.string().regex(RELEASE_ID) } as const

function describeRelease(
  { release_id, area, datasets, files, synthetic }: Manifest,
  promoted: boolean,
  contentId: string | null,
): ReleaseInfo {
  const periods = [...new Set(Object.values(datasets).flatMap((dataset) => dataset.periods))]
  return {
    release_id,
    area,
    periods: periods.sort((left, right) => left - right).map(formatPeriod),
    rows: files.reduce((sum, { rows }) => sum + rows, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.length,
    synthetic,
    promoted,
    content_id: contentId,
  }
}

/** @returns the table stored in a file; null for the manifest and signed files */
const tableOf = (path: string): string | null =>
  path.endsWith('.parquet') ? (path.split('/')[0] ?? '') : null

/** Checks the key before the release, so that it learns nothing about files it may not read. @throws AppError 'forbidden' */
function requireFile({ parameters, key }: Call): void {
  const path = parameters.path ?? ''
  const table = RELEASE_FILE.test(path) ? tableOf(path) : null
  if (table !== null) requireAll(capabilitiesOfTable(table), key)
}

/** @returns the manifest reduced to tables that the key may read; its id stays */
function readableBy(key: Key | null, manifest: Manifest): Manifest {
  const isReadable = (table: string | null): boolean =>
    table === null || capabilitiesOfTable(table).every((name) => key?.capabilities.includes(name) === true)
  return {
    ...manifest,
    datasets: Object.fromEntries(Object.entries(manifest.datasets).filter(([name]) => isReadable(name))),
    files: manifest.files.filter(({ path }) => isReadable(tableOf(path))),
  }
}

/**
 * @param ofRelease true for a component that a release names, which must be here
 * @throws AppError 'not_found' when the folder has no such release, 'release_damaged' when it has one that is refused
 */
async function locate(releases: Services['releases'], id: string, ofRelease = false): Promise<Located> {
  const located = await releases.locate(id)
  if (located !== null) return located
  if (!ofRelease && !releases.problems().some(({ release_id }) => release_id === id))
    throw new AppError('not_found')
  throw new AppError('release_damaged', {
    detail: both(`A versão ${id} não passou na verificação.`, `The release ${id} failed its verification.`),
    headers: { 'Retry-After': '5' },
  })
}
type Located = NonNullable<Awaited<ReturnType<Services['releases']['locate']>>>

interface FoundFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** More signatures or attestations may be added to the file. */
  readonly changes: boolean
  readonly content: Buffer | null
}

/** Finds a file that the manifest lists, the manifest itself, or a signed file. Any other path is 404. */
async function findFile({ parameters }: Call, { releases, trust }: Services): Promise<FoundFile> {
  const { folder, manifest } = await locate(releases, parameters.release_id ?? '')
  const name = parameters.path ?? ''
  const path = resolve(folder, name)
  // Send the verified manifest, whatever has become of its file.
  if (name === MANIFEST) return foundText(path, Buffer.from(manifestText(manifest)), false)
  if (TRUST_FILE.test(name)) {
    const text = await readFile(path).catch(() => null)
    if (text === null) throw new AppError('not_found')
    rejectDamaged(() => checkBeside(manifest.release_id, name, text.toString('utf8'), trust.verifiers()))
    return foundText(path, text, true)
  }
  const entry = manifest.files.find((file) => file.path === name)
  if (entry === undefined) throw new AppError('not_found')
  return { ...entry, path, changes: false, content: null }
}

const foundText = (path: string, content: Buffer, changes: boolean): FoundFile => ({
  path,
  bytes: content.length,
  sha256: sha256Hex(content),
  changes,
  content,
})

/** @throws AppError 'release_damaged' when a file stored beside a release is rejected */
function rejectDamaged<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ReleaseRefused)) throw error
    const file = `${error.releaseId}/${error.file}`
    throw damagedError({ file, reason: error.message.slice(file.length + 2) })
  }
}

/** @returns what is outside the release's hash. It goes to `meta`, because `data` is exactly the hashed manifest. */
async function describeTrust(
  id: string,
  { releasesDir, verifiers }: Trust,
): Promise<Record<string, JsonValue>> {
  const keys = verifiers()
  return {
    signatures: rejectDamaged(() => readSignatures(releasesDir, id, keys)).map((signature) => ({
      ...signature,
    })),
    attestations: readAttestations(releasesDir, id, keys).map(
      (attestation) => ({ ...attestation }) as Record<string, JsonValue>,
    ),
    log: readLogPlace(releasesDir, id, keys),
    acquisitions: (await readAcquisitions(releasesDir, id)).map((acquisition) => ({ ...acquisition })),
  }
}

/** Sends a file with an RFC 9530 digest and RFC 9110 ranges. A request for several ranges gets the complete file. */
async function sendFile(call: Call, services: Services): Promise<FileResult> {
  const { path, bytes, sha256, changes, content } = await findFile(call, services)
  const isHead = call.method === 'HEAD'
  const tag = `"${sha256}"`
  const headers = {
    etag: tag,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'cache-control': changes ? 'private, no-cache' : 'private, max-age=31536000, immutable',
  }
  const contentType = changes
    ? 'text/plain; charset=utf-8'
    : path.endsWith('.json')
      ? 'application/json'
      : 'application/vnd.apache.parquet'
  const answer = (status: number, stream: Readable, rangeHeaders: Record<string, string>): FileResult => ({
    content: stream,
    contentType,
    status,
    headers: { ...headers, ...rangeHeaders },
  })
  if (matchesTag(call.headers['if-none-match'], tag))
    return answer(304, Readable.from([]), { 'accept-ranges': 'bytes' })
  const selected = chooseRange(bytes, rangeOf(call.method, call.headers), tag)
  const { start, end } = selected
  if (content !== null) {
    const selectedBytes = isHead ? [] : [content.subarray(start, end + 1)]
    return answer(selected.status, Readable.from(selectedBytes), selected.headers)
  }
  const file = await openVerified(path, services.releases)
  if (!isHead) return answer(selected.status, readPart(file, start, end), selected.headers)
  await file.handle.close()
  return answer(selected.status, Readable.from([]), selected.headers)
}

interface VerifiedFile {
  readonly handle: FileHandle
  /** The file's state when it was verified. */
  readonly state: string
}

/** @throws AppError 'release_damaged' with the file, when it differs from the manifest */
async function openVerified(path: string, { guard }: Services['releases']): Promise<VerifiedFile> {
  for (let attempt = 0; attempt < OPENS_MAX; attempt += 1) {
    await guard.check([path])
    const handle = await open(path, 'r').catch(() => null)
    const state = handle === null ? null : stateOf(await handle.stat())
    if (handle !== null && state === guard.stateOf(path)) return { handle, state: state ?? '' }
    // The file changed after the check.
    await handle?.close()
  }
  throw new AppError('release_damaged', { headers: { 'Retry-After': '5' } })
}

/** Streams a byte range. If the file changes meanwhile, the stream fails and the answer is cut off. */
function readPart({ handle, state }: VerifiedFile, start: number, end: number): Readable {
  let position = start
  const readNext = async (): Promise<Buffer | null> => {
    if (position > end) return null
    const target = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - position + 1))
    const { bytesRead } = await handle.read(target, 0, target.length, position)
    if (bytesRead === 0 || stateOf(await handle.stat()) !== state)
      throw new Error('a file of a release changed while it was sent')
    position += bytesRead
    return target.subarray(0, bytesRead)
  }
  return new Readable({
    read() {
      readNext().then(
        (bytes) => this.push(bytes),
        (error: Error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      handle.close().then(
        () => done(error),
        (failed: Error) => done(error ?? failed),
      )
    },
  })
}

/** @returns manifests of a release and its components, reduced to tables that the key may read @throws AppError as `locate` */
async function manifestsOf({ parameters, key }: Call, { releases }: Services): Promise<Manifest[]> {
  const release = await locate(releases, parameters.release_id ?? '')
  const components = await Promise.all(
    Object.values(release.manifest.components).map((id) => locate(releases, id, true)),
  )
  return [release, ...components].map(({ manifest }) => readableBy(key, manifest))
}

const fileAddress = (origin: string, releaseId: string, path: string): string =>
  `${origin}/v1/releases/${releaseId}/files/${path}`

/** Answers with a text that depends only on the release and the URL's origin. */
const textOf = (content: string, contentType: string): FileResult => ({
  content,
  contentType,
  headers: { 'cache-control': 'private, no-cache' },
})

export const RELEASES: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases',
    operation: 'listReleases',
    summary: 'Every verified release here, any of which can be pinned.',
    capability: 'any',
    release: null,
    response: 'ReleaseListResponse',
    handle: async (_call, { releases, trust }) => {
      const list = await releases.list()
      const contents = await Promise.all(list.map(({ manifest }) => contentIdOf(trust.releasesDir, manifest)))
      return {
        data: list.map(({ manifest, promoted }, index) =>
          describeRelease(manifest, promoted, contents[index] ?? null),
        ),
        rows: list.length,
      }
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}',
    operation: 'getRelease',
    summary:
      'The manifest of a release, and in meta who signed it, who made it again, and its entry in the log.',
    capability: 'any',
    release: null,
    response: 'ReleaseDetailResponse',
    pathSchemas: PATHS,
    handle: async ({ parameters }, { releases, trust }) => {
      const release = await locate(releases, parameters.release_id ?? '')
      return {
        data: JSON.parse(JSON.stringify(release.manifest)) as JsonValue,
        meta: {
          synthetic: release.manifest.synthetic,
          content_id: await contentIdOf(trust.releasesDir, release.manifest),
          ...(await describeTrust(release.manifest.release_id, trust)),
        },
        rows: 1,
      }
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/datapackage.json',
    operation: 'getReleaseDataPackage',
    summary:
      'The files and columns of a release that the key may read, as a Data Package for data catalogues.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/json'],
    handle: async (call, services) => {
      const [manifest] = await manifestsOf(call, services)
      if (manifest === undefined) throw new AppError('not_found')
      const address = (path: string): string => fileAddress(originOf(call.headers), manifest.release_id, path)
      return textOf(`${JSON.stringify(dataPackage(manifest, address))}\n`, 'application/json')
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/metadata.jsonld',
    operation: 'getReleaseMetadata',
    summary:
      'The files of a release that the key may read, as JSON-LD for catalogues and search engines of data: schema.org, Croissant 1.1 and DCAT 3.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/ld+json'],
    handle: async (call, services) => {
      const [manifest, ...components] = await manifestsOf(call, services)
      if (manifest === undefined) throw new AppError('not_found')
      const release = (id: string): string => `${originOf(call.headers)}/v1/releases/${id}`
      const metadata = describeMetadata(manifest, components, {
        release,
        metadata: (id) => `${release(id)}/metadata.jsonld`,
        file: (path) => fileAddress(originOf(call.headers), manifest.release_id, path),
      })
      return textOf(`${JSON.stringify(metadata)}\n`, 'application/ld+json')
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/attach.sql',
    operation: 'getReleaseAttachScript',
    summary:
      'A script for DuckDB: views over the files that the key may read of a release, and of those that it joins, by HTTP.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/sql'],
    handle: async (call, services) => {
      const script = attachScript(await manifestsOf(call, services), (id, path) =>
        fileAddress(originOf(call.headers), id, path),
      )
      return textOf(script, 'application/sql; charset=utf-8')
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/files/{path}',
    operation: 'getReleaseFile',
    summary:
      'A file of a release as it is: a Parquet file the manifest lists (for keys with the capability of its table), manifest.json, or what is signed of it (manifest.sig, log.tlog-proof, attestations/…); parts by Range.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: { ...PATHS, path: z.string().regex(RELEASE_FILE) },
    isRaw: true,
    produces: ['application/vnd.apache.parquet', 'application/json', 'text/plain; charset=utf-8'],
    handle: (call, services) => {
      requireFile(call)
      return sendFile(call, services)
    },
  },
]
