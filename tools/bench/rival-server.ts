/**
 * The rival: the same routes as a careful team writes them on PostgreSQL and Fastify. It uses hand-written SQL, named
 * prepared statements and a connection pool; it has no logging and no keys. Responses have the same shape.
 */
import Fastify from 'fastify'
import pg from 'pg'

import { DATASETS } from '../../src/model/datasets.ts'
import { type DimensionCode, dimensionOf } from '../../src/model/dimensions.ts'
import { QUERIES } from './rival-analytics.ts'

interface Options {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly release: string
}
type Row = Record<string, unknown>

const options = JSON.parse(process.argv[2] ?? '{}') as Options
const asIs = (text: string): string => text
pg.types.setTypeParser(pg.types.builtins.DATE, asIs)
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
const pool = new pg.Pool({ ...options, database: 'bench', max: 10 })
// PostgreSQL may end before its clients.
pool.on('error', () => undefined)
const app = Fastify({ logger: false })

const query = async (name: string, text: string, values: unknown[]): Promise<Row[]> =>
  (await pool.query({ name, text, values })).rows as Row[]
const META: Row = {
  version: '0.1.0',
  release_id: options.release,
  synthetic: true,
  reference_period: '2026-05',
}
const RECORD = [...DATASETS.facilities.fields, ...DATASETS.facilities.detail].join(', ')
const LISTED = DATASETS.facilities.fields.join(', ')

app.get<{ Params: { code: string } }>('/v1/facilities/:code', async (request, reply) => {
  const [row] = await query('record', `SELECT ${RECORD} FROM facilities WHERE cnes_code = $1`, [
    request.params.code,
  ])
  if (row === undefined) return reply.code(404).send({ code: 'not_found' })
  return { data: row, meta: META }
})

app.get<{
  Querystring: { limit?: string; cursor?: string; uf?: string; facility_type_code?: string; search?: string }
}>('/v1/facilities', async (request) => {
  const { limit: limitText, cursor, uf, facility_type_code: type, search } = request.query
  const limit = Number(limitText ?? 50)
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString()
  let rows: Row[]
  if (search !== undefined) {
    // Do not prepare this by name: the best plan depends on how selective the text is.
    const found = await pool.query(
      `SELECT ${LISTED} FROM facilities
       WHERE is_active AND cnes_code > $1 AND (search_text LIKE '%' || lower(plain($2)) || '%' OR cnes_code LIKE $2 || '%')
       ORDER BY cnes_code LIMIT $3`,
      [after, search.replaceAll(/[\\%_]/g, '\\$&'), limit + 1],
    )
    rows = found.rows as Row[]
  } else if (uf !== undefined && type !== undefined)
    rows = await query(
      'filtered',
      `SELECT ${LISTED} FROM facilities
       WHERE is_active AND uf = $1 AND facility_type_code = $2 AND cnes_code > $3 ORDER BY cnes_code LIMIT $4`,
      [uf, type, after, limit + 1],
    )
  else
    rows = await query(
      'page',
      `SELECT ${LISTED} FROM facilities WHERE is_active AND cnes_code > $1 ORDER BY cnes_code LIMIT $2`,
      [after, limit + 1],
    )
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return {
    data,
    pagination: {
      limit,
      has_more: hasMore,
      next_cursor: hasMore ? Buffer.from(String(data.at(-1)?.cnes_code)).toString('base64url') : null,
    },
    meta: META,
  }
})

const FACILITY = 'cnes_code, legal_name, trade_name, is_active, uf, municipality_ibge_code, municipality_name'
const BEDS = DATASETS.bed_capacity.fields.join(', ')

app.get<{ Params: { code: string } }>('/v1/facilities/:code/bed-capacity', async (request, reply) => {
  const key = [request.params.code]
  const [[facility], records] = await Promise.all([
    query('facility', `SELECT ${FACILITY} FROM facilities WHERE cnes_code = $1`, key),
    query(
      'beds',
      `SELECT ${BEDS} FROM bed_capacity WHERE cnes_code = $1 ORDER BY cnes_code, bed_type_code`,
      key,
    ),
  ])
  if (facility === undefined) return reply.code(404).send({ code: 'not_found' })
  const total = (field: string): number => records.reduce((sum, row) => sum + Number(row[field]), 0)
  return {
    data: {
      facility,
      records,
      totals: {
        bed_types: records.length,
        beds_existing: total('beds_existing'),
        beds_sus: total('beds_sus'),
        beds_non_sus: total('beds_non_sus'),
      },
    },
    meta: META,
  }
})

app.get<{ Params: { code: string } }>('/v1/demography/population/:code', async (request, reply) => {
  const rows = await query(
    'population',
    `SELECT ${DATASETS.population.fields.join(', ')} FROM population WHERE municipality_code = $1 ORDER BY reference_year, population_type`,
    [request.params.code],
  )
  const record = rows.filter((row) => row.population_type === 'ESTIMATED_POPULATION').at(-1)
  if (record === undefined) return reply.code(404).send({ code: 'not_found' })
  const available = rows.map(({ reference_year, population_type }) => ({ reference_year, population_type }))
  return { data: { ...record, available }, meta: META }
})

