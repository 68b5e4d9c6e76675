/** Serves the log of releases as static files (C2SP tlog-tiles). No key is needed: auditors are not the operator's clients. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { sha256Hex } from '../../release/digest.ts'
import { parseCheckpoint } from '../../trust/checkpoint.ts'
import { CHECKPOINT, logFolder, readCheckpoint } from '../../trust/log.ts'
import { NoteError, readNote } from '../../trust/note.ts'
import { isTileOf, TILE_PATH } from '../../trust/tiles.ts'
import { matchesTag } from '../request/etag.ts'
import type { FileResult, HandlerRequest, Route } from '../route.ts'

/** Paths of tiles and bundles, below tile/. */
const TILE = new RegExp(TILE_PATH.source.replace('tile\\/', ''))
/** The next promotion replaces the checkpoint. */
const CACHE_CHECKPOINT = 'public, no-cache'
/** A tile at its level, position and width never changes once a checkpoint covers it. */
const CACHE_TILE = 'public, max-age=31536000, immutable'

async function sendLogFile(
  { trust, conditions }: HandlerRequest,
  path: string,
  contentType: string,
  cacheControl: string,
): Promise<FileResult> {
  let bytes: Buffer
  try {
    bytes = await readFile(join(logFolder(trust.releasesDir), path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new AppError('not_found')
    throw error
  }
  const etag = `"${sha256Hex(bytes)}"`
  const headers = { etag, 'cache-control': cacheControl }
  return matchesTag(conditions.ifNoneMatch, etag)
    ? { content: '', contentType, status: 304, headers }
    : { content: bytes, contentType, headers }
}

/** @returns number of entries in the signed checkpoint; 0 when it is missing or damaged */
function sizeOf(releasesDir: string): number {
  try {
    const note = readCheckpoint(logFolder(releasesDir))
    return note === null ? 0 : parseCheckpoint(readNote(note, []).text).size
  } catch (error) {
    if (error instanceof NoteError) return 0
    throw error
  }
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
    handle: (request) => sendLogFile(request, CHECKPOINT, 'text/plain; charset=utf-8', CACHE_CHECKPOINT),
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
    handle: (request) => {
      const path = request.parameters.path ?? ''
      // Tiles beyond the checkpoint are leftovers of a crash. The next entry replaces them.
      if (!TILE.test(path) || !isTileOf(`tile/${path}`, sizeOf(request.trust.releasesDir)))
        throw new AppError('not_found')
      return sendLogFile(request, `tile/${path}`, 'application/octet-stream', CACHE_TILE)
    },
  },
]
