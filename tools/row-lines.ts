/** Formats the result of making row files as lines for the operator. Pure. */
import type { MadeRows } from '../src/rows/make.ts'

export const rowLines = (made: Readonly<Record<string, MadeRows>>): string[] =>
  Object.entries(made).flatMap(([id, { files, linked, bytes, problems }]) => [
    `${id}: ${files} row files, ${bytes} bytes${linked === 0 ? '' : `, ${linked} shared with other releases`}`,
    ...problems.map(({ dataset, reason }) => `${id}: no row file of ${dataset}: ${reason}`),
  ])
