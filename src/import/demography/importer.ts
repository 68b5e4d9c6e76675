/**
 * Imports the demography datasets of one release: states, municipalities, health regions, population and outlines.
 * In: IBGE tables, population by age, territory files and a mesh. Out: Parquet in the staging folder and manifest entries.
 * Sources of one year are never mixed: one table provides the whole year, and the others count as superseded.
 */

import { readFile } from 'node:fs/promises'
import { STATES } from '../../model/territory/states.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { AreaImporter, BuildContext, BuiltArea } from '../area.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError, UnknownContent } from '../import-error.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import { checkWorkbookParts } from '../readers/zip.ts'
import { RejectedCounts } from '../rejected-rows.ts'
import { foldText } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, writeDataset } from '../write-parquet.ts'
import { checkList, findMissing } from './coverage.ts'
import { readIbge, recogniseIbge } from './ibge-files.ts'
import { checkTotals, comparePrecedence, type IbgeSource, pickList } from './ibge-sources.ts'
import { recogniseMesh } from './mesh-files.ts'
import { administrativeRegions } from './municipality-lists.ts'
import { type MeshSource, openMesh, stageOutlines } from './outlines.ts'
import {
  type AgeSource,
  checkEditions,
  readAgeSource,
  recognisePopulationByAge,
  stagePopulationByAge,
} from './population-by-age.ts'
import { pickPrices, stagePrices } from './price-index.ts'
import { regionsSql, stageTerritory, territoryColumns } from './territory.ts'
import { chooseEdition, isUnreadTable, type TerritoryFiles, territoryRole } from './territory-files.ts'

/** Code of the Federal District's only municipality, which every list must have. */
const BRASILIA = 5300108

export const DEMOGRAPHY: AreaImporter = {
  area: 'demography',
  async recognises(name, readHead) {
    if (territoryRole(name) !== null) return true
    const head = await readHead()
    return (
      recogniseIbge(name, head) || recognisePopulationByAge(name, head) || recogniseMesh(name, head) !== null
    )
  },
  placeOf: (entry) => (isUnreadTable(entry) ? 'left out' : 'extracted'),
  async open(files, unknown, onProgress) {
    const sources: IbgeSource[] = []
    const ages: AgeSource[] = []
    const territory = chooseEdition(files.filter(({ name }) => territoryRole(name) !== null))
    const { mesh, rest } = await openMesh(
      files.filter(({ name }) => territoryRole(name) === null),
      unknown,
    )
    const filesByName = new Map<string, FoundFile>()
    for (const file of rest) {
      onProgress(file.name)
      const age = /\.dbf$/i.test(file.name) ? await readAgeSource(file) : null
      const source = age === null ? await readSource(file) : null
      if (age === null && source === null) {
        unknown.push(file.name)
        continue
      }
      const twin = filesByName.get(file.name)
      if (twin !== undefined)
        throw new ImportError(
          file.shown,
          `is there twice: ${twin.shown} has the same name`,
          'Import one copy of each file',
        )
      filesByName.set(file.name, file)
      if (age !== null) ages.push(age)
      if (source !== null) sources.push(source)
    }
    if (sources.length + ages.length === 0 && territory === null && mesh === null) return null
    checkEditions(ages.map(({ table }) => table))
    return {
      synthetic: mesh?.synthetic === true || sources.some(({ table }) => table.synthetic),
      build: (context) => buildDemography(context, sources, ages, territory, mesh),
    }
  },
}

/** @returns null for a spreadsheet that is not from IBGE */
async function readSource({ name, path, archive }: FoundFile): Promise<IbgeSource | null> {
  const isWorkbook = /\.xlsx?$/i.test(name)
  if (isWorkbook) await checkWorkbookParts(path, name)
  const bytes = isWorkbook ? await readFile(path) : await readTextFile(path, name)
  try {
    const table = readIbge(name, bytes)
    const snapshot = {
      publisher: 'IBGE',
      file: name,
      archive,
      bytes: bytes.length,
      sha256: sha256Hex(bytes),
      rows: table.published,
    }
    return { snapshot, table }
  } catch (error) {
    if (error instanceof UnknownContent) return null
    throw error
  }
}

