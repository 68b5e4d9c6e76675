/**
 * A release whose rows are added up from monthly files by state: what is the same for every area of that kind. In: the area's files,
 * and how they are appended, written and checked. Out: Parquet in the staging folder and what the manifest says of it.
 *
 * Files are added up as they are read, on every core (decoders.ts), and each month is written before the one after the next is
 * read, so memory holds the groups of two months. The unit that a newer file replaces is a state's month, whole: which files make
 * one is the area's to say, before this begins.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddedUpTable } from '../../model/dimensions.ts'
import type { Coverage, Snapshot } from '../../release/manifest.ts'
import type { BuildContext, BuiltArea } from '../area.ts'
import { stageMunicipalityCodes } from '../cnes/municipality-codes.ts'
import type { FoundFile } from '../discover.ts'
import { describeContents, findEmptied, type PublishedRows } from '../file-contents.ts'
import { ImportError } from '../import-error.ts'
import { HeaderList } from '../readers/header-list.ts'
import { countsAsRejected, listSetAside, noteAside, rejectedRows, writeSetAside } from '../rejected-rows.ts'
import type { Session } from '../session.ts'
import { type CodeList, readCodeTables } from '../sih/code-tables.ts'
import { writeCodeLists } from '../sih/tables.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from '../write-parquet.ts'
import { type AddedUpArea, oldCodesOf, setAsideOf } from './area.ts'
import { type DecodeJob, type FileKind, type PromiseOf, type ReadOf, readInOrder } from './decoders.ts'
import { groupBy } from './group-by.ts'

const PUBLISHER = 'DATASUS'

export type MonthlyFile<Kind extends FileKind> = PromiseOf<Kind> & { readonly found: FoundFile }

/** What an operator gave of an area. */
export interface AddedUpFiles<Kind extends FileKind> {
  /** In the order in which the files of a month are appended. */
  readonly monthly: readonly MonthlyFile<Kind>[]
  /** Code tables that name what rows are of. */
  readonly tables: readonly FoundFile[]
  /** br_municip.cnv: codes that municipalities had before. */
  readonly municipalities: readonly FoundFile[]
}

/** What a file promised by its name, and what it holds. */
export type AppendedFile<Kind extends FileKind> = PromiseOf<Kind> & ReadOf<Kind> & { readonly file: string }
/** What is known of a file once its groups are appended. */
export type FileTotals<Kind extends FileKind> = PromiseOf<Kind> &
  Omit<ReadOf<Kind>, 'setAside'> & { readonly setAside: number }

/** How an area is made. */
export interface AddedUp<Kind extends FileKind> {
  readonly area: AddedUpArea
  readonly kind: Kind
  /** Its rows, in messages. */
  readonly rows: string
  /** Facts that every file is of. */
  readonly facts: readonly AddedUpTable[]
  /** Published columns that something is read from. */
  readonly columns: readonly string[]
  readonly lists: readonly CodeList[]
  /** Name of the table of rows set aside. */
  readonly setAside: string
  /** @param municipalities Parquet of the municipality list */
  createTables(session: Session, municipalities: string): Promise<void>
  append(session: Session, read: AppendedFile<Kind>): Promise<void>
  writeMonth(session: Session, staging: string, period: number): Promise<readonly DatasetOutput[]>
  checkMonth(
    session: Session,
    period: number,
    files: readonly FileTotals<Kind>[],
  ): Promise<{ readonly checks: readonly NamedCheck[]; readonly counts: Readonly<Record<string, number>> }>
  /** Lists beside those of code tables. */
  writeMore?(session: Session, staging: string): Promise<readonly DatasetOutput[]>
}

async function jobOf<Kind extends FileKind>(
  kind: Kind,
  { found: { path, name }, ...promise }: MonthlyFile<Kind>,
): Promise<DecodeJob<Kind>> {
  return { kind, path, name, promise: promise as unknown as PromiseOf<Kind>, bytes: (await stat(path)).size }
}

