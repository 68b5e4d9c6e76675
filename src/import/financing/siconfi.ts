/**
 * Reads SICONFI's `rreo` data, the bimonthly fiscal reports of governments, from CSV or from pages of JSON as the API sends them.
 * In: files. Out: accounts. From annex 02 it reads the function health with its subfunctions, from annex 14 the health minimum.
 * In annex 02 only the position identifies a subfunction: it follows "Saúde", before the next function, in the same column
 * and block. So pages are joined in order first. Other annexes are skipped.
 */

import type { Stage } from '../../model/financing/code-lists.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { parseJson } from '../readers/json.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import type { SetAsideRow } from '../rejected-rows.ts'
import type { Session } from '../session.ts'
import type { AccountRow } from './accounts.ts'
import { readHundredths } from './amounts.ts'
import { openTable, separatorOf, splitLine } from './records.ts'

export const SICONFI_COLUMNS = [
  'exercicio',
  'demonstrativo',
  'periodo',
  'periodicidade',
  'cod_ibge',
  'anexo',
  'esfera',
  'rotulo',
  'coluna',
  'cod_conta',
  'conta',
  'valor',
] as const
type SiconfiColumn = (typeof SICONFI_COLUMNS)[number]
type Cells = Readonly<Record<SiconfiColumn, string>>

const isHeader = (columns: readonly string[]): boolean =>
  SICONFI_COLUMNS.every((name) => columns.includes(name))

export function isSiconfiFile(name: string, head: Buffer): boolean {
  const text = head.toString('latin1')
  if (/\.json$/i.test(name))
    return (
      (/"items"\s*:/.test(text) && /"(cod_conta|demonstrativo)"\s*:/.test(text)) ||
      // The only page of a government that delivered nothing is empty.
      (/"items"\s*:\s*\[\s*\]/.test(text) && /"hasMore"\s*:/.test(text) && /"offset"\s*:/.test(text))
    )
  const line = text.split(/\r?\n/)[0] ?? ''
  return (
    /\.csv$/i.test(name) && isHeader(splitLine(line.replace(/^\u00ef\u00bb\u00bf/, ''), separatorOf(line)))
  )
}

interface ReportRow {
  readonly row: number
  readonly cells: Cells
}

export interface ReadReport {
  readonly found: FoundFile
  readonly columns: readonly string[]
  readonly rows: readonly ReportRow[]
  /** Number of items before a page, and whether more pages follow. Null for a complete file. */
  readonly page: { readonly offset: number; readonly hasMore: boolean } | null
}

/** @throws ImportError if a file is not a complete response */
export async function readReport(session: Session, found: FoundFile): Promise<ReadReport> {
  if (/\.json$/i.test(found.name)) return readPage(found)
  const { columns, records } = await openTable(session, found, isHeader)
  const positions = SICONFI_COLUMNS.map((name) => [name, columns.indexOf(name)] as const)
  const rows: ReportRow[] = []
  for await (const { row, cells } of records)
    rows.push({
      row,
      cells: Object.fromEntries(positions.map(([name, position]) => [name, cells[position] ?? ''])) as Cells,
    })
  return { found, columns, rows, page: null }
}

async function readPage(found: FoundFile): Promise<ReadReport> {
  const response = parseJson(await readTextFile(found.path, found.shown), found.shown) as {
    readonly items?: unknown
    readonly offset?: unknown
    readonly hasMore?: unknown
  }
  if (!Array.isArray(response.items))
    throw new ImportError(found.shown, 'is no answer of SICONFI: it has no items', 'Fetch the answer again')
  const offset = Number(response.offset ?? 0)
  const items = response.items as readonly Readonly<Record<string, unknown>>[]
  const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  return {
    found,
    columns: Object.keys(items[0] ?? {}),
    rows: items.map((item, index) => ({
      row: offset + index + 1,
      cells: Object.fromEntries(SICONFI_COLUMNS.map((name) => [name, textOf(item[name])])) as Cells,
    })),
    page: { offset, hasMore: response.hasMore === true },
  }
}

