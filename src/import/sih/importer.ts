/**
 * Hospital admissions of any number of states and months → the datasets of one sih release.
 *
 * In: RD files, tables of SIGTAP and CID-10, and the municipality list (Parquet of a demography release). Out: Parquet in the
 * staging folder and what the manifest says of it. Files are added up as they are read (admission-files.ts), on every core
 * (decoders.ts), and each month is written before the one after the next is read, so memory holds the groups of two months. The unit
 * that a newer file replaces is a state's month: a second file of it is refused.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OPTIONAL_COLUMNS, REQUIRED_COLUMNS } from '../../model/sih/layout.ts'
import type { Coverage, Snapshot } from '../../release/manifest.ts'
import type { AreaImporter, BuildContext, BuiltArea } from '../area.ts'
import { isMunicipalityTable, stageMunicipalityCodes } from '../cnes/municipality-codes.ts'
import type { FoundFile } from '../discover.ts'
import { groupBy } from '../group-by.ts'
import { HeaderList } from '../header-list.ts'
import { ImportError } from '../import-error.ts'
import { type DatasetOutput, mergeOutputs, type NamedCheck } from '../write-parquet.ts'
import { type AdmissionFileName, recogniseAdmissionFile, refuseOtherKinds } from './admission-files.ts'
import { isCodeTable, readCodeTables } from './code-tables.ts'
import { type DecodeJob, readInOrder } from './decoders.ts'
import {
  appendAdmissions,
  checkMonth,
  createTables,
  type FileTotals,
  noteAside,
  OLD_CODES,
  writeCodeLists,
  writeMonth,
  writeSetAside,
} from './tables.ts'

const PUBLISHER = 'DATASUS'
/** Those that something is read from. */
const COLUMNS = [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS]

interface AdmissionFile extends AdmissionFileName {
  readonly found: FoundFile
}

interface SihFiles {
  readonly admissions: readonly AdmissionFile[]
  /** Code tables of procedures and diagnoses. */
  readonly tables: readonly FoundFile[]
  /** br_municip.cnv: codes that municipalities had before. */
  readonly municipalities: readonly FoundFile[]
}

export const SIH: AreaImporter = {
  area: 'sih',
  needs: ['demography'],
  recognises: (name) => recogniseAdmissionFile(name) !== null || isCodeTable(name),
  alsoReads: isMunicipalityTable,
  async open(files) {
    const admissions: AdmissionFile[] = []
    for (const found of files) {
      const promise = recogniseAdmissionFile(found.name)
      if (promise === null) continue
      refuseOtherKinds(promise, found.shown)
      const twin = admissions.find(({ uf, period }) => uf === promise.uf && period === promise.period)
      if (twin !== undefined)
        throw new ImportError(
          found.shown,
          `is the same month and state as ${twin.found.shown}`,
          'Import one file of each state and month: the newest that DATASUS published',
        )
      admissions.push({ ...promise, found })
    }
    // Code tables alone name nothing: there are no admissions whose codes they could name.
    if (admissions.length === 0) return null
    const tables = files.filter(({ name }) => isCodeTable(name))
    const municipalities = files.filter(({ name }) => isMunicipalityTable(name))
    return {
      synthetic: false,
      build: (context) => buildAdmissions({ admissions, tables, municipalities }, context),
    }
  },
}

async function jobOf({ found: { path, name }, ...promise }: AdmissionFile): Promise<DecodeJob> {
  return { path, name, promise, bytes: (await stat(path)).size }
}

async function buildAdmissions(
  { admissions, tables, municipalities }: SihFiles,
  { session, staging, needed, onProgress, threads }: BuildContext,
): Promise<BuiltArea> {
  const demography = needed.get('demography')
  if (demography === undefined)
    throw new ImportError(
      'hospital admissions',
      'come without a municipality list',
      "Add IBGE's list of municipalities and population to the import, or import them first",
    )
  const codes = await readCodeTables(tables)
  await createTables(session, join(demography, 'municipalities/part-0.parquet'))
  const old = await stageMunicipalityCodes(session, municipalities, OLD_CODES)
  for (const { file, row } of [...codes.unread, ...old.unread])
    await noteAside(session, 'code_tables', file, [{ row, reason: 'unreadable_row' }])
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const snapshots: Snapshot[] = [...codes.snapshots, ...old.snapshots]
  const headers = new HeaderList()
  const covered: Record<string, Coverage> = {}
  const months = [...groupBy(admissions, ({ period }) => period)]
    .sort(([left], [right]) => left - right)
    .map(([period, files]) => ({
      period,
      files: [...files].sort((left, right) => (left.uf < right.uf ? -1 : 1)),
    }))
  const jobs = await Promise.all(months.map(({ files }) => Promise.all(files.map(jobOf))))
  const decoded = readInOrder(jobs, threads)
  try {
    for (const { period, files } of months) {
      const totals: FileTotals[] = []
      for (const { found, uf } of files) {
        onProgress(`month ${period}: ${found.name}`)
        const { value: read } = await decoded.next()
        if (read === undefined) throw new TypeError('a file was not read')
        headers.add(found.name, read.columns, COLUMNS)
        await noteAside(session, 'hospital_admissions', found.name, read.setAside)
        await appendAdmissions(session, { uf, file: found.name, ...read })
        totals.push({ ...read, setAside: read.setAside.length })
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
      outputs.push(...(await writeMonth(session, staging, period)))
      const checked = await checkMonth(session, period, totals)
      checks.push(...checked.checks)
      Object.assign(counts, checked.counts)
      covered[period] = { family: 'state', states: files.map(({ uf }) => uf) }
    }
  } finally {
    await decoded.return(undefined)
  }
  onProgress('procedures and diagnoses')
  outputs.push(
    ...(await writeCodeLists(session, staging, codes.codes)),
    await writeSetAside(session, staging),
  )
  const { datasets, rowsByFile } = mergeOutputs(outputs)
  const aside = await session.rows(
    'SELECT source_file AS file, reason, count(*) AS n FROM sih_set_aside GROUP BY ALL ORDER BY ALL',
  )
  const setAside = aside.map(({ file, reason, n }) => ({
    file: String(file),
    reason: String(reason),
    rows: Number(n),
  }))
  for (const dataset of ['hospital_admissions', 'hospital_admissions_by_residence'])
    counts[dataset] = datasets[dataset]?.rows ?? 0
  const states = new Set(admissions.map(({ uf }) => uf))
  return {
    datasets,
    rowsByFile,
    counts,
    setAside,
    rejected: setAside.reduce((sum, { rows }) => sum + rows, 0),
    read: snapshots.reduce((sum, { rows }) => sum + rows, 0),
    checks,
    coverage: { hospital_admissions: covered, hospital_admissions_by_residence: covered },
    headers: headers.list(),
    month: Math.max(...months.map(({ period }) => period)),
    censusYear: null,
    snapshots,
    scope: states.size === 1 ? [...states].join('').toLowerCase() : 'br',
  }
}
