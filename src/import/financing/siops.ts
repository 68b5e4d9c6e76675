/**
 * SIOPS: health accounts of the states by stage (CSV, one column an account) and indicators of the public API (JSON). In: files.
 * Out: accounts. A government whose data are not approved is answered with an error: it is missing, not zero.
 *
 * Accounts are a tree in which 3.0.00.00.00.00 holds what is below it: all levels are kept as they are published, none is
 * added up. What the files themselves do not say is in their names: the year, the source of funds, the government.
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
import { openTable, readGrids, separatorOf, splitLine } from './records.ts'

const ACCOUNT = /^c(\d(?:\.\d{2}){2,}|\d\.\d(?:\.\d{2})+|[A-Z]{4}\d{6})$/
const STATE = 'COD. ESTADO'
const STAGE = 'Categoria'

const isHeader = (columns: readonly string[]): boolean =>
  columns.includes(STAGE) && columns.includes(STATE) && columns.some((name) => ACCOUNT.test(name))

/** Names of accounts, in workbooks of two or three columns. */
const isLegend = (name: string): boolean =>
  /^(Descricao_Contas|Legenda_(Receita|Despesa)).*\.xlsx$/i.test(name)
const INDICATOR_NAME = /(municipal|estadual)[-_ ](\d{2}|\d{6,7})[-_ ](\d{4})[-_ ](\d{1,2})\.json$/i

export type SiopsKind = 'accounts' | 'legend' | 'indicators' | 'periods'

/** @param head first bytes of the file @returns null where it is none of SIOPS */
export function siopsKind(name: string, head: Buffer): SiopsKind | null {
  if (isLegend(name)) return 'legend'
  const text = head.toString('latin1')
  if (/\.json$/i.test(name)) {
    if (/^\s*\[\s*\{[^}]*"nu_periodo"/.test(text)) return 'periods'
    const isAnswer = /"numero_indicador"/.test(text) || (/"error"/.test(text) && INDICATOR_NAME.test(name))
    return isAnswer ? 'indicators' : null
  }
  const line = text.split(/\r?\n/)[0] ?? ''
  return /\.csv$/i.test(name) && isHeader(splitLine(line, separatorOf(line))) ? 'accounts' : null
}

/** Stages of expense, and of revenue by the letter that ends them. */
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

/** @returns name of each account: code as the columns have it, without the c → name */
export async function readLegend(found: FoundFile): Promise<{ names: Map<string, string>; rows: number }> {
  const names = new Map<string, string>()
  let rows = 0
  for (const grid of (await readGrids(found)).values())
    for (const cells of grid.slice(1)) {
      const codes = cells.map((cell) => (ACCOUNT.test(cell.startsWith('c') ? cell : `c${cell}`) ? cell : ''))
      const code = codes.find((cell) => cell !== '')?.replace(/^c/, '')
      const name = cells.find((cell, index) => codes[index] === '' && /\p{L}{3}/u.test(cell))
      rows += 1
      if (code !== undefined && name !== undefined && !names.has(code)) names.set(code, name)
    }
  return { names, rows }
}

/** What the name of a file of accounts says. @throws ImportError */
function partsOfName({ name, shown }: FoundFile, isExpense: boolean): { year: number; parts: string[] } {
  // A folder may say it where the name does not.
  const years = (name.match(/(?<!\d)20\d{2}(?!\d)/g) ?? shown.match(/(?<!\d)20\d{2}(?!\d)/g))?.map(Number)
  const year = years?.at(-1)
  if (year === undefined)
    throw new ImportError(
      shown,
      'does not say the year of its accounts',
      'Put the year into the name of the file or of its folder (despesa_estadual_2020_fonte3_subfuncao301.csv)',
    )
  if (!isExpense) return { year, parts: ['Receita'] }
  const long = /Despesa__(\d+)_-_.*?__(\d{3})_-_/i.exec(name)
  const source = long?.[1] ?? /fonte[-_ ]?(\d+)/i.exec(name)?.[1]
  const part = long?.[2] ?? /subfun\p{L}*[-_ ]?(\d{3})/iu.exec(name.normalize('NFC'))?.[1]
  if (source === undefined || part === undefined)
    throw new ImportError(
      shown,
      'does not say the source of funds and the subfunction of its expense',
      'Put both into the name of the file (despesa_estadual_2020_fonte3_subfuncao301.csv)',
    )
  return { year, parts: ['Despesa', `Fonte ${source}`, `Subfunção ${part}`] }
}

/** @param onRead gets the number of the file's rows and its header */
export async function* readStateAccounts(
  session: Session,
  found: FoundFile,
  legend: ReadonlyMap<string, string>,
  onRead: (read: { readonly rows: number; readonly columns: readonly string[] }) => void,
): AsyncGenerator<AccountRow | SetAsideRow> {
  const { columns, records } = await openTable(session, found, isHeader)
  const accounts = columns.flatMap((column, place) => {
    const code = ACCOUNT.exec(column)?.[1]
    return code === undefined ? [] : [{ column, place, code }]
  })
  const isExpense = accounts.some(({ code }) => code.startsWith('3'))
  const { year, parts } = partsOfName(found, isExpense)
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
    for (const { column, place, code } of accounts) {
      const raw = cells[place] ?? ''
      // Not declared, which is not zero.
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
        category: [...parts, name === undefined ? code : `${code} ${name}`],
        amount,
        percentage: null,
        column,
        raw,
      }
    }
  }
  onRead({ rows, columns })
}