export interface Report {
  readonly pages: readonly ReadReport[]
}

const reportKey = ({ cells }: ReportRow): string => [cells.cod_ibge, cells.exercicio, cells.periodo].join(' ')

/** Joins the pages of each response. @throws ImportError if a page is missing, or if two files contain the same report */
export function joinPages(reports: readonly ReadReport[]): Report[] {
  const joined: Report[] = []
  const pages = new Map<string, ReadReport[]>()
  for (const report of reports) {
    const [first] = report.rows
    if (report.page === null) joined.push({ pages: [report] })
    // Skip a first page without items: its government delivered nothing.
    else if (first !== undefined || report.page.offset > 0) {
      const key = first === undefined ? report.found.shown : reportKey(first)
      pages.set(key, [...(pages.get(key) ?? []), report])
    }
  }
  for (const group of [...pages.values()].flatMap(splitByAnnex)) {
    const sorted = [...group].sort((left, right) => (left.page?.offset ?? 0) - (right.page?.offset ?? 0))
    let expected = 0
    let isComplete = false
    for (const { found, rows, page } of sorted) {
      if (page?.offset !== expected)
        throw new ImportError(
          found.shown,
          page !== null && page.offset < expected
            ? 'is a page that is there twice'
            : `begins at item ${page?.offset} where the pages before it end at ${expected}`,
          'Import every page of an answer once',
        )
      if (isComplete)
        throw new ImportError(
          found.shown,
          'comes after the last page of an answer',
          'Import the pages before it, too, and none of another answer',
        )
      expected += rows.length
      isComplete = page.hasMore === false
    }
    const last = sorted.at(-1)
    if (last?.page?.hasMore === true)
      throw new ImportError(
        last.found.shown,
        `says that more items follow behind ${expected}, and no page has them`,
        'Import every page of an answer: ask again with the next offset until hasMore is false',
      )
    joined.push({ pages: sorted })
  }
  refuseTwins(joined)
  return joined
}

/**
 * Separates responses that contain one annex each. Pages stay together if a page begins with an annex that has no first page:
 * a response with several annexes goes on with another annex there.
 */
function splitByAnnex(pages: readonly ReadReport[]): ReadReport[][] {
  const pagesByAnnex = new Map<string, ReadReport[]>()
  for (const page of pages) {
    const annex = page.rows[0]?.cells.anexo ?? ''
    pagesByAnnex.set(annex, [...(pagesByAnnex.get(annex) ?? []), page])
  }
  const groups = [...pagesByAnnex.values()]
  return groups.every((group) => group.some(({ page }) => page?.offset === 0)) ? groups : [[...pages]]
}

/** Rejects two files of one government, bimester and annex. Later deliveries restate it, and only the operator knows which is newer. */
function refuseTwins(reports: readonly Report[]): void {
  const filesByKey = new Map<string, FoundFile>()
  for (const { pages } of reports) {
    const [{ found } = { found: null }] = pages
    if (found === null) continue
    const keys = new Set(
      pages.flatMap(({ rows }) =>
        rows.filter(hasHealthData).map((row) => `${reportKey(row)} ${row.cells.anexo}`),
      ),
    )
    for (const key of keys) {
      const twin = filesByKey.get(key)
      if (twin !== undefined)
        throw new ImportError(
          found.shown,
          `is of a government, bimester and annex that ${twin.shown} has, too (${key})`,
          'Import one of them: the newest delivery',
        )
      filesByKey.set(key, found)
    }
  }
}

