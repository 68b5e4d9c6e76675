/**
 * Invents facilities: a plan of typed arrays with one slot per facility, and the published row of each for a month. In:
 * municipalities, a number, and chance. Out: CSV rows of tbEstabelecimento with the defects of real months: closed
 * facilities, padded codes, CPFs, invalid coordinates, unknown municipalities, administrative regions.
 */
import type { DemoMunicipality } from './geography.ts'
import { municipalSeats } from './mesh.ts'
import { type Chance, inventCnpj, inventCpf, pickShare } from './random.ts'

/** Types and their shares. Half of the registry is isolated consulting rooms. */
const TYPES = [
  '22',
  '36',
  '02',
  '39',
  '43',
  '01',
  '05',
  '70',
  '73',
  '07',
  '15',
  '62',
  '20',
  '04',
  '40',
] as const
const TYPE_SHARES = [
  0.494, 0.14, 0.09, 0.07, 0.08, 0.03, 0.0105, 0.03, 0.008, 0.002, 0.002, 0.0015, 0.001, 0.011, 0.03,
]
const HOSPITAL_TYPES: ReadonlySet<string> = new Set(['05', '07', '15', '62', '20', '73'])
const NATURES = ['2062', '1244', '2240', '3999', '1031', '1023', '2135'] as const
const NATURE_SHARES = [0.5, 0.2, 0.1, 0.08, 0.07, 0.03, 0.02]
const CLOSING = ['08', '04', '05', '01', '10', '06', '02'] as const
const CLOSING_SHARES = [0.36, 0.2, 0.15, 0.1, 0.09, 0.06, 0.04]
const PLACES = [
  'São Luís',
  'Água Branca',
  'Conceição',
  'Esperança',
  'Santa Inês',
  'Três Irmãos',
  'Jardim Amália',
  'Açaí',
  'Boa Vista',
] as const
const KINDS: Readonly<Record<string, string>> = {
  '22': 'Consultório',
  '36': 'Clínica',
  '02': 'Unidade Básica',
  '39': 'Laboratório',
  '43': 'Farmácia',
  '01': 'Posto de Saúde',
  '05': 'Hospital',
  '73': 'Pronto Atendimento',
  '07': 'Hospital Especializado',
}
const CNES_MODULUS = 9_999_991 // the largest prime of seven digits: index → code is one to one
/** Degrees between a seat and the farthest facility around it. */
const SPREAD = 0.04
const REGIONS = [530020, 530030, 530040, 530050, 530060, 530070]

export interface FacilityPlan {
  readonly count: number
  readonly cnes: Int32Array
  /** Index in the municipality list. */
  readonly place: Int16Array
  /** Index in TYPES. */
  readonly type: Uint8Array
  /** Months before the newest (0) at which it closed; 127: longer ago; −1: open. */
  readonly closed: Int8Array
  readonly legalPerson: Uint8Array
  readonly isHospital: Uint8Array
  /** Coordinates of each municipality's seat, in degrees; null where seats.csv lacks it. */
  readonly seats: readonly (readonly [latitude: number, longitude: number] | null)[]
  /** The big hospital that closes in the newest month. */
  readonly closingHospital: number
}

/** @param places municipalities that have facilities; shares follow their population */
export function planFacilities(
  all: readonly DemoMunicipality[],
  ufs: ReadonlySet<string> | null,
  count: number,
  chance: Chance,
): FacilityPlan {
  const cnes = new Int32Array(count)
  const place = new Int16Array(count)
  const type = new Uint8Array(count)
  const closed = new Int8Array(count).fill(-1)
  const legalPerson = new Uint8Array(count)
  const isHospital = new Uint8Array(count)
  const towns = all
    .map((town, position) => ({ town, position }))
    .filter(({ town }) => ufs === null || ufs.has(town.uf))
  const population = towns.reduce((sum, { town }) => sum + (town.census ?? 5000), 0)
  let index = 0
  let seen = 0
  let closingHospital = -1
  for (const { town, position } of towns) {
    seen += town.census ?? 5000
    const last = Math.max(Math.round((count * seen) / population), Math.min(index + 1, count))
    const hasHospital = (town.census ?? 0) > 40_000 || chance(town.code, 20) < 0.45
    for (; index < last && index < count; index += 1) {
      cnes[index] = (((index + 1) * 7_919) % CNES_MODULUS) + 1
      place[index] = position
      let kind = pickShare(TYPE_SHARES, chance(index, 21))
      if (HOSPITAL_TYPES.has(TYPES[kind] ?? '') && !hasHospital) kind = 2
      type[index] = kind
      isHospital[index] = HOSPITAL_TYPES.has(TYPES[kind] ?? '') ? 1 : 0
      const isRoom = TYPES[kind] === '22'
      legalPerson[index] = !isRoom || chance(index, 22) < 0.42 ? 1 : 0
      const fate = chance(index, 23)
      if (fate < 0.239) closed[index] = 127
      else if (fate < 0.245) closed[index] = Math.floor(chance(index, 24) * 24)
      if (closingHospital < 0 && isHospital[index] === 1 && TYPES[kind] === '05') closingHospital = index
    }
  }
  if (closingHospital >= 0) closed[closingHospital] = 0
  const seatOf = municipalSeats()
  const seats = all.map(({ code }) => seatOf.get(code) ?? null)
  return { count, cnes, place, type, closed, legalPerson, isHospital, seats, closingHospital }
}

