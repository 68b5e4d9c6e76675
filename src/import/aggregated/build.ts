/**
 * Builds a release whose rows are aggregated from files by state and month, or by state and year. Each area supplies its files,
 * its tables and its checks. The result is Parquet in the staging folder and the manifest contents. A batch is the files of one
 * month (of one year). Files are aggregated while they are read, on all cores (decoders.ts). Reading runs a few files of the next
 * batch ahead of writing, which limits the groups in memory. A newer import replaces a whole batch of a state; the area decides
 * beforehand which files form one.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddedUpTable } from '../../model/dimensions.ts'
import { STATES } from '../../model/territory/states.ts'
import type { Coverage, Snapshot } from '../../release/manifest.ts'
import type { BuildContext, BuiltArea } from '../area.ts'
import { stageMunicipalityCodes } from '../cnes/municipality-codes.ts'
import type { FoundFile } from '../discover.ts'
import { describeContents, findEmptied, findUncoded, type PublishedRows } from '../file-contents.ts'
import { ImportError } from '../import-error.ts'
import { HeaderList } from '../readers/header-list.ts'
import { countsAsRejected, listSetAside, noteAside, rejectedRows, writeSetAside } from '../rejected-rows.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from '../write-parquet.ts'
import {
  type AggregatedAreaName,
  createMunicipalityTables,
  oldCodesTable,
  rejectedRowsTable,
} from './area.ts'
import { writeCodeLists } from './code-lists.ts'
import { type CodeList, readCodeTables } from './code-tables.ts'
import { type DecodeJob, readInOrder } from './decoders.ts'
import { groupBy } from './group-by.ts'
import { type PublicationStatus, publicationStatusOf } from './publication-status.ts'
import { type FileKind, type GroupsMember, type NamePartsOf, READERS, type ReadOf } from './readers.ts'
import {
  appendFile,
  createRows,
  createStagedTables,
  dropRows,
  requireWritten,
  type StagedTable,
  writeRows,
} from './tables.ts'

const PUBLISHER = 'DATASUS'
/** Stands for the state of a file of the country. */
const COUNTRY = 'BR'

export type MonthlyFile<Kind extends FileKind> = NamePartsOf<Kind> & { readonly found: FoundFile }

export interface AggregatedFiles<Kind extends FileKind> {
  /** Monthly files, in append order within a month. */
  readonly monthly: readonly MonthlyFile<Kind>[]
  readonly tables: readonly FoundFile[]
  /** br_municip.cnv: old municipality codes. */
  readonly municipalities: readonly FoundFile[]
}

export type AppendedFile<Kind extends FileKind> = NamePartsOf<Kind> & ReadOf<Kind> & { readonly file: string }
export type FileTotals<Kind extends FileKind> = NamePartsOf<Kind> &
  Omit<ReadOf<Kind>, 'setAside' | GroupsMember> & {
    readonly setAside: number
    readonly publication_status: PublicationStatus | ''
  }

export interface AggregatedArea<Kind extends FileKind> {
  readonly area: AggregatedAreaName
  readonly kind: Kind
  readonly rowsLabel: string
  readonly tables: readonly StagedTable[]
  /** SQL of the codes that the rows of a batch use: list, code. */
  readonly usedCodes: string
  /** Published columns that are read. */
  readonly columns: readonly string[]
  readonly lists: readonly CodeList[]
  readonly rejectedTable: string
  /** Prepares the session before the first file. @param municipalities Parquet of the municipality list */
  prepare?(session: Session, municipalities: string): Promise<void>
  /** Adds columns to the rows of a batch before they are written. */
  completeRows?(session: Session): Promise<void>
  /** @returns the months (YYYYMM) that a batch covers. Without it, the period of a file is its month. */
  periodsOf?(period: number, files: readonly FileTotals<Kind>[]): readonly number[]
  /** @returns further periods that rows of a batch have, which are no months, so that coverage does not list them */
  periodsWithoutCoverage?(period: number, files: readonly FileTotals<Kind>[]): readonly number[]
  /** @returns what a file covers in a table: its state, the country, or nothing. Without it, `coverageByState` in every table. */
  coverageOf?(table: AddedUpTable, file: NamePartsOf<Kind>): FileCoverage
  /** Compares the rows of a batch with its files, and counts unusual rows. */
  checkBatch(
    session: Session,
    period: number,
    files: readonly FileTotals<Kind>[],
  ): Promise<{ readonly checks: readonly NamedCheck[]; readonly counts: Readonly<Record<string, number>> }>
  /** Writes further lists, in addition to those of code tables. */
  writeExtraLists?(session: Session, staging: string): Promise<readonly DatasetOutput[]>
}

