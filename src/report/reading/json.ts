/**
 * Reads JSON and JSON-stat reports into manifest and cells. Duplicate members are rejected, and numbers keep all their digits.
 * Members that the writers never write are reported as problems, so that no part of a report remains unchecked.
 */
import { stateOfCode, TOTAL_LABEL, UNKNOWN_LABEL } from '../../analytics/described-rows.ts'
import type { JsonValue } from '../../engine/types.ts'
import type { ReportManifest } from '../manifest.ts'
import { parseManifest } from '../manifest-sheet.ts'
import { TOTAL_COLUMN } from '../table.ts'
import { STATUS_SUFFIX } from '../writers/json-stat.ts'
import { type JsonStat, readJsonStat } from './json-stat.ts'
import { findUnknownMembers, parseJson } from './json-values.ts'
import { cellOf, type ReadReport, type ReportHead, recordReport } from './report.ts'
import { ReportUnreadable } from './unreadable.ts'

interface JsonRow {
  readonly label?: unknown
  readonly rank?: unknown
  readonly peers?: unknown
  readonly status?: Readonly<Record<string, unknown>> | null
  readonly dimensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly metrics?: Readonly<Record<string, unknown>>
}

type JsonReport = JsonStat & {
  readonly data?: JsonRow[]
  readonly totals?: { group_by: string[]; data: JsonRow[] }[]
  readonly manifest?: unknown
}

function jsonManifest(report: JsonReport): ReportManifest {
  const manifest = report.class === 'dataset' ? report.extension?.manifest : report.manifest
  if (manifest === undefined) throw new ReportUnreadable('the JSON carries no manifest of sus-data')
  return parseManifest(manifest)
}

const MANIFEST_MEMBER = '"manifest":'

/** @param end last bytes of a report @returns format and manifest; null when the manifest is not the last member */
export function jsonHead(end: Buffer): ReportHead | null {
  const tail = end.toString()
  const text = tail.slice(tail.lastIndexOf(MANIFEST_MEMBER) + MANIFEST_MEMBER.length).trimEnd()
  // The manifest is the last member of the report, or of `extension` in JSON-stat.
  for (const [format, closing] of [
    ['json', '}'],
    ['json-stat', '}}'],
  ] as const)
    try {
      if (!text.endsWith(closing)) continue
      return { format, manifest: parseManifest(JSON.parse(text.slice(0, -closing.length))) }
    } catch {
      // The file ends differently, or the manifest is elsewhere.
    }
  return null
}

/** @returns every leaf of a JSON value, and every empty object or array, with its JSON pointer */
function leavesOf(value: unknown, pointer = ''): [string, string][] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members.length === 0
    ? [[pointer, JSON.stringify(value)]]
    : members.flatMap(([name, member]) => leavesOf(member, `${pointer}/${name}`))
}

/** The only dimension whose state (`uf`) is no column of the table. */
const DIMENSION_WITH_STATE = 'residence_municipality'
/** Reports made before rows had this member lack it, so it is compared with the code, not with the report that is made again. */
const STATE_MEMBER = `/dimensions/${DIMENSION_WITH_STATE}/uf`

/** @throws ReportUnreadable */
export function readJson(bytes: Buffer): ReadReport {
  const report = parseJson(bytes) as JsonReport
  const manifest = jsonManifest(report)
  const { manifest: _, extension: { manifest: __, ...extension } = {}, ...content } = report
  const others = leavesOf({ ...content, extension })
    .filter(([pointer]) => !pointer.endsWith(STATE_MEMBER))
    .sort(([left], [right]) => (left < right ? -1 : 1))
  if (report.class === 'dataset') return { ...readJsonStat(report, manifest), others }
  if (!Array.isArray(report.data)) throw new ReportUnreadable('the report has no data')
  const levels = [{ mark: null, data: report.data }, ...(report.totals ?? []).map(readTotal)]
  const rows = levels.flatMap(({ mark, data }) =>
    data.map((row) =>
      manifest.columns.map((column) =>
        column.name === TOTAL_COLUMN ? mark : cellOf(memberOf(row, column.name), column),
      ),
    ),
  )
  const names = manifest.columns.map(({ name }) => name)
  const problems = [
    ...findUnknownMembers('the report', report, ['data', 'totals', 'manifest']),
    ...(report.totals ?? []).flatMap((total, index) =>
      findUnknownMembers(`/totals/${index}`, total, ['group_by', 'data']),
    ),
  ]
  for (const { pointer, groups, data } of levelsOf(report))
    data.forEach((row, index) => {
      problems.push(
        ...checkRow(`${pointer}/${index}`, row, groups ?? Object.keys(row.dimensions ?? {}), names),
      )
    })
  return {
    ...recordReport('json', manifest, names, rows),
    others,
    problems: problems.slice(0, PROBLEMS_MAX),
  }
}

