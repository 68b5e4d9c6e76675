/** A code that no list of the release has selects nothing: its 0 comes with a note that names it. */
import t from 'tap'
import type { Note } from '../../src/model/notes.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const client = await openClient((await makeSmallRelease('vital')).releasesDir)
t.teardown(() => client.close())

const unlisted = (notes: readonly Note[]): string[] =>
  notes.flatMap((note) =>
    note.code === 'codes_not_listed' ? [`${note.dimension}: ${note.codes.join(', ')} + ${note.more}`] : [],
  )

async function notesOf(metric: unknown, filters: readonly [string, string, unknown][]): Promise<string[]> {
  const body = {
    metrics: [metric],
    filters: filters.map(([dimension, operator, value]) => ({ dimension, operator, value })),
  }
  const answer = await client.query(body)
  t.equal(answer.status, 200, JSON.stringify(filters))
  return unlisted(answer.body.meta.notes)
}

t.test('codes of closed lists, of lists of the release and of facilities', async (t) => {
  const chapter: [string, string, unknown] = ['cause_chapter', 'EQ', '9']
  t.same(await notesOf('deaths', [chapter]), ['cause_chapter: 9 + 0'])
  t.same(await notesOf('deaths', [['cause_chapter', 'EQ', '09']]), [])
  t.same(await notesOf('deaths', [['sex', 'NEQ', 'X']]), ['sex: X + 0'])
  t.same(await notesOf('deaths', [['cause_category', 'IN', ['I21', 'ZZZ']]]), ['cause_category: ZZZ + 0'])
  t.same(await notesOf('bed_capacity_existing', [['municipality', 'IN', [1400100, 140015, 9999999]]]), [
    'municipality: 9999999 + 0',
  ])
  t.same(await notesOf('deaths', [['residence_municipality', 'EQ', 1400101]]), [
    'residence_municipality: 1400101 + 0',
  ])
  const [facility] = (await client.get('/v1/facilities?limit=1')).body.data
  t.same(await notesOf('bed_capacity_existing', [['facility', 'IN', [facility.cnes_code, '177631']]]), [
    'facility: 177631 + 0',
  ])
  t.same(
    await notesOf('bed_capacity_existing', [['bed_type', 'NOT_IN', ['a', 'b', 'c', 'd', 'e', 'f', 'g']]]),
    ['bed_type: a, b, c, d, e + 2'],
  )
})

t.test('filters of a metric, codes for none and months', async (t) => {
  const metric = {
    metric: 'deaths',
    as: 'of_nobody',
    filters: [{ dimension: 'race', operator: 'EQ', value: '9' }],
  }
  t.same(await notesOf(metric, [['sex', 'EQ', 'F']]), ['race: 9 + 0'])
  t.same(await notesOf('bed_capacity_existing', [['facility', 'EQ', '0000000']]), [])
  t.same(await notesOf('deaths', [['place_of_death', 'EQ', '9']]), [])
  t.same(await notesOf('deaths', [['reference_year', 'EQ', 2025]]), [])
})

t.test('explanations and sentences', async (t) => {
  const body = {
    metrics: ['deaths'],
    filters: [{ dimension: 'cause_chapter', operator: 'EQ', value: '9' }],
  }
  const explained = await client.post('/v1/analytics/explain', body)
  t.same(unlisted(explained.body.meta.notes), ['cause_chapter: 9 + 0'])
  const english = await client.query(body, { 'accept-language': 'en' })
  const messages: string[] = english.body.meta.notes.map(({ message }: { message: string }) => message)
  t.ok(
    messages.includes(
      'cause_chapter: codes that the release does not list and that select nothing: 9; check the filter.',
    ),
  )
})