export type FileCoverage = 'state' | 'country' | 'nothing'
/** Files of residents abroad cover nothing, because they are of no state. */
export const coverageByState = ({ uf }: { readonly uf: string }): FileCoverage =>
  STATES.some((state) => state.uf === uf) ? 'state' : 'nothing'

async function createJob<Kind extends FileKind>(
  kind: Kind,
  { found: { path, name }, ...nameParts }: MonthlyFile<Kind>,
): Promise<DecodeJob<Kind>> {
  return {
    kind,
    path,
    name,
    promise: nameParts as unknown as NamePartsOf<Kind>,
    bytes: (await stat(path)).size,
  }
}

/** @returns the members of a decoded file without its groups: those of a national month would keep 0.4 GB until it is written */
const omitGroups = (kind: FileKind, read: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(read).filter(([name]) => !(READERS[kind].groups as readonly string[]).includes(name)),
  )

const countRows = (files: readonly { readonly rows: number }[]): number =>
  files.reduce((sum, { rows }) => sum + rows, 0)

/** @param states covered states; 'all' by a file of the country (BR) @returns the status of their files, as far as their folders say it */
function statusOf(
  files: readonly { readonly uf: string; readonly found: FoundFile }[],
  states: Coverage['states'],
): Pick<Coverage, 'status'> {
  const declared = files.flatMap(({ uf, found }) => {
    const status = publicationStatusOf(found.shown)
    if (status === null) return []
    if (states === 'all') return uf === COUNTRY ? STATES.map((state) => [state.uf, status] as const) : []
    return states.includes(uf) ? [[uf, status] as const] : []
  })
  return declared.length === 0 ? {} : { status: Object.fromEntries(declared) }
}

