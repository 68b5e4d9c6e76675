/** `sus-data published-rows`: lists the rows of a published file that a record of a lineage response sums. */
import { readFileSync } from 'node:fs'
import { findPublishedRows } from '../../src/import/published-rows.ts'
import { type Command, textOption, UsageError } from '../command.ts'

interface LineageRecord {
  readonly published_rows?: {
    readonly count: number
    readonly where: readonly { readonly columns: readonly string[]; readonly pattern: string }[]
    readonly is_exact: boolean
  }
  readonly sources: readonly { readonly file: string | null; readonly sha256: string | null }[]
}

function numberOf(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${text} is no whole number`)
  return Number(text)
}

function readAnswer(file: string): { readonly data?: readonly LineageRecord[] } {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${file} is not JSON; save the answer of POST /v1/analytics/lineage again`)
  }
}

export const command: Command = {
  name: 'published-rows',
  summary: 'List the rows of a published file that a record of admissions or production was added up from.',
  usage: ['published-rows FILE --lineage ANSWER.json [--record N] [--limit N] [--offset N] [--json]'],
  options: {
    lineage: { type: 'string', help: 'Answer of POST /v1/analytics/lineage with "rows": true.' },
    record: { type: 'string', help: 'Which record of its data, from 1 on. Default 1.' },
    limit: { type: 'string', help: 'Rows that are listed. Default 100.' },
    offset: { type: 'string', help: 'Rows that are passed over. Default 0.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const [path, ...rest] = args.positionals
    const answer = textOption(args, 'lineage')
    if (path === undefined || rest.length > 0 || answer === undefined)
      throw new UsageError('published-rows takes a published file, and --lineage')
    const { data } = readAnswer(answer)
    const record = data?.[numberOf(textOption(args, 'record'), 1) - 1]
    const wanted = record?.published_rows
    if (record === undefined || wanted === undefined)
      throw new UsageError(`${answer} has no such record with published_rows: ask with "rows": true`)
    const found = await findPublishedRows(path, wanted.where, {
      limit: numberOf(textOption(args, 'limit'), 100),
      offset: numberOf(textOption(args, 'offset'), 0),
    })
    const isFile = record.sources.some(({ sha256 }) => sha256 === found.sha256)
    const isAll = wanted.is_exact ? found.count === wanted.count : found.count >= wanted.count
    const problems = [
      ...(isFile ? [] : [`its SHA-256 ${found.sha256} is not that of the record's source`]),
      ...(isAll ? [] : [`${found.count} rows meet the conditions, ${wanted.count} were added up`]),
    ]
    process.stdout.write(
      args.values.json === true
        ? `${JSON.stringify({ ...found, is_exact: wanted.is_exact, problems })}\n`
        : [
            ...found.rows.map(({ row, cells }) => `${row}\t${JSON.stringify(cells)}`),
            `${found.count} rows; ${wanted.count} were added up`,
            ...problems,
          ]
            .map((line) => `${line}\n`)
            .join(''),
    )
    return problems.length === 0 ? 0 : 1
  },
}
