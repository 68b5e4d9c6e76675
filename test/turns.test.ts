/** Places in turn: light work before heavy work, keys one after another, and a bounded queue that refuses the longest line. */
import t from 'tap'
import { createTurns, type Turn, type Turns, type Weight } from '../src/turns.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const open = (places: number, queue = 100, now?: () => number): Turns<number> =>
  createTurns([...new Array(places).keys()], {
    queue,
    retryAfterSeconds: 1,
    ...(now && { now }),
  })

/** Takes places and notes who has begun, and who was refused. */
function track(turns: Turns<number>) {
  const begun: string[] = []
  const refused: string[] = []
  const held = new Map<string, Turn<number>>()
  return {
    begun,
    refused,
    ask(owner: string, name: string, weight: Weight = 'heavy', signal?: AbortSignal): void {
      turns.take(owner, weight, { signal }).then(
        (turn) => {
          begun.push(name)
          held.set(name, turn)
        },
        ({ code }: { code: string }) => refused.push(`${name} ${code}`),
      )
    },
    /** Ends what has begun, the first first, until nothing is left. */
    async drain(): Promise<void> {
      for (await settle(); held.size > 0; await settle()) {
        const [name, turn] = [...held][0] as [string, Turn<number>]
        held.delete(name)
        turn.end()
      }
    },
    async end(name: string): Promise<void> {
      held.get(name)?.end()
      held.delete(name)
      await settle()
    },
  }
}

t.test('heavy work leaves a place to light work', async (t) => {
  const turns = open(4)
  const heavy = await Promise.all(['k', 'k', 'k'].map((owner) => turns.take(owner, 'heavy')))
  const { ask, begun, end } = track(turns)
  ask('k', 'fourth')
  await settle()
  t.same(begun, [], 'the fourth heavy one waits')
  t.equal(turns.waiting(), 1)
  ask('other', 'light', 'light')
  await settle()
  t.same(begun, ['light'])
  t.equal(turns.running(), 4)
  await end('light')
  t.same(begun, ['light'], 'the place of light work is not for heavy work')
  heavy[0]?.end()
  await settle()
  t.same(begun, ['light', 'fourth'])
})

t.test('keys take turns, and light work goes before heavy work', async (t) => {
  const turns = open(1)
  const first = await turns.take('busy', 'heavy')
  const { ask, begun, drain } = track(turns)
  for (let index = 0; index < 5; index += 1) ask('busy', `busy ${index}`)
  ask('other', 'other 0')
  ask('other', 'other 1')
  ask('third', 'light', 'light')
  first.end()
  await drain()
  t.same(begun, ['light', 'busy 0', 'other 0', 'busy 1', 'other 1', 'busy 2', 'busy 3', 'busy 4'])
})

t.test('light work of one key does not hold back heavy work of another, or its light work', async (t) => {
  const turns = open(2)
  const { ask, begun, drain } = track(turns)
  for (let index = 0; index < 20; index += 1) ask('flood', `${index}`, 'light')
  ask('other', 'light of other', 'light')
  ask('other', 'heavy of other', 'heavy')
  await drain()
  t.ok(begun.indexOf('light of other') <= 4, begun.join(', '))
  t.ok(begun.indexOf('heavy of other') <= 4, begun.join(', '))
})

t.test('while others are at work, and for a second after, a key has one place in four', async (t) => {
  let time = 0
  const turns = open(8, 100, () => time)
  const { ask, begun, drain, end } = track(turns)
  for (let index = 0; index < 20; index += 1) ask('many', `many ${index}`)
  await settle()
  t.equal(begun.length, 6, 'alone it has all places of heavy work')
  ask('one', 'one 0')
  await end('many 0')
  t.equal(begun.at(-1), 'one 0', 'the next place is the other key’s')
  for (const name of ['many 1', 'many 2', 'many 3']) await end(name)
  t.equal(begun.at(-1), 'one 0', 'many has two of eight now')
  await end('one 0')
  t.equal(begun.at(-1), 'one 0', 'and a moment later')
  ask('one', 'one 1')
  await settle()
  t.equal(begun.at(-1), 'one 1', 'so the next request of the other key begins at once')
  await end('one 1')
  time += 1001
  await end('many 4')
  t.equal(begun.length, 6 + 2 + 5, 'alone again it has all of them')
  await drain()
  t.equal(begun.length, 22)
  t.equal(turns.running(), 0)
})

