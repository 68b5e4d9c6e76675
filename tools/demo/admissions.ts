/**
 * Invents hospital admissions: monthly files by state (RDUFAAMM.dbf) in the published layout of 113 columns, and the tables
 * of SIGTAP and CID-10 with their codes. In: invented facilities, a month, and admissions per inhabitant. Out: bytes of the
 * files. Like real files, they contain continuations of long stays, admissions that ended months before, duplicate rows,
 * values of 0, residents of other states, unknown codes, and personal data in every column that has some.
 */
import { type DbfColumn, dbfHeader, recordBytes } from './dbf.ts'
import { cnesOf, type FacilityPlan, isClosed } from './facilities.ts'
import type { DemoMunicipality } from './geography.ts'
import { type Chance, inventCnpj, inventCpf, pickShare } from './random.ts'
import { pneumoniaFactor, regionOf } from './regions.ts'

const text = (list: string): DbfColumn[] =>
  list.split(' ').map((entry) => {
    const [name = '', type = 'C', width = '1'] = entry.split(':')
    return { name, type: type === 'N' ? 'N' : 'C', width: Number(width) }
  })

export const ADMISSION_COLUMNS: readonly DbfColumn[] = text(
  'UF_ZI:C:6 ANO_CMPT:C:4 MES_CMPT:C:2 ESPEC:C:2 CGC_HOSP:C:14 N_AIH:C:13 IDENT:C:1 CEP:C:8 MUNIC_RES:C:6 NASC:C:8 SEXO:C:1 ' +
    'UTI_MES_IN:N:2 UTI_MES_AN:N:2 UTI_MES_AL:N:2 UTI_MES_TO:N:3 MARCA_UTI:C:2 UTI_INT_IN:N:2 UTI_INT_AN:N:2 UTI_INT_AL:N:2 ' +
    'UTI_INT_TO:N:3 DIAR_ACOM:N:3 QT_DIARIAS:N:3 PROC_SOLIC:C:10 PROC_REA:C:10 VAL_SH:N:13 VAL_SP:N:13 VAL_SADT:N:13 VAL_RN:N:13 ' +
    'VAL_ACOMP:N:13 VAL_ORTP:N:13 VAL_SANGUE:N:13 VAL_SADTSR:N:11 VAL_TRANSP:N:13 VAL_OBSANG:N:11 VAL_PED1AC:N:11 VAL_TOT:N:14 ' +
    'VAL_UTI:N:8 US_TOT:N:10 DT_INTER:C:8 DT_SAIDA:C:8 DIAG_PRINC:C:4 DIAG_SECUN:C:4 COBRANCA:C:2 NATUREZA:C:2 NAT_JUR:C:4 GESTAO:C:1 ' +
    'RUBRICA:N:5 IND_VDRL:C:1 MUNIC_MOV:C:6 COD_IDADE:C:1 IDADE:N:2 DIAS_PERM:N:5 MORTE:N:1 NACIONAL:C:3 NUM_PROC:C:4 CAR_INT:C:2 ' +
    'TOT_PT_SP:N:6 CPF_AUT:C:11 HOMONIMO:C:1 NUM_FILHOS:N:2 INSTRU:C:1 CID_NOTIF:C:4 CONTRACEP1:C:2 CONTRACEP2:C:2 GESTRISCO:C:1 ' +
    'INSC_PN:C:12 SEQ_AIH5:C:3 CBOR:C:6 CNAER:C:3 VINCPREV:C:1 GESTOR_COD:C:5 GESTOR_TP:C:1 GESTOR_CPF:C:15 GESTOR_DT:C:8 CNES:C:7 ' +
    'CNPJ_MANT:C:14 INFEHOSP:C:1 CID_ASSO:C:4 CID_MORTE:C:4 COMPLEX:C:2 FINANC:C:2 FAEC_TP:C:6 REGCT:C:4 RACA_COR:C:2 ETNIA:C:4 ' +
    'SEQUENCIA:N:9 REMESSA:C:21 AUD_JUST:C:50 SIS_JUST:C:50 VAL_SH_FED:N:10 VAL_SP_FED:N:10 VAL_SH_GES:N:10 VAL_SP_GES:N:10 VAL_UCI:N:10 ' +
    'MARCA_UCI:C:2 DIAGSEC1:C:4 DIAGSEC2:C:4 DIAGSEC3:C:4 DIAGSEC4:C:4 DIAGSEC5:C:4 DIAGSEC6:C:4 DIAGSEC7:C:4 DIAGSEC8:C:4 DIAGSEC9:C:1 ' +
    'TPDISEC1:C:1 TPDISEC2:C:1 TPDISEC3:C:1 TPDISEC4:C:1 TPDISEC5:C:1 TPDISEC6:C:1 TPDISEC7:C:1 TPDISEC8:C:1 TPDISEC9:C:1',
)

