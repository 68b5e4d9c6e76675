/**
 * Closed list of outpatient production: the instrument by which a row was presented. Values only. Source: PA_DOCORIG in the
 * SIASUS layout of the PA files. The letters used before 2008 (B, A) come from files of that time.
 */

/** Code for a missing instrument. */
export const NO_INSTRUMENT = '0'
/** Part code of a file that was not published in parts. */
export const WHOLE_FILE = '0'

type Names = Readonly<Record<string, readonly [pt: string, en: string]>>

export const INSTRUMENTS: Names = {
  [NO_INSTRUMENT]: ['Não informado', 'Not informed'],
  A: ['RAAS - atenção domiciliar', 'RAAS, home care'],
  B: ['RAAS - psicossocial', 'RAAS, psychosocial care'],
  C: ['BPA - consolidado', 'BPA, consolidated'],
  I: ['BPA - individualizado', 'BPA, individual'],
  P: ['APAC - procedimento principal', 'APAC, main procedure'],
  S: ['APAC - procedimento secundário', 'APAC, secondary procedure'],
}
