/** A table behind its title and number of rows, opened by the reader. */
import type { ComponentChildren } from 'preact'
import { formatNumber } from '../numbers.ts'
import { type DataHead, type DataRow, DataTable } from './data-table.tsx'
import { useSite } from './site.tsx'

export function Rows(props: {
  readonly title: string
  readonly count: number
  readonly heads: readonly DataHead[]
  readonly rows: readonly DataRow['cells'][]
  readonly children?: ComponentChildren
}) {
  const { t, language } = useSite()
  const { title, count, heads, rows, children } = props
  return (
    <details>
      <summary>
        {title} ({formatNumber(count, 0, language)})
      </summary>
      {rows.length === 0 ? (
        <p>{t.none}</p>
      ) : (
        <DataTable
          label={title}
          heads={heads}
          rows={rows.map((cells, index) => ({ key: String(index), cells }))}
        />
      )}
      {children}
    </details>
  )
}
