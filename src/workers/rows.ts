/**
 * Writes the rows of one dataset out, in a process of its own: one job, given as the argument, then it ends. Its DuckDB may
 * read that Parquet file and write to one folder. A process, not a thread: it can be killed at any moment, and a file that
 * crashes DuckDB ends only it.
 */
import { rmSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import { DATASETS } from '../model/datasets.ts'
import { buildLines } from '../rows/build.ts'
import { writeIndex } from '../rows/index-file.ts'
import type { BuildJob } from '../rows/rows.ts'

const MEMORY = '256MB'
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

const { dataset, file, rows, folder, out, index, owner } = JSON.parse(process.argv[2] ?? '') as BuildJob
const instance = await DuckDBInstance.create(':memory:', {
  memory_limit: MEMORY,
  threads: '1',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  temp_directory: '',
})
const connection = await instance.connect()
await connection.run(`SET allowed_paths = [${quoteText(file)}]`)
await connection.run(`SET allowed_directories = [${quoteText(`${folder}/`)}]`)
await connection.run('SET enable_external_access = false')
await connection.run('SET lock_configuration = true')
writeIndex(index, await buildLines(connection, DATASETS[dataset], file, rows, out))
connection.closeSync()
instance.closeSync()
// Nobody is left to read them, nor to remove them.
if (process.ppid !== owner) rmSync(folder, { recursive: true, force: true })
