/** An answer as a table. Column heads sort it, and every value links to its records. */

import type { ComponentChildren } from 'preact'
import { ANALYSIS_TEXTS, limitsOf, significanceOf, statusOf } from '../analysis.ts'
import type { Labels, MetricLabel, QueryAnswer, QueryRow } from '../api.ts'
import { codeOf, nameOf, stateOf } from '../api.ts'
import { unitOutsideLabel } from '../catalog-texts.ts'
import { formatLimit, formatMonth, formatNumber, type Language } from '../numbers.ts'
import { baseMonthOf, type CellAddress, change, type Question } from '../question.ts'
import { TEXTS } from '../texts.ts'
import { Scroll } from './scroll.tsx'
import { PlaceLink, useQuestionHref, useSite } from './site.tsx'

const WITH_PAGES = new Set(['municipality', 'state', 'health_region', 'health_macroregion', 'region'])

export const labelOf = (
  entry: { readonly label: string; readonly label_en: string } | undefined,
  language: Language,
): string => (language === 'pt' ? entry?.label : entry?.label_en) ?? ''

export const metricOf = <Found extends { readonly code: string }>(
  catalog: { readonly metrics: readonly Found[] },
  code: string,
): Found | undefined => catalog.metrics.find((metric) => metric.code === code)

export const dimensionOf = <Found extends { readonly code: string }>(
  catalog: { readonly dimensions: readonly Found[] },
  code: string,
): Found | undefined => catalog.dimensions.find((dimension) => dimension.code === code)

interface Column {
  readonly name: string
  readonly metric: MetricLabel | undefined
  readonly label: string
  /** Shorter label for columns next to the metric's main column. */
  readonly short?: string
  readonly decimals: number
  readonly isSigned: boolean
  readonly isPercent?: boolean
  /** True for values with records, false for differences. */
  readonly hasRecords: boolean
}

/** @param base name of what a change compares with @returns the columns of each metric; a change adds its base, difference and percentage */
export function columnsOf(question: Question, catalog: Labels, language: Language, base: string): Column[] {
  const t = TEXTS[language]
  return question.metrics.flatMap((code) => {
    const metric = metricOf(catalog, code)
    const decimals = metric?.decimals ?? 0
    const label = labelOf(metric, language) || code
    const valueColumn: Column = { name: code, metric, label, decimals, isSigned: false, hasRecords: true }
    if (question.change === '') return [valueColumn]
    return [
      valueColumn,
      { ...valueColumn, name: `${code}__base`, label: `${label}, ${base}`, short: base },
      {
        ...valueColumn,
        name: `${code}__change`,
        label: `${label}, ${t.changeColumn}`,
        short: t.changeColumn,
        isSigned: true,
        hasRecords: false,
      },
      {
        ...valueColumn,
        name: `${code}__change_percent`,
        label: `${label}, ${t.changePercent}`,
        short: t.changePercent,
        decimals: 2,
        isSigned: true,
        isPercent: true,
        hasRecords: false,
      },
    ]
  })
}

export const keyOfRow = (row: QueryRow, groupBy: readonly string[]): Record<string, string> =>
  Object.fromEntries(groupBy.map((dimension) => [dimension, codeOf(row.dimensions[dimension])]))

export function ResultTable(props: {
  readonly question: Question
  readonly catalog: Labels
  readonly answer: QueryAnswer
  readonly rows: readonly QueryRow[]
}) {
  const { question, catalog, answer, rows } = props
  const { t, language } = useSite()
  const base = baseMonthOf(question, answer.meta.reference_period ?? '')
  const columns = columnsOf(question, catalog, language, base === null ? t.base : formatMonth(base, language))
  const dimensions = question.groupBy
  const caption = question.metrics.map((code) => labelOf(metricOf(catalog, code), language)).join('; ')
  return (
    <Scroll label={caption}>
      <table class="results">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {dimensions.length === 0 ? <th scope="col">{t.total}</th> : null}
            {dimensions.map((code) => (
              <Head
                key={code}
                question={question}
                field={code}
                label={labelOf(dimensionOf(catalog, code), language)}
              />
            ))}
            {columns.map((column) =>
              column.hasRecords && !column.name.includes('__') ? (
                <Head
                  key={column.name}
                  question={question}
                  field={column.name}
                  label={column.label}
                  unit={unitOutsideLabel(column.metric, language, question.analysis.prices)}
                  isNumber
                />
              ) : (
                <th key={column.name} scope="col" class="number" title={column.label}>
                  <span class="hidden">{labelOf(column.metric, language)}, </span>
                  {column.short}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row
              key={JSON.stringify(row.dimensions)}
              row={row}
              groupBy={dimensions}
              {...{ question, columns }}
            />
          ))}
        </tbody>
        {(answer.totals ?? []).map(({ group_by, data }) => (
          <tbody key={group_by.join()} class="totals">
            {data.map((row) => (
              <Row
                key={JSON.stringify(row.dimensions)}
                row={row}
                groupBy={group_by}
                isTotal
                {...{ question, columns }}
              />
            ))}
          </tbody>
        ))}
      </table>
    </Scroll>
  )
}

