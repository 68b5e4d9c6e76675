/**
 * Reads cubes of JSON-stat reports into rows. Labels, categories and members that follow neither from the rows nor from the manifest
 * are reported as problems.
 */
import { isDeepStrictEqual } from 'node:util'
import { TOTAL_LABEL } from '../../analytics/described-rows.ts'
import type { DimensionCode } from '../../model/dimensions.ts'
import { STATUSES } from '../../model/sheets/statuses.ts'
import type { Text } from '../../model/types.ts'
import { messagesOf, type ReportManifest } from '../manifest.ts'
import { type Cell, TOTAL_COLUMN } from '../table.ts'
import {
  categoryOfMetrics,
  LABELS,
  labelOf,
  METRIC,
  roleOf,
  STATUS_SUFFIX,
  TOTAL_CATEGORY,
  UNKNOWN_CATEGORY,
  VERSION,
} from '../writers/json-stat.ts'
import { findUnknownMembers } from './json-values.ts'
import { cellOf, type ReadReport, recordReport } from './report.ts'

/** Members of a cube from which its rows are reconstructed. */
export interface JsonStat {
  readonly version?: string
  readonly class?: string
  readonly label?: string
  readonly note?: readonly string[]
  readonly id?: readonly string[]
  readonly size?: readonly number[]
  readonly role?: unknown
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
    readonly status?: { readonly label?: Readonly<Record<string, string>> }
    readonly manifest?: unknown
  }
}

