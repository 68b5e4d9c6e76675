/**
 * CNES snapshots of any number of months and states → the datasets of one cnes release.
 *
 * In: discovered files and the municipality list (Parquet of a demography release). Out: Parquet in the staging folder
 * and what the manifest says of it. A month is either national (family base) or made of files by state.
 */
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  CADGER_LINEAGE,
  FACILITY_LINEAGE,
  FACT_LINEAGE,
  type FactName,
  REPEATED_FACILITY_LINEAGE,
} from '../model/lineage.ts'
import { sha256Hex } from '../release/digest.ts'
import type { Coverage, Snapshot } from '../release/manifest.ts'
import { addBaseCatalogs, addKnownCatalogs, createCatalogs, writeCatalogs } from './cnes-catalogs.ts'
import { buildPeriod, type PeriodInput } from './cnes-period.ts'
import { type Extracted, extractZip } from './containers/zip.ts'
import type { BuiltArea } from './demography.ts'
import type { Discovery, FoundFile } from './discover.ts'
import { groupBy } from './group-by.ts'
import { ImportError } from './import-error.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck, writeParquet } from './output.ts'
import { FACT_TABLES, PUBLISHED_TABLES, type PublishedTable, tableOfFile } from './published-tables.ts'
import { applyRule } from './rules.ts'
import { quoteName, quoteText, type Session } from './session.ts'
import { openStateFile, type StateFile, type StateGroup } from './sources/cnes-state.ts'
import { stageCsv } from './stage-csv.ts'
import { transcodeFile } from './transcode.ts'

const GROUP_FACT: Partial<Record<StateGroup, FactName>> = {
  LT: 'bed_capacity',
  EQ: 'equipment_inventory',
  SR: 'specialized_services',
}
const ALL_FACTS: readonly FactName[] = ['bed_capacity', 'equipment_inventory', 'specialized_services']
const PUBLISHER = 'DATASUS'

export interface CnesBuild extends BuiltArea {
  readonly snapshots: readonly Snapshot[]
  /** The state where there is just one, else br. */
  readonly scope: string
}

interface OpenedState {
  readonly file: StateFile
  readonly name: string
  readonly snapshot: Snapshot
}

/**
 * @param municipalities Parquet file of the municipality list
 * @param onProgress one line a step
 */
