/**
 * Stages one month of the national base. In: its CSV files, in a zip or a folder. Out: st_<table>, the views st_fac and
 * st_<fact>, the catalogs, and the manifest entries of the files.
 * The import rejects a month that lacks a required table, a file that is already UTF-8, and rows of another month.
 */
import { mkdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FACT_NAMES } from '../../model/cnes/lineage.ts'
import type { Snapshot } from '../../release/manifest.ts'
import { groupBy } from '../aggregated/group-by.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { stageCsv } from '../readers/stage-csv.ts'
import { transcodeFile } from '../readers/transcode.ts'
import { type Extracted, extractZip } from '../readers/zip.ts'
import { applyRule, holdsCpf } from '../rules.ts'
import { quoteText, type Session } from '../session.ts'
import { addBaseCatalogs } from './code-lists.ts'
import type { TableHeader } from './code-tables.ts'
import { FACT_TABLES, PUBLISHED_TABLES, type PublishedTable, tableOfFile } from './national-tables.ts'

export const PUBLISHER = 'DATASUS'

export interface BaseTables {
  readonly snapshots: readonly Snapshot[]
  readonly headers: readonly TableHeader[]
  readonly facilityColumns: readonly string[]
  /** File name by table. */
  readonly files: ReadonlyMap<string, string>
  /** SQL values of the rejected rows, for an INSERT into set_aside. */
  readonly unread: readonly string[]
}

export interface BaseReading {
  readonly period: number
  readonly tables: Promise<BaseTables>
  /** Stops the reading. Resolves when no work is left running. */
  stop(): Promise<void>
}

/** Begins to read a month into st_<table>. It needs no other staged table, so it can run ahead. */
export function beginBaseMonth(
  session: Session,
  period: number,
  files: readonly FoundFile[],
  onProgress: (step: string) => void,
): BaseReading {
  const stopped = new AbortController()
  const tables = readTables(session, period, files, onProgress, stopped.signal)
  // Handle the rejection here, because the promise may fail before anyone awaits it.
  const ended = tables.then(
    () => undefined,
    () => undefined,
  )
  return {
    period,
    tables,
    stop() {
      stopped.abort()
      return ended
    },
  }
}

async function readTables(
  session: Session,
  period: number,
  files: readonly FoundFile[],
  onProgress: (step: string) => void,
  stopped: AbortSignal,
): Promise<BaseTables> {
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
  const snapshots: Snapshot[] = []
  const headers: TableHeader[] = []
  const tableFiles = new Map<string, string>()
  const unread: string[] = []
  let facilityColumns: readonly string[] = []
  const present: PresentTable[] = []
  for (const found of files) {
    const table = tableOfFile(basename(found.name))?.table
    if (table !== undefined) present.push({ table, found, bytes: (await stat(found.path)).size })
  }
  // Begin with the longest table. Tables of one archive keep its order, because they are unpacked in that order.
  present.sort((left, right) => right.bytes - left.bytes)
  const reading = readTexts(folder, present, onProgress)
  try {
    await session.all(
      present.map(({ table, found }) => async (laneSession: Session) => {
        const name = basename(found.name)
        const shown = found.archive === null ? name : `${found.archive.file}/${name}`
        const { path, bytes, sha256, wasUtf8 } = await (reading.texts.get(found) as Promise<StagedFile>)
        stopped.throwIfAborted()
        onProgress(`month ${period}: ${table.name}`)
        if (wasUtf8)
          throw new ImportError(
            shown,
            'is UTF-8 where ISO-8859-1 is expected',
            'Import the file as DATASUS publishes it, not converted',
          )
        const { rows, rejected, published, columns } = await stageCsv(laneSession, {
          file: shown,
          path,
          table: `st_${table.name}`,
          required: table.required,
          optional: table.optional,
        })
        snapshots.push({ publisher: PUBLISHER, file: name, archive: found.archive, bytes, sha256, rows })
        tableFiles.set(table.name, name)
        headers.push({ file: name, columns: published, read: [...table.required, ...table.optional] })
        for (const { row, reason } of rejected)
          unread.push(`('${table.name}', ${quoteText(name)}, ${row}, ${quoteText(reason)})`)
        if (table.name === 'tbEstabelecimento') facilityColumns = columns
        await rm(path, { force: true })
      }),
    )
  } finally {
    // Wait for the last write, because the folder is removed afterwards.
    await reading.stop()
  }
  return { snapshots, headers, facilityColumns, files: tableFiles, unread }
}