/** Bimester that a code of the API means, where `/v1/ano-periodo` was not imported. */
const BIMESTERS: Readonly<Record<string, number>> = { 12: 1, 14: 2, 1: 3, 18: 4, 20: 5, 2: 6 }

type Answer = readonly Readonly<Record<string, unknown>>[]

async function readAnswer({ path, shown }: FoundFile): Promise<Answer> {
  const value = parseJson(await readTextFile(path, shown), shown)
  if (Array.isArray(value)) return value as Answer
  throw new ImportError(shown, 'is no whole answer of SIOPS', 'Fetch the answer again')
}

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

/** @returns year and code of a period → bimester, of an answer of `/v1/ano-periodo` */
export async function readPeriods(
  found: FoundFile,
): Promise<{ periods: Map<string, number>; rows: number; columns: readonly string[] }> {
  const answer = await readAnswer(found)
  const periods = new Map<string, number>()
  for (const { ds_ano, nu_periodo, ds_periodo } of answer) {
    const name = textOf(ds_periodo)
    const [, number = ''] = /(\d)\s*[ºo°]?\s*(?:bim|sem)/i.exec(name) ?? []
    const bimester = /anual/i.test(name) ? 6 : /sem/i.test(name) ? Number(number) * 3 : Number(number)
    if (bimester >= 1 && bimester <= 6) periods.set(`${textOf(ds_ano)} ${Number(nu_periodo)}`, bimester)
  }
  return { periods, rows: answer.length, columns: Object.keys(answer[0] ?? {}) }
}

export interface ReadIndicators {
  readonly rows: number
  readonly columns: readonly string[]
  readonly accounts: readonly (AccountRow | SetAsideRow)[]
  /** The government has no approved data of the period. */
  readonly isMissing: boolean
}

/**
 * An answer of `/v1/indicador/municipal/{code}/{year}/{period}`, saved under a name that ends as its address does.
 * @throws ImportError where the name does not say whose it is, or the period is not known
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
  const answer = await readAnswer(found)
  const accounts: (AccountRow | SetAsideRow)[] = []
  for (const [index, item] of answer.entries()) {
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
    rows: answer.length,
    columns: Object.keys(answer[0] ?? {}),
    accounts,
    isMissing: answer.some((item) => 'error' in item),
  }
}
