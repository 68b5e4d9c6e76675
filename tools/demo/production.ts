/**
 * Invents outpatient production: monthly files by state (PAUFAAMM.dbf; for large states PAUFAAMMa.dbf, b …) in the published
 * layout of 60 columns. In: invented facilities, a month, and rows per inhabitant. Out: files as chunks of bytes, so that
 * millions of rows are never in memory. Like real files, they contain duplicate rows, file parts, months of care before the
 * month of processing, local complements to procedures without a price, quantities of pills, rows that were rejected or
 * partly approved, unknown residents, a procedure missing in the table, and personal data in every column that has some.
 */
import { admissionChunks } from './admissions.ts'
import type { DbfColumn } from './dbf.ts'
import { cnesOf, type FacilityPlan, isClosed } from './facilities.ts'
import type { DemoMunicipality } from './geography.ts'
import { type Chance, inventCnpj, inventCpf, pickShare } from './random.ts'

export const PRODUCTION_COLUMNS: readonly DbfColumn[] = (
  'PA_CODUNI:7 PA_GESTAO:6 PA_CONDIC:2 PA_UFMUN:6 PA_REGCT:4 PA_INCOUT:4 PA_INCURG:4 PA_TPUPS:2 PA_TIPPRE:2 PA_MN_IND:1 PA_CNPJCPF:14 ' +
  'PA_CNPJMNT:14 PA_CNPJ_CC:14 PA_MVM:6 PA_CMP:6 PA_PROC_ID:10 PA_TPFIN:2 PA_SUBFIN:4 PA_NIVCPL:1 PA_DOCORIG:1 PA_AUTORIZ:13 ' +
  'PA_CNSMED:15 PA_CBOCOD:6 PA_MOTSAI:2 PA_OBITO:1 PA_ENCERR:1 PA_PERMAN:1 PA_ALTA:1 PA_TRANSF:1 PA_CIDPRI:4 PA_CIDSEC:4 PA_CIDCAS:4 ' +
  'PA_CATEND:2 PA_IDADE:3 IDADEMIN:3 IDADEMAX:3 PA_FLIDADE:1 PA_SEXO:1 PA_RACACOR:2 PA_MUNPCN:6 PA_QTDPRO:N11 PA_QTDAPR:N11 ' +
  'PA_VALPRO:N20 PA_VALAPR:N20 PA_UFDIF:1 PA_MNDIF:1 PA_DIF_VAL:N20 NU_VPA_TOT:N20 NU_PA_TOT:N20 PA_INDICA:1 PA_CODOCO:1 PA_FLQT:1 ' +
  'PA_FLER:1 PA_ETNIA:4 PA_VL_CF:N20 PA_VL_CL:N20 PA_VL_INC:N20 PA_SRV_C:6 PA_INE:10 PA_NAT_JUR:4'
)
  .split(' ')
  .map((entry) => {
    const [name = '', shape = '1'] = entry.split(':')
    return shape.startsWith('N')
      ? { name, type: 'N', width: Number(shape.slice(1)) }
      : { name, type: 'C', width: Number(shape) }
  })

export type ProductionCells = Readonly<Record<string, string>>

interface Procedure {
  readonly code: string
  /** Name in SIGTAP; null when the month's table lacks it. */
  readonly name: string | null
  readonly instrument: string
  readonly financing: string
  readonly complexity: string
  /** Price of one, in cents. */
  readonly price: number
  /** Local complement for one, in cents. */
  readonly complement: number
  readonly usual: number
  readonly share: number
}
const procedure = (
  code: string,
  name: string | null,
  [instrument = '', financing = '', complexity = '']: readonly string[],
  [price = 0, complement = 0, usual = 1, share = 0]: readonly number[],
): Procedure => ({ code, name, instrument, financing, complexity, price, complement, usual, share })

