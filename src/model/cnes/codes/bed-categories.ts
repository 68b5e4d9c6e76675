/** Bed categories: code, name. Source: DATASUS domain table. */
export const BED_CATEGORIES: readonly (readonly string[])[] = [
  ['1', 'CIRURGICO'],
  ['2', 'CLINICO'],
  ['3', 'COMPLEMENTAR'],
  ['4', 'OBSTETRICO'],
  ['5', 'PEDIATRICO'],
  ['6', 'OUTRAS ESPECIALIDADES'],
  ['7', 'HOSPITAL DIA'],
]
