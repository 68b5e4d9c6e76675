/** Builds the OpenAPI 3.1 document from the tables that validate and answer. Tests compare it with a golden file. */
import {
  cursorPagination,
  healthFinancingMeta,
  plainMeta,
  provenanceMeta,
  releaseMeta,
} from '../../answers/meta.ts'
import { problem } from '../../answers/problem.ts'
import { provenanceEntry } from '../../answers/provenance.ts'
import { notReady } from '../../answers/service.ts'
import { ERRORS, type ErrorCode } from '../../errors.ts'
import type { Capability } from '../../model/capabilities.ts'
import { CSV_NAME, GEOJSON_NAME, typesOf } from '../request/formats.ts'
import { methodOf, type Route, releaseAreaOf, releaseHeaderOf, VERSION } from '../route.ts'
import { ANSWER_SCHEMAS, ANSWERS, answerSchema, DOCUMENTS } from './answers.ts'
import { SHARED } from './components.ts'
import { BODY_EXAMPLES } from './examples.ts'
import { COMPONENTS, documentOf, type Json, list, object, ref, text } from './json.ts'
import { pathParameters, queryParameters } from './parameters.ts'
import { recordRef, recordSchemas, scopedSchema } from './records.ts'

const FILE_RESPONSES: ReadonlySet<string> = new Set(['AnalyticsExportResponse', 'ReleaseFileResponse'])

const RANGE_OPERATIONS: ReadonlySet<string> = new Set(['getReleaseFile', 'queryAnalyticsByLink'])

export function describeApi(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const schemas: Record<string, Json> = {
    ...SHARED,
    ...COMPONENTS,
    ...ANSWER_SCHEMAS,
    ...DOCUMENTS,
    ...recordSchemas(routes),
  }
  for (const route of routes) {
    if (!FILE_RESPONSES.has(route.response)) schemas[route.response] = responseSchema(route)
    paths[route.path] = { ...paths[route.path], [methodOf(route).toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'sus-data',
      version: VERSION,
      description:
        'Read-only API over public-health data of the Brazilian unified health system. Every answer is of one immutable release, which a request may pin.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this server' },
    },
    servers: [{ url: '/', description: 'This server.' }],
    tags: Object.entries(TAG_TEXTS).map(([name, description]) => ({ name, description })),
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'API key made by the operator: sus-data keys create.',
        },
      },
      schemas: Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1))),
    },
  }
}

function operation(route: Route): Json {
  return {
    operationId: route.operation,
    tags: [tagOf(route)],
    summary: route.summary,
    description:
      route.capability === null
        ? 'Needs no key.'
        : route.capability === 'any'
          ? 'Needs any valid key.'
          : `Needs the capability ${route.capability}.`,
    ...(route.capability === null ? { security: [] } : {}),
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...bodyOf(route),
    responses: {
      '200': {
        description: 'The answer.',
        ...releaseHeaders(route),
        content: answerContent(route),
        ...linksOf(route),
      },
      ...(methodOf(route) === 'GET' && releaseAreaOf(route) !== null
        ? { '304': { description: 'The client has this answer already: If-None-Match names its ETag.' } }
        : {}),
      ...(RANGE_OPERATIONS.has(route.operation) ? rangeResponses(route) : {}),
      ...errorResponses(route),
    },
  }
}

function bodyOf(route: Route): Json {
  if (route.kind !== 'custom' || route.body === undefined) return {}
  const examples = BODY_EXAMPLES[route.operation]
  return {
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: documentOf(route.body),
          ...(examples === undefined ? {} : { examples }),
        },
      },
    },
  }
}

const BINARY: Json = { type: 'string', format: 'binary' }
const TEXT: Json = { type: 'string' }
const FORMS: Readonly<Record<string, Json>> = {
  [CSV_NAME]: TEXT,
  [GEOJSON_NAME]: ref('FacilityCollection'),
  'application/topo+json': ref('OutlineTopology'),
  'application/vnd.json-stat+json': ref('JsonStat'),
  'application/sql': TEXT,
  'text/plain': TEXT,
}
/** Operations with a different schema for a content type. */
const OPERATION_FORMS: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  getOutlines: { [GEOJSON_NAME]: ref('OutlineCollection') },
  getReleaseDataPackage: { 'application/json': ref('DataPackage') },
  getReleaseMetadata: { 'application/ld+json': ref('LinkedData') },
  getReleaseFile: { 'application/json': ref('ReleaseManifest') },
  exportAnalytics: { 'application/json': ref('AnalyticsReport') },
  exportAnalyticsByLink: { 'application/json': ref('AnalyticsReport') },
}

/** @returns the content types of an answer; files have no envelope */
function answerContent(route: Route): Json {
  const files = route.kind === 'custom' ? (route.produces ?? []) : typesOf(route).slice(1)
  const names = files.map((type) => type.split(';')[0] ?? type)
  const forms = names.map((name) => [
    name,
    { schema: OPERATION_FORMS[route.operation]?.[name] ?? FORMS[name] ?? BINARY },
  ])
  return {
    ...(FILE_RESPONSES.has(route.response) ? {} : { 'application/json': { schema: ref(route.response) } }),
    ...Object.fromEntries(forms),
  }
}