type Cells = Readonly<Record<string, string>>

const BLANK = 0x20
/** Records per chunk, about 700 KB. */
const CHUNK_RECORDS = 1000

/**
 * Yields a table in chunks, so that memory does not grow with its rows. Numbers are right-aligned; values have two decimals.
 * @param rows cells by column; missing ones are blank or 0
 * @param count number of rows
 */
export function* admissionChunks(
  columns: readonly DbfColumn[],
  rows: Iterable<Cells>,
  count: number,
  made: readonly [number, number, number],
): Generator<Buffer> {
  yield dbfHeader(columns, count, made)
  const size = recordBytes(columns)
  const columnsByName: Record<string, DbfColumn & { readonly start: number }> = {}
  const empty = Buffer.alloc(size, ' ')
  let start = 1
  for (const column of columns) {
    columnsByName[column.name] = { ...column, start }
    const isValue = column.name.startsWith('VAL_') || column.name === 'US_TOT'
    if (column.type === 'N') empty.write((isValue ? '0.00' : '0').padStart(column.width), start, 'latin1')
    start += column.width
  }
  let chunk = Buffer.alloc(0)
  let filled = 0
  for (const row of rows) {
    if (filled === chunk.length) {
      if (filled > 0) yield chunk
      chunk = Buffer.allocUnsafe(size * CHUNK_RECORDS)
      filled = 0
    }
    empty.copy(chunk, filled)
    for (const name in row) {
      const target = columnsByName[name]
      if (target !== undefined) writeCell(chunk, filled + target.start, target, row[name] ?? '')
    }
    filled += size
  }
  yield chunk.subarray(0, filled)
  yield Buffer.from([0x1a])
}

/** Writes letter by letter, because Buffer.write per call is too slow for short cells. */
function writeCell(chunk: Buffer, start: number, { type, width }: DbfColumn, text: string): void {
  const length = Math.min(text.length, width)
  // Blank the cell first: the column's default number may be longer than the row's.
  const begin = type === 'N' ? start + width - length : start
  for (let index = start; index < begin; index += 1) chunk[index] = BLANK
  for (let index = 0; index < length; index += 1) chunk[begin + index] = text.charCodeAt(index)
}

/** @param rows cells by column; missing ones are blank or 0 @returns bytes of the complete table */
export const admissionsDbf = (
  columns: readonly DbfColumn[],
  rows: readonly Cells[],
  made: readonly [number, number, number],
): Buffer => Buffer.concat([...admissionChunks(columns, rows, rows.length, made)])

