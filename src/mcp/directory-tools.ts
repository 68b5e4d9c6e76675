/** Tools that find metrics, dimensions, members, facilities and releases. In: arguments. Out: short lists. */
import {
  type Answer,
  ApiFailure,
  type Catalog,
  type Member,
  type Metric,
  type Page,
  type ReleaseInfo,
} from '../explorer/api.ts'
import { CATALOG_OUTPUT, FACILITY_OUTPUT, MEMBERS_OUTPUT, RELEASES_OUTPUT } from './output-schemas.ts'
import {
  type Arguments,
  addressOf,
  integer,
  notesOf,
  originOfAnswer,
  pathPart,
  type Tool,
  text,
} from './tool.ts'
import type { Context } from './tools.ts'

const CATALOG = '/v1/analytics/catalog'
const METRICS_SHOWN = 40
/** Up to this many metrics are described in full, which saves the agent another call. */
const METRICS_IN_FULL = 6

/** Adds the metric fields that only tools read. */
interface DescribedMetric extends Metric {
  readonly tier: 'core' | 'extended'
  readonly description: string
  readonly description_en: string
}

type TieredCatalog = Omit<Catalog, 'metrics'> & {
  readonly metrics: readonly DescribedMetric[]
}

const fold = (value: string): string => value.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** @returns the metrics whose texts contain the most words of the search, and whether that is every word */
function searchMetrics(metrics: readonly DescribedMetric[], search: string) {
  const words = fold(search)
    .split(/\s+/)
    .filter((word) => word !== '')
  const counted = metrics.map((metric) => {
    const {
      code,
      label,
      label_en,
      description,
      description_en,
      meaning = '',
      meaning_en = '',
      datasets,
    } = metric
    const searchedText = fold(
      [code, label, label_en, description, description_en, meaning, meaning_en, ...datasets].join(' '),
    )
    return { metric, count: words.filter((word) => searchedText.includes(word)).length }
  })
  const most = Math.max(...counted.map(({ count }) => count))
  const found = most === 0 ? [] : counted.filter(({ count }) => count === most)
  return { found: found.map(({ metric }) => metric), hasAll: most === words.length }
}

const describeInFull = ({
  code,
  label,
  unit,
  description,
  formula,
  meaning,
  datasets,
  dimensions,
}: DescribedMetric) => ({
  code,
  label,
  unit,
  description,
  ...(meaning === undefined ? {} : { meaning }),
  formula,
  datasets,
  dimensions,
})
const summarize = ({ code, label, unit }: Metric) => ({ code, label, unit })

/** The catalog leaves out metrics that the key may not reach. @throws ApiFailure that names the capability of such a metric */
async function checkReach(metric: string, api: Context['api']): Promise<void> {
  await api.get(`/v1/analytics/metrics/${pathPart(metric)}`).catch((error: unknown) => {
    if (!(error instanceof ApiFailure) || error.problem.code === 'forbidden') throw error
  })
}

async function catalog({ search, metric }: Arguments, { api, origin }: Context): Promise<object> {
  const { data, meta } = await api.get<Answer<TieredCatalog>>(CATALOG)
  const exactMetric = data.metrics.find(({ code }) => code === metric)
  const about = { catalog_version: data.version, ...originOfAnswer(meta), link: origin + CATALOG }
  if (exactMetric !== undefined) return { metric: describeInFull(exactMetric), ...about }
  if (typeof metric === 'string') await checkReach(metric, api)
  const words = [search, metric].find((argument) => typeof argument === 'string' && argument.trim() !== '')
  if (typeof words === 'string') {
    const { found, hasAll } = searchMetrics(data.metrics, words)
    const note = [
      ...(metric === undefined ? [] : ['There is no metric of this code; these have its words.']),
      ...(hasAll ? [] : ['No metric has all of these words; these have the most of them.']),
    ].join(' ')
    return {
      ...(note === '' ? {} : { note }),
      metrics: found.slice(0, METRICS_SHOWN).map(found.length > METRICS_IN_FULL ? summarize : describeInFull),
      found: found.length,
      ...(found.length > METRICS_IN_FULL
        ? { hint: 'metric shows one in full, with the dimensions it can be grouped by.' }
        : {}),
      ...about,
    }
  }
  const others: Record<string, string[]> = {}
  for (const { code, tier, datasets } of data.metrics) {
    const dataset = datasets[0] ?? ''
    if (tier === 'extended') others[dataset] = [...(others[dataset] ?? []), code]
  }
  return {
    metrics: data.metrics.filter(({ tier }) => tier === 'core').map(({ code, label }) => ({ code, label })),
    other_metrics: others,
    hint: 'metric shows one in full, with the dimensions it can be grouped by; search finds by words.',
    dimensions: data.dimensions.map(({ code, label }) => ({ code, label })),
    ...about,
  }
}

