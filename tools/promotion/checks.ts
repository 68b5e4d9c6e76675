/**
 * Promotion checks: compare a new release with the one in service. It must be complete, not older, and similar.
 *
 * In: two opened releases. Out: a report of named checks, each passed or failed, with numbers. Health data change by a few
 * percent per month. A truncated file, a missing state or a changed unit changes them by more. An operator who can explain
 * the change promotes with a reason.
 */

import { answerQuery } from '../../src/analytics/query.ts'
import type { Engine } from '../../src/engine/types.ts'
import { findEmptied } from '../../src/import/file-contents.ts'
import { AREAS_BY_NEED, areaOf } from '../../src/model/areas.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { DATASETS, type DatasetName, datasetOf } from '../../src/model/datasets.ts'
import { METRIC_CODES, metricOf } from '../../src/model/metrics.ts'
import { ALL_STATES, FACT_TABLES, statesCollected, statesEmpty } from '../../src/release/coverage.ts'
import {
  collectedPeriods,
  componentManifests,
  coverageOf,
  formatPeriod,
  type ReleaseView,
} from '../../src/release/view.ts'

/** Largest accepted change of a metric between two releases, for the country and for a state with at least STATE_MIN. */
const COUNTRY_SHARE = 0.1
const STATE_SHARE = 0.25
const STATE_MIN = 200
/** Largest accepted change of a dataset's rows in its newest month. */
const ROWS_SHARE = 0.1

/** Most tables and months that a check names. */
const LOST_SHOWN = 10

/** Tables that are published by state and month, or for the country. */
const MONTHLY_TABLES = FACT_TABLES.filter((table) => areaOf(datasetOf(table).area).periods === 'months')

export interface PromotionCheck {
  readonly name: string
  readonly met: boolean
  readonly detail: string
}

export interface PromotionReport {
  readonly release_id: string
  /** The release compared with; null when none is in service. */
  readonly against: string | null
  readonly met: boolean
  readonly checks: readonly PromotionCheck[]
}

/** @param before the release in service; when null or the same release, only the checks without comparison run */
export async function runPromotionChecks(
  engine: Engine,
  after: ReleaseView,
  before: ReleaseView | null,
): Promise<PromotionReport> {
  const isComparable = before !== null && before.id !== after.id && before.synthetic === after.synthetic
  const checks: PromotionCheck[] = [
    checksHold(after),
    hasAreas(after, before),
    filesHaveRows(after, isComparable ? before : null),
  ]
  if (isComparable) {
    checks.push(isNotOlder(after, before), coversAsMuch(after, before), rowsAreLike(after, before))
    checks.push(...(await driftOf(engine, after, before)))
  }
  return {
    release_id: after.id,
    against: isComparable ? before.id : null,
    met: checks.every(({ met }) => met),
    checks,
  }
}

function checksHold(view: ReleaseView): PromotionCheck {
  const checks = componentManifests(view).flatMap((manifest) => manifest.checks)
  const broken = checks.filter(({ violations }) => violations > 0)
  return {
    name: 'data checks',
    met: broken.length === 0,
    detail:
      broken.length === 0
        ? `${checks.length} checks hold`
        : broken.map(({ name, violations }) => `${name}: ${violations}`).join(', '),
  }
}

/** Requires the required areas (facilities and population), and every area that the release in service has. */
function hasAreas({ components }: ReleaseView, before: ReleaseView | null): PromotionCheck {
  const missing = AREAS_BY_NEED.filter(
    (area) =>
      components[area] === null && (areaOf(area).isRequired || (before?.components[area] ?? null) !== null),
  )
  return {
    name: 'areas',
    met: missing.length === 0,
    detail: missing.length === 0 ? 'facilities and population are there' : `lacks ${missing.join(', ')}`,
  }
}

