/** Formats the report of a fetch for the operator: sums first, then what failed or is missing, then what to do by hand. Pure. */
import type { FetchReport, FileReport } from '../src/acquire/fetch.ts'

/** Most gaps that are listed one by one. */
const GAPS_SHOWN = 20

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

const sum = (files: readonly FileReport[]): number =>
  files.reduce((total, { bytes }) => total + (bytes ?? 0), 0)

/** @returns lines of the report */
export function reportFetch(report: FetchReport, isDry: boolean): string[] {
  const of = (...statuses: readonly FileReport['status'][]): FileReport[] =>
    report.files.filter(({ status }) => statuses.includes(status))
  const planned = of('planned')
  const fetched = of('fetched', 'replaced', 'unchanged')
  const failed = of('failed')
  const present = of('present')
  const months = Object.entries(report.newest).map(
    ([area, month]) => `newest ${month < 10_000 ? 'year' : 'month'} of ${area}: ${formatMonth(month)}`,
  )
  const isComplete = failed.length + report.failures.length === 0
  const result = isDry
    ? [
        ...planned.map(({ path, bytes }) =>
          `would fetch ${path}  ${bytes === null ? '' : formatBytes(bytes)}`.trimEnd(),
        ),
        `would fetch ${planned.length} files, ${formatBytes(sum(planned))}; ${present.length} are here already`,
      ]
    : [
        ...of('replaced').map(
          ({ path }) => `changed at the publisher: ${path} (the older one is kept in .versions)`,
        ),
        fetched.length === 0 && isComplete
          ? `nothing new: all ${present.length} files are here already; delete a damaged one to fetch it again`
          : `fetched ${fetched.length} files, ${formatBytes(sum(fetched))}; ${present.length} were here already`,
      ]
  const gaps = report.missing
    .slice(0, GAPS_SHOWN)
    .map(({ source, period, uf }) => `not published: ${source} ${formatMonth(period)} ${uf}`)
  const more = report.missing.length - gaps.length
  return [
    ...months,
    ...result,
    ...gaps,
    ...(more > 0 ? [`not published: ${more} more files of states and months`] : []),
    ...present.flatMap(({ path, reason }) => (reason === undefined ? [] : [`note: ${path} ${reason}`])),
    ...report.warnings.map((warning) => `note: ${warning}`),
    ...report.by_hand.map(({ what, how }) => `by hand: ${what}: ${how}`),
    ...report.failures.map((failure) => `FAILED ${failure}`),
    ...failed.map(({ path, reason }) => `FAILED ${path}: ${reason}`),
    ...(isComplete ? [] : ['Run the same command again: it continues where this one stopped.']),
  ]
}

/** @param month YYYYMM, or YYYY of yearly files */
const formatMonth = (month: number): string =>
  month < 10_000 ? String(month) : `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`
