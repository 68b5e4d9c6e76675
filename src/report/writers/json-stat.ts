/**
 * The table of an answer as a cube of JSON-stat 2.0 (https://json-stat.org/full/), which statistical packages read.
 *
 * In: rows of an answer and their cells. Out: the parts of one JSON text. Each grouped dimension is a dimension of the cube, in
 * the order of the query, and `metric` is the last: values, their comparison parts and the rank. Categories stand in the order
 * in which rows name them. A row of totals has the category `_T` of what it adds up, a member without a code is `_U`. Numbers are
 * the exact digits of the cells. A cube has no order of rows of its own: `extension.rows` says it where it is another one.
 */
import type { Row } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import { type DimensionCode, dimensionOf, isPlace } from '../../model/dimensions.ts'
import type { AggregatePlan } from '../../query/analytics/plan.ts'
import { canonicalJson } from '../../release/digest.ts'
import { messagesOf, type ReportManifest } from '../manifest.ts'
import { type Cell, type Column, dimensionColumns, type Language, planOfRow } from '../table.ts'
import type { Batch, FileSink, TableWriter } from './index.ts'

/** Category of what a row of totals adds up. */
export const TOTAL_CATEGORY = '_T'
/** Category of the member without a code. */
export const UNKNOWN_CATEGORY = '_U'
const METRIC = 'metric'
const LABELS = {
  pt: { metric: 'Métrica', total: 'Total' },
  en: { metric: 'Metric', total: 'Total' },
} as const

interface Category {
  readonly code: string
  /** Null where no list of the release names it. */
  readonly label: string | null
  /** What else the cells say of a member, by the name of its column. */
  readonly more: Readonly<Record<string, Cell>>
}

interface CubeDimension {
  readonly code: DimensionCode
  /** Position in a row's cells: of the code, of the name, and of what else is said of a member. */
  readonly at: { readonly code: number; readonly name: number; readonly more: readonly number[] }
  readonly categories: Category[]
  readonly positions: Map<string, number>
}

/** What is said of the whole cube. */
export interface CubeFacts {
  readonly label: string
  /** Sentences, as JSON-stat has them. */
  readonly notes: readonly string[]
  /** Members of `extension`. */
  readonly extension: Readonly<Record<string, string>>
}

export class Cube {
  readonly #plan: AggregatePlan
  readonly #columns: readonly Column[]
  readonly #language: Language
  readonly #dimensions: readonly CubeDimension[]
  /** Positions of the values in a row's cells. */
  readonly #values: readonly number[]
  /** Of each row, one after another: its category of each dimension. */
  readonly #places: number[] = []
  readonly #cells: Cell[] = []