const PROBLEMS_MAX = 20

const levelsOf = ({ data = [], totals = [] }: JsonReport) => [
  { pointer: '/data', groups: null, data },
  ...totals.map((level, index) => ({
    pointer: `/totals/${index}/data`,
    groups: level.group_by,
    data: level.data,
  })),
]

/** @param groups dimensions by which the row is grouped @param names columns of the table */
function checkRow(
  pointer: string,
  row: JsonRow,
  groups: readonly string[],
  names: readonly string[],
): string[] {
  const { label, dimensions = {}, metrics = {} } = row
  const members = Object.entries(dimensions)
  const shown = members.map(([, { name, code }]) => String(name ?? code ?? UNKNOWN_LABEL))
  const expected = members.length === 0 ? TOTAL_LABEL : shown.join(' · ')
  return [
    ...findUnknownMembers(pointer, row, [
      'label',
      'dimensions',
      'metrics',
      ...['rank', 'peers'].filter((name) => names.includes(name)),
      ...(names.some((name) => name.endsWith(STATUS_SUFFIX)) ? ['status'] : []),
    ]),
    ...findUnknownMembers(`${pointer}/dimensions`, dimensions, groups),
    ...findUnknownMembers(`${pointer}/metrics`, metrics, names),
    ...findUnknownMembers(
      `${pointer}/status`,
      row.status ?? {},
      names.flatMap((name) => (name.endsWith(STATUS_SUFFIX) ? [name.slice(0, -STATUS_SUFFIX.length)] : [])),
    ),
    ...members.flatMap(([code, member]) => checkMember(`${pointer}/dimensions/${code}`, code, member, names)),
    ...(label === expected ? [] : [`${pointer}/label is ${label}; its members are ${expected}`]),
  ]
}

/** Checks what no column of the table has: the name of a period, and the state of a municipality of residence. */
function checkMember(
  pointer: string,
  code: string,
  member: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string[] {
  const { code: value, name, uf } = member
  const isPeriod = names.includes(code)
  const hasState = code === DIMENSION_WITH_STATE
  const expectedName = value === null ? null : String(value)
  return [
    ...findUnknownMembers(pointer, member, [
      ...names.flatMap((column) => (column.startsWith(`${code}_`) ? [column.slice(code.length + 1)] : [])),
      ...(isPeriod ? ['code', 'name'] : []),
      ...(hasState ? ['uf'] : []),
    ]),
    ...(isPeriod && name !== expectedName ? [`${pointer}/name is ${name}; its code is ${value}`] : []),
    ...(hasState && uf !== undefined && uf !== stateOfCode(value as JsonValue)
      ? [`${pointer}/uf is ${uf}; the code ${value} is of another state`]
      : []),
  ]
}

function readTotal({ group_by, data }: { group_by: string[]; data: JsonRow[] }): {
  mark: string
  data: JsonRow[]
} {
  if (!Array.isArray(group_by) || !Array.isArray(data))
    throw new ReportUnreadable('the totals of the report have no rows')
  return { mark: group_by.length === 0 ? 'Total' : `Total: ${group_by.join(', ')}`, data }
}

/** municipality_uf → dimensions.municipality.uf, beds__status → status.beds */
function memberOf(
  { label, rank, peers, dimensions = {}, metrics = {}, status }: JsonRow,
  name: string,
): unknown {
  const statusOf = name.endsWith(STATUS_SUFFIX) ? name.slice(0, -STATUS_SUFFIX.length) : ''
  if (statusOf !== '') return status?.[statusOf] ?? null
  if (name === 'label') return label
  if (name === 'rank') return rank
  if (name === 'peers') return peers
  if (name in metrics) return metrics[name]
  if (name in dimensions) return dimensions[name]?.code
  const dimension = Object.keys(dimensions)
    .filter((code) => name.startsWith(`${code}_`))
    .sort((left, right) => right.length - left.length)[0]
  return dimension === undefined ? null : dimensions[dimension]?.[name.slice(dimension.length + 1)]
}
