/**
 * Drawn questions over real files: admissions of five states and months between 2008 and 2023, most months of which nobody collected.
 * Every value and every row of months and places is that of the oracle (test/fixtures/areas-oracle.ts), by lists of months and by ranges.
 */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { writePointer } from '../../src/release/writer.ts'
import {
  AREA_COLUMNS,
  type AreaFilter,
  type AreaQuestion,
  type AreaRow,
  type AreasData,
  answerAreas,
  BY_HOME,
  BY_PLACE,
  type Cell,
  dimensionsOf,
} from '../fixtures/areas-oracle.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { countOf } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const FILES = ['RDRR0801', 'RDRR1412', 'RDAP1405', 'RDAC2203', 'RDDF2302']
/** State → months that were collected, by the names of the files. */
const HELD = new Map<string, Set<string>>()
for (const name of FILES) {
  const month = `20${name.slice(4, 6)}-${name.slice(6)}`
  HELD.set(month, (HELD.get(month) ?? new Set()).add(name.slice(2, 4)))
}
const NEWEST = '2023-02'
const OWN = ['AC', 'AP', 'DF', 'RR']
const METRICS = [
  'admissions',
  'admission_records',
  'days_of_stay',
  'hospital_deaths',
  'icu_days',
  'admissions_value',
  'average_stay_days',
  'hospital_mortality_share',
]

/** @returns months from one to another */
function monthsBetween(first: string, last: string): string[] {
  const found: string[] = []
  for (let month = first; month <= last; ) {
    found.push(month)
    month = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 7)
  }
  return found
}

