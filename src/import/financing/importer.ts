/**
 * Imports FNS, SICONFI and SIOPS files of any number of years into one financing release.
 * In: files, and the municipality list (Parquet of a demography release). Out: Parquet in the staging folder and its
 * manifest entries. A newer file replaces all data of a source, government and year, so a second such file is rejected.
 * Partitions are months, and a year uses its last month. An unchanged partition becomes a hard link in the next release.
 */
import { join } from 'node:path'
import type { Snapshot } from '../../release/manifest.ts'
import type { AreaImporter, BuildContext, BuiltArea } from '../area.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { HeaderList } from '../readers/header-list.ts'
import { listSetAside, writeSetAside } from '../rejected-rows.ts'
import { mergeOutputs, type NamedCheck } from '../write-parquet.ts'
import { createAccounts, SET_ASIDE, stageAccounts } from './accounts.ts'
import { isFnsColumn, isFnsFile, monthOfName, readFns } from './fns.ts'
import { readFirstBytes, snapshotOf } from './records.ts'
import {
  isSiconfiFile,
  joinPages,
  type ReadReport,
  readAccounts,
  readReport,
  SICONFI_COLUMNS,
} from './siconfi.ts'
import {
  readIndicators,
  readLegend,
  readPeriods,
  readStateAccounts,
  type SiopsKind,
  siopsKind,
} from './siops.ts'
import { assignGovernments, createGovernments, writeTables } from './tables.ts'

const PUBLISHERS = { fns: 'FNS', siconfi: 'Tesouro Nacional', siops: 'SIOPS' } as const
type Kind = 'fns' | 'siconfi' | SiopsKind

const kindOf = (name: string, head: Buffer): Kind | null =>
  isFnsFile(name, head) ? 'fns' : isSiconfiFile(name, head) ? 'siconfi' : siopsKind(name, head)

interface FinancingFiles {
  readonly fns: readonly FoundFile[]
  readonly siconfi: readonly FoundFile[]
  /** SIOPS files: accounts of states, names of accounts, indicators, and the meaning of period codes. */
  readonly accounts: readonly FoundFile[]
  readonly legends: readonly FoundFile[]
  readonly indicators: readonly FoundFile[]
  readonly periods: readonly FoundFile[]
}

export const FINANCING: AreaImporter = {
  area: 'financing',
  recognisesNames: true,
  recognises: async (name, readHead) =>
    /\.(csv|json|xlsx)$/i.test(name) && kindOf(name, await readHead()) !== null,
  async open(files) {
    const filesByName = new Map<string, FoundFile>()
    for (const file of files) {
      const twin = filesByName.get(file.name)
      if (twin !== undefined)
        throw new ImportError(
          file.shown,
          `is there twice: ${twin.shown} has the same name`,
          'Import one copy of each file, under names that differ',
        )
      filesByName.set(file.name, file)
    }
    const kinds = new Map<FoundFile, Kind | null>()
    for (const file of files) kinds.set(file, kindOf(file.name, await readFirstBytes(file.path)))
    const filesOf = (...wanted: readonly Kind[]): FoundFile[] =>
      files
        .filter((file) => wanted.some((kind) => kinds.get(file) === kind))
        .sort((left, right) => (left.name < right.name ? -1 : 1))
    const found: FinancingFiles = {
      fns: filesOf('fns'),
      siconfi: filesOf('siconfi'),
      accounts: filesOf('accounts'),
      legends: filesOf('legend'),
      indicators: filesOf('indicators'),
      periods: filesOf('periods'),
    }
    // Legends and period codes alone contain no accounts.
    if (found.fns.length + found.siconfi.length + found.accounts.length + found.indicators.length === 0)
      return null
    return { synthetic: false, build: (context) => buildFinancing(found, context) }
  },
}

async function buildFinancing(
  found: FinancingFiles,
  { session, staging, needed, onProgress }: BuildContext,
): Promise<BuiltArea> {
  const demography = needed.get('demography')
  if (demography === undefined)
    throw new ImportError(
      'health financing',
      'comes without a municipality list',
      "Add IBGE's list of municipalities and population to the import, or import them first",
    )
  await createGovernments(session, join(demography, 'municipalities/part-0.parquet'))
  await createAccounts(session)
  const snapshots: Snapshot[] = []
  const headers = new HeaderList()
  const counts: Record<string, number> = {}
  const lastMonths = await stageTransfers(found.fns, { session, snapshots, headers, onProgress })
  await stageReports(found.siconfi, { session, snapshots, headers, onProgress }, counts)
  await stageSiops(found, { session, snapshots, headers, onProgress }, counts)
  await assignGovernments(session, snapshots, lastMonths)
  onProgress('accounts')
  const written = await writeTables(session, staging)
  const { datasets, rowsByFile } = mergeOutputs([
    ...written.outputs,
    await writeSetAside(session, staging, SET_ASIDE, 'set_aside_financing'),
  ])
  const setAside = await listSetAside(session, SET_ASIDE)
  const newest = written.periods.at(-1)
  if (newest === undefined)
    throw new ImportError(
      'health financing',
      'has no account of health in any of its files',
      'Import files of FNS, annexes 02 and 14 of SICONFI (RREO), or accounts and indicators of SIOPS',
    )
  const checks: NamedCheck[] = [...written.checks]
  return {
    datasets,
    rowsByFile,
    counts: { ...counts, ...written.counts },
    setAside,
    rejected: setAside.reduce((sum, { rows }) => sum + rows, 0),
    read: snapshots.reduce((sum, { rows }) => sum + rows, 0),
    checks,
    coverage: written.coverage,
    headers: headers.list(),
    month: newest,
    censusYear: null,
    snapshots,
    scope: written.states.size === 1 ? [...written.states].join('').toLowerCase() : 'br',
  }
}

