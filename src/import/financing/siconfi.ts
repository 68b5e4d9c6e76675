/**
 * SICONFI's answers to `rreo` (fiscal reports of governments, a bimester each): annex 02, of which the function health and its
 * subfunctions, and annex 14, of which the minimum for health. CSV, or JSON as the API answers it, in pages.
 *
 * In: files. Out: accounts. In annex 02 a subfunction is known only by where it stands: the rows behind "Saúde", up to the next
 * function, in the same column of the same block; so pages are put together in their order first. All other annexes are passed over.
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

/** @param head first bytes of the file */
export function isSiconfiFile(name: string, head: Buffer): boolean {
  const text = head.toString('latin1')
  if (/\.json$/i.test(name)) return /"items"\s*:/.test(text) && /"(cod_conta|demonstrativo)"\s*:/.test(text)
  const line = text.split(/\r?\n/)[0] ?? ''
  return (
    /\.csv$/i.test(name) && isHeader(splitLine(line.replace(/^\u00ef\u00bb\u00bf/, ''), separatorOf(line)))
  )
}

/** A published row of a report. */
interface ReportRow {
  readonly row: number
  readonly cells: Cells
}

/** A file, or one page of an answer. */
export interface ReadReport {
  readonly found: FoundFile
  readonly columns: readonly string[]
  readonly rows: readonly ReportRow[]
  /** Of a page: how many items stand before it, and whether there are more behind it; null: a whole file. */
  readonly page: { readonly offset: number; readonly hasMore: boolean } | null
}

/** @throws ImportError where a file is no whole answer */
export async function readReport(session: Session, found: FoundFile): Promise<ReadReport> {
  if (/\.json$/i.test(found.name)) return readPage(found)
  const { columns, records } = await openTable(session, found, isHeader)
  const places = SICONFI_COLUMNS.map((name) => [name, columns.indexOf(name)] as const)
  const rows: ReportRow[] = []
  for await (const { row, cells } of records)
    rows.push({
      row,
      cells: Object.fromEntries(places.map(([name, place]) => [name, cells[place] ?? ''])) as Cells,
    })
  return { found, columns, rows, page: null }
}

async function readPage(found: FoundFile): Promise<ReadReport> {
  const answer = parseJson(await readTextFile(found.path, found.shown), found.shown) as {
    readonly items?: unknown
    readonly offset?: unknown
    readonly hasMore?: unknown
  }
  if (!Array.isArray(answer.items))
    throw new ImportError(found.shown, 'is no answer of SICONFI: it has no items', 'Fetch the answer again')
  const offset = Number(answer.offset ?? 0)
  const items = answer.items as readonly Readonly<Record<string, unknown>>[]
  const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  return {
    found,
    columns: Object.keys(items[0] ?? {}),
    rows: items.map((item, index) => ({
      row: offset + index + 1,
      cells: Object.fromEntries(SICONFI_COLUMNS.map((name) => [name, textOf(item[name])])) as Cells,
    })),
    page: { offset, hasMore: answer.hasMore === true },
  }
}

/** Pages of one answer in their order, or one file. */
export interface Report {
  readonly pages: readonly ReadReport[]
}

const partOf = ({ cells }: ReportRow): string => [cells.cod_ibge, cells.exercicio, cells.periodo].join(' ')

/**
 * Puts pages together.
 * @throws ImportError where a page lacks, or two files are of the same report: the newest delivery replaces the others
 */
export function joinPages(reports: readonly ReadReport[]): Report[] {
  const joined: Report[] = []
  const pages = new Map<string, ReadReport[]>()
  for (const report of reports) {
    const [first] = report.rows
    if (report.page === null) joined.push({ pages: [report] })
    // A government that delivered nothing: an answer without items.
    else if (first !== undefined || report.page.offset > 0) {
      const key = first === undefined ? report.found.shown : partOf(first)
      pages.set(key, [...(pages.get(key) ?? []), report])
    }
  }
  for (const own of pages.values()) {
    const inOrder = [...own].sort((left, right) => (left.page?.offset ?? 0) - (right.page?.offset ?? 0))
    let expected = 0
    for (const { found, rows, page } of inOrder) {
      if (page?.offset !== expected)
        throw new ImportError(
          found.shown,
          page !== null && page.offset < expected
            ? 'is a page that is there twice'
            : `begins at item ${page?.offset} where the pages before it end at ${expected}`,
          'Import every page of an answer once',
        )
      expected += rows.length
    }
    const last = inOrder.at(-1)
    if (last?.page?.hasMore === true)
      throw new ImportError(
        last.found.shown,
        `says that more items follow behind ${expected}, and no page has them`,
        'Import every page of an answer: ask again with the next offset until hasMore is false',
      )
    joined.push({ pages: inOrder })
  }
  refuseTwins(joined)
  return joined
}

