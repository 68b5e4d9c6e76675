/** IBGE's files of one import beside each other: which one gives the list, which one each year, and whether its totals hold. Pure. */
import type { Snapshot } from '../../release/manifest.ts'
import { ImportError } from '../import-error.ts'
import type { IbgeTable } from './ibge-table.ts'

export interface IbgeSource {
  readonly snapshot: Snapshot
  readonly table: IbgeTable
}

/** Which family is used for a year that several have: the publisher's own tables before excerpts and reshaped copies. */
const PRECEDENCE = [
  'sidra-table',
  'sidra-values',
  'ibge-aggregates',
  'ibge-estimates',
  'sidra-wide',
  'ibge-tcu',
]
/** The longest list is the newest: municipalities are created, hardly ever abolished. Ties by file name. */
export function pickList(sources: readonly IbgeSource[]): IbgeSource {
  const [first] = sources
    .filter(({ table }) => table.municipalities.length > 0)
    .sort(
      (left, right) =>
        right.table.municipalities.length - left.table.municipalities.length ||
        (left.snapshot.file < right.snapshot.file ? 1 : -1),
    )
  if (first === undefined)
    throw new ImportError(
      sources[0]?.snapshot.file ?? 'IBGE',
      'comes without a municipality list',
      "Add IBGE's list of municipalities (DTB or the Localidades API) to the import",
    )
  return first
}

export function comparePrecedence(left: IbgeSource, right: IbgeSource): number {
  const rank = ({ table }: IbgeSource): number => PRECEDENCE.indexOf(table.family)
  return (
    rank(left) - rank(right) ||
    right.table.population.length - left.table.population.length ||
    (left.snapshot.file < right.snapshot.file ? -1 : 1)
  )
}

export function checkTotals({ snapshot, table }: IbgeSource, listed: ReadonlySet<string>): void {
  for (const total of table.totals) {
    const cells = table.population.filter(
      ({ municipality_code, reference_year }) =>
        reference_year === total.reference_year &&
        listed.has(municipality_code) &&
        (total.level === 'BR' || municipality_code.startsWith(total.code)),
    )
    const sum = cells.reduce((before, cell) => before + cell.population, 0)
    if (cells.length > 0 && sum !== total.population)
      throw new ImportError(
        snapshot.file,
        `publishes a total of ${total.population} for ${total.level} ${total.code} in ${total.reference_year}; its rows add up to ${sum}`,
        'Fetch the file again',
      )
  }
}
