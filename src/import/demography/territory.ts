/**
 * Stages the health regions and macro-regions of municipalities from one edition of the territory.
 * In: the files of an edition. Out: session tables for the demography datasets, and their manifest entries.
 * A municipality has one region and one macro-region. The macro-region is not derived from the region, because a region
 * may lie in two. Codes without a municipality ("unknown" in a state, former codes) are counted and left out.
 */
import { STATES } from '../../model/territory/states.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError, type NamedNumbers } from '../import-error.ts'
import { type CnvLine, cnvLookup, readCnv } from '../readers/cnv.ts'
import { foldText } from '../rules.ts'
import { quoteText, type Session } from '../session.ts'
import {
  type ColumnNames,
  cleanText,
  readTable,
  readTerritoryFile,
  snapshotOf,
  type TerritoryFiles,
  type TerritoryRole,
  type TerritoryRow,
} from './territory-files.ts'

const MUNICIPALITY: ColumnNames = ['CO_MUNICIP', 'CO_MUNINIP', 'CO_MUNIC', 'CO_MUNICIPIO', 'CO_MUNIC_IBGE']
const REGION: ColumnNames = ['CO_REGSAUD', 'REGSAUD', 'CO_REGSAUDE']
const MACROREGION: ColumnNames = [
  'CO_MACSAUD',
  'MACSAUD',
  'MACSAUDE',
  'CO_MACSAUDE',
  'CO_MACRORR',
  'CO_MACRORREGIONAL',
]
const NAME: ColumnNames = ['DS_NOME', 'NO_NOME', 'DS_REGSAUD', 'DS_MACSAUD']
const SHORT_NAME: ColumnNames = ['DS_ABREV']

/** The two kinds of region, with the length of their codes and the roles and columns of their files. */
const KINDS = [
  {
    stem: 'health_region',
    digits: 5,
    members: 'regions of municipalities',
    names: 'names of regions',
    column: REGION,
    name: [NAME, SHORT_NAME],
  },
  {
    // Prefer short names of macro-regions, because the long ones are upper case without accents.
    stem: 'health_macroregion',
    digits: 4,
    members: 'macro-regions of municipalities',
    names: 'names of macro-regions',
    column: MACROREGION,
    name: [SHORT_NAME, NAME],
  },
] as const satisfies readonly {
  stem: string
  digits: number
  members: TerritoryRole
  names: TerritoryRole
  column: ColumnNames
  name: readonly ColumnNames[]
}[]
type Kind = (typeof KINDS)[number]

export interface StagedTerritory {
  readonly edition: string
  readonly datasets: readonly ('health_regions' | 'health_macroregions')[]
  readonly snapshots: readonly Snapshot[]
  readonly counts: Readonly<Record<string, number>>
  readonly setAside: readonly {
    readonly file: string
    readonly reason: string
    readonly rows: readonly number[]
    readonly noun: NamedNumbers['noun']
  }[]
  /** Number of listed municipalities without a health region, and of unreadable lines. */
  readonly rejected: number
  readonly read: number
}

interface Region {
  readonly name: string | null
  readonly file: string | null
  readonly row: number | null
}

interface ReadKind {
  readonly kind: Kind
  /** Region code by seven-digit municipality code. */
  readonly members: ReadonlyMap<number, string>
  readonly regions: ReadonlyMap<string, Region>
  readonly snapshots: readonly Snapshot[]
  readonly unlistedRows: readonly number[]
  readonly unreadableRows: readonly number[]
  readonly read: number
  readonly file: string
}

/** Makes territory_in (one row per municipality), health_regions_in and health_macroregions_in. @throws ImportError */
export async function stageTerritory(
  session: Session,
  { edition, files }: TerritoryFiles,
  municipalities: readonly number[],
): Promise<StagedTerritory> {
  const kinds: ReadKind[] = []
  for (const kind of KINDS) {
    const source = files.get(kind.members)
    if (source !== undefined) kinds.push(await readKind(session, kind, source, files, municipalities))
  }
  const find = (stem: Kind['stem']): ReadKind | undefined => kinds.find(({ kind }) => kind.stem === stem)
  const [regions, macroregions] = [find('health_region'), find('health_macroregion')]
  await session.run(
    `CREATE TABLE territory_in (ibge_code INTEGER, health_region_code VARCHAR, health_macroregion_code VARCHAR);
     CREATE TABLE health_regions_in (code VARCHAR, name VARCHAR, source_file VARCHAR, source_row INTEGER);
     CREATE TABLE health_macroregions_in (code VARCHAR, name VARCHAR, source_file VARCHAR, source_row INTEGER)`,
  )
  await session.append('territory_in', (appender) => {
    const appendText = (text: string | null | undefined): void =>
      text === null || text === undefined ? appender.appendNull() : appender.appendVarchar(text)
    for (const code of municipalities) {
      appender.appendInteger(code)
      appendText(regions?.members.get(code))
      appendText(macroregions?.members.get(code))
      appender.endRow()
    }
  })
  await appendRegions(session, 'health_regions_in', regions)
  await appendRegions(session, 'health_macroregions_in', macroregions)
  const missing = municipalities.filter((code) => regions?.members.has(code) !== true).length
  return {
    edition,
    datasets: [
      ...(regions === undefined ? [] : (['health_regions'] as const)),
      ...(macroregions === undefined ? [] : (['health_macroregions'] as const)),
    ],
    snapshots: kinds.flatMap(({ snapshots }) => snapshots),
    counts: {
      health_regions: regions?.regions.size ?? 0,
      health_macroregions: macroregions?.regions.size ?? 0,
      municipalities_without_health_region: missing,
    },
    setAside: kinds.flatMap(({ file, unlistedRows, unreadableRows, members, kind }) => [
      { file, reason: 'not_a_municipality', rows: unlistedRows, noun: 'row' },
      { file, reason: 'unreadable_row', rows: unreadableRows, noun: 'row' },
      {
        file,
        reason: `municipality_without_${kind.stem}`,
        rows: municipalities.filter((code) => !members.has(code)),
        noun: 'municipality',
      },
    ]),
    rejected: missing + kinds.reduce((sum, { unreadableRows }) => sum + unreadableRows.length, 0),
    read: kinds.reduce((sum, { read }) => sum + read, 0),
  }
}