const ANNEX_02 = /^RREO-Anexo 02\b/
const ANNEX_14 = /^RREO-Anexo 14\b/
const ASPS = 'AplicacaoTotalDasDespesasComAcoesEServicosPublicosDeSaude'
const HEALTH = 'Saúde'
/** Functions of government (Portaria 42/1999). Each of them ends the rows of health. */
const FUNCTIONS = new Set(
  [
    'Legislativa',
    'Judiciária',
    'Essencial à Justiça',
    'Administração',
    'Defesa Nacional',
    'Segurança Pública',
    'Relações Exteriores',
    'Assistência Social',
    'Previdência Social',
    HEALTH,
    'Trabalho',
    'Educação',
    'Cultura',
    'Direitos da Cidadania',
    'Urbanismo',
    'Habitação',
    'Saneamento',
    'Gestão Ambiental',
    'Ciência e Tecnologia',
    'Agricultura',
    'Organização Agrária',
    'Indústria',
    'Comércio e Serviços',
    'Comunicações',
    'Energia',
    'Transporte',
    'Desporto e Lazer',
    'Encargos Especiais',
    'Reserva de Contingência',
    'Reserva do RPPS',
  ].map((name) => name.toLowerCase()),
)

/** True if an account ends the rows of health: another function, a total, or another function's subfunction (FU11 - …). */
function endsHealth(account: string): boolean {
  const name = account.trim()
  const [, number] = /^FU(\d+) - /.exec(name) ?? []
  if (number !== undefined) return number !== '10'
  return FUNCTIONS.has(name.toLowerCase()) || /^(DESPESAS|TOTAL)\b/i.test(name)
}

/** Stages and periods of the columns of annex 02. The letters in brackets vary, so most patterns leave them out. */
const COLUMNS_02: readonly (readonly [RegExp, Stage, 'in' | 'to'])[] = [
  [/^DOTA[ÇC][ÃA]O INICIAL/i, 'budgeted_initial', 'to'],
  [/^DOTA[ÇC][ÃA]O ATUALIZADA/i, 'budgeted_updated', 'to'],
  [/^DESPESAS EMPENHADAS NO BIMESTRE/i, 'committed', 'in'],
  [/^DESPESAS EMPENHADAS AT[ÉE] O BIMESTRE/i, 'committed', 'to'],
  [/^DESPESAS LIQUIDADAS NO BIMESTRE/i, 'liquidated', 'in'],
  [/^DESPESAS LIQUIDADAS AT[ÉE] O BIMESTRE/i, 'liquidated', 'to'],
  [/^DESPESAS PAGAS AT[ÉE] O BIMESTRE/i, 'paid', 'to'],
  [/^% \(b\/.*\)$/i, 'committed_share', 'to'],
  [/^% \(d\/.*\)$/i, 'liquidated_share', 'to'],
  [/^SALDO \(c\)/i, 'not_committed', 'to'],
  [/^SALDO \(e\)/i, 'not_liquidated', 'to'],
  [/^INSCRITAS EM RESTOS A PAGAR N[ÃA]O PROCESSADOS/i, 'carried_over', 'to'],
]
const COLUMNS_14: readonly (readonly [RegExp, Stage])[] = [
  [/^Valor Apurado At[ée] o Bimestre/i, 'applied'],
  [/^% M[íi]nimo a Aplicar/i, 'minimum_share'],
  [/^% Aplicado At[ée] o Bimestre/i, 'applied_share'],
]
const SHARES: ReadonlySet<Stage> = new Set([
  'committed_share',
  'liquidated_share',
  'minimum_share',
  'applied_share',
])

const hasHealthData = ({ cells }: ReportRow): boolean =>
  ANNEX_02.test(cells.anexo) || (ANNEX_14.test(cells.anexo) && cells.cod_conta === ASPS)

export interface PageAccounts {
  readonly found: FoundFile
  readonly accounts: readonly (AccountRow | SetAsideRow)[]
}

/** Comparison of published health totals with the sums of their subfunctions. */
export interface HealthSums {
  /** Number of columns of blocks that were compared. `unequal` counts those that differ. */
  readonly compared: number
  readonly unequal: number
}