/** @param age months before the newest; @returns whether the facility has a reason of closing then */
export const isClosed = (plan: FacilityPlan, index: number, age: number): boolean => {
  const since = plan.closed[index] ?? -1
  return since === 127 || (since >= 0 && since >= age)
}

export const cnesOf = (plan: FacilityPlan, index: number): string => String(plan.cnes[index]).padStart(7, '0')
/** CO_UNIDADE: six digits of the municipality, then the CNES code. */
export const unitOf = (plan: FacilityPlan, all: readonly DemoMunicipality[], index: number): string =>
  `${Math.floor((all[plan.place[index] ?? 0]?.code ?? 0) / 10)}${cnesOf(plan, index)}`

/** Published column order. Real exports name the date columns in either way. */
export const FACILITY_HEADER = (dates: 'sql' | 'plain'): string[] => {
  const date = (column: string): string => (dates === 'sql' ? `TO_CHAR(${column},'DD/MM/YYYY')` : column)
  return [
    'CO_UNIDADE',
    'CO_CNES',
    'NU_CNPJ_MANTENEDORA',
    'TP_PFPJ',
    'NIVEL_DEP',
    'NO_RAZAO_SOCIAL',
    'NO_FANTASIA',
    'NO_LOGRADOURO',
    'NU_ENDERECO',
    'NO_COMPLEMENTO',
    'NO_BAIRRO',
    'CO_CEP',
    'CO_REGIAO_SAUDE',
    'CO_MICRO_REGIAO',
    'CO_DISTRITO_SANITARIO',
    'CO_DISTRITO_ADMINISTRATIVO',
    'NU_TELEFONE',
    'NU_FAX',
    'NO_EMAIL',
    'NU_CPF',
    'NU_CNPJ',
    'CO_ATIVIDADE',
    'CO_CLIENTELA',
    'NU_ALVARA',
    'DT_EXPEDICAO',
    'TP_ORGAO_EXPEDIDOR',
    'DT_VAL_LIC_SANI',
    'TP_LIC_SANI',
    'TP_UNIDADE',
    'CO_TURNO_ATENDIMENTO',
    'CO_ESTADO_GESTOR',
    'CO_MUNICIPIO_GESTOR',
    date('DT_ATUALIZACAO'),
    'CO_USUARIO',
    'CO_CPFDIRETORCLN',
    'REG_DIRETORCLN',
    'ST_ADESAO_FILANTROP',
    'CO_MOTIVO_DESAB',
    'NO_URL',
    'NU_LATITUDE',
    'NU_LONGITUDE',
    date('DT_ATU_GEO'),
    'NO_USUARIO_GEO',
    'CO_NATUREZA_JUR',
    'TP_ESTAB_SEMPRE_ABERTO',
    'ST_GERACREDITO_GERENTE_SGIF',
    'ST_CONEXAO_INTERNET',
    'CO_TIPO_UNIDADE',
    'NO_FANTASIA_ABREV',
    'TP_GESTAO',
    date('DT_ATUALIZACAO_ORIGEM'),
    'CO_TIPO_ESTABELECIMENTO',
    'CO_ATIVIDADE_PRINCIPAL',
    'ST_CONTRATO_FORMALIZADO',
    'CO_TIPO_ABRANGENCIA',
    'ST_COWORKING',
  ]
}

