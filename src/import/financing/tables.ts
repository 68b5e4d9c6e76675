/**
 * Writes the staged accounts to the datasets of a release, one partition per period, and checks them.
 * In: financing_accounts and the list of municipalities. Out: Parquet files and their manifest entries.
 *
 * Accounts with the same key are summed, such as a strategy in two bank accounts. Federal transfers are also summed by fund,
 * for metrics. A year's file with only some states is an extract. Municipalities of these states that it lacks get a row
 * without an amount, so that no sum omits them silently. A file with all states is complete, and a municipality that it
 * lacks is in no sum.
 */
import { join } from 'node:path'
import { STATES } from '../../model/territory/states.ts'
import type { Coverage, Snapshot } from '../../release/manifest.ts'
import { ImportError } from '../import-error.ts'
import { quoteText, type Session } from '../session.ts'
import { type DatasetOutput, type NamedCheck, partOf, writeDataset } from '../write-parquet.ts'
import { SET_ASIDE } from './accounts.ts'

const STATE_ROWS = STATES.map(
  ({ ibge_code, uf, name }) => `('${ibge_code}', '${uf}', ${quoteText(name)})`,
).join(', ')

/** Creates the table of municipalities and states that may have accounts. @param municipalities Parquet of the municipality list */
export const createGovernments = (session: Session, municipalities: string): Promise<void> =>
  session.run(
    `CREATE TABLE financing_places AS
       SELECT CAST(ibge_code AS VARCHAR) AS entity_code, CAST(ibge_code // 10 AS VARCHAR) AS code6, name, uf, ibge_code AS municipality_ibge_code
       FROM read_parquet(${quoteText(municipalities)}) WHERE territorial_type = 'MUNICIPALITY'
       UNION ALL SELECT code, code, name, uf, NULL FROM (VALUES ${STATE_ROWS}) AS states(code, uf, name)`,
  )

/** SQL of a published code. Six-digit codes of the Federal District's regions become Brasília's. */
const PUBLISHED_KEY =
  "CASE WHEN length(a.published_entity) = 6 AND a.published_entity LIKE '53%' THEN '530010' ELSE a.published_entity END"

/** Last month (1 to 12) of the transfers of each year. */
export type LastMonths = ReadonlyMap<number, number>

/** Joins accounts to governments and rejects unknown ones. @throws ImportError if two files cover the same data */
export async function assignGovernments(
  session: Session,
  snapshots: readonly Snapshot[],
  lastMonths: LastMonths,
): Promise<void> {
  const files = snapshots.map(({ file, sha256, rows }) => `(${quoteText(file)}, '${sha256}', ${rows})`)
  const months = [...lastMonths].map(([year, month]) => `(${year}, ${month})`)
  await session.run(
    `CREATE TABLE financing_files AS SELECT * FROM (VALUES ${files.join(', ')}) AS files(source_file, source_sha256, source_rows);
     CREATE TABLE financing_months AS SELECT * FROM (VALUES ${months.length === 0 ? '(0, 12)' : months.join(', ')}) AS months(own_year, last_month);
     CREATE TABLE financing_keys AS
       SELECT entity_code AS published_key, entity_code FROM financing_places
       UNION SELECT code6, entity_code FROM financing_places;
     CREATE TABLE financing_placed AS
       SELECT a.*, p.entity_code, p.name AS entity_name, p.uf, p.municipality_ibge_code,
         a.reference_year * 100 + coalesce(a.month, m.last_month, 12) AS reference_period
       FROM financing_accounts AS a
       JOIN financing_keys AS k ON k.published_key = ${PUBLISHED_KEY}
       JOIN financing_places AS p ON p.entity_code = k.entity_code
       LEFT JOIN financing_months AS m ON m.own_year = a.reference_year AND a.source = 'fns';
     INSERT INTO ${SET_ASIDE}
       SELECT DISTINCT 'health_financing', source_file, source_row, 'unknown_government' FROM financing_accounts AS a
       ANTI JOIN financing_keys AS k ON k.published_key = ${PUBLISHED_KEY}`,
  )
  await refuseTwins(session)
}

