/** Classes of the length of gestation (GESTACAO), which births and fetal deaths share. Pure. */
import { CODES_FROM } from '../../model/sinasc/layout.ts'

const GESTATION: Readonly<Record<string, string>> = {
  '1': '00-21',
  '2': '22-27',
  '3': '28-31',
  '4': '32-36',
  '5': '37-41',
  '6': '42+',
  '8': '28-36',
}
/** Codes of 1994 and 1995, where 4 is a birth at term. */
const OLD_GESTATION: Readonly<Record<string, string>> = {
  '1': '00-21',
  '2': '22-27',
  '3': '28-36',
  '4': '37-41',
  '5': '42+',
}
/** @returns '' if unknown */
export const gestationClassOf = (cell: string, year: number): string =>
  (year < CODES_FROM ? OLD_GESTATION : GESTATION)[cell] ?? ''
