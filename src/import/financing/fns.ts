/**
 * Reads transfers of the national health fund (FNS), "Repasse FAF com população": one national file per year, CSV or XLSX.
 * In: a file. Out: a gross and a net account for each published row. Bank accounts and balances are not read. One strategy
 * may occur in two bank accounts, whose rows are summed later. VL_SALDO_CONTA repeats an account's balance on each row.
 */

import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { MONTH_NAMES } from '../readers/month-names.ts'
import type { SetAsideRow } from '../rejected-rows.ts'
import type { Session } from '../session.ts'
import type { AccountRow } from './accounts.ts'
import { readHundredths, readMonth } from './amounts.ts'
import { isWorkbook, openTable, separatorOf, splitLine } from './records.ts'

/** Columns that are read. All others are ignored, including bank accounts and balances. */
const FNS_COLUMNS = [
  'BLOCO',
  'GRUPO',
  'ESTRATEGIA',
  'UF',
  'CO_MUNICIPIO_IBGE',
  'TP_REPASSE',
  'DT_ULTIMA_LIBERACAO',
  'VL_BRUTO',
  'VL_LIQUIDO',
] as const
type FnsColumn = (typeof FNS_COLUMNS)[number]
/** Year columns of extracts that cover several years. Published files state the year only in their name. */
const YEAR_COLUMNS = ['ANO_COLETA', 'ANO', 'NU_ANO']

const fold = (name: string): string =>
  name
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .trim()
    .toUpperCase()

export const isFnsColumn = (column: string): boolean => FNS_COLUMNS.some((name) => name === fold(column))

/** True for a header with the columns of block, municipality and gross value, which no other file combines. */
const isHeader = (columns: readonly string[]): boolean => {
  const folded = columns.map(fold)
  return (['BLOCO', 'CO_MUNICIPIO_IBGE', 'VL_BRUTO'] as const).every((name) => folded.includes(name))
}

export function isFnsFile(name: string, head: Buffer): boolean {
  if (isWorkbook(name)) return /repasse|\bfaf\b|fns/i.test(name)
  if (!/\.csv$/i.test(name)) return false
  // The tested column names have no accents, so either encoding works.
  const line = head.toString('latin1').split(/\r?\n/)[0] ?? ''
  return isHeader(splitLine(line.replace(/^\u00ef\u00bb\u00bf/, ''), separatorOf(line)))
}

/** @returns month (1 to 12) in a name such as `…-acumulado-ate-marco…`, or null */
export function monthOfName(name: string): number | null {
  const [, month = ''] = /ate[-_ ]+([a-z]+)/.exec(fold(name).toLowerCase()) ?? []
  const index = MONTH_NAMES.indexOf(month)
  return index < 0 ? null : index + 1
}

/** Returns the last year in a name: 2020 for `…/2021/12/REPASSE-FAF-COM-POPULACAO-2020.csv`. */
const yearOfName = (name: string): number | null => {
  const years = name.match(/(?<!\d)20\d{2}(?!\d)/g)
  return years === null ? null : Number(years.at(-1))
}

/** @throws ImportError if the year is unknown or a column is missing */
export async function* readFns(
  session: Session,
  found: FoundFile,
  onRead: (read: {
    readonly rows: number
    readonly columns: readonly string[]
    readonly lastMonths: ReadonlyMap<number, number>
  }) => void,
): AsyncGenerator<AccountRow | SetAsideRow> {
  const { columns, records } = await openTable(session, found, isHeader)
  const folded = columns.map(fold)
  const missing = FNS_COLUMNS.find((name) => !folded.includes(name))
  if (missing !== undefined)
    throw new ImportError(found.shown, `lacks the column ${missing}`, 'Import the file as FNS publishes it')
  const columnIndex = new Map<string, number>(FNS_COLUMNS.map((name) => [name, folded.indexOf(name)]))
  const yearAt = YEAR_COLUMNS.map((name) => folded.indexOf(name)).find((index) => index >= 0)
  const nameYear = yearOfName(found.name)
  if (yearAt === undefined && nameYear === null)
    throw new ImportError(
      found.shown,
      'does not say the year of its transfers',
      'Give it the name it was published with, which ends in the year (REPASSE-FAF-COM-POPULACAO-2024.csv)',
    )
  const lastMonths = new Map<number, number>()
  let rows = 0
  for await (const { row, cells } of records) {
    rows += 1
    const cell = (name: FnsColumn): string => cells[columnIndex.get(name) ?? -1] ?? ''
    const year = yearAt === undefined ? nameYear : Number(cells[yearAt])
    const [gross, net] = [readHundredths(cell('VL_BRUTO')), readHundredths(cell('VL_LIQUIDO'))]
    const code = cell('CO_MUNICIPIO_IBGE').replace(/\.0$/, '')
    if (year === null || !Number.isInteger(year) || year < 1990 || year > 2100)
      yield { row, reason: 'no_year' }
    else if (gross === null || net === null) yield { row, reason: 'amount_is_no_number' }
    else if (!/^\d{6,7}$/.test(code)) yield { row, reason: 'no_municipality' }
    else {
      const released = readMonth(cell('DT_ULTIMA_LIBERACAO'))
      // A transfer that was released in the next year still belongs to the file's year.
      const month = released === null ? 0 : Math.floor(released / 100) > year ? 12 : released % 100
      lastMonths.set(year, Math.max(lastMonths.get(year) ?? 0, month))
      // A state's fund is listed under its capital, so use the state code. The Federal District has only one fund.
      const isOfState = /^EST/i.test(cell('TP_REPASSE')) && !code.startsWith('53')
      const account = {
        row,
        source: 'fns',
        entity: isOfState ? code.slice(0, 2) : code.slice(0, 6),
        sphere: isOfState ? 'E' : 'M',
        year,
        month: null,
        period: 'year',
        category: [cell('BLOCO'), cell('GRUPO'), cell('ESTRATEGIA')],
        percentage: null,
      } as const
      for (const [stage, column, amount] of [
        ['transferred_gross', 'VL_BRUTO', gross],
        ['transferred_net', 'VL_LIQUIDO', net],
      ] as const)
        yield { ...account, stage, stageName: column, column, amount, raw: cell(column) }
    }
  }
  onRead({ rows, columns, lastMonths })
}
