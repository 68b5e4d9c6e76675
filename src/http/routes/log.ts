/** Serves the verified files of the log of releases (C2SP tlog-tiles). No key is needed: auditors are not the operator's clients. */
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { sha256Hex } from '../../release/digest.ts'
import { CHECKPOINT } from '../../trust/log.ts'
import { TILE_PATH } from '../../trust/tiles.ts'
import { matchesTag } from '../request/etag.ts'
import type { Call, FileResult, Route, Services } from '../route.ts'

/** Paths of tiles and bundles, below tile/. */
const TILE = new RegExp(TILE_PATH.source.replace('tile\\/', ''))
/** The next promotion replaces the checkpoint. */
const CACHE_CHECKPOINT = 'public, no-cache'
/** A tile at its level, position and width never changes once a checkpoint covers it. */
const CACHE_TILE = 'public, max-age=31536000, immutable'

interface LogFile {
  /** Path below the folder of the log. */
  readonly path: string
  readonly contentType: string
  readonly cacheControl: string
}

async function sendLogFile(
  { headers: { 'if-none-match': ifNoneMatch } }: Call,
  { log }: Services,
  { path, contentType, cacheControl }: LogFile,
): Promise<FileResult> {
  const bytes = await log.read(path)
  if (bytes === null) throw new AppError('not_found')
  const etag = `"${sha256Hex(bytes)}"`
  const headers = { etag, 'cache-control': cacheControl }
  return matchesTag(ifNoneMatch, etag)
    ? { content: '', contentType, status: 304, headers }
    : { content: bytes, contentType, headers }
}

export const LOG: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/log/checkpoint',
    operation: 'getLogCheckpoint',
    summary: 'The signed size and root of the log of releases made and promoted (C2SP tlog-checkpoint).',
    capability: null,
    release: null,
    response: 'ReleaseFileResponse',
    produces: ['text/plain; charset=utf-8'],
    handle: (call, services) =>
      sendLogFile(call, services, {
        path: CHECKPOINT,
        contentType: 'text/plain; charset=utf-8',
        cacheControl: CACHE_CHECKPOINT,
      }),
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/log/tile/{path}',
    operation: 'getLogTile',
    summary:
      'A tile of hashes (0/000.p/3) or a bundle of entries (entries/000.p/3) of the log (C2SP tlog-tiles).',
    capability: null,
    release: null,
    response: 'ReleaseFileResponse',
    pathSchemas: { path: z.string().regex(TILE) },
    produces: ['application/octet-stream'],
    handle: (call, services) => {
      const path = call.parameters.path ?? ''
      if (!TILE.test(path)) throw new AppError('not_found')
      return sendLogFile(call, services, {
        path: `tile/${path}`,
        contentType: 'application/octet-stream',
        cacheControl: CACHE_TILE,
      })
    },
  },
]
