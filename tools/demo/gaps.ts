/**
 * The demonstration with gaps: which months, tables and states are published, and the monthly files by state (ST, LT, EQ, SR
 * as .dbf). In: the invented facilities of a month. Out: bytes of the files. The content equals the national base of the same
 * seed as far as files by state can express it. They do not list closed facilities, and since 2010 every service is provided
 * by the facility.
 */
import { textDbf } from './dbf.ts'
import { cnesOf, FACILITY_HEADER, facilityRow, isClosed } from './facilities.ts'
import {
  BED_HEADER,
  bedRows,
  equipmentHeader,
  equipmentRows,
  type FactContext,
  SERVICE_HEADER,
  serviceRows,
} from './facts.ts'

type Group = 'ST' | 'LT' | 'EQ' | 'SR'
interface PublishedMonth {
  /** YYYYMM */
  readonly period: number
  /** The national base, or the states of each group of files. */
  readonly files: 'base' | Readonly<Partial<Record<Group, readonly string[]>>>
}

/** Prefix of a state whose file of a group has no rows. */
const EMPTY = 'empty '

/** Oldest first. Months from 2010-01 to 2025-11, and 2026-03, are missing. */
export const MONTHS_WITH_GAPS: readonly PublishedMonth[] = [
  // Files by state with third parties and without legal natures; one has no rows.
  { period: 200912, files: { ST: ['RR'], EQ: [`${EMPTY}AC`], SR: ['AC', 'RR'] } },
  // Only the registry.
  { period: 202512, files: { ST: ['AP', 'RR'] } },
  // Facilities appear only in beds and equipment.
  { period: 202601, files: { LT: ['AC', 'RR'], EQ: ['AC'] } },
  { period: 202602, files: 'base' },
  // One table is missing, and another has data of Roraima but not of Amapá.
  { period: 202604, files: { ST: ['AC', 'AP', 'RR'], LT: ['AC', 'AP', 'RR'], SR: ['RR'] } },
  // One state is missing in the newest month.
  { period: 202605, files: { ST: ['AC', 'RR'], LT: ['AC', 'RR'], EQ: ['RR'], SR: ['AC', 'RR'] } },
]

const FACILITY_COLUMNS = [
  ['CNES', 7],
  ['CODUFMUN', 6],
  ['REGSAUDE', 4],
  ['TPGESTAO', 1],
  ['PF_PJ', 1],
  ['CPF_CNPJ', 14],
  ['NIV_DEP', 1],
  ['CNPJ_MAN', 14],
  ['ATIVIDAD', 2],
  ['CLIENTEL', 2],
  ['TP_UNID', 2],
  ['TURNO_AT', 2],
  ['COMPETEN', 6],
  ['NAT_JUR', 4],
] as const
/** Columns of each group, with published widths. */
export const OWN_COLUMNS: Readonly<Record<Group, readonly (readonly [name: string, width: number])[]>> = {
  ST: [
    ['COD_CEP', 8],
    ['VINC_SUS', 1],
    ['DT_ATUAL', 6],
  ],
  LT: [
    ['TP_LEITO', 2],
    ['CODLEITO', 2],
    ['QT_EXIST', 4],
    ['QT_SUS', 4],
  ],
  EQ: [
    ['TIPEQUIP', 2],
    ['CODEQUIP', 2],
    ['QT_EXIST', 4],
    ['QT_USO', 4],
    ['IND_SUS', 1],
  ],
  SR: [
    ['SERV_ESP', 3],
    ['CLASS_SR', 3],
    ['CARACTER', 1],
    ['AMB_NSUS', 1],
    ['AMB_SUS', 1],
    ['HOSP_NSUS', 1],
    ['HOSP_SUS', 1],
    ['CNESTERC', 7],
  ],
}
/** First month (YYYYMM) with a column of the legal nature in files by state. */
const LEGAL_NATURES_FROM = 201201
/** First month (YYYYMM) in which files by state no longer name the provider of a service. */
const PROVIDERS_UNTIL = 201001

type Cells = Readonly<Record<string, string>>
interface Sizes {
  readonly beds: number
  readonly equipment: number
  readonly services: number
}

export function stateFiles(
  period: number,
  files: Readonly<Partial<Record<Group, readonly string[]>>>,
  context: Omit<FactContext, 'rows'>,
  sizes: Sizes,
): (readonly [name: string, bytes: Buffer])[] {
  const facilities = openFacilities(period, context)
  const rowsOf: Readonly<Record<Group, () => readonly Cells[]>> = {
    ST: () => [...facilities.values()].map(({ cells, registryCells }) => ({ ...cells, ...registryCells })),
    LT: () => selectOpenRows(BED_HEADER, bedRows({ ...context, rows: sizes.beds }), facilities, bedCells),
    EQ: () =>
      selectOpenRows(
        equipmentHeader(false),
        equipmentRows({ ...context, rows: sizes.equipment }, false),
        facilities,
        equipmentCells,
      ),
    SR: () =>
      selectOpenRows(
        SERVICE_HEADER,
        serviceRows({ ...context, rows: sizes.services }),
        facilities,
        serviceCells(period),
      ),
  }
  const made = [Math.floor(period / 100) % 100, period % 100, 28] as const
  return (Object.keys(OWN_COLUMNS) as Group[]).flatMap((group) => {
    const states = files[group] ?? []
    if (states.length === 0) return []
    const rows = rowsOf[group]()
    const common = FACILITY_COLUMNS.filter(([name]) => name !== 'NAT_JUR' || period >= LEGAL_NATURES_FROM)
    return states.map((state) => {
      const uf = state.replace(EMPTY, '')
      const stateRows = state === uf ? rows.filter(({ CNES = '' }) => facilities.get(CNES)?.uf === uf) : []
      return [
        `${group}${uf}${String(period).slice(2)}.dbf`,
        textDbf([...common, ...OWN_COLUMNS[group]], stateRows, made),
      ] as const
    })
  })
}

