/**
 * Converts the rows of an analytics result to a table: named columns of texts, integers and decimals. Pure.
 *
 * Input: a plan and the statement's rows. Output: columns with label, unit, formula and source; cells as exact text. All formats
 * (CSV, Arrow, Parquet, JSON, XLSX) write the same cells, so one digest covers all of them.
 */

import { describeMember, TOTAL_LABEL } from '../analytics/described-rows.ts'
import type { Row } from '../engine/types.ts'
import { baseDimension, type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { LIMIT_METHODS } from '../model/limits/methods.ts'
import { factDatasetsOf, measuresOf, metricOf } from '../model/metrics.ts'
import { isTime } from '../model/periods.ts'
import { STATUSES } from '../model/sheets/statuses.ts'
import { labelOfMetric, type MetricPlan } from '../query/analytics/datasets/metric-plan.ts'
import { type ShownValue, shownValues } from '../query/analytics/dialect/duckdb/measured.ts'
import { dimensionsUsed } from '../query/analytics/dimensions-used.ts'
import { hasPeers } from '../query/analytics/options/comparators.ts'
import { queryOfMetric } from '../query/analytics/options/defined-metrics.ts'
import { nameOfGroup } from '../query/analytics/options/groupings.ts'
import { labelPrices, unitAtPrices } from '../query/analytics/options/prices.ts'
import { isTextKind, type ValueKind } from '../query/analytics/options/value-kinds.ts'
import type { AggregatePlan } from '../query/analytics/plan.ts'
import { namesOfGroups, totalLabel } from '../query/analytics/query-plan.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'

export type Language = 'pt' | 'en'

export interface Column {
  readonly name: string
  readonly type: 'text' | 'integer' | 'decimal'
  /** Digits after the decimal point; 0 for other types. */
  readonly decimals: number
  /** Whether rows_sha256 covers the column: it covers codes and values, but no names. */
  readonly digested: boolean
  readonly label: string
  readonly unit: string
  readonly formula: string
  readonly source: string
}

/** Text of a cell: exact decimal digits for a number, null when empty. */
export type Cell = string | null

/** Further columns of a dimension, after code and name. */
const ATTRIBUTES: Partial<
  Record<DimensionCode, { readonly name: 'uf' | 'ibge_code' } & Readonly<Record<Language, string>>>
> = {
  municipality: { name: 'uf', pt: 'UF', en: 'State' },
  health_region: { name: 'uf', pt: 'UF', en: 'State' },
  health_macroregion: { name: 'uf', pt: 'UF', en: 'State' },
  state: { name: 'ibge_code', pt: 'Código IBGE', en: 'IBGE code' },
}
const TEXTS = {
  pt: {
    code: 'código',
    name: 'nome',
    scope: 'Escopo',
    all: 'todo o escopo selecionado',
    total: 'Linha de total',
    rank: 'Posição',
    peers: 'Número de pares',
    parts: {
      base: 'valor de comparação',
      change: 'variação',
      change_percent: 'variação percentual',
      share: 'participação',
      lower: 'limite inferior',
      upper: 'limite superior',
      percentile: 'percentil',
      comparator: 'comparador',
      ratio: 'razão para o comparador',
      significance: 'diferença do comparador',
      status: 'situação',
    },
  },
  en: {
    code: 'code',
    name: 'name',
    scope: 'Scope',
    all: 'the whole selected scope',
    total: 'Row of totals',
    rank: 'Rank',
    peers: 'Number of peers',
    parts: {
      base: 'compared with',
      change: 'change',
      change_percent: 'change in percent',
      share: 'share',
      lower: 'lower limit',
      upper: 'upper limit',
      percentile: 'percentile',
      comparator: 'comparator',
      ratio: 'ratio to the comparator',
      significance: 'difference from the comparator',
      status: 'status',
    },
  },
} as const

/** Column that marks totals: `Total` for the grand total, `Total: state` for the totals of a level; empty in other rows. */
export const TOTAL_COLUMN = 'total'

/** @returns columns in the order of the query: total mark, grouped dimensions, values in catalog order, rank, number of peers */
export function columnsOf(plan: AggregatePlan, language: Language): Column[] {
  const groups = plan.query.group_by.flatMap((code) => dimensionColumns(code, language, plan.query))
  const texts = TEXTS[language]
  const scope: Column = text('label', false, texts.scope, texts.all)
  const rank: Column = { ...text('rank', true, texts.rank, ''), type: 'integer', formula: rankFormula(plan) }
  const peers: Column = {
    ...text('peers', true, texts.peers, 'population'),
    type: 'integer',
    formula: PEERS_FORMULA,
  }
  return [
    ...(plan.totals.length === 0 ? [] : [text(TOTAL_COLUMN, true, texts.total, '')]),
    ...(groups.length === 0 ? [scope] : groups),
    ...shownValues(plan).map((shown) => valueColumn(shown, plan, language)),
    ...(plan.query.rank ? [rank] : []),
    ...(hasPeers(plan.query) ? [peers] : []),
  ]
}

const PEERS_FORMULA = 'municipalities of the same major region and census band, with that of the row'
const rankFormula = ({ query: { order_by } }: AggregatePlan): string =>
  order_by[0] === undefined ? '' : `${order_by[0].field} ${order_by[0].direction}`

function valueColumn(
  { code: name, metric, kind, decimals }: ShownValue,
  plan: AggregatePlan,
  language: Language,
): Column {
  const sources = plan.query.metrics
    .filter(({ code }) => code === metric.code || metric.sides?.some((side) => side.code === code))
    .flatMap((read) => {
      const used = dimensionsUsed(queryOfMetric(plan.query, read))
      const { denominator } = measuresOf(read.metric, used)
      return [...factDatasetsOf(read.metric, used), ...(denominator === null ? [] : [denominator.dataset])]
    })
  const { prices } = plan.query
  const shown = `${labelOfMetric(metric, language)}${labelPrices(metric, prices, language)}`
  return {
    name,
    type: isTextKind(kind) ? 'text' : decimals > 0 ? 'decimal' : 'integer',
    decimals,
    digested: true,
    label: kind === 'value' ? shown : `${shown}: ${TEXTS[language].parts[kind]}`,
    unit: PERCENTS.has(kind)
      ? '%'
      : kind === 'ratio' || isTextKind(kind)
        ? ''
        : unitAtPrices(metric, unitOfMetric(metric), prices),
    formula: kind === 'value' ? formulaOfMetric(metric, plan) : partFormula(kind, metric, plan),
    source: [...new Set(sources)].join(', '),
  }
}

/** Ratios of the query have no unit that the catalog could name. */
function unitOfMetric({ catalog, sides }: MetricPlan): string {
  const [first] = catalog
  return first === undefined || sides !== null ? '' : metricOf(first).unit
}

function formulaOfMetric({ code, catalog, sides, scale }: MetricPlan, { query }: AggregatePlan): string {
  if (sides !== null) return `${scale === 1 ? '' : `${scale} × `}${sides[0].code} ÷ ${sides[1].code}`
  const [first] = catalog
  if (first === undefined) return ''
  const defined = query.metrics.find((metric) => metric.code === code)
  const { description } = metricOf(first)
  return code === first
    ? description.en
    : `${first}${(defined?.filters ?? []).map(({ dimension, operator, values }) => `; ${dimension} ${operator} ${values.join(', ')}`).join('')}`
}

const PERCENTS: ReadonlySet<ValueKind> = new Set(['change_percent', 'share', 'percentile'])

function partFormula(
  kind: Exclude<ValueKind, 'value'>,
  { code, limits }: MetricPlan,
  { query, shareBase }: AggregatePlan,
): string {
  switch (kind) {
    case 'base':
      return `${code} (change.to: ${query.change?.to})`
    case 'change':
      return `${code} − ${code}__base`
    case 'change_percent':
      return `100 × (${code} − ${code}__base) ÷ ${code}__base`
    case 'lower':
    case 'upper':
      return limits.method === 'none' ? 'null' : `${LIMIT_METHODS[limits.method].en}, ${query.limits}`
    case 'comparator':
      return `${code} (compare_to.with: ${query.compare_to?.with})`
    case 'ratio':
      return `${code} ÷ ${code}__comparator`
    case 'significance':
      return `limits at ${query.compare_to?.level} beside ${code}__comparator: lower, similar, higher, not_compared`
    case 'status':
      return Object.keys(STATUSES).join(', ')
    case 'percentile':
      return `100 × rows below ÷ other rows, by ${code}`
    case 'share':
      return `100 × ${code} ÷ ${code} [${shareBase === null ? '' : namesOfGroups(shareBase).join(', ')}]`
  }
}

/** @returns columns of a grouped dimension: code, name and further attributes; a period has a single column */
export function dimensionColumns(
  code: DimensionCode,
  language: Language,
  query: Pick<AnalyticsQuery, 'groupings'>,
): Column[] {
  const { label, label_en, member } = dimensionOf(baseDimension(code))
  const name = nameOfGroup(code, query)
  const shown = name !== code ? name : language === 'en' ? label_en : label
  const texts = TEXTS[language]
  const source = member?.dataset ?? 'cnes'
  if (isTime(code)) return [text(code, true, shown, source)]
  const codeAndName = [
    text(`${name}_code`, true, `${shown}: ${texts.code}`, source),
    text(`${name}_name`, false, `${shown}: ${texts.name}`, source),
  ]
  const attribute = ATTRIBUTES[code]
  if (attribute === undefined) return codeAndName
  return [
    ...codeAndName,
    text(`${code}_${attribute.name}`, false, `${shown}: ${attribute[language]}`, source),
  ]
}

const text = (name: string, digested: boolean, label: string, source: string): Column => ({
  name,
  type: 'text',
  decimals: 0,
  digested,
  label,
  unit: '',
  formula: '',
  source,
})

/**
 * @param queryPlan plan of the query
 * @param plan plan of this row: the query's plan, or that of its level of totals
 * @returns the cells of a row, in the order of columnsOf; empty for dimensions that a level omits
 */
export function cellsOf(
  row: Row,
  queryPlan: AggregatePlan,
  language: Language,
  plan = planOfRow(row, queryPlan),
): Cell[] {
  const groups = queryPlan.query.group_by.flatMap((code) => {
    const attribute = ATTRIBUTES[code]
    const index = plan.query.group_by.indexOf(code)
    const width = isTime(code) ? 1 : attribute === undefined ? 2 : 3
    if (index < 0) return Array.from({ length: width }, () => null)
    const member = describeMember(code, row, index, language, plan.query)
    if (isTime(code)) return [textOf(member.code)]
    const codeAndName = [textOf(row[dimensionOf(code).column]), textOf(member.name)]
    return attribute === undefined ? codeAndName : [...codeAndName, textOf(member[attribute.name])]
  })
  const mark = totalLabel(plan, queryPlan)
  return [
    ...(queryPlan.totals.length === 0 ? [] : [mark === '' ? null : mark]),
    ...(groups.length === 0 ? [TOTAL_LABEL] : groups),
    ...shownValues(queryPlan).map(({ column }) => textOf(row[column])),
    ...(queryPlan.query.rank ? [textOf(row.rank)] : []),
    ...(hasPeers(queryPlan.query) ? [textOf(row.peers)] : []),
  ]
}

/** @returns the plan to which a row of the statement belongs: the query's plan, or that of a level of totals */
export const planOfRow = (row: Row, queryPlan: AggregatePlan): AggregatePlan =>
  queryPlan.totals[Number(row.level ?? 0) - 1] ?? queryPlan

const textOf = (value: unknown): Cell => (value === null || value === undefined ? null : String(value))

/** @returns the number with the decimals of its column, or with all its digits when it has more */
export function exactText(value: number, decimals: number): string {
  const text = value.toFixed(decimals)
  return Number(text) === value ? text : String(value)
}

/** A line of rows_sha256: codes and values joined by tabs; a missing value is empty. */
export const digestLine = (cells: readonly Cell[], columns: readonly Column[]): string =>
  cells.filter((_, index) => columns[index]?.digested === true).join('\t')
