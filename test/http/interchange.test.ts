/**
 * A release described for other programs: the Data Package names the files that are served, with what is in them, and the script
 * for DuckDB gives the same totals as answers do. Addresses are replaced by the files themselves: DuckDB reads over HTTP with an
 * extension that is not installed everywhere.
 */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { sha256Hex } from '../../src/release/digest.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const { analytics } = small.result
const { data: releases } = (await client.get('/v1/releases')).body
const instance = await DuckDBInstance.create()
const connection = await instance.connect()
t.teardown(() => {
  connection.closeSync()
  instance.closeSync()
})
const rowsOf = async (sql: string): Promise<unknown[][]> =>
  (await connection.runAndReadAll(sql)).getRows() as unknown[][]

for (const { release_id: id } of releases)
  t.test(`the Data Package of ${id.slice(0, 20)}`, async (t) => {
    const { status, body, headers } = await client.get(`/v1/releases/${id}/datapackage.json`, {
      host: 'dados.example.br',
      'x-forwarded-proto': 'https',
    })
    t.equal(status, 200)
    t.match(headers['content-type'], 'application/json')
    const manifest = (await client.get(`/v1/releases/${id}`)).body.data
    t.equal(body.name, id)
    t.equal(body.resources.length, manifest.files.length)
    t.equal(new Set(body.resources.map(({ name }: { name: string }) => name)).size, manifest.files.length)
    const wrong: string[] = []
    for (const { path, hash, bytes, schema } of body.resources) {
      const served = await client.get(path.replace('https://dados.example.br', ''))
      if (served.bytes.length !== bytes || `sha256:${sha256Hex(served.bytes)}` !== hash) wrong.push(path)
      const file = join(
        small.releasesDir,
        path.replace('https://dados.example.br/v1/releases/', '').replace('/files/', '/'),
      )
      const columns = await rowsOf(
        `SELECT name FROM parquet_schema('${file}') WHERE name IN (SELECT column_name FROM (DESCRIBE FROM read_parquet('${file}', hive_partitioning = false)))`,
      )
      const names = columns.map(([name]) => name)
      const required: string[] = []
      for (const field of schema.fields) {
        if (!names.includes(field.name)) wrong.push(`${path}: no ${field.name}`)
        else if (field.constraints?.required === true) required.push(field.name)
      }
      const [counts = []] = await rowsOf(
        `SELECT count(*), ${['1', ...required.map((name) => `count("${name}")`)].join(', ')}, count(DISTINCT (${[...(schema.primaryKey ?? []).map((name: string) => `"${name}"`), 1].join(', ')})) FROM read_parquet('${file}', hive_partitioning = false)`,
      )
      const [rows, , ...own] = counts
      const keys = own.pop()
      required.forEach((name, index) => {
        if (own[index] !== rows) wrong.push(`${path}: ${name} is null`)
      })
      if (schema.primaryKey !== undefined && keys !== rows)
        wrong.push(`${path}: ${keys} keys of ${rows} rows`)
    }
    t.same(wrong.slice(0, 10), [])
  })

t.test('the script for DuckDB', async (t) => {
  const { status, text, headers } = await client.get(`/v1/releases/${analytics}/attach.sql`)
  t.equal(status, 200)
  t.match(headers['content-type'], 'application/sql')
  t.notMatch(text, /sus_[0-9a-z]{8}/)
  const base = /'(https?:\/\/[^/]+)\/v1\/releases\//.exec(text)?.[1] ?? ''
  const script = text
    .replace('INSTALL httpfs;\nLOAD httpfs;\n', '')
    .replaceAll(`${base}/v1/releases/`, `${small.releasesDir}/`)
    .replaceAll('/files/', '/')
  await connection.run(script)
  await connection.run(script)
  const { body } = await client.query({ metrics: ['bed_capacity_existing'], group_by: ['state'] })
  const answered = body.data
    .filter(({ metrics }: { metrics: Record<string, number> }) => metrics.bed_capacity_existing !== 0)
    .map((row: { dimensions: { state: { code: string } }; metrics: Record<string, number> }) => [
      row.dimensions.state.code,
      BigInt(row.metrics.bed_capacity_existing ?? 0),
    ])
  const found = await rowsOf(
    'SELECT uf, sum(beds_existing) AS beds FROM bed_capacity WHERE is_active GROUP BY uf HAVING beds > 0',
  )
  t.same(new Map(found as [string, bigint][]), new Map(answered))
  const tables = await rowsOf('SELECT count(*) FROM duckdb_views() WHERE NOT internal')
  const declared = new Set<string>()
  for (const id of [
    analytics,
    ...Object.values((await client.get(`/v1/releases/${analytics}`)).body.data.components),
  ])
    for (const name of Object.keys((await client.get(`/v1/releases/${id}`)).body.data.datasets))
      declared.add(name)
  t.equal(Number(tables[0]?.[0]), declared.size, 'every table of the release and of those it joins')
})

t.test('the description in JSON-LD names every file, and what releases it joins', async (t) => {
  const headers = { host: 'dados.example.br', 'x-forwarded-proto': 'https' }
  const base = `https://dados.example.br/v1/releases/${analytics}`
  const served = await client.get(`/v1/releases/${analytics}/metadata.jsonld`, headers)
  t.equal(served.status, 200)
  t.match(served.headers['content-type'], 'application/ld+json')
  const { body } = served
  const manifest = (await client.get(`/v1/releases/${analytics}`)).body.data
  t.equal(body['@id'], base)
  t.same(body['@type'], ['sc:Dataset', 'dcat:Dataset'])
  const listed = manifest.files.map(({ path, sha256 }: { path: string; sha256: string }) => [
    `${base}/files/${path}`,
    sha256,
  ])
  t.same(
    body.distribution.map((file: { contentUrl: string; sha256: string }) => [file.contentUrl, file.sha256]),
    listed,
  )
  t.same(
    body['dcat:distribution'].map((file: Record<string, Record<string, Record<string, string>>>) => [
      file['dcat:downloadURL']?.['@id'],
      file['spdx:checksum']?.['spdx:checksumValue']?.['@value'],
    ]),
    listed,
  )
  t.same(
    body.isBasedOn,
    Object.values(manifest.components).map(
      (id) => `https://dados.example.br/v1/releases/${id}/metadata.jsonld`,
    ),
  )
  t.equal(served.text, (await client.get(`/v1/releases/${analytics}/metadata.jsonld`, headers)).text)
  t.equal((await client.get(`/v1/releases/${analytics}x/metadata.jsonld`)).status, 404)
})

t.test('addresses are those of the request, and none where it names no host', async (t) => {
  const of = async (host: string): Promise<string> =>
    (await client.get(`/v1/releases/${analytics}/attach.sql`, { host })).text
  t.match(await of('dados.example.br:8443'), "'http://dados.example.br:8443/v1/releases/")
  t.notMatch(await of("x'); DROP SCHEMA main; --"), /DROP/)
  t.equal((await client.get('/v1/releases/demo-analytics-br-202605-0/attach.sql')).status, 404)
  t.equal((await client.get(`/v1/releases/${analytics.slice(0, -1)}x/datapackage.json`)).status, 404)
})
