/** Numbers of rows are lines as a text editor counts them, whatever stands inside the cells of a table. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type StagedCsv, stageCsv } from '../../src/import/readers/stage-csv.ts'
import { openSession } from '../../src/import/session.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('rows-of-text')
const session = await openSession({ scratch: join(folder, 'scratch'), threads: 1 })
t.teardown(() => session.close())
let made = 0

/** @returns what was staged, and line by line: [line, cell of A, cell of B] */
async function stage(text: string): Promise<{ staged: StagedCsv; rows: unknown[][] }> {
  made += 1
  const path = join(folder, `table-${made}.csv`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, text)
  const staged = await stageCsv(session, {
    file: `table-${made}.csv`,
    path,
    table: `st_${made}`,
    required: ['A', 'B'],
    optional: ['NONE'],
  })
  const rows = await session.rows(`SELECT source_row, A, B, NONE FROM st_${made}`)
  return { staged, rows: rows.map(({ source_row, A, B }) => [source_row, A, B]) }
}

t.test('a table whose records are its lines', async (t) => {
  for (const end of ['\n', '\r\n'])
    for (const last of ['', end]) {
      const { staged, rows } = await stage(['"A";"B"', '"1";"x"', '"2";""'].join(end) + last)
      t.same(rows, [
        [2, '1', 'x'],
        [3, '2', null],
      ])
      t.same([staged.rows, staged.rejected], [2, []])
    }
})

t.test('cells of several lines, in columns that are read and in those that are not', async (t) => {
  for (const end of ['\n', '\r\n']) {
    const lines = ['"A";"C";"B"', '"1";"";"x', 'y";', '"2";"one', '', 'two; ""three""";"z"', '', '"3";"";"w"']
    const { staged, rows } = await stage(lines.join(end).replace(`y";${end}`, `y"${end}`) + end)
    t.same(rows, [
      [2, '1', 'x\ny'],
      [4, '2', 'z'],
      [8, '3', 'w'],
    ])
    t.same([staged.rows, staged.rejected], [3, []])
    t.same(
      rows.map(([row]) => lines[(row as number) - 1]?.slice(0, 4)),
      ['"1";', '"2";', '"3";'],
      'the line an editor shows',
    )
  }
})

t.test('rows that do not parse cost themselves alone', async (t) => {
  const { staged, rows } = await stage(
    [
      '"A";"B"',
      '"1";"a quote " inside"',
      '"2";"two ""right"" ones"',
      '"3";"not closed',
      '"4";"x"',
      '"5"',
      '"6";"x";"y"',
      '7;8',
      '"8";"""all"" of it"',
      '"9";"last, without line break"',
    ].join('\n'),
  )
  t.same(rows, [
    [2, '1', 'a quote " inside'],
    [3, '2', 'two "right" ones'],
    [5, '4', 'x'],
    [8, '7', '8'],
    [9, '8', '"all" of it'],
    [10, '9', 'last, without line break'],
  ])
  t.same(staged.rejected, [
    { row: 4, reason: 'unreadable_unquoted_value' },
    { row: 6, reason: 'unreadable_missing_columns' },
    { row: 7, reason: 'unreadable_too_many_columns' },
  ])
  t.equal(staged.rows, 9)
})

t.test('a quote that is never closed does not swallow the table', async (t) => {
  const lines = ['"A";"B"', '"1";"open']
  for (let index = 2; index <= 900; index += 1) lines.push(`${index};x`)
  const { staged, rows } = await stage(`${lines.join('\n')}\n`)
  t.same(staged.rejected, [{ row: 2, reason: 'unreadable_unclosed_quote' }])
  t.equal(rows.length, 899)
  t.same(rows.at(-1), [901, '900', 'x'])
})

t.test('the published columns', async (t) => {
  const { staged } = await stage(`"a";"B";"TO_CHAR(DT_X,'DD/MM/YYYY')"\n"1";"2";"3"\n`)
  t.same(staged.published, ['a', 'B', "TO_CHAR(DT_X,'DD/MM/YYYY')"])
  t.same(staged.columns, ['A', 'B', 'DT_X'])
  t.match(readFileSync(join(folder, `table-${made}.csv`), 'utf8'), /^"a"/)
})
