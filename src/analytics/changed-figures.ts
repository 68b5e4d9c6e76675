/**
 * By how much a release differs from the one before in the months that were revised: a metric of each dataset, month by month, as the
 * comparison of releases answers it. In: both releases and what differs by the digests of rows. Out: each comparison with its rows.
 */
import { LRUCache } from 'lru-cache'
import type { ChangedFigure } from '../answers/releases.ts'
import type { Capability } from '../model/capabilities.ts'
import { dimensionOf } from '../model/dimensions.ts'
import { capabilitiesOf, factDatasetsOf, METRIC_CODES, type MetricCode, metricOf } from '../model/metrics.ts'
import type { Table } from '../model/required-tables.ts'
import type { AreaChange } from '../release/changes.ts'
import { ALL_STATES, FACT_TABLES, statesCollected } from '../release/coverage.ts'
import { type CompareParts, compareReleases } from './compare.ts'

/** Rows of a figure: the newest months that were revised. */
const MONTHS_MAX = 24

/** Figures in memory. Two releases never change, and the home page asks for those of the newest promotion each time. */
const FIGURES_MAX = 16
const cache = new LRUCache<string, Promise<readonly ChangedFigure[]>>({ max: FIGURES_MAX })

/** @throws AppError as the comparison does */
export function findChangedFigures(
  areas: readonly AreaChange[],
  parts: CompareParts,
): Promise<readonly ChangedFigure[]> {
  const { before, view, capabilities, language } = parts
  const key = [before.id, view.id, language, ...[...capabilities].sort()].join(' ')
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  // Ignore the client's abort signal: other requests may wait for the same figures.
  const { signal: _signal, ...shared } = parts
  const finding = compareDatasets(areas, shared)
  cache.set(key, finding)
  finding.catch(() => cache.delete(key))
  return finding
}

async function compareDatasets(
  areas: readonly AreaChange[],
  parts: CompareParts,
): Promise<readonly ChangedFigure[]> {
  const figures: ChangedFigure[] = []
  for (const { dataset, revised } of areas.flatMap(({ datasets }) => datasets)) {
    const table = FACT_TABLES.find((name) => name === dataset)
    const query = table === undefined ? null : questionOf(table, revised, parts)
    if (query === null) continue
    const { data } = await compareReleases(query, parts)
    figures.push({ dataset, query, rows: data })
  }
  return figures
}

/** @returns null where no month was revised that both releases collected for some state, and where the key may read no metric */
function questionOf(
  table: Table,
  revised: readonly string[],
  { view, before, capabilities }: CompareParts,
): ChangedFigure['query'] | null {
  const metric = metricOfTable(table, capabilities)
  // Rows of a year whose month is not known belong to no month.
  const months = revised.filter((period) => period.includes('-')).slice(-MONTHS_MAX)
  const states = [...ALL_STATES].filter((uf) =>
    months.every((month) =>
      [view, before].every((release) =>
        statesCollected(release, table, Number(month.replace('-', ''))).has(uf),
      ),
    ),
  )
  if (metric === null || months.length === 0 || states.length === 0) return null
  const state = dimensionOf('state').datasets.includes(table) ? 'state' : 'residence_state'
  return {
    old_release_id: before.id,
    new_release_id: view.id,
    metrics: [metric],
    group_by: ['reference_period'],
    filters: [
      { dimension: 'reference_period', operator: 'IN', value: months },
      ...(states.length === ALL_STATES.size ? [] : [{ dimension: state, operator: 'IN', value: states }]),
    ],
    limit: MONTHS_MAX,
  }
}

/** @returns the first metric that counts or adds up the table alone */
const metricOfTable = (table: Table, capabilities: readonly Capability[]): MetricCode | null =>
  METRIC_CODES.find(
    (code) =>
      ['sum', 'count'].includes(metricOf(code).kind) &&
      factDatasetsOf(code).join() === table &&
      capabilitiesOf(code).every((capability) => capabilities.includes(capability)),
  ) ?? null
