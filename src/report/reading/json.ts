/**
 * Reads JSON and JSON-stat reports into manifest and cells. Duplicate members are rejected, and numbers keep all their digits.
 * Members that the writers never write are reported as problems, so that no part of a report remains unchecked.
 */
import { isDeepStrictEqual } from 'node:util'
import { isSafeNumber, parse as parseExactly } from 'lossless-json'
import { stateOfCode, TOTAL_LABEL, UNKNOWN_LABEL } from '../../analytics/described-rows.ts'
import type { JsonValue } from '../../engine/types.ts'
import { exceededLimit } from '../../json-size.ts'
import { messagesOf, type ReportManifest } from '../manifest.ts'
import { parseManifest } from '../manifest-sheet.ts'
import { type Cell, TOTAL_COLUMN } from '../table.ts'
import { labelOf, STATUS_SUFFIX, TOTAL_CATEGORY, UNKNOWN_CATEGORY } from '../writers/json-stat.ts'
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

/** Rejects duplicate members. A number with more digits than a double becomes a text that no cell can equal. */
function parseJson(bytes: Buffer): JsonReport {
  const exceeded = exceededLimit(bytes, LIMITS)
  if (exceeded === 'depth') throw new ReportUnreadable('is nested deeper than a report')
  if (exceeded !== null) throw new ReportUnreadable('has more objects or values than can be read of a report')
  return parseExactly(bytes.toString(), null, (digits) =>
    isSafeNumber(digits) ? Number(digits) : `${digits} (more digits than a number has)`,
  ) as JsonReport
}

/** Limits of a report. Reports nest about twelve levels deep; a row has about five objects and one value per cell. */
const LIMITS = { depth: 64, objects: 2_000_000, values: 10_000_000 }

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
  const report = parseJson(bytes)
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

/** @returns a message when an object has members that the writer does not write */
function findUnknownMembers(where: string, value: object, allowed: readonly string[]): string[] {
  const unexpected = Object.keys(value).find((name) => !allowed.includes(name))
  return unexpected === undefined ? [] : [`${where} has the member ${unexpected}, which reports do not have`]
}

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

/** Members of a cube from which its rows are reconstructed. */
interface JsonStat {
  readonly class?: string
  readonly label?: string
  readonly note?: readonly string[]
  readonly id?: readonly string[]
  readonly size?: readonly number[]
  readonly dimension?: Readonly<
    Record<
      string,
      {
        readonly label?: string
        readonly category: {
          readonly index: readonly string[]
          readonly label: Readonly<Record<string, string>>
          readonly unit?: Readonly<Record<string, { readonly label: string; readonly decimals: number }>>
        }
        readonly extension?: Readonly<Record<string, Readonly<Record<string, Cell>>>>
      }
    >
  >
  readonly value?: readonly (number | null)[] | Readonly<Record<string, number>>
  readonly status?: Readonly<Record<number, string>>
  readonly extension?: {
    readonly rows?: readonly number[] | null
    readonly texts?: Readonly<Record<string, readonly Cell[]>>
    readonly manifest?: unknown
  }
}

function readJsonStat(cube: JsonStat, manifest: ReportManifest): ReadReport {
  const { id = [], size = [], dimension = {}, value = [], status = {}, extension } = cube
  const groups = id.slice(0, -1)
  const metrics = dimension[id.at(-1) ?? '']?.category.index ?? []
  const values = value as Readonly<Record<number, number | null>>
  const positions = extension?.rows ?? Array.from({ length: manifest.row_count }, (_, position) => position)
  const rows = positions.map((position, row) => {
    const members = new Map<string, string>()
    let remainder = position
    for (let index = groups.length - 1; index >= 0; index -= 1) {
      const width = size[index] ?? 1
      members.set(
        groups[index] ?? '',
        dimension[groups[index] ?? '']?.category.index[remainder % width] ?? '',
      )
      remainder = Math.floor(remainder / width)
    }
    const isTotal = [...members.values()].includes(TOTAL_CATEGORY) || (groups.length === 0 && position > 0)
    const level = groups.filter((code) => members.get(code) !== TOTAL_CATEGORY)
    return manifest.columns.map((column) => {
      if (column.name === TOTAL_COLUMN)
        return isTotal ? (level.length === 0 ? 'Total' : `Total: ${level.join(', ')}`) : null
      if (column.name === 'label') return TOTAL_LABEL
      const metric = metrics.indexOf(column.name)
      if (metric >= 0) return cellOf(values[position * metrics.length + metric], column)
      if (column.name.endsWith(STATUS_SUFFIX)) {
        const base = metrics.indexOf(column.name.slice(0, -STATUS_SUFFIX.length))
        return status[position * metrics.length + base] ?? null
      }
      const texts = extension?.texts?.[column.name]
      if (texts !== undefined) return texts[row] ?? null
      const code = groups
        .filter((group) => column.name === group || column.name.startsWith(`${group}_`))
        .sort((left, right) => right.length - left.length)[0]
      const member = members.get(code ?? '') ?? ''
      if (code === undefined || member === TOTAL_CATEGORY) return null
      const attribute = column.name.slice(code.length + 1)
      if (attribute === 'code' || attribute === '') return member === UNKNOWN_CATEGORY ? null : member
      const described = dimension[code]
      return (
        (attribute === 'name' ? described?.category.label : described?.extension?.[column.name])?.[member] ??
        null
      )
    })
  })
  const names = manifest.columns.map(({ name }) => name)
  const problems = [...checkCube(cube, manifest), ...findCellsWithoutRow(cube, positions)]
  return { ...recordReport('json-stat', manifest, names, rows), problems }
}