/** @throws ImportError where the municipality list lacks, or a file is not what it is named */
export async function buildAddedUp<Kind extends FileKind>(
  own: AddedUp<Kind>,
  { monthly, tables, municipalities }: AddedUpFiles<Kind>,
  { session, staging, needed, onProgress, threads }: BuildContext,
): Promise<BuiltArea> {
  const { area, kind, facts } = own
  const demography = needed.get('demography')
  if (demography === undefined)
    throw new ImportError(
      own.rows,
      'cannot be placed without a municipality list',
      "Add IBGE's list of municipalities and population to the import, or import them first",
    )
  const codes = await readCodeTables(tables)
  await own.createTables(session, join(demography, 'municipalities/part-0.parquet'))
  const old = await stageMunicipalityCodes(session, municipalities, oldCodesOf(area))
  for (const { file, row } of [...codes.unread, ...old.unread])
    await noteAside(session, setAsideOf(area), 'code_tables', file, [{ row, reason: 'unreadable_row' }])
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const snapshots: Snapshot[] = [...codes.snapshots, ...old.snapshots]
  const headers = new HeaderList()
  const coverage: Record<string, Record<string, Coverage>> = {}
  const published: PublishedRows[] = []
  const months = [...groupBy(monthly, ({ period }) => period)].sort(([left], [right]) => left - right)
  const jobs = await Promise.all(
    months.map(([, files]) => Promise.all(files.map((file) => jobOf(kind, file)))),
  )
  const decoded = readInOrder(jobs, threads)
  try {
    for (const [period, files] of months) {
      const totals: FileTotals<Kind>[] = []
      for (const { found, ...promise } of files) {
        onProgress(`month ${period}: ${found.name}`)
        const { value: read } = await decoded.next()
        if (read === undefined) throw new TypeError('a file was not read')
        headers.add(found.name, read.columns, own.columns)
        await noteAside(session, setAsideOf(area), facts[0] ?? area, found.name, read.setAside)
        const appended = { ...promise, ...read, file: found.name } as unknown as AppendedFile<Kind>
        await own.append(session, appended)
        // Deleted rows are in no total.
        const rejected = read.setAside.filter(({ reason }) => countsAsRejected(reason))
        totals.push({ ...appended, setAside: rejected.length } as unknown as FileTotals<Kind>)
        snapshots.push({
          publisher: PUBLISHER,
          file: found.name,
          archive: found.archive,
          bytes: read.bytes,
          sha256: read.sha256,
          rows: read.rows,
        })
      }
      onProgress(`month ${period}: write`)
      outputs.push(...(await own.writeMonth(session, staging, period)))
      const checked = await own.checkMonth(session, period, totals)
      checks.push(...checked.checks)
      Object.assign(counts, checked.counts)
      const rowsByState = groupBy(totals, ({ uf }) => uf)
      const states = [...rowsByState.keys()].sort()
      const rowsOf = (uf: string): number =>
        (rowsByState.get(uf) ?? []).reduce((sum, { rows }) => sum + rows, 0)
      for (const table of facts)
        coverage[table] = {
          ...coverage[table],
          [period]: await describeContents(
            session,
            staging,
            table,
            period,
            { family: 'state', states },
            states.filter((uf) => rowsOf(uf) === 0),
          ),
        }
      const [table] = facts
      if (table !== undefined)
        published.push(...states.map((uf) => ({ table, uf, period, rows: rowsOf(uf) })))
    }
  } finally {
    await decoded.return(undefined)
  }
  onProgress('code lists')
  outputs.push(
    ...(await writeCodeLists(session, staging, codes.codes, area, own.lists)),
    ...((await own.writeMore?.(session, staging)) ?? []),
    await writeSetAside(session, staging, setAsideOf(area), own.setAside),
  )
  const { datasets, rowsByFile } = mergeOutputs(outputs)
  const setAside = await listSetAside(session, setAsideOf(area))
  for (const dataset of facts) counts[dataset] = datasets[dataset]?.rows ?? 0
  const states = new Set(monthly.map(({ uf }) => uf))
  return {
    datasets,
    rowsByFile,
    counts,
    setAside,
    rejected: rejectedRows(setAside),
    read: snapshots.reduce((sum, { rows }) => sum + rows, 0),
    checks,
    emptied: findEmptied(published),
    coverage,
    headers: headers.list(),
    month: Math.max(...months.map(([period]) => period)),
    censusYear: null,
    snapshots,
    scope: states.size === 1 ? [...states].join('').toLowerCase() : 'br',
  }
}
