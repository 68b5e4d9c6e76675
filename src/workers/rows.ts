/**
 * Makes the row file of one Parquet file, in a process of its own: one job, given as the argument, then it ends. Its DuckDB may
 * read that Parquet file and nothing else. Out: bytes and SHA-256 of the file as JSON, or one line that says what is wrong.
 */
import { setPriority } from 'node:os'
import { DuckDBInstance } from '@duckdb/node-api'
import { datasetOf } from '../model/datasets.ts'
import { buildRowFile } from '../rows/build.ts'
import type { RowJob } from '../rows/make.ts'

const MEMORY = '600MB'
const LOW_PRIORITY = 10
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

const { dataset, file, rows, out, isBackground } = JSON.parse(process.argv[2] ?? '') as RowJob
// Before DuckDB starts its threads, which have the priority of the one that starts them.
if (isBackground) setPriority(LOW_PRIORITY)
const instance = await DuckDBInstance.create(':memory:', {
  memory_limit: MEMORY,
  // Rows come in the order of the file from one thread only.
  threads: '1',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  temp_directory: '',
})
const connection = await instance.connect()
await connection.run(`SET allowed_paths = [${quoteText(file)}]`)
await connection.run('SET enable_external_access = false')
await connection.run('SET lock_configuration = true')
try {
  process.stdout.write(JSON.stringify(await buildRowFile(connection, datasetOf(dataset), file, rows, out)))
} catch (error) {
  process.stderr.write(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error))
  process.exitCode = 1
} finally {
  connection.closeSync()
  instance.closeSync()
}