/** @param positions of the rows in the cube @returns a message for a value or status of a cell that no row has */
function findCellsWithoutRow(
  { id = [], dimension = {}, value = [], status = {} }: JsonStat,
  positions: readonly number[],
): string[] {
  const count = dimension[id.at(-1) ?? '']?.category.index.length ?? 0
  const held = new Set(positions)
  return Object.entries({ value, status }).flatMap(([member, cells]) =>
    Object.entries(cells)
      .filter(([cell, content]) => content !== null && !held.has(Math.floor(Number(cell) / count)))
      .slice(0, 1)
      .map(([cell]) => `/${member}/${cell} belongs to no row`),
  )
}

const CUBE_MEMBERS = 'version class label id size role dimension value note extension'.split(' ')

/** @returns a message when a status stands where the table has no column for it */
function checkCubeStatus({ id = [], dimension = {}, status }: JsonStat, names: readonly string[]): string[] {
  if (status === undefined) return []
  if (typeof status !== 'object' || status === null || Array.isArray(status))
    return ['the status of the cube is no object']
  const metrics = dimension[id.at(-1) ?? '']?.category.index ?? []
  const odd = Object.keys(status).find((cell) => {
    const metric = metrics[Number(cell) % metrics.length]
    return metric === undefined || !names.includes(metric + STATUS_SUFFIX)
  })
  return odd === undefined ? [] : [`the cube has a status for the cell ${odd}, which reports do not have`]
}

/** @returns differences between a cube and the manifest, except in its cells */
function checkCube(cube: JsonStat, manifest: ReportManifest): string[] {
  const { columns, title } = manifest
  const { dimension = {}, extension = {} } = cube
  const names = columns.map(({ name }) => name)
  const values = columns.filter(({ type }) => type !== 'text')
  const labelOfValue = new Map(values.map(({ name, label }) => [name, label]))
  const { category } = dimension.metric ?? {}
  const labels = Object.entries(category?.label ?? {})
  const oddLabel = labels.find(([name, label]) => labelOfValue.get(name) !== label)
  const units = Object.entries(category?.unit ?? {})
  const oddUnit = units.find(([name, { label, decimals }]) => {
    const column = values.find((value) => value.name === name)
    return column?.unit !== label || column.decimals !== decimals
  })
  const oddDimension = Object.entries(dimension).find(
    ([code, { label }]) =>
      code !== 'metric' &&
      !columns.some((column) => column.name.startsWith(code) && column.label.split(': ')[0] === label),
  )
  return [
    ...findUnknownMembers(
      'the cube',
      cube,
      names.some((name) => name.endsWith(STATUS_SUFFIX)) ? [...CUBE_MEMBERS, 'status'] : CUBE_MEMBERS,
    ),
    ...checkCubeStatus(cube, names),
    ...findUnknownMembers('its extension', extension, ['rows', 'texts', 'status', 'manifest']),
    ...Object.entries(dimension).flatMap(([code, member]) => [
      ...findUnknownMembers(`the dimension ${code}`, member, ['label', 'category', 'extension']),
      ...findUnknownMembers(`the category of ${code}`, member.category, ['index', 'label', 'unit']),
    ]),
    ...(cube.label === (title ?? labelOf(columns)) ? [] : [`the cube is labelled ${cube.label}`]),
    ...(isDeepStrictEqual(cube.note, messagesOf(manifest))
      ? []
      : ['the notes of the cube are not those of the manifest']),
    ...(oddLabel === undefined ? [] : [`the metric ${oddLabel[0]} is labelled ${oddLabel[1]}`]),
    ...(oddUnit === undefined ? [] : [`the metric ${oddUnit[0]} has another unit than in the manifest`]),
    ...(oddDimension === undefined
      ? []
      : [`the dimension ${oddDimension[0]} is labelled ${oddDimension[1].label}`]),
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
