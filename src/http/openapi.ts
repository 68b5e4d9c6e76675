/**
 * The OpenAPI 3.1 document, made from the tables that validate and answer: routes, filters, fields, metrics, errors.
 *
 * In: nothing but the tables. Out: a JSON value, the same for the same code, kept as a golden file by the tests.
 */
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import { CSV_NAME, GEOJSON_NAME, typesOf } from './formats.ts'
import { ANSWERS, type Json, jsonSchema, PAGES, TOTALS } from './openapi-answers.ts'
import { pathParameters, queryParameters } from './openapi-parameters.ts'
import { listedSchema, markedSchema, recordSchema } from './openapi-records.ts'
import { methodOf, type Route, releaseHeaderOf, VERSION } from './route.ts'

/** Answers that are files, not envelopes. */
const FILE_RESPONSES: ReadonlySet<string> = new Set(['AnalyticsExportResponse', 'ReleaseFileResponse'])

/** @param routes the table of routes */
export function describeApi(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const schemas: Record<string, Json> = {
    Problem: PROBLEM,
    Meta: META,
    Pagination: PAGINATION,
    ProvenanceEntry: PROVENANCE_ENTRY,
  }
  for (const route of routes) {
    schemas[route.response] = responseSchema(route)
    paths[route.path] = { ...paths[route.path], [methodOf(route).toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'sus-data',
      version: VERSION,
      description: 'Read-only API over public-health data of the Brazilian unified health system.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: ['Health', 'Releases', ...Object.values(TAGS)].map((name) => ({ name })),
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
  const isPost = methodOf(route) === 'POST'
  return {
    operationId: `${methodOf(route).toLowerCase()}${route.path.replaceAll(/[^a-z0-9]+/gi, '_')}`,
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
    ...(isPost
      ? {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: bodySchemaOf(route),
                examples: { query: { value: QUERY_EXAMPLE } },
              },
            },
          },
        }
      : {}),
    responses: {
      '200': { description: 'The answer.', ...releaseHeaders(route), content: answerContent(route) },
      ...errorResponses(route),
    },
  }
}

/** The envelope, and the content types a route answers with beside it (a file has no envelope). */
function answerContent(route: Route): Json {
  const schema = { $ref: `#/components/schemas/${route.response}` }
  const files = route.kind === 'custom' ? (route.produces ?? []) : typesOf(route).slice(1)
  const isFile = FILE_RESPONSES.has(route.response)
  return {
    ...(isFile ? {} : { 'application/json': { schema } }),
    ...Object.fromEntries(
      files.map((type) => [type.split(';')[0] ?? type, isFile ? { schema } : (LIST_SCHEMAS[type] ?? {})]),
    ),
  }
}

/** A list in its other forms: its columns are its fields, its features are its rows. */
const LIST_SCHEMAS: Readonly<Record<string, Json>> = {
  [CSV_NAME]: { schema: { type: 'string' } },
  [GEOJSON_NAME]: {
    schema: {
      type: 'object',
      required: ['type', 'features', 'pagination', 'meta'],
      properties: {
        type: { const: 'FeatureCollection' },
        features: {
          type: 'array',
          items: {
            type: 'object',
            required: ['type', 'id', 'geometry', 'properties'],
            properties: {
              type: { const: 'Feature' },
              id: { type: 'string' },
              geometry: { type: ['object', 'null'] },
              properties: { type: 'object' },
            },
          },
        },
        pagination: { $ref: '#/components/schemas/Pagination' },
        meta: { type: 'object' },
      },
    },
  },
}

/** The schema that checks the body, with the codes a client may send. */
function bodySchemaOf(route: Route): Json {
  if (route.kind !== 'custom' || route.body === undefined) return {}
  return jsonSchema(route.body, { io: 'input' })
}

/** The areas of the specification, and ours beside them. */
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
const tagOf = ({ capability }: Route): string =>
  capability === null ? 'Health' : capability === 'any' ? 'Releases' : TAGS[capability]

function releaseHeaders(route: Route): Json {
  const name = releaseHeaderOf(route)
  if (name === '') return {}
  return {
    headers: { [name]: { schema: { type: 'string' }, description: 'Release the answer comes from.' } },
  }
}