t.test('drawn questions over real files agree with the oracle', { skip: skipWithoutShared }, async (t) => {
  const { folder, releasesDir, result } = await makeSmallRelease()
  const path = join(folder, 'real')
  mkdirSync(path)
  for (const name of FILES) cpSync(sharedPath(`sih/${name}.dbc`), join(path, `${name}.dbc`))
  const made = await importPaths([path], { releasesDir, maxRejected: 0.01 })
  writePointer(releasesDir, made.analytics)
  const client = await openClient(releasesDir, 1, { residentBytes: RESIDENT_BYTES })
  t.teardown(() => client.close())
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const rowsOf = async (id: string | null, dataset: string, columns: string): Promise<AreaRow[]> =>
    (
      await connection.runAndReadAll(
        `SELECT ${columns} FROM read_parquet('${join(releasesDir, id ?? '', dataset)}/**/*.parquet', hive_partitioning = true)`,
      )
    ).getRowObjects() as AreaRow[]
  const MONTH = `left(CAST(reference_period AS VARCHAR), 4) || '-' || right(CAST(reference_period AS VARCHAR), 2) AS reference_period`
  const MEASURES = 'admission_records, admissions, days_of_stay, icu_days, deaths, value_total_cents'
  const places = await rowsOf(
    result.demography,
    'municipalities',
    'ibge_code, ibge_code AS municipality_ibge_code, uf, region_code, health_region_code, health_macroregion_code, territorial_type',
  )
  const data: AreasData = {
    tables: {
      hospitals: await rowsOf(
        made.sih,
        'hospital_admissions',
        `${MONTH}, cnes_code, uf, municipality_ibge_code, procedure_code, procedure_group_code, procedure_subgroup_code, procedure_form_code, care_character_code, complexity_code, financing_code, ${MEASURES}`,
      ),
      residences: await rowsOf(
        made.sih,
        'hospital_admissions_by_residence',
        `${MONTH}, residence_uf AS uf, residence_municipality_code AS municipality_ibge_code, diagnosis_chapter_code, diagnosis_category_code, age_group, sex, ${MEASURES}`,
      ),
      production: [],
      funds: [],
      beds: [],
    },
    people: [],
    places: new Map(
      places
        .filter(({ territorial_type: type }) => type !== 'ADMINISTRATIVE_REGION')
        .map((row) => [Number(row.ibge_code), row]),
    ),
    published: {
      hospitals: HELD,
      residences: HELD,
      production: new Map(),
      funds: new Map(),
      beds: new Map(),
    },
  }
  const { draw, pick, shuffle } = createDraws(2023)
  const everyState = STATES.map(({ uf }) => uf)
  const held = [...HELD.keys()].sort()

  /** Months that a filter means, and the filter. */
  function drawMonths(): readonly [months: string[], filters: object[]] {
    const dimension = 'reference_period'
    const first = pick([...held, '2014-11', '2022-01'])
    const last = monthsBetween(first, '2026-12')[draw(draw(3) === 0 ? 14 : 2)] ?? first
    const ranged = monthsBetween(first, last < NEWEST ? last : NEWEST)
    switch (draw(4)) {
      case 0:
        return [ranged, [{ dimension, operator: 'BETWEEN', value: [first, last] }]]
      case 1:
        return [
          ranged,
          [
            { dimension, operator: 'GTE', value: first },
            { dimension, operator: 'LTE', value: last },
          ],
        ]
      case 2: {
        const end = pick(['2008-01', '2008-02', '2014-05'])
        return [monthsBetween('2008-01', end), [{ dimension, operator: 'LTE', value: end }]]
      }
      default: {
        const listed = shuffle([...held, ...held, '2014-06'])
        const months = [...new Set(listed.slice(0, 1 + draw(2)))].sort()
        return [months, [{ dimension, operator: 'IN', value: months }]]
      }
    }
  }

  const wrong: string[] = []
  const counts = { values: 0, nulls: 0, facilities: 0, homes: 0, rows: 0 }
  for (let turn = 0; turn < countOf(250, 10); turn += 1) {
    const isByHome = draw(2) === 0
    const metrics = isByHome ? BY_HOME : BY_PLACE
    const asked = shuffle(METRICS).slice(0, 1 + draw(3))
    const own = [...dimensionsOf(metrics[asked[0] ?? ''] as never), 'reference_period', 'reference_period']
    const group_by = [...new Set(shuffle(own).slice(0, draw(4)))]
    const place = isByHome ? 'residence_state' : 'state'
    const rows = data.tables[isByHome ? 'residences' : 'hospitals']
    const filters: AreaFilter[] = []
    if (draw(3) > 0)
      filters.push({ dimension: place, operator: 'IN', value: shuffle([...OWN, 'GO']).slice(0, 1 + draw(2)) })
    const other = pick(own.filter((code) => !/state|region|municipality|reference_period/.test(code)))
    if (draw(2) === 0) {
      const code = pick(rows)[AREA_COLUMNS[other] ?? '']
      const operator = other === 'facility' ? 'EQ' : pick(['EQ', 'NEQ'] as const)
      if (typeof code === 'string') filters.push({ dimension: other, operator, value: code })
      if (other === 'facility') counts.facilities += 1
    }
    const [months, ofMonths] = drawMonths()
    const question: AreaQuestion = { metrics: asked, group_by, filters, months, over_period: null }
    const { status, body, text } = await client.query({
      metrics: asked,
      // Both tables have these metrics: a place of residence, or a hospital's, says which is meant.
      group_by,
      filters: [...filters, ...ofMonths],
      limit: 10_000,
    })
    const usesHome = [...group_by, ...filters.map(({ dimension }) => dimension)]
    const isMixed = isByHome && !usesHome.some((code) => /residence|diagnosis|age_group|sex/.test(code))
    if (isMixed) continue
    const name = JSON.stringify({ ...question, filters: [...filters, ...ofMonths] })
    if (status !== 200) {
      wrong.push(`${name}: ${text.slice(0, 300)}`)
      continue
    }
    const oracle = answerAreas(question, data, everyState)
    const left = new Set(oracle.keys)
    if (group_by.join() === 'reference_period')
      for (const month of months) if (month <= NEWEST) left.add(JSON.stringify([month]))
    if (group_by.join() === 'residence_state') {
      const [within] = filters.filter(({ dimension }) => dimension === 'residence_state')
      for (const uf of (within?.value ?? everyState) as string[]) left.add(JSON.stringify([uf]))
      counts.homes += 1
    }
    counts.rows += body.data.length
    for (const { dimensions, metrics: values } of body.data) {
      const codes: Cell[] = group_by.map((code) => dimensions[code]?.code ?? null)
      left.delete(JSON.stringify(codes))
      for (const metric of asked) {
        const wanted = oracle.valueOf(metric, codes)
        counts.values += 1
        if (wanted === null) counts.nulls += 1
        if ((wanted === null ? null : Number(wanted)) !== (values[metric] ?? null))
          wrong.push(`${name}: ${JSON.stringify(codes)} ${metric} is ${values[metric]}, not ${wanted}`)
      }
    }
    if (body.data.length < 10_000 && left.size > 0)
      wrong.push(`${name}: lacks ${[...left].slice(0, 3).join()}`)
  }
  t.same(wrong.slice(0, 8), [], `${wrong.length} are wrong`)
  t.comment(JSON.stringify(counts))
  t.ok(counts.values > 500 && counts.nulls > 50 && counts.facilities > 2)
})
