/**
 * Imports CNES files of any number of months and states into one cnes release.
 * In: files of the national base, state files, and the municipality list (Parquet of a demography release). Out: Parquet in
 * the staging folder and its manifest entries. A month comes either from the national base or from state files, never both.
 */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FACILITY_LINEAGE, FACT_NAMES } from '../../model/cnes/lineage.ts'
import type { Table } from '../../model/required-tables.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Coverage, Snapshot } from '../../release/manifest.ts'
import { groupBy } from '../aggregated/group-by.ts'
import type { AreaImporter, BuildContext, BuiltArea } from '../area.ts'
import type { FoundFile } from '../discover.ts'
import { describeContents, findEmptied, findUncoded, type PublishedRows } from '../file-contents.ts'
import { ImportError } from '../import-error.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'
import { HeaderList } from '../readers/header-list.ts'
import { createSetAside, listSetAside, noteAside, rejectedRows, writeSetAside } from '../rejected-rows.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from '../write-parquet.ts'
import {
  addStateCatalogs,
  addTableCodes,
  createCatalogs,
  writeCatalogs,
  writeCodeNames,
} from './code-lists.ts'
import { isCodeTable, readCodeTables } from './code-tables.ts'
import { stageFacilityNames, writeFacilityNames } from './facility-names.ts'
import { buildPeriod } from './month.ts'
import { isMunicipalityTable, stageMunicipalityCodes } from './municipality-codes.ts'
import { type BaseReading, beginBaseMonth, PUBLISHER, stageBaseMonth } from './national-base.ts'
import { tableOfFile } from './national-tables.ts'
import type { PeriodInput } from './published-rows.ts'
import type { OpenedState } from './staged-rows.ts'
import { coverStates, GROUP_FACT, rowsOfStates } from './state-coverage.ts'
import { isStateTable, openStateFile, recogniseStateFile } from './state-files.ts'
import { columnsOf, stageStateMonth } from './state-month.ts'

const NATIONAL = 'BR'
const SET_ASIDE = 'set_aside'

const BASE_ARCHIVE = new RegExp(`^BASE_DE_DADOS_CNES_(\\d{6})${COPY_MARK}\\.zip$`, 'i')

interface CnesFiles {
  /** Tables of the national base by month (YYYYMM). */
  readonly base: ReadonlyMap<number, readonly FoundFile[]>
  readonly state: readonly FoundFile[]
  /** Files named br_municip.cnv. */
  readonly municipalities: readonly FoundFile[]
  readonly tables: readonly FoundFile[]
}

export const CNES: AreaImporter = {
  area: 'cnes',
  async recognises(name, readHead) {
    if (tableOfFile(name) !== null || isMunicipalityTable(name) || isCodeTable(name)) return true
    const state = recogniseStateFile(name)
    // Only CADGER is published as CSV. For other CSV names, test that the content is a packed table.
    return (
      state !== null && (state.group === 'CADGER' || !/\.csv$/i.test(name) || isStateTable(await readHead()))
    )
  },
  /** Reads tables of the national base inside their archive, whose name states the month, and skips its other tables. */
  placeOf(entry, archive) {
    const month = BASE_ARCHIVE.exec(archive)?.[1]
    const table = tableOfFile(basename(entry))
    if (table === null) return month === undefined ? 'extracted' : 'left out'
    if (month !== undefined && Number(month) !== table.period)
      throw new ImportError(
        `${archive}/${basename(entry)}`,
        `is of ${table.period} inside an archive of ${month}`,
        'Fetch the archive of the month again',
      )
    return 'in place'
  },
  async open(files) {
    const found = sortFiles(files)
    // Code tables alone are not enough, because there is no month whose codes they could name.
    if (found.base.size === 0 && found.state.length === 0) return null
    let reading: BaseReading | null = null
    return {
      synthetic: false,
      begin(session, onProgress) {
        const [first] = monthsOf(found)
        if (first !== undefined) reading = beginBaseMonth(session, ...first, onProgress)
        return async () => reading?.stop()
      },
      build: (context) => buildCnes(found, context, reading),
    }
  },
}

/** @throws ImportError if a table of a month occurs twice, for example in two folders of one archive */
function sortFiles(files: readonly FoundFile[]): CnesFiles {
  const base = new Map<number, FoundFile[]>()
  const tables = new Map<string, FoundFile>()
  for (const file of files) {
    const found = tableOfFile(basename(file.name))
    if (found === null) continue
    const key = `${found.table.name} ${found.period}`
    const twin = tables.get(key)
    if (twin !== undefined)
      throw new ImportError(
        file.shown,
        `is there twice: ${twin.shown} is the same table`,
        'Import one copy of each table',
      )
    tables.set(key, file)
    base.set(found.period, [...(base.get(found.period) ?? []), file])
  }
  const others = files.filter(({ name }) => tableOfFile(basename(name)) === null)
  return {
    base,
    state: others.filter(({ name }) => !isCodeTable(name) && !isMunicipalityTable(name)),
    municipalities: others.filter(({ name }) => isMunicipalityTable(name)),
    tables: others.filter(({ name }) => isCodeTable(name)),
  }
}

