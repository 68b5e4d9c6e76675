/** A table for anything but query answers, in a frame that scrolls sideways. Numbers are right-aligned. */
import type { ComponentChildren } from 'preact'
import { Scroll } from './scroll.tsx'

export interface DataHead {
  readonly text: ComponentChildren
  readonly isNumber?: boolean
}

export interface DataRow {
  readonly key: string
  readonly cells: readonly ComponentChildren[]
}

export function DataTable(props: {
  readonly label: string
  readonly heads: readonly DataHead[]
  readonly rows: readonly DataRow[]
}) {
  const { label, heads, rows } = props
  const classOf = (index: number): string | undefined =>
    heads[index]?.isNumber === true ? 'number' : undefined
  // On phones, each cell is shown under the label of its column.
  const labelOf = (index: number): string | undefined => {
    const text = heads[index]?.text
    return typeof text === 'string' ? text : undefined
  }
  return (
    <Scroll label={label}>
      <table class="data">
        <thead>
          <tr>
            {heads.map(({ text }, index) => (
              <th key={index} scope="col" class={classOf(index)}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) =>
                index === 0 ? (
                  <th key={index} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={index} class={classOf(index)} data-label={labelOf(index)}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
