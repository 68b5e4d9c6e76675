/**
 * Makes row files, one after another, in a process of its own: a job is a Parquet file and where its row file is to stand. Out: bytes
 * and SHA-256 of the file, or what is wrong. Ends when who started it goes. Argument: true where a server may run beside.
 */
import { setPriority } from 'node:os'
import { DuckDBInstance } from '@duckdb/node-api'
import { datasetOf } from '../model/datasets.ts'
import { buildRowFile } from '../rows/build.ts'
import type { RowJob, RowReply } from '../rows/make.ts'

const MEMORY = '600MB'
const LOW_PRIORITY = 10
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

// Before DuckDB starts its threads, which have the priority of the one that starts them.
if (process.argv[2] === 'true') setPriority(LOW_PRIORITY)
process.on('disconnect', () => process.exit())

/** A DuckDB that may read one file and nothing else. */
async function makeOne({ dataset, file, rows, out }: RowJob): Promise<RowReply> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY,
    // Rows come in the order of the file from one thread only.
    threads: '1',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    temp_directory: '',
  })
  const connection = await instance.connect()
  try {
    await connection.run(`SET allowed_paths = [${quoteText(file)}]`)
    await connection.run('SET enable_external_access = false')
    await connection.run('SET lock_configuration = true')
    return await buildRowFile(connection, datasetOf(dataset), file, rows, out)
  } catch (error) {
    return { error: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) }
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

process.on('message', async (job: RowJob) => process.send?.(await makeOne(job)))
