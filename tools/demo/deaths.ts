/**
 * Invents deaths: files by state of residence and year (DOUFAAAA.dbf), and fetal deaths of the country (DOFETAA.dbf), in the published
 * layout of 87 columns. In: towns, a year.
 * Out: bytes of the files. Age, sex, cause and place agree with each other. Like real files, they contain unknown ages, causes and
 * municipalities, ages of 400, deaths outside of the state, dates without a month, and personal data in every column that has some.
 */
import { admissionChunks } from './admissions.ts'
import type { DemoMunicipality } from './geography.ts'
import { type Chance, pickShare } from './random.ts'
import { dateOf, dayText, textColumns, type VitalContext, type VitalFile, vitalRows } from './vital-rows.ts'

const DEATH_COLUMNS = textColumns(
  'ORIGEM:1 TIPOBITO:1 DTOBITO:8 HORAOBITO:5 NATURAL:3 CODMUNNATU:7 DTNASC:8 IDADE:3 SEXO:1 RACACOR:1 ESTCIV:1 ESC:1 ESC2010:1 ' +
    'SERIESCFAL:1 OCUP:6 CODMUNRES:7 LOCOCOR:1 CODESTAB:8 ESTABDESCR:40 CODMUNOCOR:7 IDADEMAE:2 ESCMAE:1 ESCMAE2010:1 SERIESCMAE:1 ' +
    'OCUPMAE:6 QTDFILVIVO:2 QTDFILMORT:2 GRAVIDEZ:1 SEMAGESTAC:3 GESTACAO:1 PARTO:1 OBITOPARTO:1 PESO:4 TPMORTEOCO:1 OBITOGRAV:1 ' +
    'OBITOPUERP:1 ASSISTMED:1 EXAME:1 CIRURGIA:1 NECROPSIA:1 LINHAA:20 LINHAB:20 LINHAC:20 LINHAD:20 LINHAII:30 CAUSABAS:4 CB_PRE:4 ' +
    'COMUNSVOIM:7 DTATESTADO:8 CIRCOBITO:1 ACIDTRAB:1 FONTE:1 NUMEROLOTE:8 TPPOS:1 DTINVESTIG:8 CAUSABAS_O:4 DTCADASTRO:8 ATESTANTE:1 ' +
    'STCODIFICA:1 CODIFICADO:1 VERSAOSIST:7 VERSAOSCB:7 FONTEINV:8 DTRECEBIM:8 ATESTADO:50 DTRECORIGA:8 CAUSAMAT:4 ESCMAEAGR1:2 ' +
    'ESCFALAGR1:2 STDOEPIDEM:1 STDONOVA:1 DIFDATA:8 NUDIASOBCO:4 NUDIASOBIN:4 DTCADINV:8 TPOBITOCOR:1 DTCONINV:8 FONTES:6 TPRESGINFO:2 ' +
    'TPNIVELINV:1 NUDIASINF:4 DTCADINF:8 MORTEPARTO:1 DTCONCASO:8 FONTESINF:7 ALTCAUSA:1 CONTADOR:8',
)

/** Deaths per inhabitant and year. */
const DEATH_RATE = 0.0065

type Shares = Readonly<Record<string, number>>
interface AgeBand {
  /** Part of all deaths. */
  readonly share: number
  /** Ages in years, both included; infants have parts of a year instead. */
  readonly years: readonly [first: number, last: number]
  /** Part of the band that are men. */
  readonly men: number
  /** Causes of both sexes, and those of one, with their weights. */
  readonly causes: Shares
  readonly ofMen?: Shares
  readonly ofWomen?: Shares
}

