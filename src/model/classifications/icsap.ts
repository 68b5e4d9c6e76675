/**
 * Admissions for conditions that primary care can avoid (ICSAP): the 19 groups of the Brazilian list, Portaria SAS/MS 221 of 17
 * April 2008, as DATASUS's table SENSIVEISATB01 applies them to the main diagnosis. Values and pure functions only. Ranges
 * compare codes that are padded with blanks to four characters, so a bare category counts where its range starts with it. The
 * table SENSIVEISATB03 also takes bare E10 to E14, and SENSIVEISATB02 omits B50.8; the list here does neither.
 */

/** Group of diagnoses outside the list. */
export const OUTSIDE_ICSAP = '00'

/** Groups in the order of the list: code, name, and ranges of padded codes, both ends included. */
const GROUPS: readonly (readonly [code: string, pt: string, en: string, ranges: string])[] = [
  [
    '01',
    'Doenças preveníveis por imunização e condições sensíveis',
    'Vaccine-preventable diseases and sensitive conditions',
    'A37-A379 A36-A369 A33-A359 B26-B269 B06-B069 B05-B059 A95-A959 B16-B169 G000 A170 A19-A199 A15-A159 A16-A169 A171-A179 A18-A189 I00-I029 A51-A539 B50-B549 B77-B779',
  ],
  [
    '02',
    'Gastroenterites infecciosas e complicações',
    'Infectious gastroenteritis and complications',
    'E86-E869 A00-A099',
  ],
  ['03', 'Anemia', 'Anaemia', 'D50-D509'],
  ['04', 'Deficiências nutricionais', 'Nutritional deficiencies', 'E40-E469 E50-E649'],
  [
    '05',
    'Infecções de ouvido, nariz e garganta',
    'Infections of ear, nose and throat',
    'H66-H669 J00-J009 J01-J019 J02-J029 J03-J039 J06-J069 J31-J319',
  ],
  ['06', 'Pneumonias bacterianas', 'Bacterial pneumonia', 'J13-J139 J14-J149 J153-J154 J158-J159 J181'],
  ['07', 'Asma', 'Asthma', 'J45-J469'],
  [
    '08',
    'Doenças pulmonares',
    'Lung diseases',
    'J20-J219 J40-J409 J41-J419 J42-J429 J43-J439 J47-J479 J44-J449',
  ],
  ['09', 'Hipertensão', 'Hypertension', 'I10-I109 I11-I119'],
  ['10', 'Angina', 'Angina', 'I20-I209'],
  ['11', 'Insuficiência cardíaca', 'Heart failure', 'I50-I509 J81-J819'],
  ['12', 'Doenças cerebrovasculares', 'Cerebrovascular diseases', 'I63-I679 I69-I699 G45-G469'],
  ['13', 'Diabetes mellitus', 'Diabetes mellitus', 'E100-E109 E110-E119 E120-E129 E130-E139 E140-E149'],
  ['14', 'Epilepsias', 'Epilepsy', 'G40-G419'],
  [
    '15',
    'Infecção no rim e trato urinário',
    'Infection of kidney and urinary tract',
    'N10-N109 N11-N119 N12-N129 N30-N309 N34-N349 N390',
  ],
  [
    '16',
    'Infecção da pele e tecido subcutâneo',
    'Infection of skin and subcutaneous tissue',
    'A46-A469 L01-L019 L02-L029 L03-L039 L04-L049 L08-L089',
  ],
  [
    '17',
    'Doença inflamatória de órgãos pélvicos femininos',
    'Inflammatory diseases of female pelvic organs',
    'N70-N709 N71-N719 N72-N729 N73-N739 N75-N759 N76-N769',
  ],
  ['18', 'Úlcera gastrointestinal', 'Gastrointestinal ulcer', 'K25-K289 K920-K922'],
  [
    '19',
    'Doenças relacionadas ao pré-natal e parto',
    'Diseases related to prenatal care and delivery',
    'O23-O239 A50-A509 P350',
  ],
]

export interface IcsapGroup {
  readonly code: string
  readonly name: readonly [pt: string, en: string]
  /** First and last code of four characters, padded with a blank where the list has three. */
  readonly ranges: readonly (readonly [from: string, to: string])[]
}

const pad = (diagnosis: string): string => diagnosis.padEnd(4)
export const ICSAP_GROUPS: readonly IcsapGroup[] = GROUPS.map(([code, pt, en, ranges]) => ({
  code,
  name: [pt, en],
  ranges: ranges.split(' ').map((range) => {
    const [from = '', to = from] = range.split('-')
    return [pad(from), pad(to)]
  }),
}))

/** Names by code, for a dimension. */
export const ICSAP_NAMES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  [OUTSIDE_ICSAP]: ['Não é condição sensível à atenção primária', 'Not a condition of the list'],
  ...Object.fromEntries(ICSAP_GROUPS.map(({ code, name }) => [code, name])),
}

/**
 * @param diagnosis CID-10 code of 3 or 4 characters, without the dot
 * @returns code of its group; OUTSIDE_ICSAP for a diagnosis outside the list
 */
export function icsapGroupOf(diagnosis: string): string {
  const padded = pad(diagnosis)
  const found = ICSAP_GROUPS.find(({ ranges }) => ranges.some(([from, to]) => from <= padded && padded <= to))
  return found?.code ?? OUTSIDE_ICSAP
}

/** Procedures of delivery (SIGTAP), which are left out of the admissions that shares and rates compare with. */
const OBSTETRIC_PROCEDURES: ReadonlySet<string> = new Set([
  '0310010012',
  '0310010020',
  '0310010039',
  '0310010047',
  '0411010018',
  '0411010026',
  '0411010034',
  '0411010042',
  '0411020013',
  '0411020021',
])
/** Diagnoses of delivery, O80 to O84. */
const isDelivery = (diagnosis: string): boolean => /^O8[0-4]/.test(diagnosis)

/**
 * @param procedure SIGTAP procedure of 10 digits; @param diagnosis CID-10 code without the dot
 * @returns whether an admission is compared: deliveries are not, by their procedure or their diagnosis
 */
export const isInIcsapUniverse = (procedure: string, diagnosis: string): boolean =>
  !OBSTETRIC_PROCEDURES.has(procedure) && !isDelivery(diagnosis)
