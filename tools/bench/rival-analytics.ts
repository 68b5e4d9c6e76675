/**
 * Twenty queries over all datasets, and for each the SQL that a careful analyst writes on the rival's tables. Columns: c, n
 * and x per dimension (code, name, the state's number or the municipality's state), m per metric, and total (rows of all
 * pages).
 */
import type { DimensionCode } from '../../src/model/dimensions.ts'
import type { MetricCode } from '../../src/model/metrics.ts'

export interface QueryBody {
  readonly metrics: readonly MetricCode[]
  readonly group_by?: readonly DimensionCode[]
  readonly filters?: readonly {
    readonly dimension: DimensionCode
    readonly operator: 'EQ'
    readonly value: string
  }[]
  readonly order_by?: readonly { readonly field: MetricCode; readonly direction: 'asc' | 'desc' }[]
  readonly limit?: number
}
export interface RivalQuery {
  readonly body: QueryBody
  readonly sql: string
}

const BY_NAME = 'name COLLATE "pt-x-icu"'
/** A quotient with two decimals, rounded half away from zero; null when the denominator is not positive. */
const ratio = (numerator: string, denominator: string, scale: number): string =>
  `CASE WHEN ${denominator} > 0 THEN round(${numerator}::numeric * ${scale} / ${denominator}, 2) END`
const CENSUS =
  "population_type = 'CENSUS_POPULATION' AND reference_year = (SELECT max(reference_year) FROM population WHERE population_type = 'CENSUS_POPULATION')"
const inhabitants = (key: string): string =>
  `SELECT ${key}, sum(population) AS inhabitants FROM population WHERE ${CENSUS} GROUP BY 1`

/** One row per state, also without facts. @param parts sub-queries with a column uf, by name */
const byState = (parts: Readonly<Record<string, string>>, metrics: readonly string[]): string => `
WITH ${Object.entries(parts)
  .map(([name, text]) => `${name} AS (${text})`)
  .join(', ')}
SELECT s.uf AS c0, s.name AS n0, s.ibge_code AS x0, ${metrics.map((metric, index) => `${metric} AS m${index}`).join(', ')}, count(*) OVER () AS total
FROM states s ${Object.keys(parts)
  .map((name) => `LEFT JOIN ${name} USING (uf)`)
  .join(' ')}
ORDER BY s.${BY_NAME}, s.uf LIMIT 100`

/** One row per municipality. A state's unknown municipality appears only when an active facility is in it. */
const byMunicipality = (
  parts: Readonly<Record<string, string>>,
  metrics: readonly string[],
  { where = 'true', order = '', limit = 100 } = {},
): string => `
WITH ${Object.entries(parts)
  .map(([name, text]) => `${name} AS (${text})`)
  .join(', ')}
SELECT t.ibge_code AS c0, t.name AS n0, t.uf AS x0, ${metrics.map((metric, index) => `${metric} AS m${index}`).join(', ')}, count(*) OVER () AS total
FROM municipalities t ${Object.keys(parts)
  .map((name) => `LEFT JOIN ${name} p_${name} ON p_${name}.place = t.ibge_code`)
  .join(' ')}
WHERE (t.territorial_type = 'MUNICIPALITY' OR (t.territorial_type = 'IGNORED' AND EXISTS
  (SELECT 1 FROM facilities f WHERE f.is_active AND f.municipality_ibge_code = t.ibge_code))) AND ${where}
ORDER BY ${order}t.${BY_NAME}, t.ibge_code LIMIT ${limit}`

/** One row per code with facts, with its name from a catalog. */
const byCode = (
  code: string,
  dataset: string,
  measures: readonly string[],
  { catalog = '', name = '', where = '' } = {},
): string => `
WITH facts AS (
  SELECT ${code} AS code, ${measures.map((measure, index) => `${measure} AS m${index}`).join(', ')}
  FROM ${dataset} WHERE is_active${where === '' ? '' : ` AND ${where}`} GROUP BY 1
)
SELECT code AS c0, ${name === '' ? 'NULL' : name} AS n0, ${measures.map((_, index) => `m${index}`).join(', ')}, count(*) OVER () AS total
FROM facts ${catalog === '' ? '' : `LEFT JOIN ${catalog} ON ${catalog}.${code} = facts.code`}
ORDER BY code NULLS LAST LIMIT 1000`