/** Procedures with diagnoses, usual days, and value in cents. The names are those of SIGTAP. The first diagnosis is the most frequent. */
const PROCEDURES = [
  ['0310010039', 'PARTO NORMAL', 'O800 O809 O801', 2, 44_334],
  ['0411010034', 'OPERAÇÃO CESARIANA', 'O821 O820 O829', 3, 54_573],
  ['0303140151', 'TRATAMENTO DE PNEUMONIAS OU INFLUENZA (GRIPE)', 'J189 J159 J181 J158 J128 J154', 5, 58_244],
  ['0303010223', 'TRATAMENTO DE INFECÇÃO PELO CORONAVIRUS - COVID 19', 'B342', 8, 150_000],
  [
    '0301060088',
    'DIAGNOSTICO E/OU ATENDIMENTO DE URGENCIA EM CLINICA MEDICA',
    'R51 N390 A09 I10 E149 R104 G409',
    1,
    4_424,
  ],
  ['0407030026', 'COLECISTECTOMIA', 'K802 K800 K801', 3, 69_598],
  ['0303060212', 'TRATAMENTO DE INSUFICIENCIA CARDIACA', 'I500 I509 I501', 7, 69_912],
  ['0303170093', 'TRATAMENTO EM PSIQUIATRIA (POR DIA)', 'F200 F192 F312', 30, 5_000],
  ['0415010012', 'TRATAMENTO C/ CIRURGIAS MULTIPLAS', 'S720 S822 S525', 6, 0],
  ['0505020092', 'TRANSPLANTE DE RIM (ORGAO DE DOADOR FALECIDO)', 'N180', 12, 2_747_768],
] as const
/** Codes of RACA_COR and their shares. */
const RACES = ['03', '01', '02', '04', '05', '99'] as const
const RACE_SHARES = [0.46, 0.34, 0.08, 0.015, 0.015, 0.09]
/** Part of the admissions with the first diagnosis of their procedure. */
const FIRST_DIAGNOSIS = 0.5
const SHARES = [0.2, 0.16, 0.16, 0.04, 0.14, 0.1, 0.09, 0.04, 0.06, 0.01]
const [PNEUMONIA, URGENT_CARE, HEART_FAILURE, PSYCHIATRY] = [2, 4, 6, 7]
const MOTHERS = 2
/** Procedures whose diagnoses are mostly those that primary care would avoid. */
const AVOIDABLE: ReadonlySet<number> = new Set([PNEUMONIA, URGENT_CARE, HEART_FAILURE])
const DAY_MS = 86_400_000

export interface AdmissionContext {
  readonly plan: FacilityPlan
  readonly all: readonly DemoMunicipality[]
  readonly chance: Chance
  /** Admissions per month and inhabitant of the state. */
  readonly rate: number
  /** Regions differ and months have seasons (regions.ts). */
  readonly hasRegions?: boolean
}

/** @returns the weight of each procedure, which add up to about 1 in the mean of the country */
function weightsOf(uf: string, period: number): number[] {
  const { admissions, avoidable } = regionOf(uf)
  return SHARES.map((share, kind) => {
    const season = kind === PNEUMONIA ? pneumoniaFactor(uf, period % 100) : 1
    return share * admissions * season * (AVOIDABLE.has(kind) ? avoidable : 1)
  })
}

/** A month and the states with published admissions; the newest month of a state can come late. */
export interface PublishedAdmissions {
  readonly period: number
  readonly states: readonly string[]
}

export interface AdmissionFile {
  readonly name: string
  readonly chunks: Iterable<Buffer>
}

/** @returns files of a month; a state without a hospital has none */
export function* admissionFiles(
  { period, states }: PublishedAdmissions,
  age: number,
  context: AdmissionContext,
): Generator<AdmissionFile> {
  const made = [Math.floor(period / 100) % 100, period % 100, 28] as const
  for (const uf of states) {
    const { count, rows } = admissionRows(uf, period, age, context)
    const name = `RD${uf}${String(period).slice(2)}.dbf`
    if (count > 0) yield { name, chunks: admissionChunks(ADMISSION_COLUMNS, rows, count, made) }
  }
}