t.test(
  'a full queue refuses the longest line, and never a key that has a single request in it',
  async (t) => {
    for (const weight of ['light', 'heavy'] as const) {
      const turns = open(1, 6)
      const { ask, begun, refused, drain } = track(turns)
      for (let index = 0; index < 199; index += 1) ask('flood', `flood ${index}`, weight)
      await settle()
      t.equal(turns.waiting(), 6)
      t.equal(refused.length, 192, 'its last requests')
      refused.length = 0
      for (const owner of ['a', 'b', 'c']) ask(owner, owner, weight)
      await settle()
      t.same(refused, ['flood 6 overloaded', 'flood 5 overloaded', 'flood 4 overloaded'])
      t.equal(turns.waiting(), 6)
      refused.length = 0
      for (let index = 0; index < 50; index += 1) ask('flood', 'again', weight)
      for (let index = 0; index < 50; index += 1) ask('a', 'a again', weight)
      await settle()
      t.equal(refused.filter((name) => name === 'again overloaded').length, 50)
      t.notOk(refused.some((name) => /^[bc] /.test(name)))
      await drain()
      t.same(begun.slice(0, 4), ['flood 0', 'flood 1', 'a', 'b'])
      t.ok(begun.includes('c'))
      t.equal(turns.waiting(), 0)
    }
  },
)

t.test('a queue of equal lines refuses whoever comes, and says when to come again', async (t) => {
  const turns = open(1, 1)
  const turn = await turns.take('k', 'heavy')
  const heavy = turns.take('k', 'heavy')
  await t.rejects(turns.take('other', 'heavy'), {
    code: 'overloaded',
    headers: { 'Retry-After': '1' },
  })
  const light = turns.take('k', 'light')
  await t.rejects(turns.take('k', 'light'), { code: 'overloaded' }, 'each weight has a queue')
  turn.end()
  const taken = await light
  taken.end()
  const last = await heavy
  last.end()
  t.equal(turns.running(), 0)
  t.equal(turns.waiting(), 0)
})

t.test('whoever leaves is out of the queue', async (t) => {
  const turns = open(1)
  const first = await turns.take('k', 'heavy')
  const { ask, begun, refused, drain } = track(turns)
  const leaving = new AbortController()
  ask('k', 'leaves', 'heavy', leaving.signal)
  ask('k', 'left before', 'heavy', AbortSignal.abort())
  ask('k', 'stays')
  await settle()
  leaving.abort()
  await settle()
  t.same(refused, ['left before query_timeout', 'leaves query_timeout'])
  t.equal(turns.waiting(), 1)
  first.end()
  await drain()
  t.same(begun, ['stays'])
})

t.test('who must run alone waits for the others, and they for it', async (t) => {
  const turns = open(4)
  const order: string[] = []
  const take = (name: string, isAlone: boolean): Promise<Turn<number>> =>
    turns.take('k', 'heavy', { isAlone }).then((turn) => {
      order.push(name)
      return turn
    })
  const first = await take('first', false)
  t.notOk(first.hadCompany())
  const second = await take('second', false)
  t.ok(first.hadCompany() && second.hadCompany(), 'each has the other beside it')
  const alone = take('alone', true)
  const other = take('other alone', true)
  const late = take('late', false)
  await settle()
  t.same(order, ['first', 'second'])
  t.ok(await turns.take('k', 'light'), 'light work does not wait')
  first.end()
  await settle()
  t.same(order, ['first', 'second'], 'one still runs')
  second.end()
  const turn = await alone
  await settle()
  t.same(order, ['first', 'second', 'alone'])
  t.notOk(turn.hadCompany())
  turn.end()
  const next = await other
  next.end()
  const last = await late
  last.end()
  t.same(order, ['first', 'second', 'alone', 'other alone', 'late'])
  t.equal(turns.waiting(), 0)
  t.equal(turns.running(), 1)
})
