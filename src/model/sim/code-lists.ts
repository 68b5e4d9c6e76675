/** Closed lists of deaths: parts of the first year of life and places of death. Values only. */
type Names = Readonly<Record<string, readonly [pt: string, en: string]>>

/** Parts of the first year of life. Deaths from one year on have none, and neither have deaths of unknown age. */
export const INFANT_AGES = {
  early_neonatal: ['Neonatal precoce (0 a 6 dias)', 'Early neonatal (0 to 6 days)'],
  late_neonatal: ['Neonatal tardia (7 a 27 dias)', 'Late neonatal (7 to 27 days)'],
  post_neonatal: ['Pós-neonatal (28 dias a 11 meses)', 'Post-neonatal (28 days to 11 months)'],
  unknown: ['Menos de 1 ano, sem dias nem meses', 'Under 1 year, days and months unknown'],
} as const satisfies Names
export type InfantAge = keyof typeof INFANT_AGES

export const PLACE_NOT_INFORMED = '9'
/** Published column: LOCOCOR, whose codes are these from 1996 on. */
export const PLACES_OF_DEATH: Names = {
  '1': ['Hospital', 'Hospital'],
  '2': ['Outro estabelecimento de saúde', 'Other health facility'],
  '3': ['Domicílio', 'Home'],
  '4': ['Via pública', 'Street'],
  '5': ['Outros', 'Other'],
  '6': ['Aldeia indígena', 'Indigenous village'],
  [PLACE_NOT_INFORMED]: ['Não informado', 'Not informed'],
}
/**
 * LOCOCOR in files of CID-9 (before 1996) → code of PLACES_OF_DEATH; any other code is unknown. Measured on DORRR79: the deaths of code 2
 * are road deaths, shots and stabbings. DATASUS's layout document of those years was not at hand.
 */
export const OLD_PLACES_OF_DEATH: Readonly<Record<string, string>> = {
  '1': '1',
  '2': '4',
  '3': '3',
  '4': '5',
}