const ACTIVE_BEDS = 'FROM bed_capacity WHERE is_active'
const ACTIVE_EQUIPMENT = 'FROM equipment_inventory WHERE is_active'
const ACTIVE_SERVICES = 'FROM specialized_services WHERE is_active'
const ACTIVE_FACILITIES = 'FROM facilities WHERE is_active'
const zero = (column: string): string => `coalesce(${column}, 0)`

export const QUERIES: readonly RivalQuery[] = [
  {
    body: {
      metrics: ['bed_capacity_existing', 'bed_capacity_sus', 'beds_existing_per_100k'],
      group_by: ['state'],
    },
    sql: byState(
      {
        b: `SELECT uf, sum(beds_existing) AS beds, sum(beds_sus) AS sus ${ACTIVE_BEDS} GROUP BY 1`,
        p: inhabitants('uf'),
      },
      [zero('beds'), zero('sus'), ratio(zero('beds'), 'inhabitants', 100_000)],
    ),
  },
  {
    body: { metrics: ['facilities_count'], group_by: ['state'] },
    sql: byState({ f: `SELECT uf, count(*) AS facilities ${ACTIVE_FACILITIES} GROUP BY 1` }, [
      zero('facilities'),
    ]),
  },
  {
    body: { metrics: ['facilities_count', 'facilities_per_100k'], group_by: ['municipality'] },
    sql: byMunicipality(
      {
        f: `SELECT municipality_ibge_code AS place, count(*) AS facilities ${ACTIVE_FACILITIES} GROUP BY 1`,
        p: inhabitants('municipality_code::integer AS place'),
      },
      [zero('facilities'), ratio(zero('facilities'), 'inhabitants', 100_000)],
    ),
  },
  {
    body: {
      metrics: ['equipment_existing', 'equipment_in_use', 'equipment_sus'],
      group_by: ['equipment_category'],
      limit: 1000,
    },
    sql: byCode(
      'category_code',
      'equipment_inventory',
      ['sum(quantity_existing)', 'sum(quantity_in_use)', 'coalesce(sum(quantity_sus), 0)'],
      {
        catalog: 'equipment_categories',
        name: 'category_name',
      },
    ),
  },
  {
    body: {
      metrics: ['service_offerings', 'service_offerings_sus'],
      group_by: ['specialized_service'],
      limit: 1000,
    },
    sql: byCode(
      'service_code',
      'specialized_services',
      ['count(*)', 'count(*) FILTER (WHERE offers_any_sus)'],
      {
        catalog: 'specialized_service_types',
        name: 'service_name',
      },
    ),
  },
  {
    body: { metrics: ['bed_capacity_existing'], group_by: ['bed_type'], limit: 1000 },
    sql: byCode('bed_type_code', 'bed_capacity', ['sum(beds_existing)'], {
      catalog: 'bed_types',
      name: 'bed_type_name',
    }),
  },
  {
    body: {
      metrics: ['bed_capacity_existing', 'bed_capacity_sus', 'facilities_with_beds'],
      group_by: ['bed_category'],
      limit: 1000,
    },
    sql: byCode(
      'bed_category_code',
      'bed_capacity',
      ['sum(beds_existing)', 'sum(beds_sus)', 'count(DISTINCT cnes_code) FILTER (WHERE beds_existing > 0)'],
      { catalog: 'bed_categories', name: 'bed_category_name' },
    ),
  },
  {
    body: { metrics: ['facilities_count', 'facilities_sus'], group_by: ['facility_type'], limit: 1000 },
    sql: byCode('facility_type_code', 'facilities', ['count(*)', 'count(*) FILTER (WHERE offers_any_sus)'], {
      catalog: 'facility_types',
      name: 'facility_type_name',
    }),
  },
  {
    body: { metrics: ['facilities_count'], group_by: ['legal_nature'], limit: 1000 },
    sql: byCode('legal_nature_code', 'facilities', ['count(*)'], {
      catalog: 'legal_natures',
      name: 'legal_nature_name',
    }),
  },
  {
    body: {
      metrics: ['facilities_count', 'facilities_with_services'],
      group_by: ['management_type'],
      limit: 1000,
    },
    sql: byCode('management_type', 'facilities', ['count(*)', 'count(*) FILTER (WHERE has_services)']),
  },
  {
    body: {
      metrics: [
        'bed_capacity_existing',
        'beds_sus_share',
        'equipment_existing',
        'service_offerings',
        'facilities_count',
        'population_census',
      ],
      group_by: ['state'],
    },
    sql: byState(
      {
        b: `SELECT uf, sum(beds_existing) AS beds, sum(beds_sus) AS sus ${ACTIVE_BEDS} GROUP BY 1`,
        e: `SELECT uf, sum(quantity_existing) AS pieces ${ACTIVE_EQUIPMENT} GROUP BY 1`,
        o: `SELECT uf, count(*) AS offerings ${ACTIVE_SERVICES} GROUP BY 1`,
        f: `SELECT uf, count(*) AS facilities ${ACTIVE_FACILITIES} GROUP BY 1`,
        p: inhabitants('uf'),
      },
      [
        zero('beds'),
        ratio(zero('sus'), zero('beds'), 100),
        zero('pieces'),
        zero('offerings'),
        zero('facilities'),
        'inhabitants',
      ],
    ),
  },
  {
    body: {
      metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
      group_by: ['municipality'],
      filters: [{ dimension: 'state', operator: 'EQ', value: 'SP' }],
      order_by: [{ field: 'bed_capacity_existing', direction: 'desc' }],
      limit: 50,
    },
    sql: byMunicipality(
      {
        b: `SELECT municipality_ibge_code AS place, sum(beds_existing) AS beds ${ACTIVE_BEDS} AND uf = 'SP' GROUP BY 1`,
        p: `SELECT municipality_code::integer AS place, sum(population) AS inhabitants FROM population WHERE ${CENSUS} AND uf = 'SP' GROUP BY 1`,
      },
      [zero('beds'), ratio(zero('beds'), 'inhabitants', 100_000)],
      { where: "t.uf = 'SP'", order: 'coalesce(beds, 0) DESC, ', limit: 50 },
    ),
  },
  {
    body: {
      metrics: ['equipment_existing', 'equipment_facilities'],
      group_by: ['equipment_type'],
      filters: [{ dimension: 'equipment_category', operator: 'EQ', value: '01' }],
      limit: 1000,
    },
    sql: byCode(
      'equipment_type_key',
      'equipment_inventory',
      ['sum(quantity_existing)', 'count(DISTINCT cnes_code) FILTER (WHERE quantity_existing > 0)'],
      { catalog: 'equipment_types', name: 'equipment_name', where: "category_code = '01'" },
    ),
  },
  {
    body: {
      metrics: ['bed_capacity_existing', 'bed_capacity_sus'],
      group_by: ['state', 'bed_category'],
      limit: 1000,
    },
    sql: `
WITH facts AS (
  SELECT uf, bed_category_code AS code, sum(beds_existing) AS m0, sum(beds_sus) AS m1 ${ACTIVE_BEDS} GROUP BY 1, 2
)
SELECT facts.uf AS c0, s.name AS n0, s.ibge_code AS x0, code AS c1, bed_category_name AS n1, m0, m1, count(*) OVER () AS total
FROM facts LEFT JOIN states s USING (uf) LEFT JOIN bed_categories k ON k.bed_category_code = facts.code
ORDER BY s.${BY_NAME}, facts.uf, code NULLS LAST LIMIT 1000`,
  },
  {
    body: { metrics: ['facilities_count'], group_by: ['state', 'facility_type'], limit: 1000 },
    sql: `
WITH facts AS (SELECT uf, facility_type_code AS code, count(*) AS m0 ${ACTIVE_FACILITIES} GROUP BY 1, 2)
SELECT facts.uf AS c0, s.name AS n0, s.ibge_code AS x0, code AS c1, facility_type_name AS n1, m0, count(*) OVER () AS total
FROM facts LEFT JOIN states s USING (uf) LEFT JOIN facility_types k ON k.facility_type_code = facts.code
ORDER BY s.${BY_NAME}, facts.uf, code NULLS LAST LIMIT 1000`,
  },
  {
    body: {
      metrics: ['service_offerings', 'service_facilities'],
      group_by: ['specialized_service_classification'],
      limit: 1000,
    },
    // The primary key has each facility at most once per classification, so count(*) counts facilities.
    sql: byCode('classification_key', 'specialized_services', ['count(*)', 'count(*)'], {
      catalog: 'specialized_service_classifications',
      name: 'classification_name',
    }),
  },
  {
    body: {
      metrics: [
        'facilities_count',
        'bed_capacity_existing',
        'equipment_existing',
        'service_offerings',
        'service_facilities',
        'population_census',
      ],
    },
    sql: `
SELECT f.m0, b.m1, e.m2, o.m3, o.m4, p.m5, 1 AS total
FROM (SELECT count(*) AS m0 ${ACTIVE_FACILITIES}) f,
  (SELECT sum(beds_existing) AS m1 ${ACTIVE_BEDS}) b,
  (SELECT sum(quantity_existing) AS m2 ${ACTIVE_EQUIPMENT}) e,
  (SELECT count(*) AS m3, count(DISTINCT cnes_code) AS m4 ${ACTIVE_SERVICES}) o,
  (SELECT sum(population) AS m5 FROM population WHERE ${CENSUS}) p`,
  },
  {
    body: {
      metrics: ['bed_capacity_existing'],
      group_by: ['facility'],
      filters: [{ dimension: 'state', operator: 'EQ', value: 'RJ' }],
      order_by: [{ field: 'bed_capacity_existing', direction: 'desc' }],
      limit: 20,
    },
    sql: `
WITH facts AS (SELECT cnes_code, sum(beds_existing) AS m0 ${ACTIVE_BEDS} AND uf = 'RJ' GROUP BY 1)
SELECT cnes_code AS c0, coalesce(trade_name, legal_name) AS n0, m0, count(*) OVER () AS total
FROM facts LEFT JOIN facilities f USING (cnes_code)
ORDER BY m0 DESC, coalesce(trade_name, legal_name) COLLATE "pt-x-icu" NULLS LAST, cnes_code LIMIT 20`,
  },
  {
    body: { metrics: ['equipment_existing_per_100k', 'equipment_in_use_share'], group_by: ['state'] },
    sql: byState(
      {
        e: `SELECT uf, sum(quantity_existing) AS pieces, sum(quantity_in_use) AS used ${ACTIVE_EQUIPMENT} GROUP BY 1`,
        p: inhabitants('uf'),
      },
      [ratio(zero('pieces'), 'inhabitants', 100_000), ratio(zero('used'), zero('pieces'), 100)],
    ),
  },
  {
    body: {
      metrics: ['service_facilities', 'service_offerings_ambulatory_sus', 'service_offerings_hospital_sus'],
      group_by: ['state'],
    },
    sql: byState(
      {
        o: `SELECT uf, count(DISTINCT cnes_code) AS facilities, count(*) FILTER (WHERE has_ambulatory_sus) AS ambulatory, count(*) FILTER (WHERE has_hospital_sus) AS hospital ${ACTIVE_SERVICES} GROUP BY 1`,
      },
      [zero('facilities'), zero('ambulatory'), zero('hospital')],
    ),
  },
]
