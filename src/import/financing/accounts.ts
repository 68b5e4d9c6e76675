/**
 * Accounts of financing as they are read from published files, staged in DuckDB one row each. In: what the readers of the
 * sources yield. Out: the table financing_accounts. Not here: what is added up of them (tables.ts).
 */
import { createHash } from 'node:crypto'
import type { FinancingSource, Stage } from '../../model/financing/code-lists.ts'
import { createSetAside, noteAside, type SetAsideRow } from '../rejected-rows.ts'
import type { Session } from '../session.ts'

/** Table of rows that could not be loaded. */
export const SET_ASIDE = 'financing_set_aside'

/** One published amount or percentage. */
export interface AccountRow {
  /** Row of the file, header = 1. */
  readonly row: number
  readonly source: FinancingSource
  /** IBGE code of a municipality (6 or 7 digits) or a state (2). */
  readonly entity: string
  readonly sphere: string
  readonly year: number
  /** Last month that it is of, 1 to 12; null: that of the year's file. */
  readonly month: number | null
  readonly period: string
  readonly stage: Stage
  readonly stageName: string
  /** From the widest to the narrowest, as published. */
  readonly category: readonly string[]
  /** Cents. */
  readonly amount: bigint | null
  /** Hundredths of a percent. */
  readonly percentage: bigint | null
  readonly column: string
  /** The published cell. */
  readonly raw: string
}

export const isSetAside = (read: AccountRow | SetAsideRow): read is SetAsideRow => 'reason' in read

/** Eleven digits, with or without the usual marks: where their check digits are right they are a CPF. */
const CPF_SHAPE = /(?<![0-9])\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?![0-9])/g
const checkDigit = (digits: string): string => {
  const rest = [...digits].reduce((sum, digit, at) => sum + Number(digit) * (digits.length + 1 - at), 0) % 11
  return rest < 2 ? '0' : String(11 - rest)
}
const isCpf = (digits: string): boolean => {
  const base = digits.slice(0, 9)
  const first = checkDigit(base)
  return digits === `${base}${first}${checkDigit(base + first)}`
}
/** Categories are texts that people write: a CPF in one is not kept. */
const withoutCpf = (text: string): string =>
  text.replaceAll(CPF_SHAPE, (found) => (isCpf(found.replaceAll(/\D/g, '')) ? '…' : found))

/** A cursor ends with the path of its row, and has a bound: longer paths are cut, and end with a digest of the whole. */
const PATH_BYTES = 480

/** @returns the parts as one path, at most PATH_BYTES of UTF-8 */
export function categoryPath(parts: readonly string[]): string {
  const path = parts.map((part) => withoutCpf(part.replaceAll(/\s+/g, ' ').trim())).join(' > ')
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

/** Rows that are appended before the next ones are read: the reader and the appender use one connection. */
const BATCH_ROWS = 4096

/** @returns rows set aside and accounts staged of a file, by source */
export async function stageAccounts(
  session: Session,
  file: string,
  accounts: AsyncIterable<AccountRow | SetAsideRow> | Iterable<AccountRow | SetAsideRow>,
): Promise<void> {
  let batch: AccountRow[] = []
  const aside: SetAsideRow[] = []
  // A national file has a few hundred categories, and each in thousands of rows.
  const paths = new Map<string, string>()
  const pathOf = (parts: readonly string[]): string => {
    const text = parts.join('\u0000')
    const path = paths.get(text) ?? categoryPath(parts)
    paths.set(text, path)
    return path
  }
  const flush = async (): Promise<void> => {
    const appender = await session.connection.createAppender('financing_accounts')
    const number = (value: bigint | null): void =>
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
      number(account.amount)
      number(account.percentage)
      appender.appendVarchar(file)
      appender.appendInteger(account.row)
      appender.appendVarchar(account.column)
      appender.appendVarchar(account.raw)
      appender.endRow()
    }
    appender.closeSync()
    batch = []
  }
  for await (const read of accounts) {
    if (isSetAside(read)) aside.push(read)
    else if (batch.push(read) >= BATCH_ROWS) await flush()
  }
  await flush()
  await noteAside(session, SET_ASIDE, 'health_financing', file, aside)
}