const AGE_BANDS: readonly AgeBand[] = [
  {
    share: 0.025,
    years: [0, 0],
    men: 0.55,
    causes: {
      P220: 12,
      P369: 10,
      P071: 8,
      P219: 7,
      P027: 6,
      Q249: 11,
      Q000: 3,
      Q913: 4,
      J189: 6,
      A09: 3,
      W84: 3,
      R99: 4,
    },
  },
  {
    share: 0.011,
    years: [1, 14],
    men: 0.56,
    causes: {
      V892: 8,
      W74: 9,
      C910: 8,
      J189: 12,
      Q249: 7,
      G809: 8,
      A419: 6,
      G409: 5,
      A90: 3,
      R99: 6,
      X954: 4,
    },
  },
  {
    share: 0.075,
    years: [15, 39],
    men: 0.79,
    causes: {
      V892: 8,
      B24: 3,
      A162: 2,
      J189: 5,
      I219: 5,
      G409: 2,
      E149: 2,
      K703: 3,
      R99: 6,
      N189: 2,
      C719: 2,
      A419: 2,
    },
    ofMen: { X954: 24, X959: 4, V299: 12, X700: 8, Y349: 3 },
    ofWomen: { X954: 7, X700: 7, C509: 8, C539: 7, O149: 2, O721: 1, O960: 1, M329: 3, F530: 1 },
  },
  {
    share: 0.37,
    years: [40, 69],
    men: 0.6,
    causes: {
      ...{
        I219: 13,
        I64: 5,
        I619: 4,
        I110: 4,
        I10: 5,
        I420: 2,
        E149: 8,
        J189: 5,
        J449: 4,
        C349: 5,
        C189: 3,
        C169: 3,
        C259: 2,
      },
      ...{ K746: 3, N189: 2, B342: 2, A419: 3, V892: 2, G309: 1, R99: 4, R98: 1, R54: 1 },
    },
    ofMen: { K703: 6, X954: 2, X700: 2, C159: 2, C61: 2 },
    ofWomen: { C509: 7, C539: 3, C56: 2 },
  },
  {
    share: 0.511,
    years: [70, 99],
    men: 0.48,
    causes: {
      ...{
        I219: 10,
        I64: 6,
        I694: 4,
        I500: 5,
        I110: 5,
        I10: 5,
        E149: 7,
        J189: 11,
        J449: 6,
        J690: 2,
        C349: 3,
        C189: 2,
        G309: 7,
      },
      ...{ F03: 3, N390: 5, N189: 3, A419: 4, B342: 2, W199: 3, K922: 2, R99: 4, R54: 3, L899: 1 },
    },
    ofMen: { C61: 5 },
    ofWomen: { C509: 3 },
  },
  {
    share: 0.006,
    years: [100, 109],
    men: 0.3,
    causes: { I219: 4, I64: 3, J189: 8, N390: 4, R54: 9, R99: 4, G309: 3 },
  },
  { share: 0.002, years: [-1, -1], men: 0.75, causes: { R99: 9, X954: 4, W74: 2, I219: 2 } },
]

/** Causes of a band and sex, with shares that add up to 1. */
const CAUSES = AGE_BANDS.map(({ causes, ofMen, ofWomen }) =>
  [ofMen, ofWomen].map((ofSex) => {
    const weights = Object.entries({ ...causes, ...ofSex })
    const sum = weights.reduce((total, [, weight]) => total + weight, 0)
    return { codes: weights.map(([code]) => code), shares: weights.map(([, weight]) => weight / sum) }
  }),
)
const BAND_SHARES = AGE_BANDS.map(({ share }) => share)
const UNKNOWN_AGES = ['999', '000', '']
/** Minutes, hours and days of early deaths; days of late ones; months. The last ones are under one year without more. */
const INFANT_SHARES = [0.1, 0.18, 0.25, 0.17, 0.28, 0.02]
const RACES = ['4', '1', '2', '5', '3', '9', ''] as const
const RACE_SHARES = [0.5, 0.36, 0.09, 0.012, 0.008, 0.01, 0.02]
const PLACES = ['1', '3', '2', '4', '5', '6', '9'] as const
const PLACE_SHARES = [0.66, 0.22, 0.055, 0.015, 0.035, 0.005, 0.01]
/** Deaths of external causes happen at other places than the others. */
const EXTERNAL_PLACE_SHARES = [0.38, 0.12, 0.03, 0.3, 0.15, 0.005, 0.015]
const YEAR_MS = 365.25 * 86_400_000

const twoDigits = (number: number): string => String(number).padStart(2, '0')

