/** Priorities of threads, read back from the kernel. In a process of its own: a priority is not raised again. */
import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { lowerOtherThreads } from '../src/machine.ts'

t.test(
  'threads that run queries are below the one that answers requests',
  { skip: process.platform === 'linux' ? false : 'a thread has a priority of its own on Linux alone' },
  async (t) => {
    const own = getPriority()
    const others = (): number[] =>
      readdirSync('/proc/self/task')
        .map(Number)
        .filter((id) => id !== process.pid)
        .map((id) => getPriority(id))
    const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect()
    await connection.run('SELECT 1')
    const before = others()
    t.ok(before.length > 4, `${before.length} threads beside the first: of Node.js, its pool and DuckDB`)
    lowerOtherThreads(0)
    t.same(others(), before, '0 lowers none')
    const lower = Math.min(19, own + 3)
    lowerOtherThreads(3)
    t.same([...new Set(others())], [lower])
    t.equal(getPriority(), own)
    await connection.run('SET threads = 4')
    await connection.run('SELECT sum(i) FROM range(1000000) AS numbers(i)')
    t.ok(others().length > before.length, 'DuckDB starts more threads')
    t.same([...new Set(others())], [lower], 'which inherit the priority')
    lowerOtherThreads(19)
    t.same([...new Set(others())], [19], 'none is below the lowest')
  },
)