/** @throws ImportError if the municipality list is missing, or the content of a file contradicts its name */
export async function buildAggregatedArea<Kind extends FileKind>(
  definition: AggregatedArea<Kind>,
  { monthly, tables, municipalities }: AggregatedFiles<Kind>,
  { session, staging, needed, onProgress, threads }: BuildContext,
): Promise<BuiltArea> {
  const { area, kind, tables: stagedTables } = definition
  const facts = stagedTables.map(({ dataset }) => dataset)
  const demography = needed.get('demography')
  if (demography === undefined)
    throw new ImportError(
      definition.rowsLabel,
      'cannot be placed without a municipality list',
      "Add IBGE's list of municipalities and population to the import, or import them first",
    )
  const codes = await readCodeTables(tables)
  const places = join(demography, 'municipalities/part-0.parquet')
  await createMunicipalityTables(session, area, places)
  await definition.prepare?.(session, places)
  const oldCodes = await stageMunicipalityCodes(session, municipalities, oldCodesTable(area))
  for (const { file, row } of [...codes.unread, ...oldCodes.unread])
    await noteAside(session, rejectedRowsTable(area), 'code_tables', file, [
      { row, reason: 'unreadable_row' },
    ])
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const snapshots: Snapshot[] = [...codes.snapshots, ...oldCodes.snapshots]
  const headers = new HeaderList()
  const coverage: Record<string, Record<string, Coverage>> = {}
  const publishedRows: PublishedRows[] = []
  const months = [...groupBy(monthly, ({ period }) => period)].sort(([left], [right]) => left - right)
  const jobs = await Promise.all(
    months.map(([, files]) => Promise.all(files.map((file) => createJob(kind, file)))),
  )
  const decodedFiles = readInOrder(jobs, threads)
  try {
    for (const [period, files] of months) {
      const totals: FileTotals<Kind>[] = []
      await createStagedTables(session, area, stagedTables)
      for (const [number, { found, ...nameParts }] of files.entries()) {
        onProgress(`month ${period}: ${found.name}`)
        const { value: read } = await decodedFiles.next()
        if (read === undefined) throw new TypeError('a file was not read')
        headers.add(found.name, read.columns, definition.columns)
        await noteAside(session, rejectedRowsTable(area), facts[0] ?? area, found.name, read.setAside)
        const publication_status = publicationStatusOf(found.shown) ?? ''
        const appended = {
          ...{ ...nameParts, ...read, publication_status },
          file: found.name,
        } as unknown as AppendedFile<Kind>
        await appendFile(session, area, stagedTables, number, appended)
        // Do not count deleted rows here, because `rows` does not include them.
        const rejected = read.setAside.filter(({ reason }) => countsAsRejected(reason))
        totals.push({
          ...omitGroups(kind, appended),
          setAside: rejected.length,
        } as unknown as FileTotals<Kind>)
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
      await createRows(session, area, stagedTables)
      await definition.completeRows?.(session)
      await session.run(`INSERT INTO ${area}_codes ${definition.usedCodes}`)
      const monthsOf = (read: readonly FileTotals<Kind>[]): readonly number[] =>
        definition.periodsOf?.(period, read) ?? [period]
      const covering = (table: AddedUpTable, covered: FileCoverage): FileTotals<Kind>[] =>
        totals.filter((file) => (definition.coverageOf?.(table, file) ?? coverageByState(file)) === covered)
      const periods = [...monthsOf(totals), ...(definition.periodsWithoutCoverage?.(period, totals) ?? [])]
      const written: DatasetOutput[] = []
      for (const month of periods)
        written.push(...(await writeRows(session, staging, area, stagedTables, month)))
      await requireWritten(session, area, stagedTables, written)
      outputs.push(...written)
      for (const table of facts) {
        const uncoded = await findUncoded(session, staging, table, periods)
        const filesByState = groupBy(covering(table, 'state'), ({ uf }) => uf)
        for (const month of monthsOf(totals)) {
          // In a year under way the files of some states end earlier: their later months are not collected.
          const ofStates = [...filesByState]
            .filter(([, read]) => monthsOf(read).includes(month))
            .sort(([left], [right]) => (left < right ? -1 : 1))
          const ofCountry = covering(table, 'country').filter((file) => monthsOf([file]).includes(month))
          // A month that only residents abroad have is not collected for any state, and must not become the newest month.
          if (ofStates.length + ofCountry.length === 0) continue
          const states = ofCountry.length > 0 ? 'all' : ofStates.map(([uf]) => uf)
          const published = files.map(({ uf, found }) => ({ uf, found }))
          const empty = ofStates.filter(([, read]) => countRows(read) === 0).map(([uf]) => uf)
          const isCountryEmpty = ofCountry.length > 0 && countRows(ofCountry) === 0
          coverage[table] = {
            ...coverage[table],
            [month]: describeContents(
              new Map([...uncoded].filter(([uf]) => states === 'all' || states.includes(uf))),
              { family: 'state', states, ...statusOf(published, states) },
              isCountryEmpty ? 'all' : empty,
            ),
          }
        }
      }
      const batchResult = await definition.checkBatch(session, period, totals)
      checks.push(...batchResult.checks)
      Object.assign(counts, batchResult.counts)
      await dropRows(session, area, stagedTables)
      const [table] = facts
      if (table !== undefined)
        publishedRows.push(
          ...[...groupBy(covering(table, 'state'), ({ uf }) => uf)].map(([uf, read]) => ({
            ...{ table, uf, period },
            rows: countRows(read),
          })),
        )
    }
  } finally {
    await decodedFiles.return(undefined)
  }
  onProgress('code lists')
  outputs.push(
    ...(await writeCodeLists(session, staging, codes.codes, area, definition.lists)),
    ...((await definition.writeExtraLists?.(session, staging)) ?? []),
    await writeSetAside(session, staging, rejectedRowsTable(area), definition.rejectedTable),
  )
  const { datasets, rowsByFile } = mergeOutputs(outputs)
  const setAside = await listSetAside(session, rejectedRowsTable(area))
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
    emptied: findEmptied(publishedRows),
    coverage,
    headers: headers.list(),
    month: Math.max(...months.map(([period]) => period)),
    censusYear: null,
    snapshots,
    scope: states.size === 1 ? [...states].join('').toLowerCase() : 'br',
  }
}
