/**
 * Worker process that makes row files, one at a time. In: a Parquet file and the path of its row file. Out: size and SHA-256
 * of the row file, or an error. It exits when its parent disconnects. Argument: true if a server may run on the machine.
 */
import { setPriority } from 'node:os'
import { DuckDBInstance } from '@duckdb/node-api'
import { datasetOf } from '../model/datasets.ts'
import { buildRowFile } from '../rows/build.ts'
import type { RowJob, RowReply } from '../rows/make.ts'
import { quoteText } from '../sql.ts'

const MEMORY = '600MB'
const LOW_PRIORITY = 10

// Lower the priority before DuckDB starts its threads, because they inherit it.
if (process.argv[2] === 'true') setPriority(LOW_PRIORITY)
process.on('disconnect', () => process.exit())

/** Makes one row file in a DuckDB that may read only the given Parquet file. */
async function makeRowFile({ dataset, file, rows, out }: RowJob): Promise<RowReply> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY,
    // Only a single thread returns rows in the order of the file.
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

process.on('message', async (job: RowJob) => process.send?.(await makeRowFile(job)))