async function readKind(
  session: Session,
  kind: Kind,
  source: FoundFile,
  files: TerritoryFiles['files'],
  municipalities: readonly number[],
): Promise<ReadKind> {
  const isCnv = /\.cnv$/i.test(source.name)
  const read = isCnv
    ? await readConversion(kind, source, municipalities)
    : await readMembership(session, kind, source, municipalities)
  const used = new Set(read.members.values())
  const namesFile = isCnv ? undefined : files.get(kind.names)
  const nameTable = namesFile === undefined ? null : await readNames(session, kind, namesFile)
  const regions = new Map<string, Region>()
  for (const code of [...used].sort())
    regions.set(
      code,
      read.regionNames.get(code) ?? nameTable?.regions.get(code) ?? { name: null, file: null, row: null },
    )
  const snapshots = [read.snapshot, ...(nameTable === null ? [] : [nameTable.snapshot])]
  return {
    kind,
    members: read.members,
    regions,
    snapshots,
    unlistedRows: read.unlistedRows,
    unreadableRows: read.unreadableRows,
    read: snapshots.reduce((sum, { rows }) => sum + rows, 0),
    file: source.name,
  }
}

interface Membership {
  readonly members: ReadonlyMap<number, string>
  readonly regionNames: ReadonlyMap<string, Region>
  readonly snapshot: Snapshot
  /** Rows with a code that is not in the list, or with an "unknown" region. */
  readonly unlistedRows: readonly number[]
  readonly unreadableRows: readonly number[]
}

async function readMembership(
  session: Session,
  kind: Kind,
  source: FoundFile,
  municipalities: readonly number[],
): Promise<Membership> {
  const file = await readTerritoryFile(source)
  const rows = await readTable(session, file, [MUNICIPALITY, kind.column], 2)
  const codesBySixDigits = new Map(municipalities.map((code) => [Math.floor(code / 10), code]))
  const members = new Map<number, string>()
  const unlistedRows: number[] = []
  for (const { row, cells } of rows) {
    const [municipality = '', region = ''] = cells
    if (!/^\d{6,7}$/.test(municipality) || !/^\d+$/.test(region) || region.length !== kind.digits)
      throw new ImportError(
        file.name,
        `has a row that is no municipality of 6 digits with a code of ${kind.digits} (row ${row})`,
        'Fetch the file again',
      )
    const code = codesBySixDigits.get(Number(municipality.slice(0, 6)))
    if (code === undefined || isUnknownRegion(region)) {
      unlistedRows.push(row)
      continue
    }
    const previous = members.get(code)
    if (previous !== undefined && previous !== region)
      throw new ImportError(
        file.name,
        `puts a municipality into two places, ${previous} and ${region} (row ${row})`,
        'Fetch the file again',
      )
    checkState(file.name, row, code, region)
    members.set(code, region)
  }
  return {
    members,
    regionNames: new Map(),
    snapshot: snapshotOf(source, file.bytes, rows.length),
    unlistedRows,
    unreadableRows: [],
  }
}

