/** Table of how much the newest promotion changed in the months that it revised. The browser loads it, because it compares releases row by row. */
import { useEffect, useState } from 'preact/hooks'
import type { ChangeFigures } from '../../answers/releases.ts'
import { type Answer, ApiFailure, type Labels } from '../api.ts'
import { formatMonth } from '../numbers.ts'
import { ComparedTable } from '../parts/panels.tsx'
import { useSite } from '../parts/site.tsx'

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
