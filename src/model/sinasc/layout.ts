/**
 * The published columns of births. Columns are found by name, because their order differs between years. Values only. The importer
 * never reads a column that is missing here: birth dates of mothers, hours, registry numbers, facilities, occupations.
 */

/** Cell → its column names from 1996 on, and in 1994 and 1995. */
export const COLUMN_NAMES = {
  // Only month and year are used.
  date: ['DTNASC', 'DATA_NASC'],
  residence: ['CODMUNRES', 'MUNI_MAE'],
  mother_age: ['IDADEMAE', 'IDADE_MAE'],
  weight: ['PESO'],
  gestation: ['GESTACAO'],
  delivery: ['PARTO', 'TIPO_PARTO'],
  sex: ['SEXO'],
} as const
/** Cells that files of some years lack. PRE_NATAL of 1994 and 1995 is not read, because its codes are not published. */
export const OPTIONAL_COLUMNS = {
  prenatal: ['CONSULTAS'],
  race: ['RACACOR', 'RACCOR'],
} as const
export type BirthCell = keyof typeof COLUMN_NAMES | keyof typeof OPTIONAL_COLUMNS

export const READ_COLUMNS: readonly string[] = [
  ...Object.values(COLUMN_NAMES),
  ...Object.values(OPTIONAL_COLUMNS),
].flat()

/** First year whose gestation, prenatal visits and delivery have the codes of the later files. */
export const CODES_FROM = 1996