const monthsOf = ({ base }: CnesFiles) => [...base].sort(([left], [right]) => left - right)

/** @param begun reading of the first month of the national base, already in progress */
async function buildCnes(
  found: CnesFiles,
  { session, staging, needed, onProgress }: BuildContext,
  begun: BaseReading | null,
): Promise<BuiltArea> {
  const demography = needed.get('demography')
  if (demography === undefined)
    throw new ImportError(
      'CNES files',
      'come without a municipality list',
      "Add IBGE's list of municipalities and population to the import, or import them first",
    )
  await session.run(
    `CREATE TABLE mun AS SELECT ibge_code, lpad(CAST(ibge_code // 10 AS VARCHAR), 6, '0') AS code6, name, uf
       FROM read_parquet(${quoteText(join(demography, 'municipalities/part-0.parquet'))}) WHERE territorial_type <> 'ADMINISTRATIVE_REGION';
     ${createSetAside(SET_ASIDE)};
     CREATE TABLE maintainers (maintainer_cnpj VARCHAR, maintainer_name VARCHAR, raw_value VARCHAR, source_file VARCHAR, source_row INTEGER, source_column VARCHAR)`,
  )
  await createCatalogs(session)
  const municipalities = await stageMunicipalityCodes(session, found.municipalities)
  for (const { file, row } of municipalities.unread)
    await session.run(
      `INSERT INTO set_aside VALUES ('municipality_codes', ${quoteText(file)}, ${row}, 'unreadable_row')`,
    )
  const municipalityTable = municipalities.snapshots[0]?.file ?? null
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const snapshots: Snapshot[] = []
  const coverage: Record<string, Record<string, Coverage>> = {}
  const headers = new HeaderList()
  const periods: number[] = []
  const published: PublishedRows[] = []
  let rowsRead = 0
  const finishPeriod = async (
    input: PeriodInput,
    covered: ReadonlyMap<Table, Coverage>,
    files: readonly PublishedRows[],
  ): Promise<void> => {
    onProgress(`month ${input.period}: write`)
    const built = await buildPeriod(session, staging, input)
    outputs.push(...built.outputs, await writeCodeNames(session, staging, input.period))
    checks.push(...built.checks)
    Object.assign(counts, built.counts)
    published.push(...files)
    for (const [table, entry] of covered) {
      const empty = files.filter((file) => file.table === table && file.rows === 0).map(({ uf }) => uf)
      coverage[table] = {
        ...coverage[table],
        [input.period]: describeContents(
          await findUncoded(session, staging, table, [input.period]),
          entry,
          entry.states === 'all' && empty.length > 0 ? 'all' : empty,
        ),
      }
    }
    periods.push(input.period)
  }

  const opened = await openStateFiles(found.state)
  const byPeriod = groupBy(
    opened.filter(({ file }) => file.period !== null),
    ({ file }) => file.period as number,
  )
  for (const period of byPeriod.keys())
    if (found.base.has(period))
      throw new ImportError(
        `month ${period}`,
        'comes as a national base and as files by state',
        'Import one of the two',
      )

  for (const { file, name } of opened) {
    headers.add(name, file.published, file.columns)
    const deleted = file.deleted.map((row) => ({ row, reason: 'deleted' }))
    await noteAside(session, SET_ASIDE, GROUP_FACT[file.group] ?? 'facilities', name, deleted)
  }
  const tables = await readCodeTables(found.tables)
  for (const { file, columns, read: used } of tables.headers) headers.add(file, columns, used)
  for (const [dataset, codes] of tables.codes) await addTableCodes(session, dataset, codes)
  for (const { file, row } of tables.unread)
    await session.run(
      `INSERT INTO set_aside VALUES ('code_tables', ${quoteText(file)}, ${row}, 'unreadable_row')`,
    )
  const cadger = opened.filter(({ file }) => file.group === 'CADGER')
  for (const snapshot of [
    ...opened.map(({ snapshot }) => snapshot),
    ...municipalities.snapshots,
    ...tables.snapshots,
  ]) {
    snapshots.push(snapshot)
    rowsRead += snapshot.rows
  }
  for (const [period, files] of monthsOf(found)) {
    const reading = begun?.period === period ? begun : beginBaseMonth(session, period, files, onProgress)
    const tables = await reading.tables
    const fileOfView = await stageBaseMonth(session, period, tables)
    snapshots.push(...tables.snapshots)
    rowsRead += tables.snapshots.reduce((sum, { rows }) => sum + rows, 0)
    for (const { file, columns, read: used } of tables.headers) headers.add(file, columns, used)
    const national: Coverage = { family: 'base', states: 'all' }
    await finishPeriod(
      {
        period,
        family: 'base',
        facts: new Set(FACT_NAMES),
        municipalityTable,
        covered: new Map(FACT_NAMES.map((fact) => [fact, 'all' as const])),
        hasCadger: false,
        facilityColumns: tables.facilityColumns,
        files: fileOfView,
      },
      new Map((['facilities', ...FACT_NAMES] as const).map((table) => [table, national])),
      await Promise.all(
        FACT_NAMES.map(async (table) => ({
          table,
          uf: NATIONAL,
          period,
          rows: await session.number(`SELECT count(*) FROM st_${table}`),
        })),
      ),
    )
    await dropStaged(session)
  }
  const hasNames = await stageFacilityNames(session, cadger, tables.facilityNames)
  for (const [period, files] of [...byPeriod].sort(([left], [right]) => left - right)) {
    onProgress(`month ${period}: ${files.length} files by state`)
    const { facts, contradicting } = await stageStateMonth(session, files)
    counts[`facilities_of_contradicting_rows_${period}`] = contradicting
    await addStateCatalogs(session, period)
    const covered = coverStates(files)
    await finishPeriod(
      {
        period,
        family: 'state',
        facts,
        municipalityTable,
        covered: new Map(FACT_NAMES.map((fact) => [fact, covered.get(fact)?.states ?? []])),
        hasCadger: hasNames,
        facilityColumns: columnsOf(FACILITY_LINEAGE.state),
        files: null,
      },
      covered,
      rowsOfStates(files, period),
    )
    await dropStaged(session)
  }
  onProgress('catalogs')
  outputs.push(...(await writeCatalogs(session, staging)))
  if (hasNames) outputs.push(await writeFacilityNames(session, staging))
  outputs.push(await writeSetAside(session, staging, SET_ASIDE, SET_ASIDE))
  const { datasets, rowsByFile } = mergeOutputs(outputs)
  const setAside = await listSetAside(session, SET_ASIDE)
  const states = new Set(opened.map(({ file }) => file.uf))
  for (const [dataset, entry] of Object.entries(datasets))
    if (entry.periods.length > 0 && !dataset.endsWith('_provenance')) counts[dataset] = entry.rows
  return {
    datasets,
    rowsByFile,
    counts,
    setAside,
    rejected: rejectedRows(setAside),
    read: rowsRead,
    checks,
    coverage,
    emptied: findEmptied(published),
    headers: headers.list(),
    month: Math.max(...periods),
    censusYear: null,
    snapshots,
    scope: found.base.size === 0 && states.size === 1 ? [...states].join('').toLowerCase() : 'br',
  }
}

