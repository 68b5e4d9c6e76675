/**
 * The published columns of deaths. Columns are found by name, because their order differs between years. Values only. The importer
 * never reads a column that is missing here: birth dates, hours, registry numbers, health cards, names of places.
 */

/** Cell of fetal deaths → its column names from 1996 on, and from 1979 to 1995. */
export const FETAL_COLUMNS = {
  kind: ['TIPOBITO'],
  // Only month and year are used.
  date: ['DTOBITO', 'DATAOBITO'],
  sex: ['SEXO'],
  residence: ['CODMUNRES', 'MUNIRES'],
  place: ['LOCOCOR'],
  cause: ['CAUSABAS'],
} as const
/** The same of other deaths. */
export const COLUMN_NAMES = {
  ...FETAL_COLUMNS,
  age: ['IDADE'],
  occurrence: ['CODMUNOCOR', 'MUNIOCOR'],
} as const
/** Cells that files of some years lack. */
export const OPTIONAL_COLUMNS = {
  race: ['RACACOR'],
  pregnancy: ['OBITOGRAV'],
  puerperium: ['OBITOPUERP'],
  moment: ['TPMORTEOCO'],
} as const

export const OPTIONAL_FETAL_COLUMNS = { race: OPTIONAL_COLUMNS.race, gestation: ['GESTACAO'] } as const

export const READ_COLUMNS: readonly string[] = [
  ...Object.values(COLUMN_NAMES),
  ...Object.values(OPTIONAL_COLUMNS),
  ...OPTIONAL_FETAL_COLUMNS.gestation,
].flat()

/** Measure → the published column that it is counted by. */
export const COLUMN_OF_MEASURE: Readonly<Record<string, string>> = {
  maternal_deaths: 'CAUSABAS',
  premature_ncd_deaths: 'CAUSABAS',
}

/** First year whose causes are coded by CID-10. */
export const CID10_FROM = 1996
