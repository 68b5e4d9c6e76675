/** Tables of changed values: since another release on the question page, and in the months that the newest promotion revised. */
import { useEffect, useState } from 'preact/hooks'
import type { ComparedRow } from '../../answers/analytics.ts'
import type { RowPagination } from '../../answers/meta.ts'
import type { ChangeFigures } from '../../answers/releases.ts'
import { ANALYSIS_TEXTS } from '../analysis.ts'
import { type Answer, ApiFailure, type Labels } from '../api.ts'
import { formatMonth, formatNumber } from '../numbers.ts'
import { DataTable } from '../parts/data-table.tsx'
import { shortId } from '../parts/question-form.tsx'
import { useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import type { Question } from '../question.ts'

/** The browser loads these figures, because the server compares releases row by row for them. */
export function ChangedFigures({ release, catalog }: { readonly release: string; readonly catalog: Labels }) {
  const { t, api, language } = useSite()
  const [figures, setFigures] = useState<ChangeFigures['figures'] | null>(null)
  useEffect(() => {
    let isCurrent = true
    if (api === undefined) return
    api.get<Answer<ChangeFigures>>(`/v1/changes/${release}`).then(
      ({ data }) => {
        if (isCurrent) setFigures(data.figures)
      },
      (error: unknown) => {
        // Without figures, the page says which months were revised.
        if (!(error instanceof ApiFailure)) throw error
        if (isCurrent) setFigures([])
      },
    )
    return () => {
      isCurrent = false
    }
  }, [api, release])
  if (figures === null) return <p class="hint">{t.loading}</p>
  const rows = figures.flatMap((figure) =>
    figure.rows.map((row) => ({ ...row, label: formatMonth(row.label, language) })),
  )
  return rows.length === 0 ? null : <ComparedTable rows={rows} catalog={catalog} head={t.month} />
}

export interface Comparison {
  readonly data: readonly ComparedRow[]
  readonly pagination: RowPagination
}

export function ChangesPanel(props: {
  readonly question: Question
  readonly catalog: Labels
  /** Null for a question that the API does not compare. */
  readonly comparison: Comparison | null
}) {
  const { question, catalog, comparison } = props
  const { t, language } = useSite()
  const show = (value: number): string => formatNumber(value, 0, language)
  return (
    <section class="changes">
      <h2 id="changes-title">
        {t.since} {shortId(question.since)}
      </h2>
      {comparison === null ? (
        <p>{ANALYSIS_TEXTS[language].notComparable}</p>
      ) : comparison.data.length === 0 ? (
        <p>{t.unchanged}</p>
      ) : (
        <>
          <ComparedTable rows={comparison.data} catalog={catalog} head={t.groupBy} />
          {comparison.pagination.total_rows > comparison.data.length ? (
            <p class="hint">{t.rows(show(comparison.data.length), show(comparison.pagination.total_rows))}</p>
          ) : null}
        </>
      )}
    </section>
  )
}

/** Values before and now, their differences, and how many records came, went or changed. @param props.head head of the first column */
function ComparedTable(props: {
  readonly rows: readonly ComparedRow[]
  readonly catalog: Labels
  readonly head: string
}) {
  const { rows, catalog, head } = props
  const { t, language } = useSite()
  return (
    <DataTable
      label={t.since}
      heads={[
        { text: head },
        { text: t.metrics },
        { text: t.old, isNumber: true },
        { text: t.new, isNumber: true },
        { text: t.difference, isNumber: true },
        { text: t.reason },
      ]}
      rows={rows.flatMap((row) =>
        Object.entries(row.metrics).map(([code, value]) => {
          const metric = metricOf(catalog, code)
          const show = (number: number | null): string =>
            number === null ? t.noData : formatNumber(number, metric?.decimals ?? 0, language)
          return {
            key: `${row.label}${code}`,
            cells: [
              row.label || t.total,
              labelOf(metric, language),
              show(value.old),
              show(value.new),
              show(value.delta),
              value.causes
                .filter(({ records }) => records > 0)
                .map(
                  ({ cause, records }) => `${formatNumber(records, 0, language)} ${t.causes[cause] ?? cause}`,
                )
                .join(', '),
            ],
          }
        }),
      )}
    />
  )
}
