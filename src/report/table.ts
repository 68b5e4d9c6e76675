/**
 * The rows of an analytics answer as a table: named columns of text, whole numbers and decimals. Pure.
 *
 * In: a plan and the statement's rows. Out: columns with label, unit, formula and source; cells as exact text. Every
 * format (CSV, Arrow, Parquet, JSON, XLSX) writes these same cells, so one digest holds for all of them.
 */
import type { Row } from '../engine/types.ts'
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { factDatasetsOf, measuresOf, metricOf } from '../model/metrics.ts'
import type { AggregatePlan } from '../query/aggregate.ts'
import { decimalsOf } from '../query/dialect/duckdb/groups.ts'
import { describeMember, TOTAL_LABEL } from '../query/result.ts'

export type Language = 'pt' | 'en'

export interface Column {
  readonly name: string
  readonly type: 'text' | 'integer' | 'decimal'
  /** Digits after the point; 0 but for decimals. */
  readonly decimals: number
  /** Takes part in rows_sha256: codes and values do, names do not. */
  readonly digested: boolean
  readonly label: string
  readonly unit: string
  readonly formula: string
  readonly source: string
}

/** Text of a cell: exact decimal digits of a number, null where there is none. */
export type Cell = string | null

/** Parts of a member beside its code and name. */
const MORE: Partial<Record<DimensionCode, { readonly part: string } & Readonly<Record<Language, string>>>> = {
  municipality: { part: 'uf', pt: 'UF', en: 'State' },
  health_region: { part: 'uf', pt: 'UF', en: 'State' },
  health_macroregion: { part: 'uf', pt: 'UF', en: 'State' },
  state: { part: 'ibge_code', pt: 'Código IBGE', en: 'IBGE code' },
}
const TEXTS = {
  pt: { code: 'código', name: 'nome', scope: 'Escopo', all: 'todo o escopo selecionado' },
  en: { code: 'code', name: 'name', scope: 'Scope', all: 'the whole selected scope' },
} as const

/** @returns columns in the order of the query: grouped dimensions, then metrics in catalog order */
export function columnsOf(plan: AggregatePlan, language: Language): Column[] {
  const groups = plan.query.group_by.flatMap((code) => dimensionColumns(code, language))
  const texts = TEXTS[language]
  const total: Column = text('label', false, texts.scope, texts.all)
  const metrics = plan.metrics.map((metric): Column => {
    const { label, label_en, unit, description } = metricOf(metric.code)
    const decimals = decimalsOf(metric, plan)
    const { denominator } = measuresOf(metric.code)
    const sources = [...factDatasetsOf(metric.code), ...(denominator === null ? [] : [denominator.dataset])]
    return {
      name: metric.code,
      type: decimals > 0 ? 'decimal' : 'integer',
      decimals,
      digested: true,
      label: language === 'en' ? label_en : label,
      unit,
      formula: description,
      source: [...new Set(sources)].join(', '),
    }
  })
  return [...(groups.length === 0 ? [total] : groups), ...metrics]
}

function dimensionColumns(code: DimensionCode, language: Language): Column[] {
  const { label, label_en, member } = dimensionOf(code)
  const shown = language === 'en' ? label_en : label
  const texts = TEXTS[language]
  const source = member?.dataset ?? 'cnes'
  if (code === 'reference_period') return [text(code, true, shown, source)]
  const own = [
    text(`${code}_code`, true, `${shown}: ${texts.code}`, source),
    text(`${code}_name`, false, `${shown}: ${texts.name}`, source),
  ]
  const more = MORE[code]
  if (more === undefined) return own
  return [...own, text(`${code}_${more.part}`, false, `${shown}: ${more[language]}`, source)]
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

/** @returns the cells of a row, in the order of columnsOf */
export function cellsOf(row: Row, plan: AggregatePlan, language: Language): Cell[] {
  const groups = plan.query.group_by.flatMap((code, index) => {
    const member = describeMember(code, row, index, language)
    if (code === 'reference_period') return [textOf(member.code)]
    const own = [textOf(row[dimensionOf(code).column]), textOf(member.name)]
    const more = MORE[code]
    return more === undefined ? own : [...own, textOf(member[more.part])]
  })
  const values = plan.metrics.map((_, index) => textOf(row[`value_${index}`]))
  return [...(groups.length === 0 ? [TOTAL_LABEL] : groups), ...values]
}

const textOf = (value: unknown): Cell => (value === null || value === undefined ? null : String(value))

/** A line of rows_sha256: codes and values, joined by a tab; nothing where there is no value. */
export const digestLine = (cells: readonly Cell[], columns: readonly Column[]): string =>
  cells.filter((_, index) => columns[index]?.digested === true).join('\t')
