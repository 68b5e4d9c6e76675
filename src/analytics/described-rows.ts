/** Turns rows of a statement into rows of JSON answers: label, dimensions with codes and names, metrics. */
import type { AnalyticsRow, Member } from '../answers/analytics.ts'
import type { JsonValue, Row } from '../engine/types.ts'
import { type DimensionCode, dimensionOf } from '../model/dimensions.ts'
import { isTime } from '../model/periods.ts'
import { STATES } from '../model/territory/states.ts'
import { shownValues } from '../query/analytics/dialect/duckdb/measured.ts'
import { hasPeers } from '../query/analytics/options/comparators.ts'
import { type Grouping, nameOfGroup } from '../query/analytics/options/groupings.ts'
import { isTextKind } from '../query/analytics/options/value-kinds.ts'
import type { AggregatePlan } from '../query/analytics/plan.ts'
import type { AnalyticsQuery } from '../query/analytics/request.ts'

export const TOTAL_LABEL = 'Total do escopo selecionado'
/** Part of a row's label for a member without code and name. */
export const UNKNOWN_LABEL = 'Não informado'

export function describeRow(row: Row, plan: AggregatePlan, language: 'pt' | 'en'): AnalyticsRow {
  const dimensions: Record<string, Member> = {}
  const labels: string[] = []
  plan.query.group_by.forEach((code, index) => {
    const member = describeMember(code, row, index, language, plan.query)
    dimensions[nameOfGroup(code, plan.query)] = member
    labels.push(String(member.name ?? member.code ?? UNKNOWN_LABEL))
  })
  const metrics: Record<string, number | string | null> = {}
  const status: Record<string, string> = {}
  for (const { code, column, kind, metric } of shownValues(plan)) {
    const value = row[column] ?? null
    if (kind === 'status') status[metric.code] = String(value)
    else metrics[code] = value === null ? null : isTextKind(kind) ? String(value) : Number(value)
  }
  const label = labels.length === 0 ? TOTAL_LABEL : labels.join(' · ')
  return {
    label,
    ...(plan.query.rank ? { rank: numberOrNull(row.rank) } : {}),
    ...(hasPeers(plan.query) ? { peers: numberOrNull(row.peers) } : {}),
    dimensions,
    metrics,
    ...(plan.query.status ? { status } : {}),
  }
}

/** @returns a value of a row as a number; null stays null */
export const numberOrNull = (value: JsonValue | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

export function describeMember(
  code: DimensionCode,
  row: Row,
  index: number,
  language: 'pt' | 'en',
  query: Pick<AnalyticsQuery, 'groupings'>,
): Member {
  const value = (row[dimensionOf(code).column] ?? null) as Member['code']
  const grouping = query.groupings.find((candidate) => candidate.code === code)
  if (grouping !== undefined) return { code: value, name: nameInGrouping(grouping, value, language) }
  const name = (row[`name_${index}`] ?? null) as string | null
  // A code that is missing from the release's list has neither state nor name.
  if (code === 'municipality') return { code: value, name, uf: name === null ? null : stateOfCode(value) }
  if (code === 'state')
    return { code: value, name, ibge_code: name === null ? null : (IBGE_CODES.get(String(value)) ?? null) }
  if (isTime(code)) return { code: value, name: value === null ? null : String(value) }
  const { labels, labelWithoutCode } = dimensionOf(code)
  const label = (value === null ? labelWithoutCode : labels?.[String(value)])?.[language]
  const shown =
    label ?? name ?? (value === null ? (language === 'en' ? 'Not informed' : 'Não informado') : null)
  // Names of macro-regions and municipalities repeat between states, so the answer adds the state. Codes begin with it.
  if (dimensionOf(code).derivedFrom === 'municipality' || code === 'residence_municipality')
    return { code: value, name: shown, uf: stateOfCode(value) }
  return { code: value, name: shown }
}

const nameInGrouping = ({ groups }: Grouping, value: JsonValue, language: 'pt' | 'en'): string =>
  groups.find(({ code }) => code === value)?.name ?? (language === 'en' ? 'Others' : 'Outros')

const IBGE_CODES = new Map(STATES.map(({ uf, ibge_code }) => [uf, ibge_code]))
const ABBREVIATIONS = new Map(STATES.map(({ uf, ibge_code }) => [String(ibge_code), uf]))
/** @returns abbreviation of the state whose IBGE code begins a municipality or health region code */
export const stateOfCode = (code: JsonValue): string | null =>
  ABBREVIATIONS.get(String(code).slice(0, 2)) ?? null