function errorResponses(route: Route): Record<string, Json> {
  const codes: ErrorCode[] =
    route.capability === null
      ? ['internal', 'not_ready']
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
  if (route.path.includes('{')) codes.push('not_found')
  if (route.capability !== null && typesOf(route).length > 0) codes.push('not_acceptable')
  const responses: Record<string, Json> = {}
  for (const code of codes)
    responses[String(ERRORS[code].status)] = {
      description: ERRORS[code].title_en,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  return responses
}

function responseSchema(route: Route): Json {
  const meta = { $ref: '#/components/schemas/Meta' }
  const envelope = (data: Json, pagination?: Json, totals?: Json): Json => ({
    type: 'object',
    additionalProperties: false,
    required: ['data', 'meta', ...(pagination === undefined ? [] : ['pagination'])],
    properties: {
      data,
      ...(totals === undefined ? {} : { totals }),
      ...(pagination === undefined ? {} : { pagination }),
      meta,
    },
  })
  const pages = { $ref: '#/components/schemas/Pagination' }
  switch (route.kind) {
    case 'list':
      return envelope({ type: 'array', items: listedSchema(route) }, pages)
    case 'all':
      return envelope({ type: 'array', items: recordSchema(route.dataset, false) })
    case 'record':
      return envelope(markedSchema(route))
    case 'scoped':
      return envelope({
        type: 'object',
        required: ['facility', 'records', 'totals'],
        properties: {
          facility: { type: 'object' },
          records: { type: 'array', items: recordSchema(route.dataset, true) },
          totals: {
            type: 'object',
            properties: Object.fromEntries(
              Object.keys(route.totals).map((name) => [name, { type: ['integer', 'null'] }]),
            ),
          },
        },
      })
    case 'provenance':
      return envelope({
        type: 'object',
        required: ['entries'],
        properties: { entries: { type: 'array', items: { $ref: '#/components/schemas/ProvenanceEntry' } } },
      })
    case 'custom':
      return FILE_RESPONSES.has(route.response)
        ? { type: 'string', format: 'binary', description: 'The file.' }
        : envelope(ANSWERS[route.response] ?? {}, PAGES[route.response], TOTALS[route.response])
  }
}

const PROBLEM: Json = {
  type: 'object',
  description: 'RFC 9457 problem document.',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id', 'errors'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    request_id: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['message'],
        properties: {
          parameter: { type: 'string' },
          pointer: { type: 'string' },
          message: { type: 'string' },
          allowed: { type: 'array' },
        },
      },
    },
  },
}
const META: Json = {
  type: 'object',
  required: ['version', 'request_id'],
  properties: {
    version: { type: 'string' },
    request_id: { type: 'string' },
    release_id: { type: 'string' },
    reference_period: { type: ['string', 'null'] },
    synthetic: { type: 'boolean', description: 'true: invented data of the demonstration.' },
    notes: {
      type: 'array',
      items: { type: 'string' },
      description: 'What to know of the answer, such as what was not collected.',
    },
    citation: {
      type: 'object',
      description: 'How an analytics answer is cited: whoever cites adds address and day of access.',
      required: ['abnt', 'bibtex'],
      properties: {
        abnt: { type: 'string', description: 'Reference by ABNT NBR 6023.' },
        bibtex: { type: 'string', description: 'Entry of BibTeX.' },
      },
    },
    sources: {
      type: 'array',
      items: { type: 'object' },
      description:
        'Of health financing: what the numbers of each source mean, and what of them may be added.',
    },
  },
}
const PAGINATION: Json = {
  type: 'object',
  required: ['limit', 'has_more', 'next_cursor'],
  properties: {
    limit: { type: 'integer' },
    has_more: { type: 'boolean' },
    next_cursor: { type: ['string', 'null'] },
    total: {
      type: ['integer', 'null'],
      description: 'null where something of the list was not collected; meta.notes says what.',
    },
  },
}
const PROVENANCE_ENTRY: Json = {
  type: 'object',
  required: ['attribute', 'value', 'raw_value', 'rule', 'source'],
  properties: {
    attribute: { type: 'string' },
    value: {},
    raw_value: { type: ['string', 'null'], description: 'The published cell.' },
    rule: { type: 'string', description: 'How the cell became the value.' },
    source: {
      type: ['object', 'null'],
      properties: {
        publisher: { type: 'string' },
        file: { type: 'string' },
        archive: { type: ['string', 'null'] },
        sha256: { type: 'string' },
        row: { type: 'integer', description: 'Row of the file, header = 1.' },
        column: { type: 'string' },
      },
    },
  },
}

const QUERY_EXAMPLE: Json = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
}
