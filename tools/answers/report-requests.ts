/** Recorded requests of reports: every format, way to request and refusal. */
import { type Body, namedBodies } from './analytics-requests.ts'
import { type Codes, get, post } from './entry.ts'
import type { Entry } from './exchange.ts'

export function reportEntries(codes: Codes): Entry[] {
  const bodies: Readonly<Record<string, Body>> = namedBodies(codes)
  const names = ['no groups', 'states', 'nothing found', 'EQ state', 'ordered by two', 'classifications']
  const strip = ({ limit: _limit, offset: _offset, ...body }: Body): object => body
  const body = strip(bodies.states ?? { metrics: [] })
  const large = {
    metrics: [
      'bed_capacity_existing',
      'equipment_existing',
      'service_offerings',
      'facilities_count',
      'population_census',
    ],
    group_by: ['municipality'],
  }
  return [
    ...names.flatMap((name) =>
      ['xlsx', 'csv', 'json', 'parquet', 'arrow'].map((format) =>
        post(`/v1/analytics/export?format=${format}`, strip(bodies[name] ?? { metrics: [] }), {
          name: `report ${format}: ${name}`,
        }),
      ),
    ),
    post(
      '/v1/analytics/exports/xlsx',
      { ...large, title: 'Capacidade instalada' },
      { name: 'report of all municipalities' },
    ),
    post('/v1/analytics/export/xlsx', body, { name: 'report, singular path' }),
    post('/v1/analytics/exports/xlsx', body, {
      name: 'report in English',
      headers: { 'accept-language': 'en' },
    }),
    post('/v1/analytics/export', { ...body, format: 'csv' }, { name: 'report, format in the body' }),
    post('/v1/analytics/export', body, {
      name: 'report, compressed',
      headers: { 'accept-encoding': 'gzip' },
    }),
    post('/v1/analytics/export?format=csv', { ...body, format: 'json' }, { name: 'report, formats differ' }),
    post('/v1/analytics/export?format=pdf', body, { name: 'report, no such format' }),
    post('/v1/analytics/exports/xlsx', { ...body, limit: 5 }, { name: 'report with a limit' }),
    post(
      '/v1/analytics/exports/xlsx',
      { ...body, title: 'two\nlines' },
      { name: 'report, title of two lines' },
    ),
    get(`/v1/analytics/export?format=csv&q=${encodeURIComponent(JSON.stringify(body))}`, {
      name: 'report as a link',
    }),
    get(
      `/v1/analytics/export?format=csv&q=${encodeURIComponent(JSON.stringify({ ...body, expected_release_id: '{analytics}' })).replaceAll('%7Banalytics%7D', '{analytics}')}`,
      {
        name: 'report as a link, pinned',
      },
    ),
    get('/v1/analytics/export?format=csv&q=%7B', { name: 'report as a broken link' }),
    get('/v1/analytics/export', { name: 'report as a link without a query' }),
    post('/v1/analytics/exports/xlsx', body, { name: 'report of a key that may not', key: 'limited' }),
  ]
}