  constructor(plan: AggregatePlan, columns: readonly Column[], language: Language) {
    this.#plan = plan
    this.#columns = columns
    this.#language = language
    this.#values = columns.flatMap(({ type }, index) => (type === 'text' ? [] : [index]))
    this.#dimensions = plan.query.group_by.map((code) => {
      const [own = -1, name = own, ...more] = dimensionColumns(code, language).map((column) =>
        columns.findIndex((other) => other.name === column.name),
      )
      return { code, at: { code: own, name, more }, categories: [], positions: new Map() }
    })
  }

  add({ rows, cells }: Batch): void {
    cells.forEach((row, index) => {
      const groups = planOfRow(rows[index] as Row, this.#plan).query.group_by
      for (const dimension of this.#dimensions)
        this.#places.push(this.#placeOf(dimension, row, groups.includes(dimension.code)))
      for (const at of this.#values) this.#cells.push(row[at] ?? null)
    })
  }

  #placeOf({ at, categories, positions }: CubeDimension, row: readonly Cell[], isGrouped: boolean): number {
    const code = isGrouped ? (row[at.code] ?? UNKNOWN_CATEGORY) : TOTAL_CATEGORY
    const known = positions.get(code)
    if (known !== undefined) return known
    const name = row[at.name] ?? null
    const more = isGrouped
      ? Object.fromEntries(at.more.map((index) => [this.#columns[index]?.name ?? '', row[index] ?? null]))
      : {}
    positions.set(code, categories.length)
    return categories.push({ code, label: isGrouped ? name : LABELS[this.#language].total, more }) - 1
  }

  /** @throws AppError 'too_many_rows' where the cube has more cells than can be numbered */
  *json({ label, notes, extension }: CubeFacts): Generator<string> {
    const dimensions = this.#dimensions
    const width = this.#values.length
    const size = [...dimensions.map(({ categories }) => categories.length), width]
    const cells = size.reduce((product, own) => product * own, 1)
    if (!Number.isSafeInteger(cells))
      throw new AppError('too_many_rows', {
        detail: both(
          'O cubo teria mais células do que o JSON-stat numera; peça outro formato ou menos dimensões.',
          'The cube would have more cells than JSON-stat numbers; ask for another format or fewer dimensions.',
        ),
      })
    const ids = [...dimensions.map(({ code }) => code), METRIC]
    const roleOf = (is: (code: DimensionCode) => boolean): string[] =>
      dimensions.flatMap(({ code }) => (is(code) ? [code] : []))
    const [time, geo] = [roleOf((code) => code === 'reference_period'), roleOf(isPlace)]
    const role = { ...(time[0] && { time }), ...(geo[0] && { geo }), [METRIC]: [METRIC] }
    yield `{"version":"2.0","class":"dataset","label":${JSON.stringify(label)},"id":${JSON.stringify(ids)},"size":${JSON.stringify(size)},"role":${JSON.stringify(role)},"dimension":{`
    for (const dimension of dimensions)
      yield `${JSON.stringify(dimension.code)}:${JSON.stringify(this.#describe(dimension))},`
    yield `"${METRIC}":${JSON.stringify(this.#describeMetrics())}},"value":`
    const order = this.#order()
    yield* order.length * width === cells ? this.#dense(order) : this.#sparse(order)
    const isNatural = order.every((place, index) => place === index)
    const more = Object.entries(extension).map(([name, json]) => `,${JSON.stringify(name)}:${json}`)
    const rows = isNatural ? 'null' : JSON.stringify(order)
    yield `,"note":${JSON.stringify(notes)},"extension":{"rows":${rows}${more.join('')}}}\n`
  }

  /** @returns of each row, the number of its place in the cube, metrics aside */
  #order(): number[] {
    const dimensions = this.#dimensions
    const rows = this.#values.length === 0 ? 0 : this.#cells.length / this.#values.length
    return Array.from({ length: rows }, (_, row) =>
      dimensions.reduce(
        (place, { categories }, index) =>
          place * categories.length + (this.#places[row * dimensions.length + index] ?? 0),
        0,
      ),
    )
  }

  *#dense(order: readonly number[]): Generator<string> {
    const width = this.#values.length
    const rowAt = new Array<number>(order.length)
    order.forEach((place, row) => {
      rowAt[place] = row
    })
    let before = '['
    for (const row of rowAt) {
      yield before +
        this.#cells
          .slice(row * width, (row + 1) * width)
          .map((cell) => cell ?? 'null')
          .join(',')
      before = ','
    }
    yield `${order.length === 0 ? '[' : ''}]`
  }

  /** Cells by their number; one without a value is not there. */
  *#sparse(order: readonly number[]): Generator<string> {
    const width = this.#values.length
    let before = '{'
    for (const [row, place] of order.entries())
      for (let metric = 0; metric < width; metric += 1) {
        const cell = this.#cells[row * width + metric] ?? null
        if (cell === null) continue
        yield `${before}"${place * width + metric}":${cell}`
        before = ','
      }
    yield `${before === '{' ? '{' : ''}}`
  }

  #describe({ code, categories, at }: CubeDimension): unknown {
    const { label, label_en } = dimensionOf(code)
    const extension = Object.fromEntries(
      at.more.map((index) => {
        const name = this.#columns[index]?.name ?? ''
        return [name, Object.fromEntries(categories.map((own) => [own.code, own.more[name] ?? null]))]
      }),
    )
    return {
      label: this.#language === 'en' ? label_en : label,
      category: {
        index: categories.map((own) => own.code),
        label: Object.fromEntries(
          categories.flatMap((own) => (own.label === null ? [] : [[own.code, own.label]])),
        ),
      },
      ...(at.more.length === 0 ? {} : { extension }),
    }
  }

  #describeMetrics(): unknown {
    const columns = this.#values.map((index) => this.#columns[index] as Column)
    return {
      label: LABELS[this.#language].metric,
      category: {
        index: columns.map(({ name }) => name),
        label: Object.fromEntries(columns.map(({ name, label }) => [name, label])),
        unit: Object.fromEntries(
          columns.map(({ name, unit, decimals }) => [name, { label: unit, decimals }]),
        ),
      },
    }
  }
}

/** @returns what the cube is called: what is shown, as it is labelled */
export const labelOf = (columns: readonly Column[]): string =>
  columns.flatMap(({ type, label }) => (type === 'text' ? [] : [label])).join('; ')

/** A report: the manifest is `extension.manifest`. Memory holds the codes and values of all its rows. */
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
      for (const part of cube.json(facts)) await sink.write(part)
    },
  }
}
