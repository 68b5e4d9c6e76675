/** Conditions on published cells of deaths, for published-rows.ts. Pure. Birth dates and other personal cells take no part. */
import type { InfantAge } from '../../model/sim/code-lists.ts'
import { PLACE_NOT_INFORMED } from '../../model/sim/code-lists.ts'
import { COLUMN_NAMES, OPTIONAL_COLUMNS } from '../../model/sim/layout.ts'
import type { CellCondition, PublishedRows } from './cell-conditions.ts'

const condition = (names: readonly string[], pattern: string): CellCondition => ({
  columns: [names.join('|')],
  pattern,
})

/** Dates whose month is missing or impossible. */
const NO_MONTH = '^(?!\\d\\d(0[1-9]|1[0-2])(\\d{4}|\\d\\d)$)'
/** First and last published age of each part of the first year. */
const INFANT_AGES: Readonly<Record<InfantAge, string>> = {
  early_neonatal: '^(0(?!00)\\d\\d|1\\d\\d|20[0-6])$',
  late_neonatal: '^2(0[7-9]|1\\d|2[0-7])$',
  post_neonatal: '^(2(2[89]|[3-9]\\d)|3\\d\\d)$',
  unknown: '^400$',
}
const RACES: Readonly<Record<string, string>> = { '01': '1', '02': '2', '03': '4', '04': '3', '05': '5' }

function agePattern(group: string, infantAge: string): string {
  if (infantAge !== '') return INFANT_AGES[infantAge as InfantAge]
  if (group === '') return '^(000|(?![0-5]\\d\\d$).*)$'
  if (group === '00-04') return '^40[1-4]$'
  const [first = 0, last] = group.split('-').map((age) => Number.parseInt(age, 10))
  if (last === undefined) return '^(4[89]\\d|5\\d\\d)$'
  return `^4(${Array.from({ length: last - first + 1 }, (_, index) => String(first + index).padStart(2, '0')).join('|')})$`
}

/** @param codeOf returns a code of the record, '' for null; @param period YYYY-MM */
export function deathRowsOf(
  codeOf: (field: string) => string,
  period: string,
): Pick<PublishedRows, 'where' | 'is_exact'> {
  const [year = '', month = ''] = period.split('-')
  const municipality = codeOf('residence_municipality_code').slice(0, 6)
  const isExact = !municipality.endsWith('0000')
  const category = codeOf('cause_category_code')
  const place = codeOf('place_of_death_code')
  const race = codeOf('race_code')
  return {
    is_exact: isExact,
    where: [
      condition(COLUMN_NAMES.kind, '^(?!1$)'),
      condition(
        COLUMN_NAMES.date,
        month === '00' ? NO_MONTH : `^(\\d\\d${month}${year}|${year.slice(2)}${month}\\d\\d)$`,
      ),
      ...(isExact
        ? [condition(COLUMN_NAMES.residence, municipality.startsWith('53') ? '^53' : `^${municipality}`)]
        : []),
      condition(COLUMN_NAMES.cause, category === '' ? '^(?![A-Z]?\\d{2})' : `^${category}`),
      condition(COLUMN_NAMES.age, agePattern(codeOf('age_group'), codeOf('infant_age_code'))),
      condition(COLUMN_NAMES.sex, { M: '^1$', F: '^2$' }[codeOf('sex')] ?? '^(?![12]$)'),
      ...(race === ''
        ? []
        : [condition(OPTIONAL_COLUMNS.race, RACES[race] === undefined ? '^(?![1-5]$)' : `^${RACES[race]}$`)]),
      condition(COLUMN_NAMES.place, place === PLACE_NOT_INFORMED ? '^(?![1-6]$)' : `^${place}$`),
    ],
  }
}