/** @throws ImportError without a municipality list, or if published totals differ from the sum of their rows */
async function buildDemography(
  { session, staging, partialPopulation }: BuildContext,
  sources: readonly IbgeSource[],
  ages: readonly AgeSource[],
  territoryFiles: TerritoryFiles | null,
  mesh: MeshSource | null,
): Promise<BuiltArea> {
  const list = pickList(sources)
  const names = new Map(list.table.municipalities.map(({ ibge_code, name }) => [ibge_code, name]))
  checkList(list.snapshot.file, new Set(names.keys()))
  const setAside = new RejectedCounts()
  for (const { snapshot, table } of sources)
    if (table.municipalities.length > 0 && snapshot !== list.snapshot)
      setAside.add(snapshot.file, 'superseded', table.municipalities.length)

  await session.run(
    `CREATE TABLE list_in (ibge_code INTEGER, name VARCHAR, source_row INTEGER, source_column VARCHAR, raw_value VARCHAR);
     CREATE TABLE states_in (ibge_code INTEGER, uf VARCHAR, name VARCHAR, region_code INTEGER, region_name VARCHAR);
     CREATE TABLE population_in (municipality_code VARCHAR, reference_year INTEGER, population_type VARCHAR, population INTEGER,
       source_file VARCHAR, source_row INTEGER, source_column VARCHAR, raw_value VARCHAR)`,
  )
  await insertRows(
    session,
    'list_in',
    list.table.municipalities.map(({ ibge_code, name, row, name_column, name_raw }) => [
      ibge_code,
      name,
      row,
      name_column,
      name_raw,
    ]),
  )
  await insertRows(
    session,
    'states_in',
    STATES.map(({ ibge_code, uf, name, region_code, region_name }) => [
      ibge_code,
      uf,
      name,
      region_code,
      region_name,
    ]),
  )

  const listed = new Set(list.table.municipalities.map(({ ibge_code }) => String(ibge_code)))
  let rejected = 0
  let rowsRead = 0
  for (const { snapshot, table } of sources) {
    for (const { reason, row } of table.set_aside) setAside.add(snapshot.file, reason, [row])
    rowsRead += table.published
  }
  const years = new Map<string, IbgeSource>()
  for (const source of [...sources].sort(comparePrecedence))
    for (const { reference_year, population_type } of source.table.population) {
      const key = `${population_type} ${reference_year}`
      if (!years.has(key)) years.set(key, source)
    }
  for (const source of sources) {
    const { snapshot, table } = source
    const rows: (string | number)[][] = []
    for (const cell of table.population) {
      if (years.get(`${cell.population_type} ${cell.reference_year}`) !== source)
        setAside.add(snapshot.file, 'superseded', 1)
      else if (!listed.has(cell.municipality_code)) {
        setAside.add(snapshot.file, 'unknown_municipality', [cell.row])
        rejected += 1
      } else
        rows.push([
          cell.municipality_code,
          cell.reference_year,
          cell.population_type,
          cell.population,
          snapshot.file,
          cell.row,
          cell.column,
          cell.raw,
        ])
    }
    await insertRows(session, 'population_in', rows)
    checkTotals(source, listed)
  }
  /** Counts of missing municipalities, by year, that the operator allowed. */
  const missingCounts: Record<string, number> = {}
  for (const [key, { snapshot, table }] of years) {
    const [type = '', reference = ''] = key.split(' ')
    const year = Number(reference)
    const rows = table.population.filter(
      (cell) => cell.reference_year === year && cell.population_type === type,
    )
    const codes = new Set(rows.map(({ municipality_code }) => Number(municipality_code)))
    const missing = findMissing({ file: snapshot.file, year, codes }, names, partialPopulation)
    if (missing.length > 0)
      missingCounts[`municipalities_without_${type.toLowerCase()}_${year}`] = missing.length
    await insertRows(
      session,
      'population_in',
      missing.map((code) => [String(code), year, type, null, snapshot.file, null, null, null]),
    )
  }
  const missingAges: { file: string; year: number; codes: readonly number[] }[] = []
  for (const { table } of ages) {
    const { file, year } = table
    const codes = new Set([...table.municipalities.keys()].map(Number))
    const missing = findMissing({ file, year, codes, isLate: true }, names, partialPopulation)
    if (missing.length > 0) missingCounts[`municipalities_without_population_by_age_${year}`] = missing.length
    missingAges.push({ file, year, codes: missing })
  }
  const stagedAges =
    ages.length === 0
      ? null
      : await stagePopulationByAge(
          session,
          ages.map(({ table }) => table),
          listed,
          missingAges,
        )
  for (const { snapshot, table } of ages) {
    rowsRead += table.rows
    setAside.add(snapshot.file, 'deleted', table.deleted)
    const unknown = stagedAges?.unknown.get(snapshot.file) ?? []
    rejected += unknown.length
    setAside.add(snapshot.file, 'unknown_municipality', unknown)
  }

  const prices = pickPrices(sources)
  for (const { snapshot, table } of sources)
    if (table.prices !== undefined && snapshot !== prices?.snapshot)
      setAside.add(snapshot.file, 'superseded', table.prices.length)
  const priceCounts = prices === null ? {} : await stagePrices(session, prices)

  const codes = list.table.municipalities.map(({ ibge_code }) => ibge_code)
  const territory = territoryFiles === null ? null : await stageTerritory(session, territoryFiles, codes)
  for (const { file, reason, rows, noun } of territory?.setAside ?? []) setAside.add(file, reason, rows, noun)
  rejected += territory?.rejected ?? 0
  rowsRead += territory?.read ?? 0
  const territorySql = territoryColumns(territory)

  const file = quoteText(list.snapshot.file)
  await session.run(
    `CREATE TABLE municipalities_out AS
     WITH members AS (
       SELECT ibge_code, name, ibge_code // 100000 AS state_ibge_code, 'MUNICIPALITY' AS territorial_type, ${file} AS source_file, source_row, source_column, raw_value FROM list_in
       UNION ALL
       SELECT ibge_code * 100000, 'Município ignorado - ' || uf, ibge_code, 'IGNORED', NULL, NULL, NULL, NULL FROM states_in WHERE uf <> 'DF'
       UNION ALL
       ${administrativeRegions()}
     )
     SELECT CAST(members.ibge_code AS INTEGER) AS ibge_code, members.name, uf, CAST(state_ibge_code AS INTEGER) AS state_ibge_code,
       states_in.name AS state_name, region_code, region_name, territorial_type, ${territorySql.columns}, ${foldText('members.name')} AS search_text,
       members.source_file, CAST(members.source_row AS INTEGER) AS source_row, members.source_column, members.raw_value
     FROM members JOIN states_in ON states_in.ibge_code = state_ibge_code${territorySql.joins};
     CREATE TABLE states_out AS
     SELECT ibge_code, uf, name, region_code, region_name,
       CAST((SELECT count(*) FROM list_in WHERE list_in.ibge_code // 100000 = states_in.ibge_code) AS INTEGER) AS municipality_count
     FROM states_in;
     CREATE TABLE population_out AS
     SELECT cells.municipality_code, place.name AS municipality_name, place.uf, cells.* EXCLUDE (municipality_code)
     FROM population_in AS cells JOIN municipalities_out AS place ON place.ibge_code = CAST(cells.municipality_code AS INTEGER)`,
  )
  if (stagedAges !== null)
    await session.run(
      `CREATE TABLE population_by_age_out AS
       SELECT cells.*, place.name AS municipality_name, place.uf
       FROM population_by_age_in AS cells JOIN municipalities_out AS place ON place.ibge_code = CAST(cells.municipality_code AS INTEGER)`,
    )
  const outputs: DatasetOutput[] = []
  const byAge = stagedAges === null ? [] : (['population_by_age'] as const)
  if (territory !== null) await session.run(regionsSql(territory.edition))
  const regionDatasets = territory?.datasets ?? []
  const outlines = mesh === null ? null : await stageOutlines(session, mesh, listed)
  for (const [reason, features] of outlines?.setAside ?? [])
    setAside.add(mesh?.mesh.file ?? '', reason, features, 'feature')
  rowsRead += mesh?.mesh.rows ?? 0
  rejected += outlines?.rejected ?? 0
  const priceDatasets = prices === null ? [] : (['price_index'] as const)
  const optionalDatasets = [...byAge, ...priceDatasets, ...regionDatasets, ...(outlines?.datasets ?? [])]
  for (const dataset of ['states', 'municipalities', 'population', ...optionalDatasets] as const)
    outputs.push(
      await writeDataset(session, staging, dataset, null, `SELECT * FROM ${quoteName(`${dataset}_out`)}`),
    )

  const readNumber = (sql: string): Promise<number> => session.number(`SELECT ${sql}`)
  const populationRows = await readNumber('count(*) FROM population_out')
  const sumOf = (table: string): Promise<number> => readNumber(`coalesce(sum(population), 0) FROM ${table}`)
  const violations: Readonly<Record<string, number>> = {
    states_are_27: Math.abs((await readNumber('count(*) FROM states_out')) - 27),
    states_have_municipalities: await readNumber('count(*) FROM states_out WHERE municipality_count = 0'),
    municipality_keys_unique: await readNumber(
      'count(*) - count(DISTINCT ibge_code) FROM municipalities_out',
    ),
    municipalities_have_states:
      (await readNumber('count(*) FROM list_in')) -
      (await readNumber("count(*) FROM municipalities_out WHERE territorial_type = 'MUNICIPALITY'")),
    brasilia_is_there: listed.has(String(BRASILIA)) ? 0 : 1,
    population_keys_unique: await readNumber(
      'count(*) - count(DISTINCT (municipality_code, reference_year, population_type)) FROM population_out',
    ),
    population_sum_equals_snapshot:
      (await sumOf('population_in')) === (await sumOf('population_out')) ? 0 : 1,
    ...(stagedAges === null
      ? {}
      : {
          population_by_age_keys_unique: await readNumber(
            'count(*) - count(DISTINCT (municipality_code, reference_year, sex, age_group)) FROM population_by_age_out',
          ),
          population_by_age_sum_equals_snapshot:
            (await sumOf('population_by_age_out')) === stagedAges.population ? 0 : 1,
        }),
    ...outlines?.violations,
  }
  const newestYear = (where: string): Promise<number> =>
    readNumber(`coalesce(max(reference_year), 0) FROM population_out ${where}`)
  const newest = await newestYear('')
  const census = await newestYear("WHERE population_type = 'CENSUS_POPULATION'")
  const estimate = await newestYear("WHERE population_type = 'ESTIMATED_POPULATION'")
  return {
    datasets: Object.fromEntries(outputs.map(({ name, entry }) => [name, entry])),
    rowsByFile: new Map(outputs.flatMap(({ files }) => [...files])),
    snapshots: [
      ...[...sources, ...ages].map(({ snapshot }) => snapshot),
      ...(territory?.snapshots ?? []),
      ...(mesh?.snapshots ?? []),
    ],
    scope: 'br',
    counts: {
      municipalities: list.table.municipalities.length,
      population: populationRows,
      ...(estimate === 0 ? {} : { estimate_year: estimate }),
      ...missingCounts,
      ...outlines?.counts,
      ...(ages.length === 0
        ? {}
        : {
            population_by_age: await readNumber('count(*) FROM population_by_age_out'),
            population_by_age_year: Math.max(...ages.map(({ table }) => table.year)),
            population_by_age_edition: Math.max(...ages.map(({ table }) => table.edition)),
          }),
      ...territory?.counts,
      ...priceCounts,
    },
    setAside: setAside.list(),
    firstRows: setAside.first(),
    rejected,
    read: rowsRead,
    checks: Object.entries(violations).map(([name, count]) => ({ name, violations: count })),
    coverage: {},
    month: (newest === 0 ? 2000 : newest) * 100 + 1,
    censusYear: census === 0 ? null : census,
    ...(territory === null ? {} : { territoryEdition: territory.edition }),
  }
}

async function insertRows(
  session: Session,
  table: string,
  rows: readonly (readonly (string | number | null)[])[],
): Promise<void> {
  await session.append(table, (appender) => {
    for (const row of rows) {
      for (const value of row) {
        if (value === null) appender.appendNull()
        else if (typeof value === 'number') appender.appendInteger(value)
        else appender.appendVarchar(value)
      }
      appender.endRow()
    }
  })
}