function linksOf({ operation: name }: Route): Json {
  if (name !== 'listReleases') return {}
  const parameters = { release_id: '$response.body#/data/0/release_id' }
  const operations = ['getRelease', 'getReleaseDataPackage', 'getReleaseMetadata', 'getReleaseAttachScript']
  return {
    links: Object.fromEntries(operations.map((operationId) => [operationId, { operationId, parameters }])),
  }
}

const rangeResponses = (route: Route): Json => ({
  '206': {
    description: 'The part that Range asks for.',
    content: Object.fromEntries(
      (route.kind === 'custom' ? (route.produces ?? []) : []).map((type) => [type, { schema: BINARY }]),
    ),
  },
  '304': { description: 'The client has this answer already: If-None-Match names its ETag.' },
})

const TAGS: Readonly<Record<Capability, string>> = {
  'geo.read': 'Geography',
  'facilities.read': 'Facilities',
  'bed_capacity.read': 'Bed Capacity',
  'equipment_inventory.read': 'Equipment Inventory',
  'specialized_services.read': 'Specialized Services',
  'demography.read': 'Demography',
  'analytics.catalog.read': 'Analytics Catalog',
  'analytics.query.read': 'Analytics Query',
}
const TAG_TEXTS: Readonly<Record<string, string>> = {
  Health: 'The server itself.',
  Releases: 'Releases that are here, and their files.',
  Geography: 'States, municipalities, health regions and outlines.',
  Facilities: 'Health facilities.',
  'Bed Capacity': 'Beds by facility and type.',
  'Equipment Inventory': 'Equipment by facility and type.',
  'Specialized Services': 'Offerings of specialised services.',
  Demography: 'Population.',
  'Analytics Catalog': 'Metrics, dimensions and their members.',
  'Analytics Query': 'Questions, what is behind their answers, and reports.',
}
const tagOf = ({ capability }: Route): string =>
  capability === null ? 'Health' : capability === 'any' ? 'Releases' : TAGS[capability]

function releaseHeaders(route: Route): Json {
  const name = releaseHeaderOf(route)
  if (name === '') return {}
  return {
    headers: {
      [name]: { schema: { type: 'string' }, description: 'Release the answer comes from.' },
      ...(methodOf(route) === 'GET'
        ? { ETag: { schema: { type: 'string' }, description: 'Of these bytes, for If-None-Match.' } }
        : {}),
    },
  }
}

function errorResponses(route: Route): Record<string, Json> {
  const codes: ErrorCode[] =
    route.capability === null
      ? ['invalid_request', 'internal', 'not_ready']
      : [
          'invalid_request',
          'unauthorized',
          'forbidden',
          'release_mismatch',
          'rate_limited',
          'internal',
          'overloaded',
          'query_timeout',
        ]
  if (route.path.includes('{') || ['getSigningKey', 'getLogCheckpoint'].includes(route.operation))
    codes.push('not_found')
  if (route.capability !== null && typesOf(route).length > 0) codes.push('not_acceptable')
  if (methodOf(route) === 'POST') codes.push('not_found', 'payload_too_large', 'unsupported_media_type')
  if (RANGE_OPERATIONS.has(route.operation)) codes.push('range_not_satisfiable')
  // The URL may exceed the server's limit.
  if (methodOf(route) === 'GET') codes.push('headers_too_large')
  const responses: Record<string, Json> = {}
  for (const code of codes) {
    const { status, title_en } = ERRORS[code]
    const isTemporary = status === 429 || status === 503
    responses[String(status)] = {
      description: title_en,
      ...(isTemporary ? { headers: RETRY_AFTER } : {}),
      content: {
        'application/problem+json': {
          schema: answerSchema(
            code === 'not_ready' && route.response === 'ReadyResponse' ? notReady : problem,
          ),
        },
      },
    }
  }
  return responses
}
const RETRY_AFTER: Json = {
  'Retry-After': {
    schema: { type: 'integer', minimum: 0 },
    description: 'Seconds after which to ask again.',
  },
}

function envelope(data: Json, meta: Json, members: Readonly<Record<string, Json>> = {}): Json {
  return object({ data, ...members, meta })
}

function responseSchema(route: Route): Json {
  switch (route.kind) {
    case 'list':
      return envelope(
        list(recordRef(route)),
        answerSchema(route.operation === 'listHealthFinancing' ? healthFinancingMeta : releaseMeta),
        { pagination: answerSchema(cursorPagination) },
      )
    case 'all':
      return envelope(list(recordRef(route)), answerSchema(releaseMeta))
    case 'record':
      return envelope(recordRef(route), answerSchema(releaseMeta))
    case 'scoped':
      return envelope(scopedSchema(route), answerSchema(releaseMeta))
    case 'provenance':
      return envelope(
        object({
          ...Object.fromEntries(
            Object.keys(route.key).map((name) => [
              name,
              { ...text('Of the key of the record.'), type: ['string', 'integer'] },
            ]),
          ),
          entries: list(answerSchema(provenanceEntry)),
        }),
        answerSchema(provenanceMeta),
      )
    case 'custom': {
      const answer = ANSWERS[route.response]
      if (answer === undefined) throw new TypeError(`openapi/answers.ts has no ${route.response}`)
      const { data, totals, pagination, meta } = answer
      return envelope(data, meta ?? answerSchema(route.release === null ? plainMeta : releaseMeta), {
        ...(totals === undefined ? {} : { 'totals?': totals }),
        ...(pagination === undefined ? {} : { pagination }),
      })
    }
  }
}
