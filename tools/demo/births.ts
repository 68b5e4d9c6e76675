/**
 * Invents births: files by state of residence and year (DNUFAAAA.dbf) in the published layout of 61 columns, and those of mothers
 * who live abroad (DNEXAAAA.dbf). In: towns, a year. Out: bytes of the files. Weight follows the weeks of gestation. Like real
 * files, they contain unknown weights, ages, visits and municipalities, scores of 00, dates without a month, and personal data.
 */
import { admissionChunks } from './admissions.ts'
import type { DemoMunicipality } from './geography.ts'
import { type Chance, pickShare } from './random.ts'
import { dateOf, dayText, textColumns, type VitalContext, type VitalFile, vitalRows } from './vital-rows.ts'

const BIRTH_COLUMNS = textColumns(
  'ORIGEM:1 CODESTAB:7 CODMUNNASC:7 LOCNASC:1 IDADEMAE:2 ESTCIVMAE:1 ESCMAE:1 CODOCUPMAE:6 QTDFILVIVO:2 QTDFILMORT:2 CODMUNRES:7 ' +
    'GESTACAO:1 GRAVIDEZ:1 PARTO:1 CONSULTAS:1 DTNASC:8 HORANASC:5 SEXO:1 APGAR1:2 APGAR5:2 RACACOR:1 PESO:4 IDANOMAL:1 DTCADASTRO:8 ' +
    'CODANOMAL:20 NUMEROLOTE:8 VERSAOSIST:7 DTRECEBIM:8 DIFDATA:8 DTRECORIGA:8 NATURALMAE:3 CODMUNNATU:7 CODUFNATU:2 ESCMAE2010:1 ' +
    'SERIESCMAE:1 DTNASCMAE:8 RACACORMAE:1 QTDGESTANT:2 QTDPARTNOR:2 QTDPARTCES:2 IDADEPAI:2 DTULTMENST:8 SEMAGESTAC:2 TPMETESTIM:2 ' +
    'CONSPRENAT:2 MESPRENAT:2 TPAPRESENT:2 STTRABPART:1 STCESPARTO:1 TPNASCASSI:2 TPFUNCRESP:1 TPDOCRESP:1 DTDECLARAC:8 ESCMAEAGR1:2 ' +
    'STDNEPIDEM:1 STDNNOVA:1 CODPAISRES:3 TPROBSON:2 PARIDADE:10 KOTELCHUCK:1 CONTADOR:8',
)

/** Births per inhabitant and year. */
const BIRTH_RATE = 0.0125
/** First week of each class of gestation, its code and its part of the births. */
const GESTATION = [
  [19, 21, '1', 0.0005],
  [22, 27, '2', 0.005],
  [28, 31, '3', 0.009],
  [32, 36, '4', 0.1],
  [37, 41, '5', 0.868],
  [42, 43, '6', 0.0175],
] as const
const GESTATION_SHARES = GESTATION.map(([, , , share]) => share)
const AGE_SHARES = [0.007, 0.125, 0.24, 0.25, 0.2, 0.13, 0.043, 0.005]
const RACES = ['4', '1', '2', '5', '3', ''] as const
const RACE_SHARES = [0.55, 0.34, 0.06, 0.02, 0.005, 0.025]
const YEAR_MS = 365.25 * 86_400_000
/** Mothers who live abroad, by country as published (CODMUNRES 900 + country). */
const ABROAD = ['900097', '900586', '900245', '900063'] as const
const ABROAD_BIRTHS = 24

const twoDigits = (number: number): string => String(number).padStart(2, '0')
const visitsClass = (visits: number): string =>
  visits === 0 ? '1' : visits < 4 ? '2' : visits < 7 ? '3' : '4'

/** @returns grams: about 3.3 kg at 39 weeks, 150 g less for each week before */
function weightAt(weeks: number, chance: Chance, slot: number): number {
  const spread = chance(slot, 405) + chance(slot, 406) + chance(slot, 407) - 1.5
  return Math.max(310, Math.round(3330 - 150 * Math.max(0, 39 - weeks) + 30 * (weeks - 39) + spread * 800))
}

