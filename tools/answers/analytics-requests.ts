/** Recorded requests of analytics: every metric, dimension, operator, format and report. */

import { type Codes, drawer, get, post } from './entry.ts'
import { type Entry, exchange, type Target } from './exchange.ts'

const QUERY = '/v1/analytics/query'
const VALUES = '/v1/analytics/dimensions'

interface CatalogMetric {
  readonly code: string
  readonly kind: string
  readonly dimensions: readonly string[]
}

export interface Body {
  readonly metrics: readonly string[]
  readonly group_by?: readonly string[]
  readonly [field: string]: unknown
}

const eq = (dimension: string, value: string | number): object => ({ dimension, operator: 'EQ', value })

export function namedBodies(codes: Codes): Record<string, Body> {
  const beds = ['bed_capacity_existing', 'beds_sus_per_100k']
  const place = Number(codes.municipalities[0]?.ibge_code)
  return {
    'no groups': { metrics: [...beds, 'population_census'] },
    states: {
      metrics: [...beds, 'equipment_existing', 'service_offerings', 'facilities_count'],
      group_by: ['state'],
    },
    'all municipalities': { metrics: beds, group_by: ['municipality'], limit: 10_000 },
    'a page of municipalities': { metrics: beds, group_by: ['municipality'], limit: 50, offset: 1200 },
    'past the end': { metrics: beds, group_by: ['state'], offset: 100 },
    'ordered by value': {
      metrics: beds,
      group_by: ['municipality'],
      order_by: [{ field: 'beds_sus_per_100k', direction: 'desc' }],
      limit: 30,
    },
    'ordered by two': {
      metrics: beds,
      group_by: ['state', 'bed_category'],
      order_by: [{ field: 'bed_category' }, { field: 'bed_capacity_existing', direction: 'desc' }],
    },
    'ordered by name, descending': {
      metrics: beds,
      group_by: ['municipality'],
      order_by: [{ field: 'municipality', direction: 'desc' }],
      limit: 20,
    },
    'three dimensions': {
      metrics: ['bed_capacity_existing', 'bed_capacity_sus'],
      group_by: ['state', 'bed_type', 'management_type'],
      limit: 300,
    },
    'six dimensions': {
      metrics: ['service_offerings'],
      group_by: [
        'state',
        'specialized_service',
        'provider_kind',
        'service_characteristic',
        'management_type',
        'facility_type',
      ],
      limit: 100,
    },
    'by facility': {
      metrics: ['bed_capacity_existing'],
      group_by: ['facility'],
      filters: [eq('state', 'RR')],
      limit: 200,
    },
    'facilities of many': {
      metrics: ['equipment_existing'],
      group_by: ['facility', 'equipment_type'],
      filters: [eq('state', 'AC')],
      limit: 500,
    },
    'EQ state': { metrics: beds, group_by: ['municipality'], filters: [eq('state', 'SP')], limit: 700 },
    'EQ state by number': { metrics: beds, filters: [eq('state', 35)] },
    'IN states': {
      metrics: beds,
      group_by: ['state'],
      filters: [{ dimension: 'state', operator: 'IN', value: ['SP', 'AC', 'AC'] }],
    },
    'NEQ state': {
      metrics: beds,
      group_by: ['state'],
      filters: [{ dimension: 'state', operator: 'NEQ', value: 'SP' }],
    },
    'NOT_IN states': {
      metrics: beds,
      group_by: ['bed_category'],
      filters: [{ dimension: 'state', operator: 'NOT_IN', value: ['SP', 'RJ'] }],
    },
    'EQ municipality of 6 digits': {
      metrics: beds,
      group_by: ['bed_type'],
      filters: [eq('municipality', String(place).slice(0, 6))],
    },
    'IN municipalities': {
      metrics: [...beds, 'facilities_count'],
      group_by: ['municipality'],
      filters: [
        {
          dimension: 'municipality',
          operator: 'IN',
          value: codes.municipalities.map(({ ibge_code }) => Number(ibge_code)),
        },
      ],
    },
    'nothing found': { metrics: beds, group_by: ['bed_type'], filters: [eq('facility_type', '99')] },
    'several filters': {
      metrics: ['bed_capacity_existing'],
      group_by: ['bed_type'],
      filters: [
        eq('state', 'SP'),
        eq('management_type', 'M'),
        { dimension: 'bed_category', operator: 'IN', value: ['1', '2'] },
      ],
    },
    ...Object.fromEntries(
      ['EQ', 'GT', 'GTE', 'LT', 'LTE'].map((operator) => [
        `${operator} period`,
        {
          metrics: ['bed_capacity_existing'],
          group_by: ['reference_period'],
          filters: [{ dimension: 'reference_period', operator, value: codes.period }],
        },
      ]),
    ),
    'BETWEEN periods': {
      metrics: ['bed_capacity_existing'],
      group_by: ['reference_period', 'state'],
      filters: [{ dimension: 'reference_period', operator: 'BETWEEN', value: ['2020-01', codes.period] }],
    },
    ...Object.fromEntries(
      ['last', 'first', 'avg', 'max'].map((over_period) => [
        `over periods: ${over_period}`,
        { metrics: ['bed_capacity_existing', 'equipment_existing'], group_by: ['state'], over_period },
      ]),
    ),
    pinned: { metrics: beds, group_by: ['state'], expected_release_id: '{analytics}' },
    'members by name': { metrics: ['equipment_existing'], group_by: ['equipment_type'], limit: 300 },
    classifications: {
      metrics: ['service_offerings'],
      group_by: ['specialized_service_classification'],
      limit: 500,
    },
  }
}

