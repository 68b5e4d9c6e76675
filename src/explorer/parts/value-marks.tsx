/** Marks a number of the table with its confidence limits, how it differs from its comparator, and its status. */
import { ANALYSIS_TEXTS, limitsOf, significanceOf, statusOf } from '../analysis.ts'
import type { QueryRow } from '../api.ts'
import { formatNumber } from '../numbers.ts'
import { useSite } from './site.tsx'

export function ValueMarks(props: {
  readonly row: QueryRow
  readonly metric: string
  readonly decimals: number
}) {
  const { row, metric, decimals } = props
  const { language } = useSite()
  const texts = ANALYSIS_TEXTS[language]
  const limits = limitsOf(row, metric)
  const significance = significanceOf(row, metric, language)
  const comparator = row.metrics[`${metric}__comparator`] ?? null
  const status = statusOf(row, metric, language)
  const show = (value: number, digits = decimals): string => formatNumber(value, digits, language)
  return (
    <>
      {limits === null ? null : (
        <span class="value-marks">
          {' '}
          ({show(limits[0], Math.max(decimals, 2))} – {show(limits[1], Math.max(decimals, 2))})
        </span>
      )}
      {significance === null ? null : (
        <span class="value-marks">
          {' '}
          <abbr title={significance.text}>{significance.symbol}</abbr>
          {comparator === null ? null : ` ${show(comparator)}`}
          <span class="hidden">
            {' '}
            {texts.comparator}: {significance.text}
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