const cents = (value: number): string => {
  const digits = String(value).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Caches dates by day since 1970, because formatting one takes a tenth of the time of a row. */
const DATES = new Map<number, string>()
function dateText(time: number): string {
  const day = Math.floor(time / DAY_MS)
  const cached = DATES.get(day) ?? new Date(time).toISOString().slice(0, 10).replaceAll('-', '')
  DATES.set(day, cached)
  return cached
}

const REPEATED_EVERY = 97
const REPEATED_AT = 11

/** @returns rows of a state's month in file order, and their number */
export function admissionRows(
  uf: string,
  period: number,
  age: number,
  context: AdmissionContext,
): { readonly count: number; readonly rows: Iterable<Cells> } {
  const { plan, all, rate, hasRegions = false } = context
  const towns = all.filter((town) => town.uf === uf)
  const hospitals: number[] = []
  for (let index = 0; index < plan.count; index += 1)
    if (plan.isHospital[index] === 1 && all[plan.place[index] ?? 0]?.uf === uf && !isClosed(plan, index, age))
      hospitals.push(index)
  if (hospitals.length === 0) return { count: 0, rows: [] }
  const inhabitants = towns.reduce((sum, { census }) => sum + (census ?? 0), 0)
  const weights = hasRegions ? weightsOf(uf, period) : SHARES
  const weight = hasRegions ? weights.reduce((sum, one) => sum + one, 0) : 1
  const shares = hasRegions ? weights.map((one) => one / weight) : weights
  const wanted = Math.max(40, Math.round(inhabitants * rate * weight))
  const stateCode = towns[0]?.stateCode ?? 0
  const homes = new Homes(towns, all)
  function* rows(): Generator<Cells> {
    for (let number = 0; number < wanted; number += 1) {
      // Slots are distinct per month and state. Only the largest states overlap with the next month.
      const slot = (stateCode * 1200 + (period % 1200)) * 200_003 + number
      const row = admissionRow(slot, number, period, hospitals, stateCode, homes, { ...context, shares })
      yield row
      // Published twice: both rows count.
      if (number % REPEATED_EVERY === REPEATED_AT) yield row
    }
  }
  const repeated = Math.floor((wanted - 1 - REPEATED_AT + REPEATED_EVERY) / REPEATED_EVERY)
  return { count: wanted + repeated, rows: { [Symbol.iterator]: rows } }
}

const CNPJS = new Map<number, string>()
function cnpjOf(hospital: number): string {
  const cached = CNPJS.get(hospital) ?? inventCnpj(hospital)
  CNPJS.set(hospital, cached)
  return cached
}

/** Number of invented persons, whose CPFs are cached because check digits are slow to compute. */
const PERSONS = 9973
const CPFS = new Map<number, string>()
function cpfOf(person: number): string {
  const cached = CPFS.get(person) ?? inventCpf(person * 90_011 + 7)
  CPFS.set(person, cached)
  return cached
}

/** Towns that a hospital's town is within this many places of, in the order of codes, are about its health region. */
const NEIGHBOURS = 6

/** Draws where the patients of a town's hospitals live: most there, some around it, and those of a capital in the state and beyond. */
class Homes {
  readonly #towns: readonly DemoMunicipality[]
  readonly #all: readonly DemoMunicipality[]
  readonly #positions: ReadonlyMap<number, number>
  readonly #capital: DemoMunicipality | undefined

  constructor(towns: readonly DemoMunicipality[], all: readonly DemoMunicipality[]) {
    this.#towns = towns
    this.#all = all
    this.#positions = new Map(towns.map(({ code }, position) => [code, position]))
    this.#capital = [...towns].sort((left, right) => (right.census ?? 0) - (left.census ?? 0))[0]
  }

  /** @param distance below 1: the smaller, the farther from the hospital; @param place below 1: which town */
  pick(hospital: DemoMunicipality, distance: number, place: number): DemoMunicipality {
    const isCapital = hospital.code === this.#capital?.code
    if (isCapital && distance < 0.02) return this.#all[Math.floor(place * this.#all.length)] ?? hospital
    if (isCapital && distance < 0.12) return this.#towns[Math.floor(place * this.#towns.length)] ?? hospital
    if (distance > 0.3) return hospital
    const offset = Math.floor(place * (2 * NEIGHBOURS + 1)) - NEIGHBOURS
    return this.#towns[(this.#positions.get(hospital.code) ?? 0) + offset] ?? hospital
  }
}

function admissionRow(
  slot: number,
  number: number,
  period: number,
  hospitals: readonly number[],
  stateCode: number,
  homes: Homes,
  { plan, all, chance, shares }: AdmissionContext & { readonly shares: readonly number[] },
): Cells {
  const kind = pickShare(shares, chance(slot, 201))
  const [procedure, , diagnoses, usualDays, usualValue] = PROCEDURES[kind] ?? PROCEDURES[0]
  const [usualDiagnosis = '', ...otherDiagnoses] = diagnoses.split(' ')
  const diagnosis =
    otherDiagnoses.length === 0 || chance(slot, 218) < FIRST_DIAGNOSIS
      ? usualDiagnosis
      : (otherDiagnoses[Math.floor(chance(slot, 219) * otherDiagnoses.length)] ?? usualDiagnosis)
  const hospital = hospitals[Math.floor(chance(slot, 202) ** 2 * hospitals.length)] ?? 0
  const town = all[plan.place[hospital] ?? 0]
  const isMother = kind < MOTHERS
  const isContinued = kind === PSYCHIATRY && chance(slot, 203) < 0.5
  const [year, month] = [Math.floor(period / 100), period % 100]
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const endOfMonth = Date.UTC(year, month - 1, lastDay)
  // A third of the admissions ended in earlier months and were presented late.
  const late = chance(slot, 204) < 0.35 ? Math.ceil(chance(slot, 205) * 120) : 0
  const days = isContinued ? lastDay : Math.round(usualDays * (0.4 + chance(slot, 206) * 1.4))
  const discharge = isContinued
    ? endOfMonth
    : endOfMonth - (Math.floor(chance(slot, 207) * lastDay) + late) * DAY_MS
  const isSex = chance(slot, 208)
  const years = isMother
    ? 14 + Math.floor(chance(slot, 209) * 30)
    : Math.floor(chance(slot, 209) ** 1.3 * 104)
  const isDead = !isMother && !isContinued && chance(slot, 210) < 0.045
  const icu = !isMother && chance(slot, 211) < 0.06 ? Math.ceil(days * chance(slot, 212)) : 0
  const hospitalCents = Math.round(usualValue * (0.6 + chance(slot, 213) * 0.2)) + icu * 47_872
  const professionalCents = Math.round(usualValue * 0.22)
  const state = chance(slot, 214) < 0.04 ? Math.round(usualValue * 0.05) : 0
  const residence = town === undefined ? undefined : homes.pick(town, chance(slot, 215), chance(slot, 216))
  // Planted: an unknown municipality, and one of no state.
  const residenceCode =
    number % 151 === 7
      ? `${stateCode}0000`
      : number % 307 === 8
        ? '999999'
        : String(Math.floor((residence?.code ?? 0) / 10))
  const person = cpfOf(slot % PERSONS)
  return {
    UF_ZI: `${stateCode}0000`,
    ANO_CMPT: String(year),
    MES_CMPT: String(month).padStart(2, '0'),
    ESPEC: '03',
    CGC_HOSP: cnpjOf(hospital),
    N_AIH: String(stateCode * 10 ** 11 + (slot % 10 ** 10)).slice(0, 13),
    IDENT: isContinued ? '5' : '1',
    CEP: String(69_000_000 + (slot % 900_000)),
    MUNIC_RES: residenceCode,
    NASC: dateText(discharge - years * 365.25 * DAY_MS),
    SEXO: number % 211 === 5 ? '0' : isMother || isSex < 0.5 ? '3' : '1',
    UTI_MES_TO: String(icu),
    QT_DIARIAS: String(Math.max(1, days)),
    PROC_SOLIC: procedure,
    PROC_REA: procedure,
    VAL_SH: cents(hospitalCents),
    VAL_SP: cents(professionalCents),
    VAL_SH_GES: cents(state),
    VAL_TOT: cents(hospitalCents + professionalCents + state),
    VAL_UTI: cents(icu * 47_872),
    DT_INTER: dateText(discharge - days * DAY_MS),
    DT_SAIDA: dateText(discharge),
    DIAG_PRINC: diagnosis,
    COBRANCA: isContinued ? '21' : isDead ? '41' : '12',
    NATUREZA: '00',
    NAT_JUR: '1023',
    GESTAO: '2',
    MUNIC_MOV: String(Math.floor((town?.code ?? 0) / 10)),
    COD_IDADE: years >= 100 ? '5' : years === 0 ? '3' : '4',
    IDADE: String(years >= 100 ? years - 100 : years === 0 ? 1 + (slot % 11) : years),
    DIAS_PERM: String(days),
    MORTE: isDead ? '1' : '0',
    CAR_INT: isMother || chance(slot, 217) < 0.75 ? '02' : '01',
    CPF_AUT: person,
    INSC_PN: isMother ? String(10 ** 11 + (slot % 10 ** 10)) : '',
    SEQ_AIH5: isContinued ? '001' : '000',
    GESTOR_CPF: `0000${person}`,
    CNES: cnesOf(plan, hospital),
    COMPLEX: procedure.startsWith('05') ? '03' : '02',
    FINANC: procedure.startsWith('05') ? '04' : '06',
    RACA_COR: RACES[pickShare(RACE_SHARES, chance(slot, 220))] ?? '99',
    SEQUENCIA: String(number + 1),
    REMESSA: `HE${stateCode}0000001N${period}.DTS`,
    AUD_JUST: number % 50 === 3 ? `Conferido por ${person}` : '',
  }
}

const GROUPS = [
  ['03', 'Procedimentos clínicos'],
  ['04', 'Procedimentos cirúrgicos'],
  ['05', 'Transplantes de orgãos, tecidos e células'],
] as const
const SUBGROUPS = [
  ['0301', 'Consultas / Atendimentos / Acompanhamentos'],
  ['0303', 'Tratamentos clínicos (outras especialidades)'],
  ['0310', 'Parto e nascimento'],
  ['0407', 'Cirurgia do aparelho digestivo, orgãos anexos e parede abdominal'],
  ['0411', 'Cirurgia obstétrica'],
  ['0415', 'Outras cirurgias'],
  ['0505', 'Transplante de orgãos, tecidos e células'],
] as const
const FORMS = [
  ['030101', 'Consultas médicas/outros profissionais de nível superior'],
  ['030106', 'Consulta/Atendimento às urgências (em geral)'],
  ['030301', 'Tratamento de doenças infecciosas e parasitárias'],
  ['030306', 'Tratamento de doenças cardiovasculares'],
  ['030314', 'Tratamento de doenças do ouvido/apófise mastóide e vias aéreas'],
  ['030317', 'Tratamento dos transtornos mentais e comportamentais'],
  ['031001', 'Parto e nascimento'],
  ['040703', 'Pâncreas, baço, fígado e vias biliares'],
  ['041101', 'Parto'],
  ['041501', 'Múltiplas'],
  ['050502', 'Transplante de orgãos, tecidos e células'],
] as const
const CATEGORIES = [
  ['A09', 'Diarréia e gastroenterite de origem infecciosa presumível'],
  ['B34', 'Doenças por vírus, de localização não especificada'],
  ['E14', 'Diabetes mellitus não especificado'],
  ['F19', 'Transtornos mentais e comportamentais devidos ao uso de múltiplas drogas'],
  ['F20', 'Esquizofrenia'],
  ['F31', 'Transtorno afetivo bipolar'],
  ['G40', 'Epilepsia'],
  ['I10', 'Hipertensão essencial (primária)'],
  ['I50', 'Insuficiência cardíaca'],
  ['J12', 'Pneumonia viral não classificada em outra parte'],
  ['J15', 'Pneumonia bacteriana não classificada em outra parte'],
  ['J18', 'Pneumonia por microorganismo não especificada'],
  ['K80', 'Colelitíase'],
  ['N18', 'Insuficiência renal crônica'],
  ['N39', 'Outros transtornos do trato urinário'],
  ['O80', 'Parto único espontâneo'],
  ['O82', 'Parto único por cesariana'],
  ['R10', 'Dor abdominal e pélvica'],
  ['R51', 'Cefaléia'],
  ['S52', 'Fratura do antebraço'],
  ['S72', 'Fratura do fêmur'],
  ['S82', 'Fratura da perna, incluindo tornozelo'],
] as const

type Named = readonly (readonly string[])[]
/** Additional codes for the tables of SIGTAP. */
export interface MoreCodes {
  readonly groups: Named
  readonly subgroups: Named
  readonly forms: Named
  readonly procedures: Named
}
const NO_MORE: MoreCodes = { groups: [], subgroups: [], forms: [], procedures: [] }

/** Tables of SIGTAP with their layouts, and of CID-10, with the codes of the demonstration. */
export function admissionTables(
  period: number,
  moreCodes: MoreCodes = NO_MORE,
): (readonly [name: string, bytes: Buffer])[] {
  const merge = (codes: Named, others: Named): Named =>
    [...codes, ...others].sort(([left = ''], [right = '']) => (left < right ? -1 : 1))
  const layout = (lines: readonly string[]): string =>
    `${['Coluna,Tamanho,Inicio,Fim,Tipo', ...lines].join('\r\n')}\r\n`
  const lines = (rows: readonly string[]): string => `${rows.join('\r\n')}\r\n`
  const files: readonly (readonly [string, string])[] = [
    [
      'tb_grupo.txt',
      lines(
        merge(GROUPS, moreCodes.groups).map(([code, name = '']) => `${code}${name.padEnd(100)}${period}`),
      ),
    ],
    [
      'tb_grupo_layout.txt',
      layout(['CO_GRUPO,2,1,2,VARCHAR2', 'NO_GRUPO,100,3,102,VARCHAR2', 'DT_COMPETENCIA,6,103,108,CHAR']),
    ],
    [
      'tb_sub_grupo.txt',
      lines(
        merge(SUBGROUPS, moreCodes.subgroups).map(
          ([code, name = '']) => `${code}${name.padEnd(100)}${period}`,
        ),
      ),
    ],
    [
      'tb_sub_grupo_layout.txt',
      layout([
        'CO_GRUPO,2,1,2,VARCHAR2',
        'CO_SUB_GRUPO,2,3,4,VARCHAR2',
        'NO_SUB_GRUPO,100,5,104,VARCHAR2',
        'DT_COMPETENCIA,6,105,110,CHAR',
      ]),
    ],
    [
      'tb_forma_organizacao.txt',
      lines(merge(FORMS, moreCodes.forms).map(([code, name = '']) => `${code}${name.padEnd(100)}${period}`)),
    ],
    [
      'tb_forma_organizacao_layout.txt',
      layout([
        'CO_GRUPO,2,1,2,VARCHAR2',
        'CO_SUB_GRUPO,2,3,4,VARCHAR2',
        'CO_FORMA_ORGANIZACAO,2,5,6,VARCHAR2',
        'NO_FORMA_ORGANIZACAO,100,7,106,VARCHAR2',
        'DT_COMPETENCIA,6,107,112,CHAR',
      ]),
    ],
    [
      'tb_procedimento.txt',
      lines(
        merge(
          PROCEDURES.map(([code, name]) => [code, name]),
          moreCodes.procedures,
        ).map(([code, name = '']) => `${code}${name.padEnd(250)}${'2'.padEnd(70)}${period}`),
      ),
    ],
    [
      'tb_procedimento_layout.txt',
      layout(['CO_PROCEDIMENTO,10,1,10,VARCHAR2', 'NO_PROCEDIMENTO,250,11,260,VARCHAR2']),
    ],
    [
      'CID-10-CATEGORIAS.CSV',
      lines([
        'LETRA;NÚMERO;CLASSIF;DESCRICAO;DESCRABREV;REFER',
        ...CATEGORIES.map(
          ([code, name]) => `${code[0]};${Number(code.slice(1))};;${name};${code}   ${name};`,
        ),
      ]),
    ],
  ]
  return files.map(([name, content]) => [name, Buffer.from(content, 'latin1')])
}