const FORMATS: readonly (readonly [string, string])[] = [
  ['csv', 'text/csv'],
  ['arrow', 'application/vnd.apache.arrow.stream'],
  ['json first', 'application/json, text/csv;q=0.5'],
  ['any', '*/*'],
  ['none of them', 'image/png'],
]

async function readMetrics(target: Target): Promise<CatalogMetric[]> {
  const { body } = await exchange(target, {
    method: 'GET',
    path: '/v1/analytics/catalog',
    key: 'all',
    headers: {},
  })
  return (JSON.parse(body.toString()) as { data: { metrics: CatalogMetric[] } }).data.metrics
}

const DIMENSIONS: readonly string[] = [
  'state',
  'municipality',
  'facility',
  'facility_type',
  'management_type',
  'legal_nature',
  'bed_category',
  'bed_type',
  'equipment_category',
  'equipment_type',
  'specialized_service',
  'specialized_service_classification',
  'service_characteristic',
  'provider_kind',
  'reference_period',
]

function memberEntries(): Entry[] {
  const filters = encodeURIComponent(JSON.stringify([eq('state', 'RR')]))
  return DIMENSIONS.flatMap((code) => [
    get(`${VALUES}/${code}/values`),
    get(`${VALUES}/${code}/values?limit=7&offset=5`),
    get(`${VALUES}/${code}/values?search=a&limit=20`, { headers: { 'accept-language': 'en' } }),
    get(`${VALUES}/${code}/values?search=0&limit=20`),
    get(`${VALUES}/${code}/values?limit=20&counts=true`),
    ...(code === 'facility' ? [] : [get(`${VALUES}/${code}/values?limit=20&filters=${filters}`)]),
  ])
}

function lineageEntries(codes: Codes): Entry[] {
  const lineage = (name: string, body: object): Entry =>
    post('/v1/analytics/lineage', body, { name: `lineage ${name}` })
  const place = Number(codes.municipalities[0]?.ibge_code)
  const category = codes.beds[0]?.bed_category_code
  return [
    lineage('of a sum', { metrics: ['bed_capacity_existing'], group_by: ['state'], key: { state: 'RR' } }),
    lineage('second page', {
      metrics: ['bed_capacity_existing'],
      group_by: ['state'],
      key: { state: 'RR' },
      limit: 5,
      offset: 5,
    }),
    lineage('of a rate', {
      metrics: ['beds_existing_per_100k'],
      group_by: ['municipality'],
      key: { municipality: place },
    }),
    lineage('denominator', {
      metrics: ['beds_existing_per_100k'],
      group_by: ['municipality'],
      key: { municipality: place },
      side: 'denominator',
    }),
    lineage('of two dimensions', {
      metrics: ['bed_capacity_sus'],
      group_by: ['state', 'bed_category'],
      key: { state: 'AC', bed_category: category },
      limit: 20,
    }),
    lineage('of a count', {
      metrics: ['facilities_count'],
      group_by: ['state'],
      key: { state: 'RR' },
      limit: 20,
    }),
    lineage('of services', {
      metrics: ['service_offerings'],
      group_by: ['state'],
      key: { state: 'RR' },
      limit: 20,
    }),
    lineage('of equipment', {
      metrics: ['equipment_existing'],
      group_by: ['state'],
      key: { state: 'RR' },
      limit: 20,
    }),
    lineage('no such side', { metrics: ['bed_capacity_existing'], side: 'denominator' }),
    lineage('no such group', {
      metrics: ['bed_capacity_existing'],
      group_by: ['state'],
      key: { state: 'XX' },
    }),
    lineage('key missing', { metrics: ['bed_capacity_existing'], group_by: ['state'] }),
  ]
}