export function readJsonStat(cube: JsonStat, manifest: ReportManifest): ReadReport {
  const { id = [], size = [], dimension = {}, value = [], status = {}, extension } = cube
  const groups = id.slice(0, -1)
  const metrics = dimension[id.at(-1) ?? '']?.category.index ?? []
  const values = value as Readonly<Record<number, number | null>>
  const positions = extension?.rows ?? Array.from({ length: manifest.row_count }, (_, position) => position)
  const used = new Map(groups.map((group) => [group, new Set<string>()]))
  const rows = positions.map((position, row) => {
    const members = new Map<string, string>()
    let remainder = position
    for (let index = groups.length - 1; index >= 0; index -= 1) {
      const width = size[index] ?? 1
      const group = groups[index] ?? ''
      const member = dimension[group]?.category.index[remainder % width] ?? ''
      members.set(group, member)
      used.get(group)?.add(member)
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
  const problems = [
    ...checkCube(cube, manifest),
    ...findCellsWithoutRow(cube, positions),
    ...checkCategories(dimension, used, manifest),
  ]
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

/** @param used categories of the rows @returns messages for categories without rows and for labels that no cell of the table has */
function checkCategories(
  dimension: Exclude<JsonStat['dimension'], undefined>,
  used: ReadonlyMap<string, ReadonlySet<string>>,
  { columns, language }: ReportManifest,
): string[] {
  return [...used].flatMap(([code, members]) => {
    const { category, extension = {} } = dimension[code] ?? {}
    const isPeriod = columns.some(({ name }) => name === code)
    const labels = Object.entries(category?.label ?? {})
    const unused = [...(category?.index ?? []), ...labels.map(([member]) => member)].find(
      (member) => !members.has(member),
    )
    const oddLabel = labels.find(([member, label]) =>
      member === TOTAL_CATEGORY ? label !== LABELS[language].total : isPeriod && label !== member,
    )
    const attributes = Object.values(extension)
    return [
      ...(unused === undefined ? [] : [`the dimension ${code} has the category ${unused}, which no row has`]),
      ...(oddLabel === undefined
        ? []
        : [`the category ${oddLabel[0]} of the dimension ${code} is labelled ${oddLabel[1]}`]),
      ...(attributes.some((cells) => (cells[TOTAL_CATEGORY] ?? null) !== null)
        ? [`the totals of the dimension ${code} have attributes`]
        : []),
    ]
  })
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

/** @returns the name of a member that one of the two objects lacks or has with another value */
const findOdd = (found: object = {}, expected: object): string | undefined => {
  const [values, others] = [new Map(Object.entries(found)), new Map(Object.entries(expected))]
  return [...values.keys(), ...others.keys()].find(
    (name) => !isDeepStrictEqual(values.get(name), others.get(name)),
  )
}

/** Programs number the cells by these members, and take the axis of time and the map from the role. */
function checkShape(
  { version, id = [], size, role, dimension = {} }: JsonStat,
  { query }: ReportManifest,
): string[] {
  const { group_by, groupings = {} } = query as {
    readonly group_by?: readonly string[]
    readonly groupings?: Readonly<Record<string, { readonly dimension?: string }>>
  }
  const names = (group_by ?? []).map(String)
  const dimensions = names.map((name) => ({
    name,
    code: (groupings[name]?.dimension ?? name) as DimensionCode,
  }))
  const expected: Readonly<Record<string, unknown>> = {
    version: VERSION,
    id: [...names, METRIC],
    size: id.map((name) => dimension[name]?.category.index.length),
    role: roleOf(dimensions),
  }
  const odd = findOdd({ version, id, size, role }, expected)
  return odd === undefined
    ? []
    : [
        `the ${odd} of the cube is not ${JSON.stringify(expected[odd])}, as the manifest and its dimensions say`,
      ]
}

/** @returns differences between a cube and the manifest, except in its cells */
function checkCube(cube: JsonStat, manifest: ReportManifest): string[] {
  const { columns, title, language } = manifest
  const { id = [], dimension = {}, extension = {} } = cube
  const names = columns.map(({ name }) => name)
  const { category, label: metricLabel } = dimension[METRIC] ?? {}
  const metrics = categoryOfMetrics(columns)
  const oddLabel = findOdd(category?.label, metrics.label)
  const oddUnit = findOdd(category?.unit, metrics.unit)
  const oddDimension = Object.entries(dimension).find(
    ([code, { label }]) =>
      code !== METRIC &&
      !columns.some((column) => column.name.startsWith(code) && column.label.split(': ')[0] === label),
  )
  const oddStatus = Object.entries(extension.status?.label ?? {}).find(
    ([status, label]) => new Map<string, Text>(Object.entries(STATUSES)).get(status)?.[language] !== label,
  )
  return [
    ...findUnknownMembers(
      'the cube',
      cube,
      names.some((name) => name.endsWith(STATUS_SUFFIX)) ? [...CUBE_MEMBERS, 'status'] : CUBE_MEMBERS,
    ),
    ...checkCubeStatus(cube, names),
    ...findUnknownMembers('its extension', extension, ['rows', 'texts', 'status', 'manifest']),
    ...findUnknownMembers('the texts of its extension', extension.texts ?? {}, names),
    ...findUnknownMembers('the list of its dimensions', dimension, id),
    ...Object.entries(dimension).flatMap(([code, member]) => [
      ...findUnknownMembers(`the dimension ${code}`, member, ['label', 'category', 'extension']),
      ...findUnknownMembers(`the extension of ${code}`, member.extension ?? {}, names),
      ...findUnknownMembers(`the category of ${code}`, member.category, [
        'index',
        'label',
        ...(code === METRIC ? ['unit'] : []),
      ]),
    ]),
    ...(cube.label === (title ?? labelOf(columns)) ? [] : [`the cube is labelled ${cube.label}`]),
    ...(isDeepStrictEqual(cube.note, messagesOf(manifest))
      ? []
      : ['the notes of the cube are not those of the manifest']),
    ...checkShape(cube, manifest),
    ...(isDeepStrictEqual(category?.index, metrics.index)
      ? []
      : [`the metrics are ${category?.index}; the manifest says ${metrics.index}`]),
    ...(oddLabel === undefined ? [] : [`the metric ${oddLabel} is labelled ${category?.label?.[oddLabel]}`]),
    ...(metricLabel === LABELS[language].metric
      ? []
      : [`the dimension of the metrics is labelled ${metricLabel}`]),
    ...(oddStatus === undefined ? [] : [`the status ${oddStatus[0]} is labelled ${oddStatus[1]}`]),
    ...(oddUnit === undefined ? [] : [`the metric ${oddUnit} has another unit than in the manifest`]),
    ...(oddDimension === undefined
      ? []
      : [`the dimension ${oddDimension[0]} is labelled ${oddDimension[1].label}`]),
  ]
}
