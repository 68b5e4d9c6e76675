/** Conditions on published cells of deaths, for published-rows.ts. Pure. Birth dates and other personal cells take no part. */

import type { PublishedRows } from '../../answers/analytics.ts'
import type { InfantAge } from '../../model/sim/code-lists.ts'
import { OLD_PLACES_OF_DEATH, PLACE_NOT_INFORMED } from '../../model/sim/code-lists.ts'
import { CID10_FROM, COLUMN_NAMES, OPTIONAL_COLUMNS, OPTIONAL_FETAL_COLUMNS } from '../../model/sim/layout.ts'
import type { CellCondition } from './cell-conditions.ts'

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

function placePattern(place: string, year: number): string {
  const isOld = year < CID10_FROM
  if (place === PLACE_NOT_INFORMED) return isOld ? '^(?![1-4]$)' : '^(?![1-6]$)'
  const oldCode = Object.keys(OLD_PLACES_OF_DEATH).find((code) => OLD_PLACES_OF_DEATH[code] === place)
  return `^${(isOld ? oldCode : undefined) ?? place}$`
}

type CodeOf = (field: string) => string
type Found = Pick<PublishedRows, 'where' | 'is_exact'>

/** @param codeOf returns a code of the record, '' for null; @param period YYYY-MM @returns conditions that all kinds of deaths share */
function sharedConditions(codeOf: CodeOf, period: string): CellCondition[] {
  const [year = '', month = ''] = period.split('-')
  const category = codeOf('cause_category_code')
  const race = codeOf('race_code')
  return [
    condition(
      COLUMN_NAMES.date,
      month === '00' ? NO_MONTH : `^(\\d\\d${month}${year}|${year.slice(2)}${month}\\d\\d)$`,
    ),
    condition(COLUMN_NAMES.cause, category === '' ? '^(?![A-Z]?\\d{2})' : `^${category}`),
    condition(COLUMN_NAMES.sex, { M: '^1$', F: '^2$' }[codeOf('sex')] ?? '^(?![12]$)'),
    ...(race === ''
      ? []
      : [condition(OPTIONAL_COLUMNS.race, RACES[race] === undefined ? '^(?![1-5]$)' : `^${RACES[race]}$`)]),
    condition(COLUMN_NAMES.place, placePattern(codeOf('place_of_death_code'), Number(year))),
  ]
}

const inMunicipality = (names: readonly string[], code6: string): CellCondition =>
  condition(names, code6.startsWith('53') ? '^53' : `^${code6}`)

/**
 * @param end whether the record is by residence or by occurrence
 * @param codeOf returns a code of the record, '' for null; @param period YYYY-MM
 */
export function deathRowsOf(end: 'residence' | 'occurrence', codeOf: CodeOf, period: string): Found {
  const code6 = codeOf(`${end}_municipality_code`).slice(0, 6)
  // Only all rows of a file of residents abroad have no residence, but any file has deaths at unknown places.
  const isExact = code6 === '' ? end === 'residence' : !code6.endsWith('0000')
  return {
    is_exact: isExact,
    where: [
      condition(COLUMN_NAMES.kind, '^(?!1$)'),
      ...(isExact ? [inMunicipality(COLUMN_NAMES[end], code6)] : []),
      condition(COLUMN_NAMES.age, agePattern(codeOf('age_group'), codeOf('infant_age_code'))),
      ...sharedConditions(codeOf, period),
    ],
  }
}

/** Class of the length of gestation → its published code. */
const GESTATION: Readonly<Record<string, string>> = {
  '00-21': '1',
  '22-27': '2',
  '28-31': '3',
  '28-36': '8',
  '32-36': '4',
  '37-41': '5',
  '42+': '6',
}

/** @param codeOf returns a code of the record, '' for null; @param period YYYY-MM */
export function fetalRowsOf(codeOf: CodeOf, period: string): Found {
  const code6 = codeOf('residence_municipality_code').slice(0, 6)
  const isExact = code6 !== '' && !code6.endsWith('0000')
  const gestation = GESTATION[codeOf('gestation_class_code')]
  return {
    is_exact: isExact,
    where: [
      condition(COLUMN_NAMES.kind, '^1$'),
      ...(isExact ? [inMunicipality(COLUMN_NAMES.residence, code6)] : []),
      // Files before 1996 code it in other ways, which are not read.
      ...(period < '1996'
        ? []
        : [
            condition(
              OPTIONAL_FETAL_COLUMNS.gestation,
              gestation === undefined ? '^(?![1-68]$)' : `^${gestation}$`,
            ),
          ]),
      ...sharedConditions(codeOf, period),
    ],
  }
}