export async function analyticsEntries(target: Target, codes: Codes): Promise<Entry[]> {
  const metrics = await readMetrics(target)
  const bodies = namedBodies(codes)
  const draw = drawer(29)
  const queries = Object.entries(bodies).map(([name, body]) => post(QUERY, body, { name: `query ${name}` }))
  const ofMetrics = metrics.flatMap(({ code, dimensions }) => {
    const [first = 'state', second = 'state'] = draw(
      dimensions.filter((dimension) => dimension !== 'facility'),
      2,
    )
    return [
      post(QUERY, { metrics: [code] }, { name: `metric ${code}` }),
      post(QUERY, { metrics: [code], group_by: ['state'] }, { name: `metric ${code} by state` }),
      post(QUERY, { metrics: [code], group_by: [first], limit: 40 }, { name: `metric ${code} by ${first}` }),
      post(
        QUERY,
        { metrics: [code], group_by: [second, first], limit: 40, offset: 3 },
        { name: `metric ${code} by ${second} and ${first}` },
      ),
    ]
  })
  const sums = ['bed_capacity_existing', 'equipment_existing', 'service_offerings', 'facilities_count']
  const ofDimensions = DIMENSIONS.flatMap((code) => {
    const found = metrics.find((metric) => sums.includes(metric.code) && metric.dimensions.includes(code))
    return found === undefined
      ? []
      : [post(QUERY, { metrics: [found.code], group_by: [code], limit: 60 }, { name: `dimension ${code}` })]
  })
  const formats = ['states', 'EQ state', 'nothing found', 'ordered by two'].flatMap((name) =>
    FORMATS.map(([format, accept]) =>
      post(QUERY, bodies[name], { name: `query ${name} as ${format}`, headers: { accept } }),
    ),
  )
  const explained = Object.entries(bodies).map(([name, body]) =>
    post('/v1/analytics/explain', body, {
      name: `explain ${name}`,
      lenient: '^/data/(sql|parameters|estimated|plan)',
    }),
  )
  const forms = [
    ['gzip', { 'accept-encoding': 'gzip' }],
    ['br', { 'accept-encoding': 'br' }],
    ['English', { 'accept-language': 'en' }],
    ['charset', { 'content-type': 'application/json; charset=utf-8' }],
    ['if-none-match', { 'if-none-match': '{etag}' }],
  ].map(([name, headers]) =>
    post(QUERY, bodies.states, {
      name: `query states, ${name}`,
      headers: headers as Record<string, string>,
      from: 'query states',
    }),
  )
  return [
    ...queries,
    ...ofMetrics,
    ...ofDimensions,
    ...formats,
    ...explained,
    ...forms,
    ...memberEntries(),
    ...lineageEntries(codes),
    post(
      '/v1/analytics/compare',
      {
        metrics: ['bed_capacity_existing'],
        group_by: ['state'],
        old_release_id: '{analytics}',
        only_changed: false,
      },
      { name: 'compare with itself' },
    ),
    post(
      '/v1/analytics/compare',
      { metrics: ['bed_capacity_existing'], old_release_id: '{analytics}' },
      { name: 'compare, changed only' },
    ),
    post(
      '/v1/analytics/compare',
      { metrics: ['bed_capacity_existing'], old_release_id: 'unknown' },
      { name: 'compare with an unknown release' },
    ),
    post('/v1/analytics/compare', { metrics: ['bed_capacity_existing'] }, { name: 'compare with nothing' }),
    get('/v1/analytics/catalog', { name: 'catalog of a key that may less', key: 'limited' }),
    get('/v1/analytics/catalog', { name: 'catalog in English', headers: { 'accept-language': 'en' } }),
  ]
}