interface OpenFacility {
  readonly uf: string
  readonly cells: Cells
  /** Cells of its row in ST. */
  readonly registryCells: Cells
}

/** @returns facilities that are open in the month, by CNES code */
function openFacilities(
  period: number,
  { plan, all, chance, age }: Omit<FactContext, 'rows'>,
): Map<string, OpenFacility> {
  const header = FACILITY_HEADER('plain')
  const found = new Map<string, OpenFacility>()
  for (let index = 0; index < plan.count; index += 1) {
    if (isClosed(plan, index, age)) continue
    const cell = cellsOf(header, facilityRow(plan, all, index, age, chance))
    const isPerson = cell('TP_PFPJ') === '1'
    found.set(cnesOf(plan, index), {
      uf: all[plan.place[index] ?? 0]?.uf ?? '',
      cells: {
        CNES: cell('CO_CNES'),
        CODUFMUN: cell('CO_MUNICIPIO_GESTOR'),
        REGSAUDE: cell('CO_REGIAO_SAUDE'),
        TPGESTAO: cell('TP_GESTAO'),
        PF_PJ: cell('TP_PFPJ'),
        CPF_CNPJ: (isPerson ? cell('NU_CPF') : cell('NU_CNPJ')).padStart(14, '0'),
        NIV_DEP: cell('NIVEL_DEP'),
        CNPJ_MAN: cell('NU_CNPJ_MANTENEDORA').padStart(14, '0'),
        ATIVIDAD: cell('CO_ATIVIDADE'),
        CLIENTEL: cell('CO_CLIENTELA'),
        TP_UNID: cell('TP_UNIDADE'),
        TURNO_AT: cell('CO_TURNO_ATENDIMENTO'),
        COMPETEN: String(period),
        NAT_JUR: cell('CO_NATUREZA_JUR'),
      },
      registryCells: {
        COD_CEP: cell('CO_CEP'),
        VINC_SUS: chance(index, 90) < 0.56 ? '1' : '0',
        DT_ATUAL: String(period),
      },
    })
  }
  return found
}

type Cell = (column: string) => string
function cellsOf(header: readonly string[], row: string): Cell {
  const cells = row.split('";"')
  return (column) => cells[header.indexOf(column)] ?? ''
}

/** @returns rows of open facilities, each with the cells of its facility */
function selectOpenRows(
  header: readonly string[],
  rows: Iterable<string>,
  facilities: ReadonlyMap<string, OpenFacility>,
  toCells: (cell: Cell) => Cells,
): Cells[] {
  const found: Cells[] = []
  for (const row of rows) {
    const cell = cellsOf(header, row)
    const facility = facilities.get(cell('CO_UNIDADE').slice(6))
    if (facility !== undefined) found.push({ ...facility.cells, ...toCells(cell) })
  }
  return found
}

const bedCells = (cell: Cell): Cells => ({
  TP_LEITO: cell('CO_TIPO_LEITO'),
  CODLEITO: cell('CO_LEITO'),
  QT_EXIST: cell('QT_EXIST').padStart(4),
  QT_SUS: cell('QT_SUS').padStart(4),
})

const equipmentCells = (cell: Cell): Cells => ({
  TIPEQUIP: cell('CO_TIPO_EQUIPAMENTO'),
  CODEQUIP: cell('CO_EQUIPAMENTO'),
  QT_EXIST: cell('QT_EXISTENTE').padStart(4),
  QT_USO: cell('QT_USO').padStart(4),
  IND_SUS: cell('TP_SUS') === '1' ? '1' : '0',
})

const serviceCells =
  (period: number) =>
  (cell: Cell): Cells => {
    const flag = (column: string): string => (cell(column) === '1' ? '1' : '0')
    const provider = cell('CO_CNPJCPF')
    const hasProviders = period < PROVIDERS_UNTIL
    return {
      SERV_ESP: cell('CO_SERVICO'),
      CLASS_SR: cell('CO_CLASSIFICACAO'),
      CARACTER: hasProviders ? cell('TP_CARACTERISTICA') : '1',
      AMB_NSUS: flag('CO_AMBULATORIAL'),
      AMB_SUS: flag('CO_AMBULATORIAL_SUS'),
      HOSP_NSUS: flag('CO_HOSPITALAR'),
      HOSP_SUS: flag('CO_HOSPITALAR_SUS'),
      CNESTERC: hasProviders && /^\d{7}$/.test(provider) ? provider : '',
    }
  }
