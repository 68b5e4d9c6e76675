/** The thread that writes rows out: one job, then it ends. A DuckDB of its own may read that file and write to one folder. */
import { parentPort, workerData } from 'node:worker_threads'
import { DuckDBInstance } from '@duckdb/node-api'
import { giveWay } from './background.ts'
import { DATASETS } from './model/datasets.ts'
import { buildLines } from './rows/build.ts'
import type { BuildJob } from './rows/rows.ts'

const MEMORY = '256MB'
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

giveWay()
const { dataset, file, rows, folder, out } = workerData as BuildJob
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
const index = await buildLines(connection, DATASETS[dataset], file, rows, out)
connection.closeSync()
instance.closeSync()
const arrays = [
  index.keys,
  index.starts,
  index.listBytes,
  index.recordBytes,
  index.odd,
  ...(index.words === null
    ? []
    : [index.words.starts, index.words.ends, index.words.positions, index.words.texts, index.words.textEnds]),
]
// Small buffers of Node share memory with others and stay where they are.
const own = new Set(
  arrays.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength && byteLength > 0 ? [buffer] : [],
  ),
)
parentPort?.postMessage(index, [...own])
