/** Work in lanes: what is asked of them comes back in order, and a failure leaves nothing running. */
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { requireWritten, writeRows } from '../../src/import/aggregated/tables.ts'
import { openSession, type Session } from '../../src/import/session.ts'
import { TABLES } from '../../src/import/sim/tables.ts'
import { countDisorder, writeParquet } from '../../src/import/write-parquet.ts'
import { datasetOf, storedColumns } from '../../src/model/datasets.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const open = (threads: number): Promise<Session> =>
  openSession({ scratch: temporaryFolder('scratch'), threads })

t.test('results stand in the order of the work, whichever ended first', async (t) => {
  for (const threads of [1, 2, 8]) {
    const session = await open(threads)
    let running = 0
    let most = 0
    const begun: number[] = []
    const results = await session.all(
      [5, 1, 4, 2, 3].map((length) => async (own: Session) => {
        begun.push(length)
        running += 1
        most = Math.max(most, running)
        await wait(length * 5)
        const found = await own.number(`SELECT ${length} * 10`)
        running -= 1
        return found
      }),
    )
    t.same(results, [50, 10, 40, 20, 30], `${threads} threads`)
    t.same(begun, [5, 1, 4, 2, 3], 'begun in the order given')
    t.equal(most, Math.min(threads, 3), 'as many at once as there are lanes')
    t.same(await session.all([]), [])
    session.close()
  }
})

t.test('lanes see the same tables, and each its own temporary ones', async (t) => {
  const session = await open(2)
  await session.run('CREATE TABLE shared (lane INTEGER)')
  const lane = (number: number) => async (own: Session) => {
    await own.run(`CREATE TEMP TABLE mine AS SELECT ${number} AS lane; INSERT INTO shared FROM mine`)
    await wait(10)
    return own.number('SELECT min(lane) + max(lane) FROM mine')
  }
  t.same(await session.all([lane(1), lane(2)]), [2, 4])
  t.equal(await session.number('SELECT sum(lane) FROM shared'), 3)
  session.close()
})

t.test('the first failure is thrown; what runs ends before, what has not begun never does', async (t) => {
  const session = await open(2)
  const ended: string[] = []
  const work = session.all([
    async () => {
      await wait(5)
      throw new Error('first')
    },
    async (own) => {
      await wait(30)
      await own.run('CREATE TABLE late AS SELECT 1')
      ended.push('second')
      throw new Error('second')
    },
    async () => {
      ended.push('third')
    },
  ])
  await t.rejects(work, { message: 'first' })
  t.same(ended, ['second'], 'at rest, and no more begun')
  t.equal(await session.number('SELECT count(*) FROM late'), 1)
  session.close()
})

t.test('too little memory is said, with what would do', async (t) => {
  const session = await openSession({ scratch: temporaryFolder('scratch'), threads: 1, memoryMb: 30 })
  await t.rejects(session.number('SELECT len(list(n)) FROM range(20000000) AS numbers(n)'), {
    name: 'ImportError',
    message:
      /^memory: this takes more than the 30 MB .* Do it on a machine, or in a container, with more memory: .*2 GB\.$/,
  })
  await t.rejects(
    session.run('SELECT * FROM nowhere'),
    { message: /nowhere/ },
    'other errors stay as they are',
  )
  t.equal(await session.number('SELECT 1'), 1, 'and the session goes on')
  session.close()
})

t.test('rows that are out of order are counted: after, equal, nulls', async (t) => {
  const session = await open(1)
  const disorder = (values: string, key: readonly string[] = ['a', 'b']): Promise<number> =>
    countDisorder(session, `(VALUES ${values}) AS given(a, b)`, key)
  t.equal(await disorder("('1', 1), ('1', 2), ('2', 1), ('2', 3)"), 0)
  t.equal(await disorder("('1', 1), ('1', 1), ('2', 1)"), 1, 'a key that is there already')
  t.equal(await disorder("('1', 2), ('1', 1), ('2', 1)"), 1, 'the second of the key')
  t.equal(await disorder("('2', 1), ('1', 9), ('10', 1)"), 1, 'texts by byte: 10 is after 1')
  t.equal(await disorder("('1', 1), ('1', NULL), (NULL, 1), (NULL, NULL)"), 0, 'nulls are last')
  t.equal(await disorder("(NULL, 1), ('1', 1), ('1', NULL), ('1', 2)"), 2, 'and never before')
  t.equal(await disorder("('1', NULL), ('1', NULL)"), 1, 'two nulls are one key')
  t.equal(await disorder("('1', 1), ('1', 2)", ['a']), 1, 'of the columns asked for')
  session.close()
})

t.test('a table that is said to be in order and is not is not written', async (t) => {
  const session = await open(1)
  const shape = {
    name: 'numbers',
    key: ['n'],
    columns: [{ name: 'n', type: 'INTEGER' }],
    order: ['n'],
  }
  const staging = temporaryFolder('staging')
  await t.rejects(
    writeParquet(session, staging, shape, null, 'SELECT * FROM (VALUES (1), (3), (2)) AS given(n)', 'sorted'),
    { message: /1 rows are not in the order of their key/ },
  )
  const written = await writeParquet(
    session,
    staging,
    shape,
    null,
    'SELECT * FROM (VALUES (1), (3), (2)) AS given(n)',
  )
  t.equal(written.entry.rows, 3, 'sorted where it is not')
  session.close()
})

t.test('rows whose period has no partition end an import', async (t) => {
  const session = await open(1)
  const [deaths] = TABLES
  if (deaths === undefined) throw new TypeError('no table')
  const others = storedColumns(datasetOf('deaths')).filter((name) => name !== 'reference_period')
  await session.run(
    `CREATE TABLE sim_rows_deaths AS SELECT period AS reference_period, ${others.map((name) => `NULL AS ${name}`).join(', ')}
     FROM (VALUES ('202005'), ('20203')) AS periods(period)`,
  )
  const written = await writeRows(session, temporaryFolder('staging'), 'sim', [deaths], 202005)
  await t.rejects(requireWritten(session, 'sim', [deaths], written), {
    message: 'deaths: 1 of 2 rows are in partitions',
  })
  await session.run("DELETE FROM sim_rows_deaths WHERE reference_period = '20203'")
  await requireWritten(session, 'sim', [deaths], written)
  session.close()
})

t.test('an appender is closed when filling it fails', async (t) => {
  const session = await open(1)
  await session.run('CREATE TABLE filled (number INTEGER, text VARCHAR)')
  await t.rejects(
    session.append('filled', (appender) => {
      appender.appendInteger(1)
      appender.appendVarchar('complete')
      appender.endRow()
      throw new Error('the file ends here')
    }),
    { message: 'the file ends here' },
  )
  t.equal(await session.number('SELECT count(*) FROM filled'), 1, 'closing wrote the row')
  await t.rejects(
    session.append('filled', (appender) => {
      appender.appendInteger(2)
      throw new Error('within a row')
    }),
    { message: 'within a row' },
  )
  await session.append('filled', (appender) => {
    appender.appendInteger(3)
    appender.appendNull()
    appender.endRow()
  })
  t.equal(await session.number('SELECT sum(number) FROM filled'), 4)
  session.close()
})
