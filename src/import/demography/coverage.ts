/**
 * Checks that a list or population file has every expected municipality. In: the list of a release and populations.
 * Out: the missing municipalities, or an error that counts and names them.
 * Truncated files are rejected, because they would silently falsify the sums and rates of their states.
 */
import { ImportError } from '../import-error.ts'
import { firstYearOf, nationalList } from './national-list.ts'

/** Largest number of municipalities that an error message names. */
const NAMED_MAX = 10
/** Lists of this year and later must have every municipality that is older. */
const LIST_SINCE = 2013

/** @returns text such as "3 municipalities: 1400100 Boa Vista, …", ordered by code */
function describeMunicipalities(codes: readonly number[], names: ReadonlyMap<number, string>): string {
  const shown = [...codes]
    .sort((left, right) => left - right)
    .slice(0, NAMED_MAX)
    .map((code) => `${code} ${names.get(code) ?? ''}`.trim())
  const more = codes.length > NAMED_MAX ? ` and ${codes.length - NAMED_MAX} more` : ''
  return `${codes.length} ${codes.length === 1 ? 'municipality' : 'municipalities'}: ${shown.join(', ')}${more}`
}

/** @throws ImportError if the list lacks a municipality that existed before 2013 */
export function checkList(file: string, listed: ReadonlySet<number>): void {
  const names = nationalList()
  const missing = [...names.keys()].filter((code) => !listed.has(code) && firstYearOf(code) < LIST_SINCE)
  if (missing.length > 0)
    throw new ImportError(
      file,
      `is no whole list: it lacks ${describeMunicipalities(missing, names)}`,
      'Fetch the list of municipalities again and import it unchanged',
    )
}

export interface PopulationSource {
  readonly file: string
  readonly year: number
  readonly codes: ReadonlySet<number>
  /** True if the source includes new municipalities a year later than IBGE. */
  readonly isLate?: boolean
}

/**
 * @param isPartial true if the operator allows missing municipalities
 * @returns codes of the listed municipalities that the source should have but lacks
 * @throws ImportError if any is missing without permission, or if the list lacks a municipality of the source
 */
export function findMissing(
  { file, year, codes, isLate = false }: PopulationSource,
  names: ReadonlyMap<number, string>,
  isPartial: boolean,
): number[] {
  const nationalNames = nationalList()
  const unlisted = [...codes].filter((code) => nationalNames.has(code) && !names.has(code))
  if (unlisted.length > 0)
    throw new ImportError(
      file,
      `has a population of ${year} of municipalities that the list lacks, ${describeMunicipalities(unlisted, nationalNames)}`,
      'Import a newer list of municipalities',
    )
  const missing = [...names.keys()].filter((code) => {
    const first = firstYearOf(code)
    return !codes.has(code) && (isLate ? first < year : first <= year)
  })
  if (missing.length > 0 && !isPartial)
    throw new ImportError(
      file,
      `is no whole population of ${year}: it lacks ${describeMunicipalities(missing, names)}`,
      'Fetch the file again; or allow it with --partial-population, and these places and all sums over them are null',
    )
  return missing
}