/** Rejects two files with the same data of a source, government and year, because one of them must be outdated. */
async function refuseTwins(session: Session): Promise<void> {
  const [twin] = await session.rows(
    `SELECT source, entity_name, reference_year, min(source_file) AS one, max(source_file) AS other
     FROM financing_placed GROUP BY source, entity_code, entity_name, sphere, reference_year, CASE WHEN source = 'fns' THEN '' ELSE period || stage || category_path END
     HAVING min(source_file) <> max(source_file) ORDER BY ALL LIMIT 1`,
  )
  if (twin !== undefined)
    throw new ImportError(
      String(twin.other),
      `says the same as ${String(twin.one)} of ${String(twin.entity_name)} in ${String(twin.reference_year)} (${String(twin.source)})`,
      'Import one of them: the newest that was published',
    )
  const [repeated] = await session.rows(
    `SELECT source_file, min(source_row) AS one, max(source_row) AS other FROM financing_placed WHERE source <> 'fns'
     GROUP BY source, entity_code, sphere, reference_year, period, stage, category_path, source_file HAVING count(*) > 1 ORDER BY ALL LIMIT 1`,
  )
  if (repeated !== undefined)
    throw new ImportError(
      String(repeated.source_file),
      `has the same account twice (rows ${String(repeated.one)} and ${String(repeated.other)})`,
      'Fetch the file again',
    )
}

const ACCOUNT_ROWS = `
  SELECT source, entity_code, any_value(entity_name) AS entity_name, any_value(uf) AS uf, sphere, reference_year, period, stage,
    any_value(stage_name ORDER BY source_row) AS stage_name, category_path,
    CAST(sum(amount_cents) AS BIGINT) AS amount_cents, CAST(any_value(hundredths) AS DECIMAL(18, 0)) * CAST(0.01 AS DECIMAL(3, 2)) AS percentage,
    any_value(source_file) AS source_file, any_value(source_sha256) AS source_sha256, any_value(source_rows) AS source_rows,
    list(CAST(source_row AS VARCHAR) ORDER BY source_row) AS published_rows, any_value(published_column) AS published_column
  FROM financing_placed JOIN financing_files USING (source_file)
  WHERE reference_period = $PERIOD
  GROUP BY source, entity_code, sphere, reference_year, period, stage, category_path`

/** SQL of a year's funds. For an extract, it adds the municipalities of its states that the file lacks. */
const FUND_ROWS = `
  WITH funds AS (
    SELECT entity_code, any_value(uf) AS uf, any_value(municipality_ibge_code) AS municipality_ibge_code, any_value(reference_year) AS reference_year,
      CAST(sum(amount_cents) FILTER (stage = 'transferred_gross') AS BIGINT) AS transferred_cents,
      CAST(sum(amount_cents) FILTER (stage = 'transferred_net') AS BIGINT) AS transferred_net_cents,
      CAST(count(*) FILTER (stage = 'transferred_gross') AS INTEGER) AS fund_rows, any_value(source_file) AS source_file,
      list(struct_pack(source_row := source_row, raw_value := raw_value) ORDER BY source_row) FILTER (stage = 'transferred_gross') AS source_cells
    FROM financing_placed WHERE source = 'fns' AND reference_period = $PERIOD GROUP BY entity_code
  ),
  lacking AS (
    SELECT p.entity_code, p.uf, p.municipality_ibge_code
    FROM financing_places AS p
    WHERE p.uf IN (SELECT uf FROM funds) AND (SELECT count(DISTINCT uf) FROM funds) < ${STATES.length}
      AND p.entity_code <> '53' AND p.entity_code NOT IN (SELECT entity_code FROM funds)
  )
  SELECT * FROM funds
  UNION ALL BY NAME
  SELECT entity_code, uf, municipality_ibge_code, (SELECT any_value(reference_year) FROM funds) AS reference_year, NULL AS transferred_cents,
    NULL AS transferred_net_cents, 0 AS fund_rows, NULL AS source_file, NULL AS source_cells
  FROM lacking`

export interface WrittenTables {
  readonly outputs: readonly DatasetOutput[]
  readonly checks: readonly NamedCheck[]
  readonly counts: Readonly<Record<string, number>>
  readonly coverage: Readonly<Record<string, Readonly<Record<string, Coverage>>>>
  readonly states: ReadonlySet<string>
  /** Periods (YYYYMM) that hold accounts, ascending. */
  readonly periods: readonly number[]
}