export function readAccounts({ pages }: Report): { pages: PageAccounts[]; sums: HealthSums } {
  const pageAccounts: PageAccounts[] = []
  const totals = new Map<string, { total: bigint; subfunctions: bigint; count: number }>()
  let lastColumnKey = ''
  let isInHealth = false
  for (const page of pages) {
    const accounts: (AccountRow | SetAsideRow)[] = []
    for (const published of page.rows) {
      const { cells } = published
      if (ANNEX_14.test(cells.anexo)) {
        if (cells.cod_conta === ASPS) accounts.push(accountOf14(published))
        continue
      }
      if (!ANNEX_02.test(cells.anexo)) continue
      const columnKey = [reportKey(published), cells.rotulo, cells.coluna, cells.cod_conta].join('\t')
      if (columnKey !== lastColumnKey) isInHealth = false
      lastColumnKey = columnKey
      const isHealth = cells.conta.trim().toLowerCase() === HEALTH.toLowerCase()
      if (isHealth) isInHealth = true
      else if (endsHealth(cells.conta)) isInHealth = false
      if (!isInHealth) continue
      const account = accountOf02(published, isHealth)
      accounts.push(account)
      if ('reason' in account || account.amount === null) continue
      const sums = totals.get(columnKey) ?? { total: 0n, subfunctions: 0n, count: 0 }
      if (isHealth) sums.total = account.amount
      else {
        sums.subfunctions += account.amount
        sums.count += 1
      }
      totals.set(columnKey, sums)
    }
    pageAccounts.push({ found: page.found, accounts })
  }
  const compared = [...totals.values()].filter(({ count }) => count > 0)
  return {
    pages: pageAccounts,
    sums: {
      compared: compared.length,
      unequal: compared.filter(({ total, subfunctions }) => total !== subfunctions).length,
    },
  }
}

function accountOf02(published: ReportRow, isHealth: boolean): AccountRow | SetAsideRow {
  const { cells } = published
  const column = COLUMNS_02.find(([pattern]) => pattern.test(cells.coluna))
  if (column === undefined) return { row: published.row, reason: 'unknown_column' }
  const [, stage, when] = column
  // Before 2016 the label is empty, and only the account identifies the block.
  const isIntra = /Intra$/.test(cells.cod_conta) || /^Total das Despesas Intra/i.test(cells.rotulo)
  const name = cells.conta.trim().replace(/^FU10 - /, '')
  return accountOf(published, 'siconfi_rreo_02', stage, when, [
    isIntra ? 'Despesas intraorçamentárias' : 'Despesas exceto intraorçamentárias',
    HEALTH,
    ...(isHealth ? [] : [name]),
  ])
}

function accountOf14(published: ReportRow): AccountRow | SetAsideRow {
  const column = COLUMNS_14.find(([pattern]) => pattern.test(published.cells.coluna))
  if (column === undefined) return { row: published.row, reason: 'unknown_column' }
  const stage = column[1]
  return accountOf(published, 'siconfi_rreo_14', stage, 'to', [published.cells.conta])
}

function accountOf(
  { row, cells }: ReportRow,
  source: 'siconfi_rreo_02' | 'siconfi_rreo_14',
  stage: Stage,
  when: 'in' | 'to',
  category: readonly string[],
): AccountRow | SetAsideRow {
  const [year, bimester] = [Number(cells.exercicio), Number(cells.periodo)]
  if (cells.periodicidade !== 'B' || !(bimester >= 1 && bimester <= 6) || !(year >= 1990 && year <= 2100))
    return { row, reason: 'no_bimester' }
  const value = readHundredths(cells.valor)
  if (value === null) return { row, reason: 'amount_is_no_number' }
  const isShare = SHARES.has(stage)
  return {
    row,
    source,
    entity: cells.cod_ibge,
    // Count the Federal District as a state, because it declares as one.
    sphere: cells.esfera === 'D' ? 'E' : cells.esfera,
    year,
    month: bimester * 2,
    period: `${when === 'to' ? 'to-' : ''}bimester-${bimester}`,
    stage,
    stageName: cells.coluna,
    category,
    amount: isShare ? null : value,
    percentage: isShare ? value : null,
    column: 'valor',
    raw: cells.valor,
  }
}