/** Reads a conversion table. The label of a line is the region's code and name, and its codes are municipalities. */
async function readConversion(
  kind: Kind,
  source: FoundFile,
  municipalities: readonly number[],
): Promise<Membership> {
  const { name, bytes } = await readTerritoryFile(source)
  const table = readCnv(bytes, name)
  const lineOf = cnvLookup(table)
  const members = new Map<number, string>()
  const regionNames = new Map<string, Region>()
  const form = new RegExp(`^(\\d{${kind.digits}}) +(.+)$`)
  /** @returns region and name; null for an "unknown" place */
  const regionOf = (line: CnvLine): readonly [region: string, label: string] | null => {
    const [, region = '', label = ''] = form.exec(line.label) ?? []
    return region === '' || isUnknownRegion(region) ? null : [region, label]
  }
  for (const code of municipalities) {
    const line = lineOf(String(code).slice(0, 6))
    const found = line === null ? null : regionOf(line)
    if (line === null || found === null) continue
    const [region, label] = found
    checkState(name, line.row, code, region)
    members.set(code, region)
    if (!regionNames.has(region))
      regionNames.set(region, { name: cleanText(label), file: name, row: line.row })
  }
  if (members.size === 0)
    throw new ImportError(
      name,
      `names no place with a code of ${kind.digits} digits`,
      'Import br_regsaud.cnv and br_macsaud.cnv as TabNet publishes them',
    )
  const listed = new Set(municipalities.map((code) => String(code).slice(0, 6)))
  // A range is a rule for codes that may come, so only single codes are compared with the list.
  const isUnlisted = ({ codes }: CnvLine): boolean =>
    codes.some(({ from, to }) => from === to && !listed.has(from))
  const unlisted = table.lines.filter((line) => regionOf(line) === null || isUnlisted(line))
  return {
    members,
    regionNames,
    snapshot: snapshotOf(source, bytes, table.lines.length + table.unread.length),
    unlistedRows: unlisted.map(({ row }) => row),
    unreadableRows: table.unread,
  }
}

/** True for codes with only zeros after the state, which mean "unknown" in that state. */
const isUnknownRegion = (region: string): boolean => /^0+$/.test(region.slice(2))

/** @throws ImportError if the region is in another state, because no region crosses a state border */
function checkState(file: string, row: number, municipality: number, region: string): void {
  const state = Math.floor(municipality / 100_000)
  if (region.startsWith(String(state))) return
  const uf = STATES.find(({ ibge_code }) => ibge_code === state)?.uf ?? String(state)
  throw new ImportError(
    file,
    `puts a municipality of ${uf} into ${region}, a place of another state (row ${row})`,
    'Fetch the file again',
  )
}

async function readNames(
  session: Session,
  kind: Kind,
  source: FoundFile,
): Promise<{ readonly regions: ReadonlyMap<string, Region>; readonly snapshot: Snapshot }> {
  const file = await readTerritoryFile(source)
  const rows: TerritoryRow[] = await readTable(session, file, [kind.column, ...kind.name], 1)
  const regions = new Map<string, Region>()
  for (const { row, cells } of rows) {
    const [code = '', ...names] = cells
    const name = names.find((text) => text !== '')
    if (name !== undefined && !regions.has(code)) regions.set(code, { name, file: file.name, row })
  }
  return { regions, snapshot: snapshotOf(source, file.bytes, rows.length) }
}

async function appendRegions(session: Session, table: string, read: ReadKind | undefined): Promise<void> {
  await session.append(table, (appender) => {
    for (const [code, { name, file, row }] of read?.regions ?? []) {
      appender.appendVarchar(code)
      for (const text of [name, file])
        if (text === null) appender.appendNull()
        else appender.appendVarchar(text)
      if (row === null) appender.appendNull()
      else appender.appendInteger(row)
      appender.endRow()
    }
  })
}

export function territoryColumns(territory: StagedTerritory | null): {
  readonly columns: string
  readonly joins: string
} {
  const names = KINDS.flatMap(({ stem }) => [`${stem}_code`, `${stem}_name`])
  if (territory === null)
    return {
      columns: [...names, 'territory_edition'].map((name) => `CAST(NULL AS VARCHAR) AS ${name}`).join(', '),
      joins: '',
    }
  return {
    columns: `health_region_code, health_regions_in.name AS health_region_name, health_macroregion_code,
       health_macroregions_in.name AS health_macroregion_name,
       CASE WHEN coalesce(health_region_code, health_macroregion_code) IS NOT NULL THEN ${quoteText(territory.edition)} END AS territory_edition`,
    joins: `
     LEFT JOIN territory_in ON territory_in.ibge_code = members.ibge_code
     LEFT JOIN health_regions_in ON health_regions_in.code = health_region_code
     LEFT JOIN health_macroregions_in ON health_macroregions_in.code = health_macroregion_code`,
  }
}

/** @returns SQL that makes the datasets of regions from municipalities_out and the tables of stageTerritory() */
export const regionsSql = (edition: string): string =>
  KINDS.map(({ stem }) => {
    const macroregions =
      stem === 'health_region'
        ? `coalesce(list_sort(list(DISTINCT health_macroregion_code) FILTER (health_macroregion_code IS NOT NULL)), []) AS health_macroregion_codes,`
        : ''
    return `CREATE TABLE ${stem}s_out AS
     SELECT ${stem}_code, any_value(${stem}_name) AS ${stem}_name, min(uf) AS uf, ${macroregions}
       CAST(count(*) AS INTEGER) AS municipality_count, ${quoteText(edition)} AS territory_edition,
       ${foldText(`coalesce(any_value(${stem}_name), '')`)} AS search_text,
       any_value(${stem}s_in.source_file) AS source_file, any_value(${stem}s_in.source_row) AS source_row
     FROM municipalities_out JOIN ${stem}s_in ON code = ${stem}_code
     GROUP BY ${stem}_code`
  }).join(';\n')