export async function writeTables(session: Session, staging: string): Promise<WrittenTables> {
  const outputs: DatasetOutput[] = []
  const checks: NamedCheck[] = []
  const counts: Record<string, number> = {}
  const accounts: Record<string, Coverage> = {}
  const transfers: Record<string, Coverage> = {}
  const readTexts = async (sql: string): Promise<string[]> =>
    (await session.rows(sql)).map((row) => String(Object.values(row)[0]))
  const periods = (
    await readTexts('SELECT DISTINCT reference_period FROM financing_placed ORDER BY reference_period')
  ).map(Number)
  for (const period of periods) {
    outputs.push(
      await writeDataset(
        session,
        staging,
        'health_financing',
        period,
        ACCOUNT_ROWS.replace('$PERIOD', String(period)),
      ),
    )
    checks.push({
      name: `health_financing_sums_equal_snapshot_${period}`,
      violations: await session.number(
        `SELECT CAST(abs(coalesce((SELECT sum(amount_cents) FROM read_parquet(${quoteText(join(staging, partOf('health_financing', period)))}, hive_partitioning = false)), 0)
           - coalesce((SELECT sum(amount_cents) FROM financing_placed WHERE reference_period = ${period}), 0)) AS DOUBLE)`,
      ),
    })
    const states = await readTexts(
      `SELECT DISTINCT uf FROM financing_placed WHERE reference_period = ${period} ORDER BY uf`,
    )
    accounts[period] = { family: 'state', states }
    const funds = await readTexts(
      `SELECT DISTINCT uf FROM financing_placed WHERE reference_period = ${period} AND source = 'fns' ORDER BY uf`,
    )
    if (funds.length === 0) continue
    await session.run(`CREATE TABLE financing_funds AS ${FUND_ROWS.replace('$PERIOD', String(period))}`)
    outputs.push(
      await writeDataset(session, staging, 'federal_health_transfers', period, 'FROM financing_funds'),
    )
    transfers[period] = { family: 'state', states: funds }
    for (const { uf, n } of await session.rows(
      'SELECT uf, count(*) AS n FROM financing_funds WHERE transferred_cents IS NULL GROUP BY uf ORDER BY uf',
    ))
      counts[`funds_without_transfers_${String(uf)}_${period}`] = Number(n)
    if (funds.length === STATES.length)
      counts[`municipalities_without_transfers_${period}`] = await session.number(
        'SELECT count(*) FROM financing_places WHERE municipality_ibge_code IS NOT NULL AND entity_code NOT IN (SELECT entity_code FROM financing_funds)',
      )
    checks.push({
      name: `federal_health_transfers_equal_snapshot_${period}`,
      violations: await session.number(
        `SELECT CAST(abs(coalesce((SELECT sum(transferred_cents) FROM financing_funds), 0) - (SELECT sum(amount_cents) FROM financing_placed
           WHERE source = 'fns' AND stage = 'transferred_gross' AND reference_period = ${period})) AS DOUBLE)`,
      ),
    })
    counts[`funds_with_net_above_gross_${period}`] = await session.number(
      'SELECT count(*) FROM financing_funds WHERE transferred_net_cents > transferred_cents',
    )
    await session.run('DROP TABLE financing_funds')
  }
  const stored = outputs.filter(({ name }) => name === 'health_financing')
  checks.push({
    name: 'accounts_are_amounts_or_percentages',
    violations: await session.number(
      'SELECT count(*) FROM financing_placed WHERE (amount_cents IS NULL) = (hundredths IS NULL)',
    ),
  })
  counts.health_financing = stored.reduce((sum, { entry }) => sum + entry.rows, 0)
  for (const { source, n } of await session.rows(
    'SELECT source, count(*) AS n FROM financing_placed GROUP BY source ORDER BY source',
  ))
    counts[`published_amounts_${String(source)}`] = Number(n)
  return {
    outputs,
    checks,
    counts,
    coverage: {
      health_financing: accounts,
      ...(Object.keys(transfers).length === 0 ? {} : { federal_health_transfers: transfers }),
    },
    states: new Set(await readTexts('SELECT DISTINCT uf FROM financing_placed ORDER BY uf')),
    periods,
  }
}