/** @returns one published row; @param variant suffix of the trade name, for the planted duplicate */
export function facilityRow(
  plan: FacilityPlan,
  all: readonly DemoMunicipality[],
  index: number,
  age: number,
  chance: Chance,
  variant = '',
): string {
  const town = all[plan.place[index] ?? 0]
  const code6 = Math.floor((town?.code ?? 0) / 10)
  const legal = plan.legalPerson[index] === 1
  const kind = TYPES[plan.type[index] ?? 0] ?? '22'
  const number = String(index + 1).padStart(6, '0')
  const placeName = PLACES[index % PLACES.length] ?? ''
  const tradeName = `${KINDS[kind] ?? 'Estabelecimento'} Demonstração ${placeName} ${number}${variant}`
  const name = tradePattern(index, tradeName)
  const maintained = chance(index, 30) < 0.205
  const cnpj = legal ? inventCnpj(index) : ''
  const cpf = inventCpf(index * 7 + 1)
  // A micro-entrepreneur's legal name ends in the owner's CPF, which the importer must remove.
  const legalName = legal
    ? index % 997 === 5
      ? `Pessoa Demonstrativa ${number} ${cpf}`
      : `${tradeName} Ltda`
    : `Pessoa Demonstrativa ${number}`
  const closed = isClosed(plan, index, age)
  const reason = closed ? (CLOSING[pickShare(CLOSING_SHARES, chance(index, 31))] ?? '08') : ''
  const municipality =
    index % 4001 === 17
      ? town?.stateCode === 53
        ? '530020'
        : `${town?.stateCode}0000`
      : town?.stateCode === 53
        ? String(chance(index, 32) < 0.4 ? 530010 : REGIONS[index % REGIONS.length])
        : String(code6)
  const [latitude, longitude] = coordinates(plan, index, chance)
  const day = String(1 + Math.floor(chance(index, 33) * 28)).padStart(2, '0')
  const month = String(1 + Math.floor(chance(index, 34) * 12)).padStart(2, '0')
  const updated =
    index % 5003 === 11 ? '01/01/1899' : `${day}/${month}/${2018 + Math.floor(chance(index, 35) * 6)}`
  const phone =
    index % 5 === 0
      ? ''
      : index % 53 === 1
        ? '( )'
        : `(${11 + (index % 80)})9${String(10_000_000 + ((index * 37) % 89_999_999))}`
  const nature = legal ? (NATURES[pickShare(NATURE_SHARES, chance(index, 36))] ?? '2062') : '4000'
  const management = index % 22 === 3 ? 'E' : index % 211 === 4 ? 'D' : index % 1501 === 6 ? 'S' : 'M'
  const padding = index % 3 === 0 ? '   ' : ''
  return [
    `${code6}${cnesOf(plan, index)}`,
    cnesOf(plan, index),
    maintained ? inventCnpj(index % 9908) : '',
    legal ? '3' : '1',
    maintained ? '3' : '1',
    legalName,
    name,
    `Rua Demonstração ${index % 900}`,
    index % 8 === 0 ? 'S/N' : String(1 + (index % 3000)),
    index % 2 === 0 ? '' : 'Sala 2; fundos',
    index % 3 === 0 ? 'Centro' : 'Vila Fictícia',
    String(10_000_000 + ((index * 13) % 89_999_999)),
    index % 2 === 0 ? '' : '001',
    '',
    '',
    '',
    phone,
    '',
    index % 2 === 0 ? '' : `contato${number}@example.invalid`,
    legal ? '' : cpf,
    cnpj,
    index % 80 === 0 ? '02' : '04',
    index % 2 === 0 ? '03' : '01',
    '',
    '',
    '',
    '',
    '',
    `${kind}${padding}`,
    index % 4 === 0 ? '06' : '03',
    String(town?.stateCode ?? ''),
    municipality,
    updated,
    'USUARIO.DEMO',
    cpf,
    '',
    '',
    reason,
    '',
    latitude,
    longitude,
    updated,
    'USUARIO.GEO',
    nature,
    index % 12 === 0 ? 'S' : 'N',
    '',
    index % 7 === 0 ? 'N' : 'S',
    '',
    '',
    management,
    updated,
    index % 13 === 0 ? '' : '016',
    index % 13 === 0 ? '' : '001',
    index % 3 === 0 ? 'N' : '',
    index % 10 === 0 ? '03' : '',
    index % 3 === 0 ? 'N' : '',
  ].join('";"')
}

/** A few names contain special text: quotes, a separator, a formula. */
const tradePattern = (index: number, name: string): string =>
  index % 2003 === 9
    ? `${name} ""Anexo""`
    : index % 2003 === 10
      ? `${name}; Bloco B`
      : index % 2003 === 12
        ? `=${name}`
        : name

/**
 * Most points lie around the seat of their municipality, more of them near it. Every thirtieth lies anywhere in the
 * country, like facilities that moved or were mistyped. Some cells are empty, contain a word or a comma, lack the sign, or lie in another country.
 */
function coordinates(plan: FacilityPlan, index: number, chance: Chance): [string, string] {
  if (index % 10 === 7) return ['', '']
  if (index % 1999 === 3) return ['undefined', 'undefined']
  const seat = index % 30 === 11 ? null : plan.seats[plan.place[index] ?? 0]
  const [latitude, longitude] = (
    seat === null || seat === undefined
      ? [-30 + chance(index, 40) * 32, -70 + chance(index, 41) * 34]
      : [
          seat[0] + SPREAD * (chance(index, 40) + chance(index, 42) - 1),
          seat[1] + SPREAD * (chance(index, 41) + chance(index, 43) - 1),
        ]
  ).map((degrees) => degrees.toFixed(6)) as [string, string]
  if (index % 701 === 2) return [latitude.replace('.', ','), longitude.replace('.', ',')]
  if (index % 1301 === 4) return [latitude, longitude.replace('-', '')]
  if (index % 1709 === 6) return ['48.8566', '2.3522']
  return [latitude, longitude]
}