/** Dimension → columns, table, order, and parent dimension. */
const MEMBERS: Readonly<
  Record<
    string,
    {
      code: string
      name: string
      from: string
      order: string
      parent?: [string, string]
      folded?: string
    }
  >
> = {
  municipality: {
    code: 'ibge_code',
    name: 'name',
    from: "municipalities WHERE territorial_type = 'MUNICIPALITY'",
    order: 'name COLLATE "pt-x-icu", ibge_code',
    parent: ['state', 'uf'],
    folded: 'search_text',
  },
  state: { code: 'uf', name: 'name', from: 'states WHERE true', order: 'name COLLATE "pt-x-icu", uf' },
  bed_type: {
    code: 'bed_type_code',
    name: 'bed_type_name',
    from: 'bed_types WHERE true',
    order: 'bed_type_code',
    parent: ['bed_category', 'bed_category_code'],
  },
  equipment_type: {
    code: 'equipment_type_key',
    name: 'equipment_name',
    from: 'equipment_types WHERE true',
    order: 'equipment_type_key',
    parent: ['equipment_category', 'category_code'],
  },
  specialized_service_classification: {
    code: 'classification_key',
    name: 'classification_name',
    from: 'specialized_service_classifications WHERE true',
    order: 'classification_key',
    parent: ['specialized_service', 'service_code'],
  },
  legal_nature: {
    code: 'legal_nature_code',
    name: 'legal_nature_name',
    from: 'legal_natures WHERE true',
    order: 'legal_nature_code',
  },
}

app.get<{ Params: { code: string }; Querystring: { limit?: string; offset?: string; search?: string } }>(
  '/v1/analytics/dimensions/:code/values',
  async (request, reply) => {
    const member = MEMBERS[request.params.code]
    if (member === undefined) return reply.code(400).send({ code: 'unknown_dimension' })
    const { search } = request.query
    const limit = Number(request.query.limit ?? 50)
    const offset = Number(request.query.offset ?? 0)
    const parent = member.parent === undefined ? 'NULL' : member.parent[1]
    const folded = member.folded ?? `lower(plain(${member.name}))`
    const columns = `${member.code} AS code, ${member.name} AS name, ${parent} AS parent`
    // Count all members separately, so that a page can use the index. Search results are few and counted directly.
    const text =
      search === undefined
        ? `SELECT ${columns}, (SELECT count(*) FROM ${member.from}) AS total FROM ${member.from}`
        : `SELECT ${columns}, count(*) OVER () AS total FROM ${member.from}
           AND (${folded} LIKE '%' || lower(plain($3)) || '%' OR lower(${member.code}::text) LIKE lower($3) || '%')`
    const rows = await query(
      `values-${request.params.code}-${search !== undefined}`,
      `${text} ORDER BY ${member.order} LIMIT $1 OFFSET $2`,
      search === undefined ? [limit, offset] : [limit, offset, search.replaceAll(/[\\%_]/g, '\\$&')],
    )
    const total = Number(rows[0]?.total ?? 0)
    return {
      data: rows.map(({ code, name, parent: parentCode }) => ({
        code,
        name,
        ...(member.parent === undefined ? {} : { parent: { dimension: member.parent[0], code: parentCode } }),
      })),
      pagination: { limit, offset, total, has_more: offset + rows.length < total },
      meta: META,
    }
  },
)

/** Query → its statement, by the JSON text of the query. */
const statements = new Map(QUERIES.map((entry, index) => [JSON.stringify(entry.body), { ...entry, index }]))

app.post('/v1/analytics/query', async (request, reply) => {
  const found = statements.get(JSON.stringify(request.body))
  if (found === undefined) return reply.code(400).send({ code: 'invalid_request' })
  const { body, sql, index } = found
  const rows = await query(`query-${index}`, sql, [])
  const groups = body.group_by ?? []
  const limit = body.limit ?? 100
  const total = Number(rows[0]?.total ?? 0)
  return {
    data: rows.map((row) => {
      const dimensions: Row = {}
      const labels: unknown[] = []
      groups.forEach((code, position) => {
        const value = row[`c${position}`] ?? null
        const label =
          typeof value === 'string' ? dimensionOf(code as DimensionCode).labels?.[value]?.pt : undefined
        const name = label ?? row[`n${position}`] ?? (value === null ? 'Não informado' : null)
        dimensions[code] = {
          code: value,
          name,
          ...(code === 'state' ? { ibge_code: row[`x${position}`] } : {}),
          ...(code === 'municipality' ? { uf: row[`x${position}`] } : {}),
        }
        labels.push(name ?? value)
      })
      return {
        label: groups.length === 0 ? 'Total do escopo selecionado' : labels.join(' · '),
        dimensions,
        metrics: Object.fromEntries(
          body.metrics.map((code, position) => [code, row[`m${position}`] ?? null]),
        ),
      }
    }),
    pagination: { limit, offset: 0, total_rows: total, has_more: rows.length < total },
    meta: META,
  }
})

const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.once('SIGTERM', () => void pool.end().then(() => process.exit(0)))
process.once('disconnect', () => process.exit(0))
process.send?.({ address })