function Head(props: {
  readonly question: Question
  readonly field: string
  readonly label: string
  readonly unit?: string | undefined
  readonly isNumber?: boolean
}) {
  const { question, field, label, unit, isNumber = false } = props
  const questionHref = useQuestionHref()
  const { t } = useSite()
  const isDown = question.order === `-${field}`
  const isUp = question.order === field
  // Numbers sort descending first, names ascending.
  const nextOrder = isNumber ? (isDown ? field : isUp ? '' : `-${field}`) : isUp ? `-${field}` : field
  return (
    <th
      scope="col"
      class={isNumber ? 'number' : undefined}
      aria-sort={isDown ? 'descending' : isUp ? 'ascending' : undefined}
    >
      <a href={questionHref(change(question, { order: nextOrder }))} title={`${t.order}: ${label}`}>
        {label}
        <span aria-hidden="true">{isDown ? ' ▼' : isUp ? ' ▲' : ''}</span>
      </a>
      {unit === undefined || unit === '' ? null : <span class="unit">{unit}</span>}
    </th>
  )
}

function Row(props: {
  readonly question: Question
  readonly columns: readonly Column[]
  readonly row: QueryRow
  readonly groupBy: readonly string[]
  readonly isTotal?: boolean
}) {
  const { question, columns, row, groupBy, isTotal = false } = props
  const { t, language } = useSite()
  const key = keyOfRow(row, groupBy)
  const label = groupBy.length === 0 ? t.total : ''
  return (
    <tr>
      {question.groupBy.length === 0 ? <th scope="row">{label}</th> : null}
      {question.groupBy.map((dimension, index) => {
        const isGrouped = groupBy.includes(dimension)
        const code = key[dimension] ?? ''
        const name = nameOf(row.dimensions[dimension])
        const shown = !isGrouped
          ? isTotal && (index === 0 || groupBy.includes(question.groupBy[index - 1] ?? ''))
            ? t.total
            : ''
          : dimension === 'reference_period'
            ? formatMonth(code, language)
            : name || code || '–'
        const uf = stateOf(row.dimensions[dimension], question.groupBy)
        const content =
          isGrouped && WITH_PAGES.has(dimension) && code !== '' ? (
            <PlaceLink level={dimension} code={code}>
              {shown}
            </PlaceLink>
          ) : (
            shown
          )
        const more = uf === '' ? null : <span class="uf"> {uf}</span>
        return index === 0 ? (
          <th key={dimension} scope="row">
            {content}
            {more}
          </th>
        ) : (
          <td key={dimension}>
            {content}
            {more}
          </td>
        )
      })}
      {columns.map((column) => (
        <Value
          key={column.name}
          column={column}
          value={row.metrics[column.name] ?? null}
          question={question}
          cell={{ metric: column.name, key }}
          row={row.label || t.total}
          marks={
            column.name.includes('__') ? null : (
              <ValueMarks row={row} metric={column.name} decimals={column.decimals} />
            )
          }
        />
      ))}
    </tr>
  )
}

function Value(props: {
  readonly column: Column
  readonly value: number | null
  readonly question: Question
  readonly cell: CellAddress
  readonly row: string
  /** Limits, comparator and status of the value. */
  readonly marks: ComponentChildren
}) {
  const { column, value, question, cell, row, marks } = props
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  if (value === null)
    return (
      <td class="number missing">
        <abbr title={t.noDataLong}>{t.noData}</abbr>
        {marks}
      </td>
    )
  const text = formatNumber(value, column.decimals, language)
  const signed = column.isSigned
    ? `${value > 0 ? '+' : ''}${text.replace('-', '−')}${column.isPercent === true ? ' %' : ''}`
    : text
  if (!column.hasRecords) return <td class="number">{signed}</td>
  const isOpen = question.cell !== null && JSON.stringify(question.cell) === JSON.stringify(cell)
  return (
    <td class="number">
      <a
        class="cell"
        href={`${questionHref({ ...question, cell })}#lineage`}
        aria-current={isOpen ? 'true' : undefined}
        title={`${t.lineage}: ${row}`}
      >
        {signed}
      </a>
      {marks}
    </td>
  )
}

/** Marks a number with its confidence limits, how it differs from its comparator, and its status. */
function ValueMarks(props: { readonly row: QueryRow; readonly metric: string; readonly decimals: number }) {
  const { row, metric, decimals } = props
  const { language } = useSite()
  const texts = ANALYSIS_TEXTS[language]
  const limits = limitsOf(row, metric)
  const significance = significanceOf(row, metric, language)
  const comparator = row.metrics[`${metric}__comparator`] ?? null
  const status = statusOf(row, metric, language)
  const show = (value: number, digits = decimals): string => formatNumber(value, digits, language)
  const peers = typeof row.peers === 'number' ? `; ${texts.peers(show(row.peers, 0))}` : ''
  return (
    <>
      {limits === null ? null : (
        <span class="value-marks">
          {' '}
          ({limits.map((limit) => formatLimit(limit, decimals, language)).join(' – ')})
        </span>
      )}
      {significance === null ? null : (
        <span class="value-marks">
          {' '}
          <abbr title={significance.text + peers}>{significance.symbol}</abbr>
          {comparator === null ? null : ` ${show(comparator)}`}
          <span class="hidden">
            {' '}
            {texts.comparator}: {significance.text}
            {peers}
          </span>
        </span>
      )}
      {status === null ? null : (
        <span class="value-marks">
          {' '}
          <abbr class="status" title={status}>
            †
          </abbr>
          <span class="hidden"> {status}</span>
        </span>
      )}
    </>
  )
}