/** Finds empty files whose neighbouring months have rows, in either release: those are likelier mistakes than the publisher's. */
function filesHaveRows(after: ReleaseView, before: ReleaseView | null): PromotionCheck {
  const emptied = findEmptied(
    publishedFiles(after, before).map((file) => ({ ...file, rows: file.isEmpty ? 0 : 1 })),
  )
  return {
    name: 'empty files',
    met: emptied.length === 0,
    detail:
      emptied.length === 0
        ? 'no file is empty where the months around it have rows'
        : emptied.map(({ table, uf, period }) => `${table} ${formatPeriod(period)}: ${uf}`).join(', '),
  }
}

/** Lists the files of a release, and non-empty files of the other release for the same tables and states. */
function publishedFiles(after: ReleaseView, before: ReleaseView | null) {
  const filesOf = (view: ReleaseView) =>
    MONTHLY_TABLES.flatMap((table) =>
      collectedPeriods(view, table).flatMap((period) => {
        const empty = statesEmpty(view, table, period)
        const collected = statesCollected(view, table, period)
        return [...collected].map((uf) => ({ table, uf, period, isEmpty: empty.has(uf) }))
      }),
    )
  const found = filesOf(after)
  const hasEmpty = new Set(found.filter(({ isEmpty }) => isEmpty).map(({ table, uf }) => `${table} ${uf}`))
  const others = before === null ? [] : filesOf(before)
  return [...found, ...others.filter(({ isEmpty }) => !isEmpty)].filter(({ table, uf }) =>
    hasEmpty.has(`${table} ${uf}`),
  )
}

function isNotOlder(after: ReleaseView, before: ReleaseView): PromotionCheck {
  const [month, monthInService] = [after.analytics.month, before.analytics.month]
  return {
    name: 'newest month',
    met: month >= monthInService,
    detail: `${formatPeriod(month)}, in service ${formatPeriod(monthInService)}`,
  }
}

/**
 * Requires each table, month (or year, in areas by year) and state of the release in service. A release that begins with a national
 * base may lack the months before it, because an import of the next base has only its month.
 */
function coversAsMuch(after: ReleaseView, before: ReleaseView): PromotionCheck {
  const lost = FACT_TABLES.flatMap((table) => {
    // A year of transfers is named by its last month, which moves as the year goes on.
    const isByYear = areaOf(datasetOf(table).area).periods === 'years'
    const spanOf = (period: number): number => (isByYear ? Math.floor(period / 100) : period)
    const periods = collectedPeriods(after, table)
    const [first = 0] = periods
    const beginsWithBase = coverageOf(after, table, first)?.family === 'base'
    return collectedPeriods(before, table).flatMap((period) => {
      if (beginsWithBase && period < first) return []
      const collected = new Set(
        periods
          .filter((other) => spanOf(other) === spanOf(period))
          .flatMap((other) => [...statesCollected(after, table, other)]),
      )
      const states = [...statesCollected(before, table, period)].filter((uf) => !collected.has(uf))
      if (states.length === 0) return []
      const named = states.length === ALL_STATES.size ? 'all states' : states.join(', ')
      return [`${table} ${formatPeriod(period)}: ${named}`]
    })
  })
  const more = lost.length - LOST_SHOWN
  return {
    name: 'states and months',
    met: lost.length === 0,
    detail:
      lost.length === 0
        ? 'every table, month and state in service is there'
        : `lacks ${lost.slice(0, LOST_SHOWN).join('; ')}${more > 0 ? `; and ${more} more tables and months` : ''}`,
  }
}

