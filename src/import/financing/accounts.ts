/** Stages accounts in the DuckDB table financing_accounts, one row each. tables.ts sums them. */
import { createHash } from 'node:crypto'
import type { FinancingSource, Stage } from '../../model/financing/code-lists.ts'
import { createSetAside, noteAside, type SetAsideRow } from '../rejected-rows.ts'
import type { Session } from '../session.ts'

export const SET_ASIDE = 'financing_set_aside'

export interface AccountRow {
  /** Row number in the file. The header is row 1. */
  readonly row: number
  readonly source: FinancingSource
  /** IBGE code of a municipality (6 or 7 digits) or a state (2). */
  readonly entity: string
  readonly sphere: string
  readonly year: number
  /** Last month of the account's period, 1 to 12. Null stands for the last month of the year's file. */
  readonly month: number | null
  readonly period: string
  readonly stage: Stage
  readonly stageName: string
  /** Published category levels, from the widest to the narrowest. */
  readonly category: readonly string[]
  /** Cents. */
  readonly amount: bigint | null
  /** Hundredths of a percent. */
  readonly percentage: bigint | null
  readonly column: string
  readonly raw: string
}

export const isSetAside = (item: AccountRow | SetAsideRow): item is SetAsideRow => 'reason' in item

/** Eleven digits with optional CPF punctuation. They are a CPF if the check digits match. */
const CPF_SHAPE = /(?<![0-9])\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?![0-9])/g
const checkDigit = (digits: string): string => {
  const rest =
    [...digits].reduce((sum, digit, index) => sum + Number(digit) * (digits.length + 1 - index), 0) % 11
  return rest < 2 ? '0' : String(11 - rest)
}
const isCpf = (digits: string): boolean => {
  const base = digits.slice(0, 9)
  const first = checkDigit(base)
  return digits === `${base}${first}${checkDigit(base + first)}`
}
/** Replaces CPFs in a text, because people type category names and may include one. */
const withoutCpf = (text: string): string =>
  text.replaceAll(CPF_SHAPE, (found) => (isCpf(found.replaceAll(/\D/g, '')) ? '…' : found))

/** Largest path in bytes. Cursors contain the path and are limited, so longer paths are cut and end with a digest. */
const PATH_BYTES = 480

export function categoryPath(levels: readonly string[]): string {
  const path = levels.map((level) => withoutCpf(level.replaceAll(/\s+/g, ' ').trim())).join(' > ')
  if (Buffer.byteLength(path) <= PATH_BYTES) return path
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 12)
  let cut = path
  while (Buffer.byteLength(cut) > PATH_BYTES - digest.length - 6) cut = cut.slice(0, -1)
  return `${cut} … ${digest}`
}

export const createAccounts = (session: Session): Promise<void> =>
  session.run(
    `CREATE TABLE financing_accounts (source VARCHAR, published_entity VARCHAR, sphere VARCHAR, reference_year INTEGER, month INTEGER,
       period VARCHAR, stage VARCHAR, stage_name VARCHAR, category_path VARCHAR, amount_cents BIGINT, hundredths BIGINT,
       source_file VARCHAR, source_row INTEGER, published_column VARCHAR, raw_value VARCHAR);
     ${createSetAside(SET_ASIDE)}`,
  )

/** Rows to read before they are appended, because the reader and the appender share one connection. */
const BATCH_ROWS = 4096

/** Appends the accounts of a file to financing_accounts and records its rejected rows. */
export async function stageAccounts(
  session: Session,
  file: string,
  accounts: AsyncIterable<AccountRow | SetAsideRow> | Iterable<AccountRow | SetAsideRow>,
): Promise<void> {
  let batch: AccountRow[] = []
  const rejected: SetAsideRow[] = []
  // Cache the paths: a national file has a few hundred categories, each in thousands of rows.
  const paths = new Map<string, string>()
  const pathOf = (levels: readonly string[]): string => {
    const text = levels.join('\u0000')
    const path = paths.get(text) ?? categoryPath(levels)
    paths.set(text, path)
    return path
  }
  const flush = async (): Promise<void> => {
    await session.append('financing_accounts', (appender) => {
      const appendBigInt = (value: bigint | null): void =>
        value === null ? appender.appendNull() : appender.appendBigInt(value)
      for (const account of batch) {
        appender.appendVarchar(account.source)
        appender.appendVarchar(account.entity)
        appender.appendVarchar(account.sphere)
        appender.appendInteger(account.year)
        if (account.month === null) appender.appendNull()
        else appender.appendInteger(account.month)
        appender.appendVarchar(account.period)
        appender.appendVarchar(account.stage)
        appender.appendVarchar(account.stageName)
        appender.appendVarchar(pathOf(account.category))
        appendBigInt(account.amount)
        appendBigInt(account.percentage)
        appender.appendVarchar(file)
        appender.appendInteger(account.row)
        appender.appendVarchar(account.column)
        appender.appendVarchar(account.raw)
        appender.endRow()
      }
    })
    batch = []
  }
  for await (const item of accounts) {
    if (isSetAside(item)) rejected.push(item)
    else if (batch.push(item) >= BATCH_ROWS) await flush()
  }
  await flush()
  await noteAside(session, SET_ASIDE, 'health_financing', file, rejected)
}
