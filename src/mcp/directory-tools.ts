/** Tools that find what can be asked for: metrics and dimensions, members, facilities, releases. In: arguments. Out: short lists. */
import type { Answer, Catalog, Member, Metric, Page, ReleaseInfo } from '../explorer/api.ts'
import { type Arguments, addressOf, originOfAnswer, type Tool, text, whole } from './tool.ts'
import type { Context } from './tools.ts'

const CATALOG = '/v1/analytics/catalog'
const METRICS_SHOWN = 40

type TieredCatalog = Omit<Catalog, 'metrics'> & {
  readonly metrics: readonly (Metric & { readonly tier: 'core' | 'extended' })[]
}

const fold = (value: string): string => value.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
/** Does a metric have every word of a search in its texts? */
const matches = ({ code, label, label_en, description }: Metric, search: string): boolean => {
  const own = fold([code, label, label_en, description].join(' '))
  return fold(search)
    .split(/\s+/)
    .every((word) => own.includes(word))
}

async function catalog({ search, metric }: Arguments, { api, origin }: Context): Promise<unknown> {
  const { data, meta } = await api.get<Answer<TieredCatalog>>(CATALOG)
  const known = data.metrics.find(({ code }) => code === metric)
  const about = { catalog_version: data.version, ...originOfAnswer(meta), link: origin + CATALOG }
  if (known !== undefined) {
    const { code, label, unit, decimals, description, formula, datasets, dimensions } = known
    return { metric: { code, label, unit, decimals, description, formula, datasets, dimensions }, ...about }
  }
  const words = typeof search === 'string' ? search : typeof metric === 'string' ? metric : ''
  const found = data.metrics.filter((own) =>
    words.trim() === '' ? own.tier === 'core' : matches(own, words),
  )
  return {
    ...(metric === undefined ? {} : { note: 'There is no metric of this code; these have its words.' }),
    metrics: found.slice(0, METRICS_SHOWN).map(({ code, label, unit }) => ({ code, label, unit })),
    ...(words.trim() === ''
      ? {
          other_metrics: data.metrics.length - found.length,
          hint: 'search finds the others; metric shows one in full.',
        }
      : { found: found.length }),
    dimensions: data.dimensions.map(({ code, label }) => ({ code, label })),
    ...about,
  }
}

async function members(args: Arguments, { api, origin }: Context): Promise<unknown> {
  const { dimension, search, offset, limit = 20 } = args
  const address = addressOf(`/v1/analytics/dimensions/${encodeURIComponent(String(dimension))}/values`, {
    search: search === '' ? undefined : search,
    limit,
    offset,
  })
  const { data, pagination, meta } = await api.get<Page<Member>>(address)
  return {
    dimension,
    members: data.map(({ code, name, parent }) => ({
      code,
      name,
      ...(parent === undefined ? {} : { parent }),
    })),
    total: pagination.total,
    ...originOfAnswer(meta),
    link: origin + address,
  }
}

const FACILITY_FIELDS = [
  'cnes_code',
  'trade_name',
  'legal_name',
  'facility_type_name',
  'municipality_name',
  'municipality_ibge_code',
  'uf',
  'is_active',
  'offers_any_sus',
  'has_beds',
  'distance_km',
] as const
const FACILITY_FILTERS = {
  search: text('Words of its names, whole or in part, or the beginning of its code.'),
  uf: text('State by letters; several with commas.'),
  municipality_ibge_code: text('Code of its municipality, 6 or 7 digits.'),
  facility_type_code: text('Code of its type; members of facility_type lists them.'),
  near: text('latitude,longitude: the nearest first.'),
  radius_km: text('With near; 10 by default.'),
  status: { ...text('Active facilities by default.'), enum: ['active', 'inactive', 'all'] },
}

async function facility(args: Arguments, { api, origin }: Context): Promise<unknown> {
  const { cnes_code, limit = 10, ...filters } = args
  if (cnes_code !== undefined) {
    const address = `/v1/facilities/${encodeURIComponent(String(cnes_code))}`
    const { data, meta } = await api.get<Answer<object>>(address)
    return { facility: data, ...originOfAnswer(meta), link: origin + address }
  }
  const address = addressOf('/v1/facilities', { ...filters, limit, count: 'true' })
  const { data, pagination, meta } = await api.get<Page<Readonly<Record<string, unknown>>>>(address)
  return {
    facilities: data.map((row) =>
      Object.fromEntries(FACILITY_FIELDS.flatMap((name) => (name in row ? [[name, row[name]]] : []))),
    ),
    total: pagination.total,
    ...originOfAnswer(meta),
    link: origin + address,
  }
}

async function releases(_args: Arguments, { api, origin }: Context): Promise<unknown> {
  const { data } = await api.get<Answer<readonly ReleaseInfo[]>>('/v1/releases')
  return {
    releases: data
      .filter(({ area }) => area === 'analytics')
      .map(({ release_id, periods, promoted, synthetic }) => ({
        release_id,
        first_period: periods[0],
        last_period: periods.at(-1),
        in_service: promoted,
        ...(synthetic ? { synthetic } : {}),
      })),
    link: `${origin}/v1/releases`,
  }
}

export const DIRECTORY_TOOLS: readonly Tool[] = [
  {
    name: 'catalog',
    title: 'Metrics and dimensions',
    description:
      'Codes, labels and units of what can be asked for: the core metrics, those that a search finds, or one metric in full.',
    properties: {
      search: text('Words of code, label or description, in Portuguese or English.'),
      metric: text('Code of a metric: its definition, formula and dimensions.'),
    },
    required: [],
    call: catalog,
  },
  {
    name: 'members',
    title: 'Codes of a dimension',
    description:
      'Codes and names of the members of a dimension, for filters: municipalities, bed types, months …',
    properties: {
      dimension: text('Code of the dimension, as catalog lists it.'),
      search: text('Words of the name, or the beginning of the code.'),
      limit: whole(1, 100, 'Members shown; 20 by default.'),
      offset: whole(0, 1_000_000, 'Members passed over.'),
    },
    required: ['dimension'],
    call: members,
  },
  {
    name: 'facility',
    title: 'Health facilities',
    description: 'Finds facilities by name, place or position; with cnes_code the whole record of one.',
    properties: {
      cnes_code: text('Code of 7 digits: that facility alone.'),
      ...FACILITY_FILTERS,
      limit: whole(1, 50, 'Facilities shown; 10 by default.'),
    },
    required: [],
    call: facility,
  },
  {
    name: 'releases',
    title: 'Releases',
    description: 'Analytics releases that can be named in expected_release_id and compared.',
    properties: {},
    required: [],
    call: releases,
  },
]
