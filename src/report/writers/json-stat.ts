/**
 * Writes a result as a JSON-stat 2.0 cube (https://json-stat.org/full/), which statistical packages read.
 *
 * Input: rows of a result and their cells. Output: fragments of one JSON text. Each grouped dimension is a dimension of the cube,
 * in query order. The last dimension is `metric`: values, their comparison values and the rank. Categories are ordered by first
 * appearance in the rows. In a row of totals, the aggregated dimensions have the category `_T`; a member without a code is `_U`.
 * Numbers are the exact digits of the cells. A cube has no row order, so `extension.rows` states it when it differs from the order
 * of the cells. The status of a value stands in the cube's `status`, by the number of its cell; other texts of values stand in
 * `extension.texts`, row by row.
 */
import type { Row } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import { type DimensionCode, dimensionOf, isPlace } from '../../model/dimensions.ts'
import { isTime } from '../../model/periods.ts'
import { STATUSES } from '../../model/sheets/statuses.ts'
import { nameOfGroup } from '../../query/analytics/options/groupings.ts'
import type { AggregatePlan } from '../../query/analytics/plan.ts'
import { canonicalJson } from '../../release/digest.ts'
import { messagesOf, type ReportManifest } from '../manifest.ts'
import { type Cell, type Column, dimensionColumns, type Language, planOfRow } from '../table.ts'
import type { Batch, FileSink, TableWriter } from './index.ts'

/** Category of a dimension that a row of totals aggregates. */
export const TOTAL_CATEGORY = '_T'
/** Category of a member without a code. */
export const UNKNOWN_CATEGORY = '_U'
export const VERSION = '2.0'
/** Dimension of the values, the last of each cube. */
export const METRIC = 'metric'
/** Separates a metric from what stands beside it; no other column has it. */
const SUFFIX = '__'
/** Ends the name of a status column. */
export const STATUS_SUFFIX = '__status'
/** Labels of the dimension of the values and of the category of totals. */
export const LABELS = {
  pt: { metric: 'Métrica', total: 'Total' },
  en: { metric: 'Metric', total: 'Total' },
} as const

interface Category {
  readonly code: string
  /** Null when no list of the release names the member. */
  readonly label: string | null
  /** Further cells of a member, by column name. */
  readonly attributes: Readonly<Record<string, Cell>>
}

interface CubeDimension {
  readonly code: DimensionCode
  /** Name in requests and answers. */
  readonly name: string
  /** Indexes in a row's cells: code, name, and further attributes of a member. */
  readonly indexes: { readonly code: number; readonly name: number; readonly attributes: readonly number[] }
  readonly categories: Category[]
  readonly positions: Map<string, number>
}

export interface CubeFacts {
  readonly label: string
  /** Sentences, as JSON-stat requires. */
  readonly notes: readonly string[]
  /** Members of `extension`, as JSON texts. */
  readonly extension: Readonly<Record<string, string>>
}

export class Cube {
  readonly #plan: AggregatePlan
  readonly #columns: readonly Column[]
  readonly #language: Language
  readonly #dimensions: readonly CubeDimension[]
  /** Indexes of the values in a row's cells. */
  readonly #values: readonly number[]
  /** Category numbers of all rows, one per dimension, row by row. */
  readonly #categoryNumbers: number[] = []
  readonly #cells: Cell[] = []
  /** Indexes of the texts of values in a row's cells. */
  readonly #texts: readonly number[]
  readonly #textCells: Cell[] = []