/** Compares rows of each dataset's newest period. Periods of years differ by source, so there the newest common one is used. */
function rowsAreLike(after: ReleaseView, before: ReleaseView): PromotionCheck {
  const rowsOf = (view: ReleaseView, other: ReleaseView): Map<string, number> =>
    new Map(
      componentManifests(view).flatMap((manifest) =>
        Object.entries(manifest.datasets)
          .filter(([name]) => !name.endsWith('_provenance') && !name.startsWith('set_aside'))
          .map(([name, { periods: datasetPeriods }]): [string, number] => {
            const { area } = manifest
            const others =
              area === 'analytics' || areaOf(area).periods !== 'years'
                ? []
                : (other.components[area]?.datasets[name]?.periods ?? [])
            const commonPeriods = datasetPeriods.filter((period) => others.includes(period))
            const periods = commonPeriods.length > 0 ? commonPeriods : datasetPeriods
            const newest = periods.length === 0 ? '' : `reference_period=${Math.max(...periods)}/`
            const files = manifest.files.filter(({ path }) => path.startsWith(`${name}/${newest}`))
            // Both admissions and production releases contain lists of procedures, so the area tells them apart.
            const isOwnArea = !(name in DATASETS) || datasetOf(name as DatasetName).area === manifest.area
            return [
              isOwnArea ? name : `${manifest.area} ${name}`,
              files.reduce((sum, { rows }) => sum + rows, 0),
            ]
          }),
      ),
    )
  const rows = rowsOf(after, before)
  const unlike = [...rowsOf(before, after)].flatMap(([name, previous]) => {
    const current = rows.get(name) ?? 0
    return previous > 0 && Math.abs(current - previous) > previous * ROWS_SHARE
      ? [`${name}: ${previous} → ${current}`]
      : []
  })
  return {
    name: 'rows of the newest month',
    met: unlike.length === 0,
    detail: unlike.length === 0 ? `within ${ROWS_SHARE * 100} % in every dataset` : unlike.join(', '),
  }
}

/** Compares sums and counts of core metrics, by state and for the country. */
async function driftOf(engine: Engine, after: ReleaseView, before: ReleaseView): Promise<PromotionCheck[]> {
  const metrics = METRIC_CODES.filter(
    (code) => metricOf(code).tier === 'core' && metricOf(code).kind !== 'ratio',
  )
  const valuesBy = async (
    view: ReleaseView,
    group_by: string[],
  ): Promise<Map<string, Record<string, number | null>>> => {
    const { data } = await answerQuery(
      { metrics, group_by, limit: 100 },
      { engine, view, capabilities: CAPABILITIES, language: 'en' },
    )
    const rows = data as unknown as { label: string; metrics: Record<string, number | null> }[]
    return new Map(rows.map(({ label, metrics: values }) => [label, values]))
  }
  const [[country], [wasCountry]] = [
    [...(await valuesBy(after, [])).values()],
    [...(await valuesBy(before, [])).values()],
  ]
  const [states, wasStates] = [await valuesBy(after, ['state']), await valuesBy(before, ['state'])]
  return metrics.map((code): PromotionCheck => {
    const moved = [...wasStates].flatMap(([state, values]) => {
      const [previous, current] = [values[code] ?? null, states.get(state)?.[code] ?? null]
      if (previous === null || previous < STATE_MIN) return []
      if (current === null) return [`${state}: ${previous} → not collected`]
      return Math.abs(current - previous) > previous * STATE_SHARE
        ? [`${state}: ${previous} → ${current}`]
        : []
    })
    const [previous, current] = [wasCountry?.[code] ?? 0, country?.[code] ?? 0]
    const isFar = previous > 0 && Math.abs(current - previous) > previous * COUNTRY_SHARE
    return {
      name: `drift of ${code}`,
      met: moved.length === 0 && !isFar,
      detail: [
        `${previous} → ${current}${previous > 0 ? ` (${(((current - previous) / previous) * 100).toFixed(2)} %)` : ''}`,
        ...moved.slice(0, 5),
        ...(moved.length > 5 ? [`and ${moved.length - 5} more states`] : []),
      ].join('; '),
    }
  })
}

export const reportLines = ({ release_id, against, met, checks }: PromotionReport): string[] => [
  `${release_id}`,
  against === null ? 'no release to compare with is in service' : `compared with ${against}`,
  ...checks.map(
    (check) => `${check.met ? '  passed' : '  FAILED'}  ${check.name.padEnd(34)} ${check.detail}`,
  ),
  met ? 'All promotion checks passed.' : 'Some promotion checks failed.',
]
