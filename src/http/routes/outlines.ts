/** Outlines of territories for maps (capability geo.read). */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Engine, JsonValue } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import { OUTLINE_LEVELS } from '../../model/outlines/index.ts'
import { requireDimension } from '../../query/analytics/territory.ts'
import { codesIn, filterSchema } from '../../query/lists/filters.ts'
import { coarsen, OUTLINE_DETAILS } from '../../query/outlines/detail.ts'
import {
  drawOutlines,
  OUTLINE_FORMATS,
  type OutlineFormat,
  type OutlineMesh,
  planArcs,
  planOutlines,
  readMesh,
} from '../../query/outlines/outlines.ts'
import type { ReleaseView } from '../../release/view.ts'
import { toByteString } from '../../rows/row-store.ts'
import { formatOf, JSON_NAME, preferredType } from '../request/formats.ts'
import type { Call, Result, Route } from '../route.ts'

/** Content types without the envelope. */
const GEOJSON_TYPE = 'application/geo+json'
const TOPOJSON_TYPE = 'application/topo+json'

/** Cached meshes, of the most recently requested releases. Each takes about 15 MB. */
const MESHES_MAX = 2
const meshes = new LRUCache<string, Promise<OutlineMesh>>({ max: MESHES_MAX })

function meshOf(view: ReleaseView, engine: Engine): Promise<OutlineMesh> {
  const cached = meshes.get(view.id)
  if (cached !== undefined) return cached
  // Ignore the client's abort signal: other requests may wait for the same mesh.
  const loading = (async () =>
    readMesh(await engine.run(planArcs(), view, {}), await engine.run(planOutlines(), view, {})))()
  meshes.set(view.id, loading)
  loading.catch(() => meshes.delete(view.id))
  return loading
}

/** @throws AppError 'dimension_not_loaded' where the release holds no mesh */
function requireOutlines(view: ReleaseView): void {
  if (view.components.demography?.datasets.municipality_outlines !== undefined) return
  throw new AppError('dimension_not_loaded', {
    detail: both(
      'A versão de dados não tem contornos: importe a malha municipal do IBGE (TopoJSON, GeoJSON ou shapefile) junto com a lista de municípios.',
      'The release holds no outlines: import the municipal mesh of IBGE (TopoJSON, GeoJSON or shapefile) together with the list of municipalities.',
    ),
  })
}

async function answerOutlines({ parameters, query, view, engine, headers }: Call): Promise<Result> {
  const level = OUTLINE_LEVELS.find((name) => name === parameters.level)
  if (level === undefined)
    throw new AppError('not_found', {
      detail: both(
        `Não há contornos deste nível; há os de ${OUTLINE_LEVELS.join(', ')}.`,
        `There are no outlines of this level; there are those of ${OUTLINE_LEVELS.join(', ')}.`,
      ),
    })
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  const states = query.uf === undefined ? null : new Set(codesIn(query.uf))
  requireOutlines(view)
  requireDimension(level, view, null)
  const types = [
    JSON_NAME,
    ...(query.format === 'topojson' ? [] : [GEOJSON_TYPE]),
    ...(query.format === 'geojson' ? [] : [TOPOJSON_TYPE]),
  ]
  // An address that names a format refuses the media type of the other one.
  formatOf(types, headers)
  const type = preferredType(headers, types)
  const format = (query.format ?? (type === GEOJSON_TYPE ? 'geojson' : 'topojson')) as OutlineFormat
  const fullMesh = await meshOf(view, engine)
  const detail = query.detail === 'overview' ? 'overview' : 'full'
  const mesh = detail === 'overview' ? coarsen(fullMesh) : fullMesh
  const { text, count, missing } = drawOutlines(mesh, level, states, format, detail === 'full')
  if (type !== JSON_NAME)
    return {
      content: text,
      contentType: format === 'geojson' ? GEOJSON_TYPE : TOPOJSON_TYPE,
      // The envelope at the same URL has other bytes, so set a separate entity tag.
      headers: { etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` },
      rows: count,
    }
  return {
    json: toByteString(text),
    meta: {
      level,
      format,
      detail,
      outlines: count,
      missing: missing as JsonValue,
      source: sourceOf(mesh, view),
    },
    rows: count,
  }
}

function sourceOf({ file }: OutlineMesh, view: ReleaseView): JsonValue {
  const snapshot = view.components.demography?.snapshots.find((candidate) => candidate.file === file)
  return snapshot === undefined
    ? null
    : {
        publisher: snapshot.publisher,
        file: snapshot.file,
        archive: snapshot.archive?.file ?? null,
        sha256: snapshot.sha256,
      }
}

export const OUTLINES: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/geo/outlines/{level}',
    operation: 'getOutlines',
    isCacheable: true,
    summary:
      'Outlines of municipalities, health regions, macro-regions, states or major regions, with shared borders.',
    capability: 'geo.read',
    release: 'demography',
    response: 'OutlinesResponse',
    pathSchemas: { level: z.enum(OUTLINE_LEVELS) },
    query: {
      uf: filterSchema({ kind: 'equals', values: { uf: true } }).optional(),
      format: z.enum(OUTLINE_FORMATS).optional(),
      detail: z.enum(OUTLINE_DETAILS).optional(),
    },
    produces: [GEOJSON_TYPE, TOPOJSON_TYPE],
    handle: answerOutlines,
  },
]