/** Makes the views st_fac and st_<fact> and the catalogs. @returns file name by view, without st_ @throws ImportError */
export async function stageBaseMonth(
  session: Session,
  period: number,
  { files: catalogFiles, unread }: BaseTables,
): Promise<ReadonlyMap<string, string>> {
  if (unread.length > 0) await session.run(`INSERT INTO set_aside VALUES ${unread.join(', ')}`)
  // Each view adds source_file, because provenance identifies cells by file and row in both families.
  const withFile = (view: string, table: string): string =>
    `CREATE VIEW ${view} AS SELECT ${quoteText(catalogFiles.get(table) ?? '')} AS source_file, * FROM st_${table}`
  const tableFiles = new Map([['fac', catalogFiles.get('tbEstabelecimento') ?? '']])
  for (const fact of FACT_NAMES) tableFiles.set(fact, catalogFiles.get(FACT_TABLES[fact]) ?? '')
  await session.run(withFile('st_fac', 'tbEstabelecimento'))
  for (const fact of FACT_NAMES) await session.run(withFile(`st_${fact}`, FACT_TABLES[fact]))
  await addBaseCatalogs(session, period, catalogFiles)
  await session.run('DELETE FROM maintainers')
  if (catalogFiles.has('tbMantenedora'))
    await session.run(
      `INSERT INTO maintainers SELECT DISTINCT ON (maintainer_cnpj) ${applyRule('cnpj', 'NU_CNPJ_MANTENEDORA')} AS maintainer_cnpj, ${applyRule('name', 'NO_RAZAO_SOCIAL')} AS maintainer_name,
         CASE WHEN NOT ${holdsCpf('NO_RAZAO_SOCIAL')} THEN NO_RAZAO_SOCIAL END, ${quoteText(catalogFiles.get('tbMantenedora') ?? '')}, source_row, 'NO_RAZAO_SOCIAL'
       FROM st_tbMantenedora WHERE maintainer_cnpj IS NOT NULL ORDER BY maintainer_cnpj, maintainer_name, source_row`,
    )
  await refuseOtherMonth(session, period, catalogFiles.get('tbEstabelecimento') ?? '')
  return tableFiles
}

/** Rejects a base with rows updated long after its month. Bases are exported within weeks, so the file has a wrong name. */
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

/** A table on disk as UTF-8 text, with the digest of its published bytes. */
type StagedFile = Extracted & { readonly path: string }

interface PresentTable {
  readonly table: PublishedTable
  readonly found: FoundFile
  /** Size of the file, or of its archive. */
  readonly bytes: number
}

interface Reading {
  readonly texts: ReadonlyMap<FoundFile, Promise<StagedFile>>
  stop(): Promise<void>
}

/** Reads the texts one after the other, ahead of the tables made from them. Each text has its own promise. */
function readTexts(
  folder: string,
  present: readonly PresentTable[],
  onProgress: (step: string) => void,
): Reading {
  const settlers = new Map<FoundFile, { done(text: StagedFile): void; failed(error: unknown): void }>()
  const texts = new Map<FoundFile, Promise<StagedFile>>()
  for (const { found } of present) {
    const text = new Promise<StagedFile>((done, failed) => settlers.set(found, { done, failed }))
    // Handle the rejection here, because the promise may fail before anyone awaits it.
    text.catch(() => undefined)
    texts.set(found, text)
  }
  let stopped = false
  const read = async (): Promise<void> => {
    for (const [path, group] of groupBy(
      present.map(({ found }) => found),
      ({ path }) => path,
    )) {
      if (stopped) return
      const [first] = group
      const destination = ({ name }: FoundFile): string => join(folder, basename(name))
      if (first?.archive === null)
        settlers
          .get(first)
          ?.done({ path: destination(first), ...(await transcodeFile(path, destination(first))) })
      else {
        const archive = first?.archive?.file ?? basename(path)
        onProgress(`${archive}: unpack`)
        await extractZip(path, archive, new Map(group.map((found) => [found.name, destination(found)])), {
          isText: true,
          onEntry(name, text) {
            const found = group.find((other) => other.name === name)
            if (found !== undefined) settlers.get(found)?.done({ path: destination(found), ...text })
          },
        })
      }
    }
  }
  const finished = read()
    .then(
      () => new ImportError(basename(folder), 'changed while it was read', 'Import it again'),
      (error: unknown) => error,
    )
    .then((reason) => {
      // This has no effect on promises that are already settled.
      for (const { failed } of settlers.values()) failed(reason)
    })
  return {
    texts,
    stop() {
      stopped = true
      return finished
    },
  }
}