interface Staging extends Pick<BuildContext, 'session' | 'onProgress'> {
  readonly snapshots: Snapshot[]
  readonly headers: HeaderList
}

/** @returns the last month of each year. It is December except in the newest year, which may be incomplete. */
async function stageTransfers(
  files: readonly FoundFile[],
  { session, snapshots, headers, onProgress }: Staging,
): Promise<Map<number, number>> {
  const released = new Map<number, number>()
  const monthsInNames = new Map<number, number>()
  for (const file of files) {
    onProgress(file.name)
    let published = 0
    await stageAccounts(
      session,
      file.name,
      readFns(session, file, ({ rows, columns, lastMonths }) => {
        published = rows
        headers.add(file.name, columns, columns.filter(isFnsColumn))
        for (const [year, month] of lastMonths) {
          released.set(year, Math.max(released.get(year) ?? 0, month))
          const nameMonth = lastMonths.size === 1 ? monthOfName(file.name) : null
          if (nameMonth !== null) monthsInNames.set(year, nameMonth)
        }
      }),
    )
    snapshots.push(await snapshotOf(file, PUBLISHERS.fns, published))
  }
  const newest = Math.max(...released.keys())
  return new Map(
    [...released].map(([year, month]) => [
      year,
      year < newest ? 12 : (monthsInNames.get(year) ?? (month === 0 ? 12 : month)),
    ]),
  )
}

async function stageReports(
  files: readonly FoundFile[],
  { session, snapshots, headers, onProgress }: Staging,
  counts: Record<string, number>,
): Promise<void> {
  const reports: ReadReport[] = []
  for (const file of files) {
    onProgress(file.name)
    const report = await readReport(session, file)
    headers.add(file.name, report.columns, SICONFI_COLUMNS)
    snapshots.push(await snapshotOf(file, PUBLISHERS.siconfi, report.rows.length))
    reports.push(report)
  }
  let [compared, unequal] = [0, 0]
  for (const report of joinPages(reports)) {
    const { pages, sums } = readAccounts(report)
    for (const { found, accounts } of pages) await stageAccounts(session, found.name, accounts)
    compared += sums.compared
    unequal += sums.unequal
  }
  if (files.length === 0) return
  // Governments declare totals and subfunctions. If they differ, both are kept as declared.
  counts.health_totals_compared_with_subfunctions = compared
  counts.health_totals_unlike_subfunctions = unequal
}

async function stageSiops(
  { accounts, legends, indicators, periods }: FinancingFiles,
  { session, snapshots, headers, onProgress }: Staging,
  counts: Record<string, number>,
): Promise<void> {
  const names = new Map<string, string>()
  for (const file of legends) {
    const legend = await readLegend(file)
    snapshots.push(await snapshotOf(file, PUBLISHERS.siops, legend.rows))
    for (const [code, name] of legend.names) if (!names.has(code)) names.set(code, name)
  }
  for (const file of accounts) {
    onProgress(file.name)
    let published = 0
    await stageAccounts(
      session,
      file.name,
      readStateAccounts(session, file, names, ({ rows, columns }) => {
        published = rows
        headers.add(file.name, columns, columns)
      }),
    )
    snapshots.push(await snapshotOf(file, PUBLISHERS.siops, published))
  }
  const bimesters = new Map<string, number>()
  for (const file of periods) {
    const read = await readPeriods(file)
    snapshots.push(await snapshotOf(file, PUBLISHERS.siops, read.rows))
    for (const [key, bimester] of read.periods) bimesters.set(key, bimester)
  }
  let missing = 0
  for (const file of indicators) {
    onProgress(file.name)
    const read = await readIndicators(file, bimesters)
    await stageAccounts(session, file.name, read.accounts)
    snapshots.push(await snapshotOf(file, PUBLISHERS.siops, read.rows))
    if (read.isMissing) missing += 1
  }
  if (indicators.length > 0) counts.siops_answers_without_indicators = missing
}