  constructor(plan: AggregatePlan, columns: readonly Column[], language: Language) {
    this.#plan = plan
    this.#columns = columns
    this.#language = language
    this.#values = columns.flatMap(({ type }, index) => (type === 'text' ? [] : [index]))
    this.#texts = columns.flatMap(({ name, type }, index) =>
      type === 'text' && name.includes(SUFFIX) ? [index] : [],
    )
    this.#dimensions = plan.query.group_by.map((code) => {
      const [codeIndex = -1, nameIndex = codeIndex, ...attributes] = dimensionColumns(
        code,
        language,
        plan.query,
      ).map((column) => columns.findIndex((other) => other.name === column.name))
      return {
        code,
        name: nameOfGroup(code, plan.query),
        indexes: { code: codeIndex, name: nameIndex, attributes },
        categories: [],
        positions: new Map(),
      }
    })
  }

  add({ rows, cells }: Batch): void {
    cells.forEach((row, index) => {
      const groups = planOfRow(rows[index] as Row, this.#plan).query.group_by
      for (const dimension of this.#dimensions)
        this.#categoryNumbers.push(this.#categoryNumberOf(dimension, row, groups.includes(dimension.code)))
      for (const at of this.#values) this.#cells.push(row[at] ?? null)
      for (const at of this.#texts) this.#textCells.push(row[at] ?? null)
    })
  }

  #categoryNumberOf(
    { indexes: at, categories, positions }: CubeDimension,
    row: readonly Cell[],
    isGrouped: boolean,
  ): number {
    const code = isGrouped ? (row[at.code] ?? UNKNOWN_CATEGORY) : TOTAL_CATEGORY
    const existing = positions.get(code)
    if (existing !== undefined) return existing
    const name = row[at.name] ?? null
    const attributes = isGrouped
      ? Object.fromEntries(
          at.attributes.map((index) => [this.#columns[index]?.name ?? '', row[index] ?? null]),
        )
      : {}
    positions.set(code, categories.length)
    return (
      categories.push({
        code,
        label: isGrouped ? name : LABELS[this.#language].total,
        attributes,
      }) - 1
    )
  }

  /** @throws AppError 'too_many_rows' when the cube has more cells than a safe integer can number */
  *json({ label, notes, extension }: CubeFacts): Generator<string> {
    const dimensions = this.#dimensions
    const width = this.#values.length
    const size = [...dimensions.map(({ categories }) => categories.length), width]
    const cells = size.reduce((product, dimensionSize) => product * dimensionSize, 1)
    if (!Number.isSafeInteger(cells))
      throw new AppError('too_many_rows', {
        detail: both(
          'O cubo teria mais células do que o JSON-stat numera; peça outro formato ou menos dimensões.',
          'The cube would have more cells than JSON-stat numbers; ask for another format or fewer dimensions.',
        ),
      })
    const ids = [...dimensions.map(({ name }) => name), METRIC]
    const role = roleOf(dimensions)
    yield `{"version":"${VERSION}","class":"dataset","label":${JSON.stringify(label)},"id":${JSON.stringify(ids)},"size":${JSON.stringify(size)},"role":${JSON.stringify(role)},"dimension":{`
    for (const dimension of dimensions)
      yield `${JSON.stringify(dimension.name)}:${JSON.stringify(this.#describe(dimension))},`
    yield `"${METRIC}":${JSON.stringify({ label: LABELS[this.#language].metric, category: categoryOfMetrics(this.#columns) })}},"value":`
    const order = this.#order()
    yield* order.length * width === cells ? this.#dense(order) : this.#sparse(order)
    yield* this.#status(order)
    const isInCubeOrder = order.every((position, index) => position === index)
    const members = Object.entries({ ...this.#textMembers(), ...extension }).map(
      ([name, json]) => `,${JSON.stringify(name)}:${json}`,
    )
    const rows = isInCubeOrder ? 'null' : JSON.stringify(order)
    yield `,"note":${JSON.stringify(notes)},"extension":{"rows":${rows}${members.join('')}}}\n`
  }

  /** @returns for each row, its position in the cube, ignoring metrics */
  #order(): number[] {
    const dimensions = this.#dimensions
    const rows = this.#values.length === 0 ? 0 : this.#cells.length / this.#values.length
    return Array.from({ length: rows }, (_, row) =>
      dimensions.reduce(
        (position, { categories }, index) =>
          position * categories.length + (this.#categoryNumbers[row * dimensions.length + index] ?? 0),
        0,
      ),
    )
  }

  *#dense(order: readonly number[]): Generator<string> {
    const width = this.#values.length
    const rowAt = new Array<number>(order.length)
    order.forEach((position, row) => {
      rowAt[position] = row
    })
    let separator = '['
    for (const row of rowAt) {
      yield separator +
        this.#cells
          .slice(row * width, (row + 1) * width)
          .map((cell) => cell ?? 'null')
          .join(',')
      separator = ','
    }
    yield `${order.length === 0 ? '[' : ''}]`
  }

  /** Writes cells by their number, and omits those without a value. */
  *#sparse(order: readonly number[]): Generator<string> {
    const width = this.#values.length
    let separator = '{'
    for (const [row, position] of order.entries())
      for (let metric = 0; metric < width; metric += 1) {
        const cell = this.#cells[row * width + metric] ?? null
        if (cell === null) continue
        yield `${separator}"${position * width + metric}":${cell}`
        separator = ','
      }
    yield `${separator === '{' ? '{' : ''}}`
  }

  /** Writes the status of each value that has one, by the number of its cell. */
  *#status(order: readonly number[]): Generator<string> {
    const width = this.#values.length
    const found = this.#texts.flatMap((at, index) => {
      const { name = '' } = this.#columns[at] ?? {}
      if (!name.endsWith(STATUS_SUFFIX)) return []
      const metric = name.slice(0, -STATUS_SUFFIX.length)
      return [{ index, value: this.#values.findIndex((value) => this.#columns[value]?.name === metric) }]
    })
    if (found.length === 0) return
    let separator = ',"status":{'
    for (const [row, position] of order.entries())
      for (const { index, value } of found) {
        const status = this.#textCells[row * this.#texts.length + index] ?? null
        if (status === null) continue
        yield `${separator}"${position * width + value}":${JSON.stringify(status)}`
        separator = ','
      }
    yield order.length === 0 ? ',"status":{}' : '}'
  }

  /** @returns members of the extension: labels of the statuses, and the other texts of values by row */
  #textMembers(): Record<string, string> {
    const names = this.#texts.map((at) => this.#columns[at]?.name ?? '')
    const others = names.flatMap((name, index) => (name.endsWith(STATUS_SUFFIX) ? [] : [{ name, index }]))
    const rows = Array.from({ length: this.#textCells.length / Math.max(names.length, 1) }, (_, row) => row)
    const textsOf = (index: number): Cell[] =>
      rows.map((row) => this.#textCells[row * names.length + index] ?? null)
    const labels = Object.entries(STATUSES).map(([code, text]) => [code, text[this.#language]])
    return {
      ...(others.length === names.length
        ? {}
        : { status: JSON.stringify({ label: Object.fromEntries(labels) }) }),
      ...(others.length === 0
        ? {}
        : {
            texts: JSON.stringify(
              Object.fromEntries(others.map(({ name, index }) => [name, textsOf(index)])),
            ),
          }),
    }
  }

  #describe({ code, name: dimensionName, categories, indexes: at }: CubeDimension): unknown {
    const { label, label_en } = dimensionOf(code)
    const extension = Object.fromEntries(
      at.attributes.map((index) => {
        const name = this.#columns[index]?.name ?? ''
        return [
          name,
          Object.fromEntries(
            categories.map((codeIndex) => [codeIndex.code, codeIndex.attributes[name] ?? null]),
          ),
        ]
      }),
    )
    return {
      label: dimensionName !== code ? dimensionName : this.#language === 'en' ? label_en : label,
      category: {
        index: categories.map((codeIndex) => codeIndex.code),
        label: Object.fromEntries(
          categories.flatMap((codeIndex) =>
            codeIndex.label === null ? [] : [[codeIndex.code, codeIndex.label]],
          ),
        ),
      },
      ...(at.attributes.length === 0 ? {} : { extension }),
    }
  }
}

/** @returns the dimensions of time and of territories, and the metric */
export function roleOf(
  dimensions: readonly { readonly code: DimensionCode; readonly name: string }[],
): Readonly<Record<string, readonly string[]>> {
  const namesOf = (matches: (code: DimensionCode) => boolean): string[] =>
    dimensions.flatMap(({ code, name }) => (matches(code) ? [name] : []))
  const [time, geo] = [namesOf(isTime), namesOf(isPlace)]
  return { ...(time[0] && { time }), ...(geo[0] && { geo }), [METRIC]: [METRIC] }
}

/** @returns the categories of the dimension of the values: all columns that are no texts */
export function categoryOfMetrics(columns: readonly Column[]): {
  readonly index: readonly string[]
  readonly label: Readonly<Record<string, string>>
  readonly unit: Readonly<Record<string, { readonly label: string; readonly decimals: number }>>
} {
  const values = columns.filter(({ type }) => type !== 'text')
  return {
    index: values.map(({ name }) => name),
    label: Object.fromEntries(values.map(({ name, label }) => [name, label])),
    unit: Object.fromEntries(values.map(({ name, unit, decimals }) => [name, { label: unit, decimals }])),
  }
}

/** @returns label of the cube: the labels of its value columns */
export const labelOf = (columns: readonly Column[]): string =>
  columns.flatMap(({ type, label }) => (type === 'text' ? [] : [label])).join('; ')

/** Creates a report writer; the manifest becomes `extension.manifest`. Memory holds the codes and values of all rows. */
export function createJsonStatWriter(
  sink: FileSink,
  plan: AggregatePlan,
  columns: readonly Column[],
  language: Language,
): TableWriter {
  const cube = new Cube(plan, columns, language)
  return {
    begin: async () => undefined,
    rows: async (batch) => cube.add(batch),
    async end(manifest: ReportManifest) {
      const facts = {
        label: manifest.title ?? labelOf(columns),
        notes: messagesOf(manifest),
        extension: { manifest: canonicalJson(manifest) },
      }
      for (const fragment of cube.json(facts)) await sink.write(fragment)
    },
  }
}