/** Names are those of SIGTAP; prices are similar to its. */
const PROCEDURES: readonly Procedure[] = [
  procedure(
    '0301010048',
    'CONSULTA DE PROFISSIONAIS DE NIVEL SUPERIOR NA ATENÇÃO ESPECIALIZADA (EXCETO MÉDICO)',
    ['I', '06', '2'],
    [630, 0, 1, 0.2],
  ),
  procedure('0301060118', 'ACOLHIMENTO COM CLASSIFICAÇÃO DE RISCO', ['I', '06', '2'], [0, 1000, 1, 0.16]),
  procedure('0206020031', 'TOMOGRAFIA COMPUTADORIZADA DE TORAX', ['I', '06', '3'], [13_641, 0, 1, 0.08]),
  procedure(
    '0301080208',
    'ATENDIMENTO INDIVIDUAL DE PACIENTE EM CENTRO DE ATENÇÃO PSICOSSOCIAL',
    ['B', '06', '2'],
    [0, 0, 2, 0.06],
  ),
  procedure(
    '0301100012',
    'ADMINISTRACAO DE MEDICAMENTOS NA ATENCAO ESPECIALIZADA.',
    ['C', '06', '2'],
    [63, 0, 900, 0.12],
  ),
  procedure('0202020380', 'HEMOGRAMA COMPLETO', ['C', '06', '2'], [411, 0, 400, 0.12]),
  procedure(
    '0101030010',
    'VISITA DOMICILIAR POR PROFISSIONAL DE NÍVEL MÉDIO',
    ['C', '01', '1'],
    [0, 0, 300, 0.08],
  ),
  procedure(
    '0305010107',
    'HEMODIÁLISE (MÁXIMO 3 SESSÕES POR SEMANA)',
    ['P', '04', '3'],
    [24_097, 0, 12, 0.05],
  ),
  procedure('0604010010', 'MESALAZINA 400 MG (POR COMPRIMIDO)', ['P', '02', '3'], [52, 0, 180, 0.05]),
  procedure('0202010317', 'DOSAGEM DE CREATININA', ['S', '06', '2'], [185, 0, 1, 0.05]),
  procedure('0303020040', null, ['I', '07', '0'], [0, 0, 1, 0.03]),
]
const SHARES = PROCEDURES.map(({ share }) => share)

export const PRODUCTION_CODES = {
  groups: [
    ['01', 'Ações de promoção e prevenção em saúde'],
    ['02', 'Procedimentos com finalidade diagnóstica'],
    ['06', 'Medicamentos'],
  ],
  subgroups: [
    ['0101', 'Ações coletivas/individuais em saúde'],
    ['0202', 'Diagnóstico em laboratório clínico'],
    ['0206', 'Diagnóstico por tomografia'],
    ['0305', 'Tratamento em nefrologia'],
    ['0604', 'Componente Especializado da Assistência Farmacêutica'],
  ],
  forms: [
    ['010103', 'Visita domiciliar'],
    ['020201', 'Exames bioquímicos'],
    ['020202', 'Exames hematológicos e hemostasia'],
    ['020602', 'Tomografia do tórax e membros superiores'],
    ['030108', 'Atendimento/Acompanhamento psicossocial'],
    ['030110', 'Atendimentos de enfermagem (em geral)'],
    ['030501', 'Tratamento dialítico'],
    ['060401', 'Ácido aminosalicílico e similares'],
  ],
  procedures: PROCEDURES.flatMap(({ code, name }) => (name === null ? [] : [[code, name]])),
} as const

export interface ProductionContext {
  readonly plan: FacilityPlan
  readonly all: readonly DemoMunicipality[]
  readonly chance: Chance
  /** Rows per month and inhabitant of the state. */
  readonly rate: number
  /** State → rows per month, for states with another number. */
  readonly rows?: Readonly<Record<string, number>>
  /** Largest number of rows in a file; a larger month is split into parts. */
  readonly partRows: number
}

export interface ProductionFile {
  readonly name: string
  readonly chunks: Iterable<Buffer>
}

/** Every 29th row repeats the previous one. */
const REPEATED = 29

/** @returns files of a state's month; none without facilities @param age months before the newest */
export function productionFiles(
  uf: string,
  period: number,
  age: number,
  context: ProductionContext,
): ProductionFile[] {
  const { plan, all, rate, partRows } = context
  const towns = all.filter((town) => town.uf === uf)
  const facilities: number[] = []
  for (let index = 0; index < plan.count; index += 1)
    if (all[plan.place[index] ?? 0]?.uf === uf && !isClosed(plan, index, age)) facilities.push(index)
  if (facilities.length === 0) return []
  const inhabitants = towns.reduce((sum, { census }) => sum + (census ?? 0), 0)
  const rows = context.rows?.[uf] ?? Math.max(60, Math.round(inhabitants * rate))
  const parts = Math.ceil(rows / partRows)
  const named = String(period).slice(2)
  const made = [Math.floor(period / 100) % 100, period % 100, 28] as const
  return Array.from({ length: parts }, (_, part) => {
    const letter = parts === 1 ? '' : String.fromCharCode('a'.charCodeAt(0) + part)
    const [from, to] = [part * partRows, Math.min(rows, (part + 1) * partRows)]
    return {
      name: `PA${uf}${named}${letter}.dbf`,
      chunks: admissionChunks(
        PRODUCTION_COLUMNS,
        rowsOf(from, to, (number) => productionRow(number, period, facilities, towns, context)),
        to - from,
        made,
      ),
    }
  })
}