export async function buildCnes(
  session: Session,
  staging: string,
  found: Discovery,
  municipalities: string,
  onProgress: (step: string) => void,
): Promise<CnesBuild> {
  await session.run(
    `CREATE TABLE mun AS SELECT ibge_code, lpad(CAST(ibge_code // 10 AS VARCHAR), 6, '0') AS code6, name, uf
       FROM read_parquet(${quoteText(municipalities)}) WHERE territorial_type <> 'ADMINISTRATIVE_REGION';
     CREATE TABLE set_aside (dataset VARCHAR, source_file VARCHAR, source_row INTEGER, reason VARCHAR);
     CREATE TABLE maintainers (maintainer_cnpj VARCHAR, maintainer_name VARCHAR)`,
  )
  await createCatalogs(session)
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const snapshots: Snapshot[] = []
  const coverage: Record<string, Record<string, Coverage>> = {}
  const periods: number[] = []
  let read = 0
  const finishPeriod = async (input: PeriodInput, covered: ReadonlyMap<string, Coverage>): Promise<void> => {
    onProgress(`month ${input.period}: write`)
    const built = await buildPeriod(session, staging, input)
    outputs.push(...built.outputs)
    checks.push(...built.checks)
    Object.assign(counts, built.counts)
    for (const [dataset, entry] of covered)
      coverage[dataset] = { ...coverage[dataset], [String(input.period)]: entry }
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

  const cadger = opened.filter(({ file }) => file.group === 'CADGER')
  for (const { snapshot } of opened) {
    snapshots.push(snapshot)
    read += snapshot.rows
  }
  for (const [period, files] of [...found.base].sort(([left], [right]) => left - right)) {
    const staged = await stageBaseMonth(session, period, files, onProgress)
    snapshots.push(...staged.snapshots)
    read += staged.snapshots.reduce((sum, { rows }) => sum + rows, 0)
    const national: Coverage = { family: 'base', states: 'all' }
    await finishPeriod(
      {
        period,
        family: 'base',
        facts: new Set(ALL_FACTS),
        hasCadger: false,
        facilityColumns: staged.facilityColumns,
        files: staged.files,
      },
      new Map(['facilities', ...ALL_FACTS].map((dataset) => [dataset, national])),
    )
    await dropStaged(session)
  }
  if (cadger.length > 0) await stageCadger(session, cadger)
  for (const [period, files] of [...byPeriod].sort(([left], [right]) => left - right)) {
    onProgress(`month ${period}: ${files.length} files by state`)
    const facts = await stageStateMonth(session, files)
    await addKnownCatalogs(session, period)
    await finishPeriod(
      {
        period,
        family: 'state',
        facts,
        hasCadger: cadger.length > 0,
        facilityColumns: FACILITY_LINEAGE.state.map(({ column }) => column),
        files: null,
      },
      coverStates(files),
    )
    await dropStaged(session)
  }
  onProgress('catalogs')
  outputs.push(...(await writeCatalogs(session, staging)))
  outputs.push(await writeSetAside(session, staging))
  const { datasets, rowsByFile } = mergeOutputs(outputs)
  const aside = await session.rows(
    'SELECT source_file AS file, reason, count(*) AS n FROM set_aside GROUP BY ALL ORDER BY ALL',
  )
  const setAside = aside.map((row) => ({
    file: String(row.file),
    reason: String(row.reason),
    rows: Number(row.n),
  }))
  const states = new Set(opened.map(({ file }) => file.uf))
  for (const [dataset, entry] of Object.entries(datasets))
    if (entry.periods.length > 0 && !dataset.endsWith('_provenance')) counts[dataset] = entry.rows
  return {
    datasets,
    rowsByFile,
    counts,
    setAside,
    // A row that repeats another whole loses nothing, so it does not count against the share.
    rejected: setAside.reduce(
      (sum, { reason, rows }) => sum + (reason === 'duplicate_identical' ? 0 : rows),
      0,
    ),
    read,
    checks,
    coverage,
    month: Math.max(...periods),
    censusYear: null,
    snapshots,
    scope: found.base.size === 0 && states.size === 1 ? [...states].join('').toLowerCase() : 'br',
  }
}

async function stageBaseMonth(
  session: Session,
  period: number,
  files: readonly FoundFile[],
  onProgress: (step: string) => void,
): Promise<{
  snapshots: Snapshot[]
  facilityColumns: readonly string[]
  files: ReadonlyMap<string, string>
}> {
  const missing = PUBLISHED_TABLES.filter(
    (table) =>
      table.presence === 'required' &&
      !files.some(({ name }) => tableOfFile(basename(name))?.table.name === table.name),
  )
  if (missing.length > 0)
    throw new ImportError(
      `month ${period}`,
      `lacks ${missing.map(({ name }) => `${name}${period}.csv`).join(', ')}`,
      'Add the missing tables; tables of another month do not count',
    )
  const folder = join(session.scratch, `base-${period}`)
  await mkdir(folder, { recursive: true })
  const extracted = await extractTables(folder, files, onProgress)
  const snapshots: Snapshot[] = []
  const catalogFiles = new Map<string, string>()
  let facilityColumns: readonly string[] = []
  const present: { table: PublishedTable; found: FoundFile; bytes: number }[] = []
  for (const table of PUBLISHED_TABLES) {
    const found = files.find(({ name }) => tableOfFile(basename(name))?.table.name === table.name)
    if (found !== undefined) present.push({ table, found, bytes: (await stat(found.path)).size })
  }
  // Small files first: the large one is read and digested while those before it are parsed.
  present.sort((left, right) => left.bytes - right.bytes)
  const read = (found: FoundFile | undefined): Promise<StagedFile> | undefined => {
    if (found === undefined) return undefined
    const started = Promise.resolve(extracted.get(basename(found.name)) ?? transcodeTable(folder, found))
    // It may fail before it is awaited.
    started.catch(() => undefined)
    return started
  }
  let next = read(present[0]?.found)
  try {
    for (const [index, { table, found }] of present.entries()) {
      const name = basename(found.name)
      const { path, bytes, sha256, wasUtf8 } = (await next) as StagedFile
      // The file after this one is read and digested while DuckDB parses this one.
      next = read(present[index + 1]?.found)
      onProgress(`month ${period}: ${table.name}`)
      if (wasUtf8)
        throw new ImportError(
          found.archive === null ? name : `${found.archive.file}/${name}`,
          'is UTF-8 where ISO-8859-1 is expected',
          'Import the file as DATASUS publishes it, not converted',
        )
      const staged = await stageCsv(session, {
        file: found.archive === null ? name : `${found.archive.file}/${name}`,
        path,
        table: `st_${table.name}`,
        required: table.required,
        optional: table.optional,
      })
      snapshots.push({
        publisher: PUBLISHER,
        file: name,
        archive: found.archive,
        bytes,
        sha256,
        rows: staged.rows,
      })
      catalogFiles.set(table.name, name)
      if (staged.rejected.length > 0)
        await session.run(
          `INSERT INTO set_aside VALUES ${staged.rejected.map(({ row, reason }) => `('${table.name}', ${quoteText(name)}, ${row}, ${quoteText(reason)})`).join(', ')}`,
        )
      if (table.name === 'tbEstabelecimento') facilityColumns = staged.columns
      await rm(path, { force: true })
    }
  } finally {
    // What is still being written must be at rest before the folder is removed.
    await next?.catch(() => undefined)
  }
  // Each view names the file its rows came from: provenance is by file and row in both families.
  const withFile = (view: string, table: string): string =>
    `CREATE VIEW ${view} AS SELECT ${quoteText(catalogFiles.get(table) ?? '')} AS source_file, * FROM st_${table}`
  const tableFiles = new Map([['fac', catalogFiles.get('tbEstabelecimento') ?? '']])
  for (const fact of ALL_FACTS) tableFiles.set(fact, catalogFiles.get(FACT_TABLES[fact]) ?? '')
  await session.run(withFile('st_fac', 'tbEstabelecimento'))
  for (const fact of ALL_FACTS) await session.run(withFile(`st_${fact}`, FACT_TABLES[fact]))
  await addBaseCatalogs(session, period, catalogFiles)
  await session.run('DELETE FROM maintainers')
  if (catalogFiles.has('tbMantenedora'))
    await session.run(
      `INSERT INTO maintainers SELECT ${applyRule('cnpj', 'NU_CNPJ_MANTENEDORA')} AS maintainer_cnpj, min(${applyRule('name', 'NO_RAZAO_SOCIAL')})
       FROM st_tbMantenedora GROUP BY maintainer_cnpj HAVING maintainer_cnpj IS NOT NULL`,
    )
  await refuseOtherMonth(session, period, catalogFiles.get('tbEstabelecimento') ?? '')
  return { snapshots, facilityColumns, files: tableFiles }
}

/** A base is exported within weeks of its month: rows updated long after it mean another month under this name. */
async function refuseOtherMonth(session: Session, period: number, file: string): Promise<void> {
  const limit = `make_date(${Math.floor(period / 100)}, ${period % 100}, 1) + INTERVAL 3 MONTH`
  const [row] = await session.rows(
    `SELECT sum(n) FILTER (${applyRule('date_dmy', 'cell')} >= ${limit}) AS late, sum(n) AS total
     FROM (SELECT DT_ATUALIZACAO AS cell, count(*) AS n FROM st_tbEstabelecimento GROUP BY cell)`,
  )
  if (Number(row?.late ?? 0) * 1000 > Number(row?.total ?? 0))
    throw new ImportError(
      file,
      `has rows updated more than two months after ${period}: it is a file of another month`,
      'Give the file its own month in its name, or fetch the month again',
    )
}

/** A table's text in UTF-8 on disk, with the digest of the published bytes. */
type StagedFile = Extracted & { readonly path: string }

async function transcodeTable(folder: string, { name, path }: FoundFile): Promise<StagedFile> {
  const destination = join(folder, basename(name))
  return { path: destination, ...(await transcodeFile(path, destination)) }
}

async function extractTables(
  folder: string,
  files: readonly FoundFile[],
  onProgress: (step: string) => void,
): Promise<Map<string, StagedFile>> {
  const extracted = new Map<string, StagedFile>()
  for (const [path, group] of groupBy(
    files.filter(({ archive }) => archive !== null),
    ({ path }) => path,
  )) {
    const wanted = new Map(group.map(({ name }) => [name, join(folder, basename(name))]))
    const archive = group[0]?.archive?.file ?? basename(path)
    onProgress(`${archive}: unpack`)
    for (const [name, result] of await extractZip(path, archive, wanted, true))
      extracted.set(basename(name), { path: join(folder, basename(name)), ...result })
  }
  return extracted
}

async function openStateFiles(files: readonly FoundFile[]): Promise<OpenedState[]> {
  const opened: OpenedState[] = []
  for (const { name, path, archive } of files) {
    const bytes = await readFile(path)
    const file = await openStateFile(name, bytes)
    const twice = opened.find(
      ({ file: other }) => other.group === file.group && other.uf === file.uf && other.period === file.period,
    )
    if (twice !== undefined)
      throw new ImportError(
        name,
        `is the same month and state as ${twice.name}`,
        'Import one copy of each file',
      )
    opened.push({
      file,
      name,
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

/** Stages the files of one month; facilities no ST file knows are taken from the rows that repeat their attributes. */
async function stageStateMonth(session: Session, files: readonly OpenedState[]): Promise<Set<FactName>> {
  const facts = new Set<FactName>()
  const facilityColumns = FACILITY_LINEAGE.state.map(({ column }) => column)
  const repeated = REPEATED_FACILITY_LINEAGE.map(({ column }) => column)
  await createTextTable(session, 'st_fac', facilityColumns)
  for (const [group, fact] of Object.entries(GROUP_FACT)) {
    const own = files.filter(({ file }) => file.group === group)
    const columns = [...new Set([...FACT_LINEAGE[fact].state.map(({ column }) => column), ...repeated])]
    await createTextTable(session, `st_${fact}`, columns)
    for (const opened of own) await appendRows(session, `st_${fact}`, opened, columns)
    if (own.length > 0) facts.add(fact)
  }
  for (const opened of files.filter(({ file }) => file.group === 'ST'))
    await appendRows(session, 'st_fac', opened, facilityColumns)
  const code = applyRule('code7', 'CNES')
  for (const fact of ALL_FACTS)
    await session.run(
      `INSERT INTO st_fac BY NAME
       SELECT DISTINCT ON (${code}) source_file, source_row, ${repeated.map(quoteName).join(', ')}
       FROM st_${fact} WHERE ${code} NOT IN (SELECT ${code} FROM st_fac) ORDER BY ${code}, source_file, source_row`,
    )
  return facts
}

function coverStates(files: readonly OpenedState[]): Map<string, Coverage> {
  const covered = new Map<string, Coverage>()
  const statesOf = (group: StateGroup): string[] =>
    files
      .filter(({ file }) => file.group === group)
      .map(({ file }) => file.uf)
      .sort()
  for (const [group, fact] of Object.entries(GROUP_FACT)) {
    const states = statesOf(group as StateGroup)
    if (states.length > 0) covered.set(fact, { family: 'state', states })
  }
  const registry = statesOf('ST')
  covered.set(
    'facilities',
    registry.length > 0
      ? { family: 'state', states: registry }
      : { family: 'derived', states: [...new Set(files.map(({ file }) => file.uf))].sort() },
  )
  return covered
}

async function stageCadger(session: Session, files: readonly OpenedState[]): Promise<void> {
  const columns = CADGER_LINEAGE.map(({ column }) => column)
  await createTextTable(session, 'st_cadger', columns)
  for (const opened of files) await appendRows(session, 'st_cadger', opened, columns)
  await session.run(
    `CREATE TABLE cad AS SELECT DISTINCT ON (cnes_code) * FROM (
       SELECT source_file, source_row, ${CADGER_LINEAGE.map(({ attribute, column, rule }) => `${applyRule(rule, quoteName(column))} AS ${quoteName(attribute)}`).join(', ')} FROM st_cadger
     ) ORDER BY cnes_code, source_file, source_row;
     DROP TABLE st_cadger`,
  )
}

const createTextTable = (session: Session, table: string, columns: readonly string[]): Promise<void> =>
  session.run(
    `CREATE TABLE ${table} (source_file VARCHAR, source_row INTEGER, ${columns.map((column) => `${quoteName(column)} VARCHAR`).join(', ')})`,
  )

async function appendRows(
  session: Session,
  table: string,
  { file, name }: OpenedState,
  columns: readonly string[],
): Promise<void> {
  const appender = await session.connection.createAppender(table)
  for (const { row, values } of file.read(columns)) {
    appender.appendVarchar(name)
    appender.appendInteger(row)
    for (const value of values) appender.appendVarchar(value)
    appender.endRow()
  }
  appender.closeSync()
}

/** Staged tables of a month go before the next comes: memory holds one month. */
async function dropStaged(session: Session): Promise<void> {
  const tables = await session.rows(
    `SELECT table_name AS name, table_type AS kind FROM information_schema.tables WHERE starts_with(table_name, 'st_') ORDER BY table_type DESC`,
  )
  for (const { name, kind } of tables.sort((left, right) =>
    String(left.kind) === 'VIEW' ? -1 : String(right.kind) === 'VIEW' ? 1 : 0,
  ))
    await session.run(`DROP ${String(kind) === 'VIEW' ? 'VIEW' : 'TABLE'} ${quoteName(String(name))}`)
}

const writeSetAside = (session: Session, staging: string): Promise<DatasetOutput> =>
  writeParquet(
    session,
    staging,
    {
      name: 'set_aside',
      key: ['source_file', 'source_row', 'dataset'],
      order: ['source_file', 'source_row', 'dataset', 'reason'],
      columns: [
        { name: 'dataset', type: 'VARCHAR' },
        { name: 'source_file', type: 'VARCHAR' },
        { name: 'source_row', type: 'INTEGER' },
        { name: 'reason', type: 'VARCHAR' },
      ],
    },
    null,
    'SELECT * FROM set_aside',
  )