async function members(args: Arguments, { api, origin }: Context): Promise<object> {
  const { dimension, search, offset, limit = 20 } = args
  const address = addressOf(`/v1/analytics/dimensions/${pathPart(dimension)}/values`, {
    search: search === '' ? undefined : search,
    limit,
    offset,
  })
  const { data, pagination, meta } = await api.get<Page<Member>>(address)
  const notes = notesOf(meta)
  return {
    dimension,
    members: data.map(({ code, name, parent }) => ({
      code,
      name,
      ...(parent === undefined ? {} : { parent }),
    })),
    total: pagination.total,
    ...(data.length === 0 && search !== undefined
      ? { note: 'No name has these words and no code begins so; without search all members are listed.' }
      : {}),
    ...(notes.length === 0 ? {} : { notes }),
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

async function facility(args: Arguments, { api, origin }: Context): Promise<object> {
  const { cnes_code, limit = 10, ...filters } = args
  if (cnes_code !== undefined) {
    const address = `/v1/facilities/${pathPart(cnes_code)}`
    const { data, meta } = await api.get<Answer<object>>(address)
    const notes = notesOf(meta)
    return {
      facility: data,
      ...(notes.length === 0 ? {} : { notes }),
      ...originOfAnswer(meta),
      link: origin + address,
    }
  }
  const address = addressOf('/v1/facilities', { ...filters, limit, count: 'true' })
  const { data, pagination, meta } = await api.get<Page<Readonly<Record<string, unknown>>>>(address)
  const notes = notesOf(meta)
  return {
    facilities: data.map((row) =>
      Object.fromEntries(FACILITY_FIELDS.flatMap((name) => (name in row ? [[name, row[name]]] : []))),
    ),
    total: pagination.total,
    ...(notes.length === 0 ? {} : { notes }),
    ...originOfAnswer(meta),
    link: origin + address,
  }
}

async function releases(_args: Arguments, { api, origin }: Context): Promise<object> {
  const { data } = await api.get<Answer<readonly ReleaseInfo[]>>('/v1/releases')
  return {
    releases: data
      .filter(({ area }) => area === 'analytics')
      .map(({ release_id, periods, promoted, synthetic }) => ({
        release_id,
        // The month 00 holds deaths and births without a month.
        first_period: periods.find((period) => !period.endsWith('-00')),
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
      'What can be asked for. Without arguments: all metrics and dimensions; with search the metrics of these words, with metric one: meaning, unit, formula and the dimensions it can be grouped and filtered by.',
    properties: {
      search: text('Words, in Portuguese or English, e.g. "bed occupancy", "internações".'),
      metric: text('Code of a metric.'),
    },
    required: [],
    outputs: CATALOG_OUTPUT,
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
      limit: integer(1, 100, 'Members shown; 20 by default.'),
      offset: integer(0, 1_000_000, 'Members passed over.'),
    },
    required: ['dimension'],
    outputs: MEMBERS_OUTPUT,
    call: members,
  },
  {
    name: 'facility',
    title: 'Health facilities',
    description: 'Finds facilities by name, place or position; with cnes_code the whole record of one.',
    properties: {
      cnes_code: text('Code of 7 digits: that facility alone.'),
      ...FACILITY_FILTERS,
      limit: integer(1, 50, 'Facilities shown; 10 by default.'),
    },
    required: [],
    outputs: FACILITY_OUTPUT,
    call: facility,
  },
  {
    name: 'releases',
    title: 'Releases',
    description: 'Analytics releases that can be named in expected_release_id and compared.',
    properties: {},
    required: [],
    outputs: RELEASES_OUTPUT,
    call: releases,
  },
]
