/** Chooses the list of municipalities and the source of each year among the IBGE files of one import. Checks totals. */
import type { Snapshot } from '../../release/manifest.ts'
import { ImportError } from '../import-error.ts'
import type { IbgeTable } from './ibge-table.ts'

export interface IbgeSource {
  readonly snapshot: Snapshot
  readonly table: IbgeTable
}

/** Precedence of families when several cover one year: the publisher's tables, then excerpts and reshaped copies. */
const PRECEDENCE = [
  'sidra-table',
  'sidra-values',
  'ibge-aggregates',
  'ibge-estimates',
  'sidra-wide',
  'ibge-tcu',
]
/** Picks the longest list, which is the newest because municipalities are rarely abolished. The file name breaks ties. */
export function pickList(sources: readonly IbgeSource[]): IbgeSource {
  const [longest] = sources
    .filter(({ table }) => table.municipalities.length > 0)
    .sort(
      (left, right) =>
        right.table.municipalities.length - left.table.municipalities.length ||
        (left.snapshot.file < right.snapshot.file ? 1 : -1),
    )
  if (longest === undefined)
    throw new ImportError(
      sources[0]?.snapshot.file ?? 'IBGE',
      'comes without a municipality list',
      "Add IBGE's list of municipalities (DTB or the Localidades API) to the import",
    )
  return longest
}

export function comparePrecedence(left: IbgeSource, right: IbgeSource): number {
  const rankOf = ({ table }: IbgeSource): number => PRECEDENCE.indexOf(table.family)
  return (
    rankOf(left) - rankOf(right) ||
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
