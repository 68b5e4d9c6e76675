/** Conditions on published cells of admissions by residence and of flows of patients, for published-rows.ts. Pure. */
import type { PublishedRows } from '../../answers/analytics.ts'
import { causeGroupOf } from '../../model/classifications/cause-groups.ts'
import { icsapGroupOf } from '../../model/classifications/icsap.ts'
import { RACE_NOT_INFORMED, RACES } from '../../model/classifications/races.ts'
import { DIAGNOSIS_CHAPTERS, type DiagnosisChapter, NOT_INFORMED } from '../../model/sih/code-lists.ts'
import { type CellCondition, hasCode, inMunicipality, isIgnored } from './cell-conditions.ts'

type Conditions = Pick<PublishedRows, 'where' | 'is_exact'>

const DIAGNOSIS = ['DIAG_PRINC']
const NO_DIAGNOSIS = '^(?![A-Z]\\d{2}[0-9A-Z]?$)'
const FOURTH_CHARACTERS = ['', ...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const SEXES: Readonly<Record<string, string>> = { M: '^1$', F: '^[23]$' }

/**
 * Matches the diagnoses of a record: its category, with each fourth character that gives its groups.
 * @param icsapGroup '' in releases that do not have the groups; then every fourth character counts
 */
function hasDiagnosis(category: string, icsapGroup: string, causeGroup: string): CellCondition {
  if (category === '') return { columns: DIAGNOSIS, pattern: NO_DIAGNOSIS }
  if (icsapGroup === '') return { columns: DIAGNOSIS, pattern: `^${category}[0-9A-Z]?$` }
  const characters = FOURTH_CHARACTERS.filter((character) => {
    const code = `${category}${character}`
    return icsapGroupOf(code) === icsapGroup && causeGroupOf(code) === causeGroup
  })
  return { columns: DIAGNOSIS, pattern: `^${category}(${characters.join('|')})$` }
}

/** Matches a race. A release or file without races gives no condition. */
function hasRace(code: string): CellCondition[] {
  if (code === '') return []
  const races = Object.keys(RACES).filter((race) => race !== RACE_NOT_INFORMED)
  const pattern = code === RACE_NOT_INFORMED ? `^(?!(${races.join('|')})$)` : `^${code}$`
  return [{ columns: ['RACA_COR'], pattern }]
}

/** Matches a 5-year age group. Age units 2 and 3 are days and months, 4 is years, 5 is years above 100. Years without a number are unknown. */
function inAgeGroup(group: string): CellCondition {
  const columns = ['COD_IDADE', 'IDADE']
  if (group === '') return { columns, pattern: '^(?![23] |[45] \\d+$)' }
  const [first = 0, last] = group.split('-').map((age) => Number.parseInt(age, 10))
  if (last === undefined) return { columns, pattern: '^4 0*([89]\\d|[1-9]\\d{2,})$|^5 \\d+$' }
  const years = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
    (year) => year > 0,
  )
  return first === 0
    ? { columns, pattern: `^[23] |^4 (0+|0*(${years.join('|')}))$` }
    : { columns, pattern: `^4 0*(${years.join('|')})$` }
}

/** @param codeOf returns a code of the record, '' for null */
export function residentRowsOf(codeOf: (field: string) => string): Conditions {
  const residence = codeOf('residence_municipality_code')
  return {
    where: [
      inMunicipality('MUNIC_RES', residence),
      hasDiagnosis(codeOf('diagnosis_category_code'), codeOf('icsap_group_code'), codeOf('cause_group_code')),
      inAgeGroup(codeOf('age_group')),
      { columns: ['SEXO'], pattern: SEXES[codeOf('sex')] ?? '^(?![123]$)' },
      ...hasRace(codeOf('race_code')),
    ],
    is_exact: !isIgnored(residence),
  }
}

/** Returns the categories of a chapter as alternatives of a pattern. */
function chapterPattern({ from, to }: DiagnosisChapter): string {
  const patterns: string[] = []
  for (let letter = from.charCodeAt(0); letter <= to.charCodeAt(0); letter += 1) {
    const name = String.fromCharCode(letter)
    const isFirst = name === from[0]
    const isLast = name === to[0]
    for (let ten = isFirst ? Number(from[1]) : 0; ten <= (isLast ? Number(to[1]) : 9); ten += 1) {
      const start = isFirst && ten === Number(from[1]) ? from[2] : '0'
      const end = isLast && ten === Number(to[1]) ? to[2] : '9'
      patterns.push(`${name}${ten}[${start}-${end}]`)
    }
  }
  return patterns.join('|')
}

/** @param chapter code of a chapter, or '00' for diagnoses that no chapter of CID-10 contains */
function inChapter(chapter: string): CellCondition {
  const found = DIAGNOSIS_CHAPTERS.find(({ code }) => code === chapter)
  return {
    columns: DIAGNOSIS,
    pattern:
      found === undefined
        ? `^(?!(${DIAGNOSIS_CHAPTERS.map(chapterPattern).join('|')})[0-9A-Z]?$)`
        : `^(${chapterPattern(found)})[0-9A-Z]?$`,
  }
}

/** @param codeOf returns a code of the record, '' for null */
export function flowRowsOf(codeOf: (field: string) => string): Conditions {
  // The record's key has codes instead of nulls.
  const residence = codeOf('residence_key').replace(/^0$/, '')
  const hospital = codeOf('hospital_municipality_code')
  return {
    where: [
      inMunicipality('MUNIC_RES', residence),
      inMunicipality('MUNIC_MOV', hospital),
      inChapter(codeOf('diagnosis_chapter_key')),
      hasCode(['COMPLEX'], codeOf('complexity_code'), NOT_INFORMED, '\\d{2}'),
      hasCode(['FINANC'], codeOf('financing_code'), NOT_INFORMED, '\\d{2}'),
    ],
    is_exact: !isIgnored(residence) && !isIgnored(hospital),
  }
}
