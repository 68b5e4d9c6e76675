/**
 * Reads SIOPS: health accounts of states by stage (CSV, one column per account) and indicators of the public API (JSON).
 * In: files. Out: accounts. The API returns an error for a government without approved data, which is missing, not zero.
 * Accounts form a tree in which 3.0.00.00.00.00 includes all accounts below it. All published levels are kept, and none
 * is summed. File names supply what the files lack: the year, the source of funds and the government.
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
import { openWorkbook } from './workbook-rows.ts'

const ACCOUNT = /^c(\d(?:\.\d{2}){2,}|\d\.\d(?:\.\d{2})+|[A-Z]{4}\d{6})$/
const STATE = 'COD. ESTADO'
const STAGE = 'Categoria'

const isHeader = (columns: readonly string[]): boolean =>
  columns.includes(STAGE) && columns.includes(STATE) && columns.some((name) => ACCOUNT.test(name))

const isLegend = (name: string): boolean =>
  /^(Descricao_Contas|Legenda_(Receita|Despesa)).*\.xlsx$/i.test(name)
const INDICATOR_NAME = /(municipal|estadual)[-_ ](\d{2}|\d{6,7})[-_ ](\d{4})[-_ ](\d{1,2})\.json$/i

export type SiopsKind = 'accounts' | 'legend' | 'indicators' | 'periods'

/** @param head first bytes of the file @returns null if the file is not from SIOPS */
export function siopsKind(name: string, head: Buffer): SiopsKind | null {
  if (isLegend(name)) return 'legend'
  const text = head.toString('latin1')
  if (/\.json$/i.test(name)) {
    if (/^\s*\[\s*\{[^}]*"nu_periodo"/.test(text)) return 'periods'
    const isResponse = /"numero_indicador"/.test(text) || (/"error"/.test(text) && INDICATOR_NAME.test(name))
    return isResponse ? 'indicators' : null
  }
  const line = text.split(/\r?\n/)[0] ?? ''
  return /\.csv$/i.test(name) && isHeader(splitLine(line, separatorOf(line))) ? 'accounts' : null
}

/** Stages by their published name. Most revenue stages are identified by their last letter, in LETTERS. */
const STAGES: Readonly<Record<string, Stage>> = {
  'Dotação Inicial': 'budgeted_initial',
  'Dotação Atualizada': 'budgeted_updated',
  'Despesas Empenhadas': 'committed',
  'Despesas Liquidadas': 'liquidated',
  'Despesas Pagas': 'paid',
  'Inscritas em Restos a Pagar não Processados': 'carried_over',
  'Despesas Orçadas': 'budgeted_law',
  'Receitas Orçadas': 'revenue_budgeted',
}
const LETTERS: Readonly<Record<string, Stage>> = {
  a: 'revenue_forecast_initial',
  b: 'revenue_forecast_initial_transferred',
  c: 'revenue_forecast_updated',
  d: 'revenue_forecast_updated_transferred',
  e: 'revenue_gross',
  f: 'revenue_deductions',
  g: 'revenue_transferred',
  h: 'revenue_base',
  i: 'revenue_fundeb',
  j: 'revenue_net',
}
const stageOf = (published: string): Stage | null =>
  STAGES[published] ?? LETTERS[/\(([a-j])\)(?: = .*)?$/.exec(published)?.[1] ?? ''] ?? null

/** @returns account names by code, as in the column names but without the leading c */
export async function readLegend(found: FoundFile): Promise<{ names: Map<string, string>; rows: number }> {
  const names = new Map<string, string>()
  let rows = 0
  for (const sheet of await openWorkbook(found.path, found.shown)) {
    let last = 1
    for await (const { row, cells } of sheet.rows()) {
      if (row === 1) continue
      last = row
      const codes = cells.map((cell) => (ACCOUNT.test(cell.startsWith('c') ? cell : `c${cell}`) ? cell : ''))
      const code = codes.find((cell) => cell !== '')?.replace(/^c/, '')
      const name = cells.find((cell, index) => codes[index] === '' && /\p{L}{3}/u.test(cell))
      if (code !== undefined && name !== undefined && !names.has(code)) names.set(code, name)
    }
    // A row without cells is none in the file, and counts.
    rows += last - 1
  }
  return { names, rows }
}

/** Reads the year and the categories from the name of an accounts file. @throws ImportError if the name lacks one */
function parseAccountsName(
  { name, shown }: FoundFile,
  isExpense: boolean,
): { year: number; categories: string[] } {
  // If the name has no year, look for one in the folder.
  const years = (name.match(/(?<!\d)20\d{2}(?!\d)/g) ?? shown.match(/(?<!\d)20\d{2}(?!\d)/g))?.map(Number)
  const year = years?.at(-1)
  if (year === undefined)
    throw new ImportError(
      shown,
      'does not say the year of its accounts',
      'Put the year into the name of the file or of its folder (despesa_estadual_2020_fonte3_subfuncao301.csv)',
    )
  if (!isExpense) return { year, categories: ['Receita'] }
  const longName = /Despesa__(\d+)_-_.*?__(\d{3})_-_/i.exec(name)
  const source = longName?.[1] ?? /fonte[-_ ]?(\d+)/i.exec(name)?.[1]
  const subfunction = longName?.[2] ?? /subfun\p{L}*[-_ ]?(\d{3})/iu.exec(name.normalize('NFC'))?.[1]
  if (source === undefined || subfunction === undefined)
    throw new ImportError(
      shown,
      'does not say the source of funds and the subfunction of its expense',
      'Put both into the name of the file (despesa_estadual_2020_fonte3_subfuncao301.csv)',
    )
  return { year, categories: ['Despesa', `Fonte ${source}`, `Subfunção ${subfunction}`] }
}

export async function* readStateAccounts(
  session: Session,
  found: FoundFile,
  legend: ReadonlyMap<string, string>,
  onRead: (read: { readonly rows: number; readonly columns: readonly string[] }) => void,
): AsyncGenerator<AccountRow | SetAsideRow> {
  const { columns, records } = await openTable(session, found, isHeader)
  const accounts = columns.flatMap((column, index) => {
    const code = ACCOUNT.exec(column)?.[1]
    return code === undefined ? [] : [{ column, index, code }]
  })
  const isExpense = accounts.some(({ code }) => code.startsWith('3'))
  const { year, categories } = parseAccountsName(found, isExpense)
  const [stateAt, stageAt] = [columns.indexOf(STATE), columns.indexOf(STAGE)]
  let rows = 0
  for await (const { row, cells } of records) {
    rows += 1
    const published = cells[stageAt] ?? ''
    const stage = stageOf(published)
    const entity = cells[stateAt] ?? ''
    if (stage === null || !/^\d{2}$/.test(entity)) {
      yield { row, reason: stage === null ? 'unknown_stage' : 'no_state' }
      continue
    }
    for (const { column, index, code } of accounts) {
      const raw = cells[index] ?? ''
      // Skip undeclared amounts, which are not zero.
      if (raw === '' || raw === 'NA') continue
      const amount = readHundredths(raw)
      if (amount === null) {
        yield { row, reason: 'amount_is_no_number' }
        continue
      }
      const name = legend.get(code)
      yield {
        row,
        source: 'siops',
        entity,
        sphere: 'E',
        year,
        month: 12,
        period: 'year',
        stage,
        stageName: published,
        category: [...categories, name === undefined ? code : `${code} ${name}`],
        amount,
        percentage: null,
        column,
        raw,
      }
    }
  }
  onRead({ rows, columns })
}

/** Bimesters of the API's period codes, used if no response of `/v1/ano-periodo` was imported. */
const BIMESTERS: Readonly<Record<string, number>> = { 12: 1, 14: 2, 1: 3, 18: 4, 20: 5, 2: 6 }

type ResponseItems = readonly Readonly<Record<string, unknown>>[]

async function readResponse({ path, shown }: FoundFile): Promise<ResponseItems> {
  const value = parseJson(await readTextFile(path, shown), shown)
  if (Array.isArray(value)) return value as ResponseItems
  throw new ImportError(shown, 'is no whole answer of SIOPS', 'Fetch the answer again')
}

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

/** Reads a response of `/v1/ano-periodo`. @returns bimester by "year code" */
export async function readPeriods(
  found: FoundFile,
): Promise<{ periods: Map<string, number>; rows: number; columns: readonly string[] }> {
  const items = await readResponse(found)
  const periods = new Map<string, number>()
  for (const { ds_ano, nu_periodo, ds_periodo } of items) {
    const name = textOf(ds_periodo)
    const [, number = ''] = /(\d)\s*[ºo°]?\s*(?:bim|sem)/i.exec(name) ?? []
    const bimester = /anual/i.test(name) ? 6 : /sem/i.test(name) ? Number(number) * 3 : Number(number)
    if (bimester >= 1 && bimester <= 6) periods.set(`${textOf(ds_ano)} ${Number(nu_periodo)}`, bimester)
  }
  return { periods, rows: items.length, columns: Object.keys(items[0] ?? {}) }
}

export interface ReadIndicators {
  readonly rows: number
  readonly columns: readonly string[]
  readonly accounts: readonly (AccountRow | SetAsideRow)[]
  /** True if the government has no approved data for the period. */
  readonly isMissing: boolean
}

/**
 * Reads a response of `/v1/indicador/municipal/{code}/{year}/{period}`, whose file name ends like the address.
 * @throws ImportError if the name does not identify the government, or if the period is unknown
 */
export async function readIndicators(
  found: FoundFile,
  periods: ReadonlyMap<string, number>,
): Promise<ReadIndicators> {
  const [, kind = '', entity = '', yearText = '', code = ''] = INDICATOR_NAME.exec(found.name) ?? []
  if (entity === '')
    throw new ImportError(
      found.shown,
      'does not say whose indicators it holds',
      'Name the answer as its address ends (siops-indicador-municipal-355220-2023-2.json: municipality, year, period)',
    )
  const year = Number(yearText)
  const bimester = periods.get(`${year} ${Number(code)}`) ?? BIMESTERS[String(Number(code))]
  if (bimester === undefined)
    throw new ImportError(
      found.shown,
      `is of the period ${code}, which is no period of SIOPS that is known`,
      'Import the answer of /v1/ano-periodo with it, which says what periods mean',
    )
  const items = await readResponse(found)
  const accounts: (AccountRow | SetAsideRow)[] = []
  for (const [index, item] of items.entries()) {
    if ('error' in item) continue
    const row = index + 1
    const raw = textOf(item.indicador_calculado)
    if (raw === '') continue
    const value = readHundredths(raw)
    if (value === null) {
      accounts.push({ row, reason: 'amount_is_no_number' })
      continue
    }
    const isMoney = raw.includes('R$')
    accounts.push({
      row,
      source: 'siops',
      entity,
      sphere: /^estadual$/i.test(kind) ? 'E' : 'M',
      year,
      month: bimester * 2,
      period: `to-bimester-${bimester}`,
      stage: 'indicator',
      stageName: 'indicador_calculado',
      category: ['Indicador', `${textOf(item.numero_indicador)} ${textOf(item.ds_indicador)}`.trim()],
      amount: isMoney ? value : null,
      percentage: isMoney ? null : value,
      column: 'indicador_calculado',
      raw,
    })
  }
  return {
    rows: items.length,
    columns: Object.keys(items[0] ?? {}),
    accounts,
    isMissing: items.some((item) => 'error' in item),
  }
}