function* rowsOf(
  from: number,
  to: number,
  rowOf: (number: number) => ProductionCells,
): Generator<ProductionCells> {
  let row: ProductionCells | null = null
  for (let number = from; number < to; number += 1) {
    // Published twice: both rows count.
    if (number % REPEATED !== 0 || row === null) row = rowOf(number)
    yield row
  }
}

const reais = (cents: number): string => (cents / 100).toFixed(2)
const monthBefore = (period: number, months: number): number => {
  const all = Math.floor(period / 100) * 12 + (period % 100) - 1 - months
  return Math.floor(all / 12) * 100 + (all % 12) + 1
}

export function productionRow(
  number: number,
  period: number,
  facilities: readonly number[],
  towns: readonly DemoMunicipality[],
  { plan, all, chance }: Pick<ProductionContext, 'plan' | 'all' | 'chance'>,
): ProductionCells {
  const stateCode = towns[0]?.stateCode ?? 0
  // Slots are distinct for every row of every month and state.
  const slot = (stateCode * 1200 + (period % 1200)) * 20_000_003 + number
  const kind = PROCEDURES[pickShare(SHARES, chance(slot, 301))] as Procedure
  const facility = facilities[Math.floor(chance(slot, 302) ** 2 * facilities.length)] ?? 0
  const town = all[plan.place[facility] ?? 0]
  const isConsolidated = kind.instrument === 'C'
  const presented = Math.max(1, Math.round(kind.usual * (0.3 + chance(slot, 303) * 1.4)))
  const fate = chance(slot, 304)
  const approved = fate < 0.015 ? 0 : fate < 0.025 && presented > 1 ? Math.floor(presented * 0.8) : presented
  const increment = approved > 0 && chance(slot, 305) < 0.02 ? 5000 : 0
  const complement = approved * kind.complement
  const lateness = chance(slot, 306)
  const care = lateness < 0.985 ? period : monthBefore(period, 1 + Math.floor((1 - lateness) * 200))
  const resident = towns[Math.floor(chance(slot, 307) * towns.length)]
  const person = slot % 900_000_007
  const age = String(Math.floor(chance(slot, 308) * 95))
  return {
    PA_CODUNI: cnesOf(plan, facility),
    PA_GESTAO: `${stateCode}0000`,
    PA_CONDIC: 'EP',
    // Planted: an unknown municipality.
    PA_UFMUN: number % 151 === 7 ? `${stateCode}9999` : String(Math.floor((town?.code ?? 0) / 10)),
    PA_REGCT: '0000',
    PA_TPUPS: '05',
    PA_MN_IND: 'M',
    PA_CNPJCPF: plan.legalPerson[facility] === 1 ? inventCnpj(facility) : `000${inventCpf(facility)}`,
    PA_CNPJMNT: inventCnpj(facility),
    PA_MVM: String(period),
    PA_CMP: String(care),
    PA_PROC_ID: kind.code,
    PA_TPFIN: kind.financing,
    PA_SUBFIN: '0000',
    PA_NIVCPL: kind.complexity,
    PA_DOCORIG: kind.instrument,
    PA_AUTORIZ: kind.instrument === 'P' || kind.instrument === 'S' ? String(10 ** 12 * 3 + slot) : '',
    PA_CNSMED: isConsolidated ? '' : String(7 * 10 ** 14 + person * 1009),
    PA_CBOCOD: '223505',
    PA_CIDPRI: isConsolidated ? '0000' : 'N180',
    PA_CATEND: isConsolidated ? '99' : '01',
    PA_IDADE: isConsolidated ? '999' : age.padStart(3, '0'),
    IDADEMIN: '000',
    IDADEMAX: '130',
    PA_FLIDADE: '1',
    PA_SEXO: isConsolidated ? '0' : chance(slot, 309) < 0.6 ? 'F' : 'M',
    PA_RACACOR: isConsolidated ? '00' : '03',
    PA_MUNPCN: isConsolidated ? '999999' : String(Math.floor((resident?.code ?? 0) / 10)),
    PA_QTDPRO: String(presented),
    PA_QTDAPR: String(approved),
    PA_VALPRO: reais(presented * (kind.price + kind.complement) + increment),
    PA_VALAPR: reais(approved * kind.price + complement + increment),
    PA_UFDIF: isConsolidated ? '9' : '0',
    PA_MNDIF: isConsolidated ? '9' : resident === town ? '0' : '1',
    NU_VPA_TOT: '0.00',
    NU_PA_TOT: reais(kind.price),
    PA_INDICA: approved === presented ? '5' : approved === 0 ? '0' : '6',
    PA_CODOCO: '1',
    PA_FLQT: 'K',
    PA_FLER: '0',
    PA_VL_CL: reais(complement),
    PA_VL_INC: reais(increment),
    PA_NAT_JUR: '1023',
  }
}