/** A later delivery of a bimester restates it: which of two files is the later one nobody but the operator knows. */
function refuseTwins(reports: readonly Report[]): void {
  const taken = new Map<string, FoundFile>()
  for (const { pages } of reports) {
    const [{ found } = { found: null }] = pages
    if (found === null) continue
    const own = new Set(
      pages.flatMap(({ rows }) => rows.filter(isOfHealth).map((row) => `${partOf(row)} ${row.cells.anexo}`)),
    )
    for (const part of own) {
      const twin = taken.get(part)
      if (twin !== undefined)
        throw new ImportError(
          found.shown,
          `is of a government, bimester and annex that ${twin.shown} has, too (${part})`,
          'Import one of them: the newest delivery',
        )
      taken.set(part, found)
    }
  }
}

const ANNEX_02 = /^RREO-Anexo 02\b/
const ANNEX_14 = /^RREO-Anexo 14\b/
const ASPS = 'AplicacaoTotalDasDespesasComAcoesEServicosPublicosDeSaude'
const HEALTH = 'Saúde'
/** Functions of government (Portaria 42/1999): with any of them the rows of health end. */
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

/** Does a row end the rows of a function? The next function does, a total, or a subfunction of another function (FU11 - …). */
function endsHealth(account: string): boolean {
  const name = account.trim()
  const [, number] = /^FU(\d+) - /.exec(name) ?? []
  if (number !== undefined) return number !== '10'
  return FUNCTIONS.has(name.toLowerCase()) || /^(DESPESAS|TOTAL)\b/i.test(name)
}

/** Columns of annex 02 → stage and period; the letters in brackets come and go. */
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

const isOfHealth = ({ cells }: ReportRow): boolean =>
  ANNEX_02.test(cells.anexo) || (ANNEX_14.test(cells.anexo) && cells.cod_conta === ASPS)

/** Accounts of health of one page, with the pages before it read. */
export interface PageAccounts {
  readonly found: FoundFile
  readonly accounts: readonly (AccountRow | SetAsideRow)[]
}

/** What the published total of health and the sum of its subfunctions differ by. */
export interface HealthSums {
  /** Columns of blocks whose subfunctions were compared with the total, and those that do not equal it. */
  readonly compared: number
  readonly unequal: number
}

/** @returns accounts of each page of a report */
export function readAccounts({ pages }: Report): { pages: PageAccounts[]; sums: HealthSums } {
  const found: PageAccounts[] = []
  const totals = new Map<string, { total: bigint; parts: bigint; count: number }>()
  let block = ''
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
      const own = [partOf(published), cells.rotulo, cells.coluna, cells.cod_conta].join('\t')
      if (own !== block) isInHealth = false
      block = own
      const isHealth = cells.conta.trim().toLowerCase() === HEALTH.toLowerCase()
      if (isHealth) isInHealth = true
      else if (endsHealth(cells.conta)) isInHealth = false
      if (!isInHealth) continue
      const account = accountOf02(published, isHealth)
      accounts.push(account)
      if ('reason' in account || account.amount === null) continue
      const sums = totals.get(own) ?? { total: 0n, parts: 0n, count: 0 }
      if (isHealth) sums.total = account.amount
      else {
        sums.parts += account.amount
        sums.count += 1
      }
      totals.set(own, sums)
    }
    found.push({ found: page.found, accounts })
  }
  const compared = [...totals.values()].filter(({ count }) => count > 0)
  return {
    pages: found,
    sums: {
      compared: compared.length,
      unequal: compared.filter(({ total, parts }) => total !== parts).length,
    },
  }
}

function accountOf02(published: ReportRow, isHealth: boolean): AccountRow | SetAsideRow {
  const { cells } = published
  const column = COLUMNS_02.find(([pattern]) => pattern.test(cells.coluna))
  if (column === undefined) return { row: published.row, reason: 'unknown_column' }
  const [, stage, when] = column
  // Before 2016 the label is empty, and the account alone says which block it is.
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
    // The Federal District declares as a state.
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