/** @returns IDADE: its unit and two digits */
function ageCell(band: AgeBand, slot: number, chance: Chance): string {
  const [first, last] = band.years
  const within = chance(slot, 303)
  if (first < 0) return UNKNOWN_AGES[Math.floor(within * UNKNOWN_AGES.length)] ?? ''
  const years = first + Math.floor(within * (last - first + 1))
  if (years >= 100) return `5${twoDigits(years - 100)}`
  if (years > 0) return `4${twoDigits(years)}`
  return (
    [
      () => `0${twoDigits(1 + Math.floor(within * 59))}`,
      () => `1${twoDigits(1 + Math.floor(within * 23))}`,
      () => `2${twoDigits(1 + Math.floor(within * 6))}`,
      () => `2${twoDigits(7 + Math.floor(within * 22))}`,
      () => `3${twoDigits(1 + Math.floor(within * 11))}`,
      () => '400',
    ][pickShare(INFANT_SHARES, chance(slot, 304))]?.() ?? '400'
  )
}

const circumstanceOf = (cause: string): string =>
  /^X9/.test(cause) ? '3' : /^X7/.test(cause) ? '2' : /^[VW]/.test(cause) ? '1' : /^Y/.test(cause) ? '9' : ''

function deathRow(
  slot: number,
  number: number,
  year: number,
  town: DemoMunicipality,
  { capital, chance }: { readonly capital: DemoMunicipality; readonly chance: Chance },
): Readonly<Record<string, string>> {
  const bandIndex = pickShare(BAND_SHARES, chance(slot, 301))
  const band = AGE_BANDS[bandIndex] as AgeBand
  const isMan = chance(slot, 302) < band.men
  const { codes, shares } = CAUSES[bandIndex]?.[isMan ? 0 : 1] ?? { codes: [], shares: [] }
  const cause = codes[pickShare(shares, chance(slot, 305))] ?? 'R99'
  const age = ageCell(band, slot, chance)
  const isExternal = /^[V-Y]/.test(cause)
  const place = PLACES[pickShare(isExternal ? EXTERNAL_PLACE_SHARES : PLACE_SHARES, chance(slot, 306))] ?? '9'
  const { text: date, time } = dateOf(year, chance(slot, 307))
  const code6 = String(Math.floor(town.code / 10))
  // A quarter of those in hospitals die in the capital; a few of all in the federal capital.
  const away = chance(slot, 308)
  const occurrence =
    away < 0.01 ? '530010' : place === '1' && away < 0.26 ? String(Math.floor(capital.code / 10)) : code6
  const years = age.startsWith('4')
    ? Number(age.slice(1))
    : age.startsWith('5')
      ? 100 + Number(age.slice(1))
      : 0
  const isMother = /^(O(?!96)|F53)/.test(cause)
  return {
    ORIGEM: '1',
    TIPOBITO: '2',
    // Planted: a month that does not exist.
    DTOBITO: number % 1999 === 911 ? `0100${year}` : date,
    HORAOBITO: `${twoDigits(Math.floor(chance(slot, 309) * 24))}${twoDigits(slot % 60)}`,
    CODMUNNATU: code6,
    DTNASC: dayText(time - years * YEAR_MS),
    IDADE: age,
    SEXO: number % 1511 === 5 ? '0' : isMan ? '1' : '2',
    RACACOR: RACES[pickShare(RACE_SHARES, chance(slot, 310))] ?? '',
    ESTCIV: years < 18 ? '' : '1',
    OCUP: years < 18 ? '' : '999993',
    // Planted: an unknown municipality of the state.
    CODMUNRES: number % 401 === 7 ? `${town.stateCode}0000` : code6,
    LOCOCOR: place,
    CODESTAB: place === '1' || place === '2' ? String(2_000_000 + (slot % 900_000)) : '',
    CODMUNOCOR: occurrence,
    TPMORTEOCO: isMother ? '2' : '',
    OBITOGRAV: isMother ? '2' : '',
    OBITOPUERP: isMother ? '1' : '',
    LINHAA: '*R092',
    LINHAB: `*${cause.padEnd(4, 'X')}`,
    CAUSABAS: cause,
    CAUSABAS_O: cause,
    CIRCOBITO: circumstanceOf(cause),
    NUMEROLOTE: String(20_000_000 + (slot % 9_000_000)),
    DTCADASTRO: date,
    ATESTADO: `R092/${cause}`,
    STDOEPIDEM: '0',
    CONTADOR: String(number + 1),
  }
}

