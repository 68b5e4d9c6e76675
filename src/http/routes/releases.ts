/** Releases that are here, their manifests and their files (any valid key): whoever can read them can keep a copy. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { attachScript } from '../../engine/duckdb/attach.ts'
import type { JsonValue } from '../../engine/types.ts'
import { AppError } from '../../errors.ts'
import type { Trust } from '../../keys/trust.ts'
import { dataPackage } from '../../release/data-package.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Manifest } from '../../release/manifest.ts'
import { RELEASE_FILE, RELEASE_ID } from '../../release/manifest.ts'
import { describeMetadata } from '../../release/metadata-jsonld.ts'
import { TRUST_FILE } from '../../release/verify.ts'
import { formatPeriod } from '../../release/view.ts'
import { readAttestations, readLogPlace, readSignatures } from '../../trust/release-notes.ts'
import { matchesTag } from '../etag.ts'
import { chooseRange } from '../ranges.ts'
import type { FileResult, HandlerRequest, Route } from '../route.ts'

const MANIFEST = 'manifest.json'
const PATHS = { release_id: z.string().regex(RELEASE_ID) } as const

function describeRelease(
  { release_id, area, datasets, files, synthetic }: Manifest,
  promoted: boolean,
): JsonValue {
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
  }
}

interface ListedFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** Others may be added to it: signatures, attestations. */
  readonly changes?: boolean
}

/** A file the manifest lists, the manifest itself, or what is signed of it; anything else is not there. */
async function findFile({ parameters, releases }: HandlerRequest): Promise<ListedFile> {
  const release = await releases.locate(parameters.release_id ?? '')
  if (release === null) throw new AppError('not_found')
  const { folder, manifest } = release
  const name = parameters.path ?? ''
  const changes = TRUST_FILE.test(name)
  if (name === MANIFEST || changes) {
    const path = join(folder, name)
    const text = await readFile(path).catch(() => null)
    if (text === null) throw new AppError('not_found')
    return { path, bytes: text.length, sha256: sha256Hex(text), changes }
  }
  const listed = manifest.files.find(({ path }) => path === parameters.path)
  if (listed === undefined) throw new AppError('not_found')
  return { ...listed, path: join(folder, listed.path) }
}

/** What is said of a release from outside its hash; in `meta`, so that `data` is the manifest that the id is the digest of. */
function describeTrust(id: string, { releasesDir, known }: Trust): Record<string, JsonValue> {
  const keys = known()
  return {
    signatures: readSignatures(releasesDir, id, keys).map((signature) => ({ ...signature })),
    attestations: readAttestations(releasesDir, id, keys).map((attestation) => ({ ...attestation })),
    log: readLogPlace(releasesDir, id),
  }
}

/** RFC 9110 ranges (one part; several at once get the whole file), RFC 9530 digest. */
async function sendFile(request: HandlerRequest): Promise<FileResult> {
  const { path, bytes, sha256, changes } = await findFile(request)
  const { ifNoneMatch, ifRange, range } = request.conditions
  const tag = `"${sha256}"`
  const headers = {
    etag: tag,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'cache-control': changes === true ? 'private, no-cache' : 'private, max-age=31536000, immutable',
  }
  const contentType =
    changes === true
      ? 'text/plain; charset=utf-8'
      : path.endsWith('.json')
        ? 'application/json'
        : 'application/vnd.apache.parquet'
  const answer = (status: number, stream: Readable, more: Record<string, string>): FileResult => ({
    content: stream,
    contentType,
    status,
    headers: { ...headers, ...more },
  })
  if (matchesTag(ifNoneMatch, tag)) return answer(304, Readable.from([]), { 'accept-ranges': 'bytes' })
  const part = chooseRange(bytes, { range, ifRange }, tag)
  const { start, end } = part
  const stream = request.isHead ? Readable.from([]) : createReadStream(path, { start, end })
  return answer(part.status, stream, part.headers)
}

/** Manifests of a release: of an analytics release, those it joins, too. @throws AppError 'not_found' */
async function manifestsOf({ parameters, releases }: HandlerRequest): Promise<Manifest[]> {
  const own = await releases.locate(parameters.release_id ?? '')
  if (own === null) throw new AppError('not_found')
  const joined = await Promise.all(Object.values(own.manifest.components).map((id) => releases.locate(id)))
  return [own.manifest, ...joined.flatMap((release) => release?.manifest ?? [])]
}

const fileAddress = (origin: string, releaseId: string, path: string): string =>
  `${origin}/v1/releases/${releaseId}/files/${path}`

/** What never changes, but for the address that it is asked by. */
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
    handle: async ({ releases }) => {
      const list = await releases.list()
      return {
        data: list.map(({ manifest, promoted }) => describeRelease(manifest, promoted)),
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
    handle: async ({ parameters, releases, trust }) => {
      const release = await releases.locate(parameters.release_id ?? '')
      if (release === null) throw new AppError('not_found')
      return {
        data: JSON.parse(JSON.stringify(release.manifest)) as JsonValue,
        meta: describeTrust(release.manifest.release_id, trust),
        rows: 1,
      }
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/datapackage.json',
    operation: 'getReleaseDataPackage',
    summary: 'The files and columns of a release as a Data Package, for data catalogues.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/json'],
    handle: async (request) => {
      const [manifest] = await manifestsOf(request)
      if (manifest === undefined) throw new AppError('not_found')
      const address = (path: string): string => fileAddress(request.origin, manifest.release_id, path)
      return textOf(`${JSON.stringify(dataPackage(manifest, address))}\n`, 'application/json')
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/metadata.jsonld',
    operation: 'getReleaseMetadata',
    summary:
      'A release as JSON-LD for catalogues and search engines of data: schema.org, Croissant 1.1 and DCAT 3.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/ld+json'],
    handle: async (request) => {
      const [manifest, ...joined] = await manifestsOf(request)
      if (manifest === undefined) throw new AppError('not_found')
      const release = (id: string): string => `${request.origin}/v1/releases/${id}`
      const metadata = describeMetadata(manifest, joined, {
        release,
        metadata: (id) => `${release(id)}/metadata.jsonld`,
        file: (path) => fileAddress(request.origin, manifest.release_id, path),
      })
      return textOf(`${JSON.stringify(metadata)}\n`, 'application/ld+json')
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}/attach.sql',
    operation: 'getReleaseAttachScript',
    summary: 'A script for DuckDB: views over the files of a release by HTTP, and of those that it joins.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: PATHS,
    produces: ['application/sql'],
    handle: async (request) => {
      const script = attachScript(await manifestsOf(request), (id, path) =>
        fileAddress(request.origin, id, path),
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
      'A file of a release as it is: a Parquet file the manifest lists, manifest.json, or what is signed of it (manifest.sig, log.tlog-proof, attestations/…); parts by Range.',
    capability: 'any',
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: { ...PATHS, path: z.string().regex(RELEASE_FILE) },
    isRaw: true,
    produces: ['application/vnd.apache.parquet', 'application/json', 'text/plain; charset=utf-8'],
    handle: sendFile,
  },
]