function birthRow(
  slot: number,
  number: number,
  year: number,
  town: DemoMunicipality,
  { capital, chance }: { readonly capital: DemoMunicipality; readonly chance: Chance },
): Readonly<Record<string, string>> {
  const [first, last, gestation] = GESTATION[pickShare(GESTATION_SHARES, chance(slot, 401))] ?? GESTATION[4]
  const weeks = first + Math.floor(chance(slot, 402) * (last - first + 1))
  const group = pickShare(AGE_SHARES, chance(slot, 403))
  const age =
    10 + 5 * group + (group === 0 ? 3 + Math.floor(chance(slot, 404) * 2) : Math.floor(chance(slot, 404) * 5))
  const visits = Math.min(15, Math.floor(chance(slot, 408) ** 0.6 * 13 * Math.min(1, weeks / 37)))
  const isCaesarean = chance(slot, 409) < (age < 20 ? 0.42 : 0.6)
  const { text: date, time } = dateOf(year, chance(slot, 410))
  const code6 = String(Math.floor(town.code / 10))
  const isUnknown = (every: number, at: number): boolean => number % every === at
  return {
    ORIGEM: '1',
    CODESTAB: String(2_000_000 + (slot % 900_000)),
    CODMUNNASC: chance(slot, 411) < 0.2 ? String(Math.floor(capital.code / 10)) : code6,
    LOCNASC: '1',
    IDADEMAE: isUnknown(2003, 17) ? '99' : String(age),
    ESCMAE: '4',
    // Planted: an unknown municipality of the state.
    CODMUNRES: isUnknown(601, 7) ? `${town.stateCode}0000` : code6,
    GESTACAO: isUnknown(83, 3) ? '' : gestation,
    GRAVIDEZ: '1',
    PARTO: isUnknown(1009, 4) ? '9' : isCaesarean ? '2' : '1',
    CONSULTAS: isUnknown(151, 9) ? '9' : visitsClass(visits),
    // Planted: a month that does not exist.
    DTNASC: isUnknown(2999, 1201) ? `0100${year}` : date,
    HORANASC: `${twoDigits(Math.floor(chance(slot, 412) * 24))}${twoDigits(slot % 60)}`,
    SEXO: isUnknown(2503, 5) ? '0' : chance(slot, 413) < 0.512 ? '1' : '2',
    // A score of 00 is a score.
    APGAR1: isUnknown(733, 2) ? '00' : '08',
    APGAR5: '09',
    RACACOR: RACES[pickShare(RACE_SHARES, chance(slot, 414))] ?? '',
    PESO: isUnknown(1201, 11) ? '9999' : isUnknown(1301, 12) ? '' : String(weightAt(weeks, chance, slot)),
    IDANOMAL: '2',
    DTCADASTRO: date,
    NUMEROLOTE: String(20_000_000 + (slot % 9_000_000)),
    DTNASCMAE: dayText(time - (age + 0.5) * YEAR_MS),
    SEMAGESTAC: isUnknown(83, 3) ? '' : String(weeks),
    CONSPRENAT: isUnknown(151, 9) ? '99' : twoDigits(visits),
    STCESPARTO: isCaesarean ? '1' : '3',
    TPDOCRESP: '3',
    STDNEPIDEM: '0',
    CODPAISRES: '1',
    KOTELCHUCK: '9',
    CONTADOR: String(number + 1),
  }
}

/** @returns files of a year: one per state, and one of mothers who live abroad */
export function* birthFiles(year: number, context: VitalContext): Generator<VitalFile> {
  const made = [year % 100, 12, 28] as const
  for (const uf of context.states) {
    const { count, rows } = vitalRows(uf, year, BIRTH_RATE, 400, context, birthRow)
    yield { name: `DN${uf}${year}.dbf`, chunks: admissionChunks(BIRTH_COLUMNS, rows, count, made) }
  }
  const [town] = context.all.filter(({ uf }) => uf === context.states[0])
  if (town === undefined) return
  const place = { capital: town, chance: context.chance }
  const rows = Array.from({ length: ABROAD_BIRTHS }, (_, number) => ({
    ...birthRow(year * 100 + number, number, year, town, place),
    CODMUNRES: ABROAD[number % ABROAD.length] ?? '',
  }))
  yield { name: `DNEX${year}.dbf`, chunks: admissionChunks(BIRTH_COLUMNS, rows, rows.length, made) }
}
