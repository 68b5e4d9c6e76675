/** Connections in turn: points before aggregations, owners one after another, and a bounded line. */
import t from 'tap'
import { shareConnections } from '../../src/engine/duckdb/connections.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

t.test('heavy statements leave a connection to light ones', async (t) => {
  const shared = shareConnections(['a', 'b', 'c', 'd'], 10)
  const heavy = await Promise.all(['k', 'k', 'k'].map((owner) => shared.acquire(owner)))
  let fourth: string | null = null
  void shared.acquire('k').then((connection) => {
    fourth = connection
  })
  await settle()
  t.equal(fourth, null, 'the fourth heavy one waits')
  t.equal(shared.waiting(), 1)
  const light = await shared.acquire(null)
  t.ok(light, 'a light one does not')
  t.equal(shared.running(), 4)
  shared.release(light, false)
  await settle()
  t.equal(fourth, null, 'a light one’s connection is not for heavy ones')
  shared.release(heavy[0] ?? '', true)
  await settle()
  t.ok(fourth)
})

t.test('owners take turns', async (t) => {
  const shared = shareConnections(['only'], 100)
  const order: string[] = []
  const first = await shared.acquire('busy')
  const wait = (owner: string | null, name: string) =>
    shared.acquire(owner).then((connection) => {
      order.push(name)
      shared.release(connection, owner !== null)
    })
  const all = [
    ...Array.from({ length: 5 }, (_, index) => wait('busy', `busy ${index}`)),
    wait('other', 'other 0'),
    wait('other', 'other 1'),
    wait(null, 'light'),
  ]
  shared.release(first, true)
  await Promise.all(all)
  t.same(order, ['light', 'busy 0', 'other 0', 'busy 1', 'other 1', 'busy 2', 'busy 3', 'busy 4'])
})

t.test('the line is bounded, for each kind', async (t) => {
  const shared = shareConnections(['only'], 1)
  const connection = await shared.acquire('k')
  const heavy = shared.acquire('k')
  await t.rejects(shared.acquire('other'), { code: 'overloaded', headers: { 'Retry-After': '1' } })
  const light = shared.acquire(null)
  await t.rejects(shared.acquire(null), { code: 'overloaded' })
  shared.release(connection, true)
  shared.release(await light, false)
  shared.release(await heavy, true)
  t.equal(shared.running(), 0)
  t.equal(shared.waiting(), 0)
})

t.test('who must run alone waits for the others, and they for it', async (t) => {
  const shared = shareConnections(['a', 'b', 'c', 'd'], 10)
  const order: string[] = []
  const take = (name: string, isAlone: boolean): Promise<string> =>
    shared.acquire('k', isAlone).then((connection) => {
      order.push(name)
      return connection
    })
  const first = await take('first', false)
  t.notOk(shared.hadCompany(first))
  const second = await take('second', false)
  t.ok(shared.hadCompany(first) && shared.hadCompany(second), 'each has the other beside it')
  const alone = take('alone', true)
  const other = take('other alone', true)
  const late = take('late', false)
  await settle()
  t.same(order, ['first', 'second'])
  t.ok(await shared.acquire(null), 'a light one does not wait')
  shared.release(first, true)
  await settle()
  t.same(order, ['first', 'second'], 'one still runs')
  shared.release(second, true)
  const connection = await alone
  await settle()
  t.same(order, ['first', 'second', 'alone'])
  t.notOk(shared.hadCompany(connection))
  shared.release(connection, true)
  shared.release(await other, true)
  shared.release(await late, true)
  t.same(order, ['first', 'second', 'alone', 'other alone', 'late'])
  t.equal(shared.waiting(), 0)
  t.equal(shared.running(), 1)
})
