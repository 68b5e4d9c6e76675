/**
 * Race or colour of persons, in the codes of the admissions files (RACA_COR). Deaths and births publish the same categories with
 * one digit and another order (3 yellow, 4 brown), so their importers translate. Values only.
 */

/** Code of rows whose file has the column, but no category in it. */
export const RACE_NOT_INFORMED = '99'

export const RACES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  '01': ['Branca', 'White'],
  '02': ['Preta', 'Black'],
  '03': ['Parda', 'Brown'],
  '04': ['Amarela', 'Yellow'],
  '05': ['Indígena', 'Indigenous'],
  [RACE_NOT_INFORMED]: ['Não informada', 'Not informed'],
}

/** Published race of deaths and births → code. Theirs have yellow before brown. */
export const RACE_OF_VITAL_RECORDS: Readonly<Record<string, string>> = {
  '1': '01',
  '2': '02',
  '3': '04',
  '4': '03',
  '5': '05',
}
