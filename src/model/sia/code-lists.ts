/**
 * Closed lists of outpatient production: the instrument that a row was presented by. Values only.
 *
 * Source: PA_DOCORIG in the SIASUS layout of the PA files. Letters of before 2008 (B, A) are those of the files of that time.
 */

/** Stands where an instrument is not named. */
export const NO_INSTRUMENT = '0'
/** Stands for a file that is not in parts. */
export const WHOLE_FILE = '0'

type Names = Readonly<Record<string, readonly [pt: string, en: string]>>

/** PA_DOCORIG. */
export const INSTRUMENTS: Names = {
  [NO_INSTRUMENT]: ['Não informado', 'Not informed'],
  A: ['RAAS - atenção domiciliar', 'RAAS, home care'],
  B: ['RAAS - psicossocial', 'RAAS, psychosocial care'],
  C: ['BPA - consolidado', 'BPA, consolidated'],
  I: ['BPA - individualizado', 'BPA, individual'],
  P: ['APAC - procedimento principal', 'APAC, main procedure'],
  S: ['APAC - procedimento secundário', 'APAC, secondary procedure'],
}