/** Residents abroad, by country as published (CODMUNRES 900 + country). */
const ABROAD = ['900068', '900126', '900032', '900138'] as const
const ABROAD_DEATHS = 30

/** @returns files of a year: one per state, and one of residents abroad, every tenth row of which is a fetal death */
export function* deathFiles(year: number, context: VitalContext): Generator<VitalFile> {
  const made = [year % 100, 12, 28] as const
  for (const uf of context.states) {
    const { count, rows } = vitalRows(uf, year, DEATH_RATE, 300, context, deathRow)
    yield { name: `DO${uf}${year}.dbf`, chunks: admissionChunks(DEATH_COLUMNS, rows, count, made) }
  }
  const [town] = context.all.filter(({ uf }) => uf === context.states[0])
  if (town === undefined) return
  const place = { capital: town, chance: context.chance }
  const rows = Array.from({ length: ABROAD_DEATHS }, (_, number) => ({
    ...deathRow(year * 100 + number, number, year, town, place),
    CODMUNRES: ABROAD[number % ABROAD.length] ?? '',
    ...(number % 10 === 9 ? { TIPOBITO: '1', IDADE: '', CAUSABAS: 'P964' } : {}),
  }))
  const name = `DOREXT${String(year).slice(2)}.dbf`
  yield { name, chunks: admissionChunks(DEATH_COLUMNS, rows, rows.length, made) }
}

/** Fetal deaths per inhabitant and year: about one for 90 births. */
const FETAL_RATE = 0.00014
const FETAL_CAUSES = ['P95', 'P209', 'P021', 'P022', 'P000', 'P964', 'Q000', 'Q909', 'A509'] as const
const FETAL_CAUSE_SHARES = [0.36, 0.19, 0.12, 0.07, 0.1, 0.03, 0.05, 0.04, 0.04]
/** From under 22 weeks to 42 and more; the last is not informed. */
const GESTATIONS = ['1', '2', '3', '4', '5', '6', '9'] as const
const GESTATION_SHARES = [0.05, 0.24, 0.17, 0.25, 0.24, 0.01, 0.04]
/** Sets the draws of fetal deaths apart from those of the deaths of the same state. */
const FETAL_SLOTS = 700_000

/** @returns the file of the country's fetal deaths of a year; like real files, some have no known sex or length of gestation */
export function fetalFile(year: number, context: VitalContext): VitalFile {
  const ofStates = context.states.map((uf) =>
    vitalRows(uf, year, FETAL_RATE, 310, context, (slot, number, ofYear, town, place) => {
      const row = deathRow(slot + FETAL_SLOTS, number, ofYear, town, place)
      const draw = (purpose: number): number => place.chance(slot + FETAL_SLOTS, purpose)
      const cause = FETAL_CAUSES[pickShare(FETAL_CAUSE_SHARES, draw(311))] ?? 'P95'
      return {
        ...row,
        ...{ TIPOBITO: '1', IDADE: '', DTNASC: row.DTOBITO ?? '', LOCOCOR: draw(314) < 0.94 ? '1' : '3' },
        ...{ CAUSABAS: cause, CAUSABAS_O: cause, LINHAB: `*${cause.padEnd(4, 'X')}`, ATESTADO: cause },
        ...{ CIRCOBITO: '', TPMORTEOCO: '', OBITOGRAV: '', OBITOPUERP: '', ESTCIV: '', OCUP: '' },
        SEXO: draw(312) < 0.05 ? '0' : (row.SEXO ?? '0'),
        GESTACAO: GESTATIONS[pickShare(GESTATION_SHARES, draw(313))] ?? '9',
        IDADEMAE: twoDigits(15 + Math.floor(draw(315) * 30)),
      }
    }),
  )
  function* rows() {
    for (const ofState of ofStates) yield* ofState.rows
  }
  const count = ofStates.reduce((sum, ofState) => sum + ofState.count, 0)
  return {
    name: `DOFET${String(year).slice(2)}.dbf`,
    chunks: admissionChunks(DEATH_COLUMNS, rows(), count, [year % 100, 12, 28]),
  }
}