async function openStateFiles(files: readonly FoundFile[]): Promise<OpenedState[]> {
  const opened: OpenedState[] = []
  for (const { name, path, archive, shown } of files) {
    const bytes = await readFile(path)
    const file = await openStateFile(name, bytes)
    const twin = opened.find(
      ({ file: other }) => other.group === file.group && other.uf === file.uf && other.period === file.period,
    )
    if (twin !== undefined)
      throw new ImportError(
        shown,
        `is the same month and state as ${twin.shown}`,
        'Import one copy of each file',
      )
    opened.push({
      file,
      name,
      shown,
      snapshot: {
        publisher: PUBLISHER,
        file: name,
        archive,
        bytes: bytes.length,
        sha256: sha256Hex(bytes),
        rows: file.rows,
      },
    })
  }
  return opened
}

/** Drops the staged tables of a month, so that memory holds only one month at a time. */
async function dropStaged(session: Session): Promise<void> {
  const tables = await session.rows(
    `SELECT table_name AS name, table_type AS kind FROM information_schema.tables WHERE starts_with(table_name, 'st_') ORDER BY table_type DESC`,
  )
  for (const { name, kind } of tables.sort((left, right) =>
    String(left.kind) === 'VIEW' ? -1 : String(right.kind) === 'VIEW' ? 1 : 0,
  ))
    await session.run(`DROP ${String(kind) === 'VIEW' ? 'VIEW' : 'TABLE'} ${quoteName(String(name))}`)
}
