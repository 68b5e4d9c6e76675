/**
 * Does a file name every municipality that it should? In: the list of a release, populations by municipality. Out: the municipalities
 * that lack, or a refusal that counts and names them. A file that was cut would make sums and rates of its states wrong unseen.
 */
import { ImportError } from '../import-error.ts'
import { firstYearOf, nationalList } from './national-list.ts'

/** Municipalities that a refusal names. */
const NAMED_MAX = 10
/** Lists of this year and later have every municipality that is older. */
const LIST_SINCE = 2013

/** @returns "3 municipalities: 1400100 Boa Vista, …" in the order of their codes */
function nameThem(codes: readonly number[], names: ReadonlyMap<number, string>): string {
  const named = [...codes]
    .sort((left, right) => left - right)
    .slice(0, NAMED_MAX)
    .map((code) => `${code} ${names.get(code) ?? ''}`.trim())
  const more = codes.length > NAMED_MAX ? ` and ${codes.length - NAMED_MAX} more` : ''
  return `${codes.length} ${codes.length === 1 ? 'municipality' : 'municipalities'}: ${named.join(', ')}${more}`
}

/**
 * @param listed codes of the list
 * @throws ImportError where the list lacks a municipality that Brazil has had since 2013
 */
export function checkList(file: string, listed: ReadonlySet<number>): void {
  const names = nationalList()
  const missing = [...names.keys()].filter((code) => !listed.has(code) && firstYearOf(code) < LIST_SINCE)
  if (missing.length > 0)
    throw new ImportError(
      file,
      `is no whole list: it lacks ${nameThem(missing, names)}`,
      'Fetch the list of municipalities again and import it unchanged',
    )
}

/** Of one year, from one file. */
export interface PopulationSource {
  readonly file: string
  readonly year: number
  /** Codes of the municipalities with a number. */
  readonly codes: ReadonlySet<number>
  /** The source counts a new municipality later than IBGE does. */
  readonly isLate?: boolean
}

/**
 * @param names the list of the release
 * @param isPartial the operator allows a population without some municipalities
 * @returns municipalities of the list that the source should have and lacks
 * @throws ImportError where there are any and the operator did not allow it, or where the list lacks one that the source has
 */
export function missingOf(
  { file, year, codes, isLate = false }: PopulationSource,
  names: ReadonlyMap<number, string>,
  isPartial: boolean,
): number[] {
  const national = nationalList()
  const unlisted = [...codes].filter((code) => national.has(code) && !names.has(code))
  if (unlisted.length > 0)
    throw new ImportError(
      file,
      `has a population of ${year} of municipalities that the list lacks, ${nameThem(unlisted, national)}`,
      'Import a newer list of municipalities',
    )
  const missing = [...names.keys()].filter((code) => {
    const first = firstYearOf(code)
    return !codes.has(code) && (isLate ? first < year : first <= year)
  })
  if (missing.length > 0 && !isPartial)
    throw new ImportError(
      file,
      `is no whole population of ${year}: it lacks ${nameThem(missing, names)}`,
      'Fetch the file again; or allow it with --partial-population, and these places and all sums over them are null',
    )
  return missing
}
