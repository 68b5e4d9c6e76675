/**
 * `npm run answers`: records the responses of a running server, and compares those of another server with them.
 *
 *   record  --url URL --key KEY --limited KEY --out DIR     sends requests chosen from the server's own data
 *   compare --url URL --key KEY --limited KEY --with DIR    sends the recorded requests; exit 1 when responses differ
 *
 * KEY must have all capabilities; the key of --limited only geo, facilities, equipment_inventory and analytics (catalog and
 * query). Both need a rate limit that is never reached (`keys create --rate 100000000`). Both servers must serve the same
 * data. If their release ids differ, ids and the digests made of them are replaced on both sides, which the report states.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { compareAnswers } from './compare.ts'
import { type Answer, type Entry, exchangeAll, type Ids, readIds, type Target } from './exchange.ts'
import { chooseEntries } from './requests.ts'

interface Recording {
  readonly ids: Ids
  readonly entries: readonly Entry[]
  readonly answers: readonly Pick<Answer, 'status' | 'headers'>[]
}

const print = (text: string): void => void process.stderr.write(`answers: ${text}\n`)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    limited: { type: 'string' },
    out: { type: 'string' },
    with: { type: 'string' },
  },
})
const [action] = positionals
const folder = action === 'record' ? values.out : action === 'compare' ? values.with : undefined
if (!values.url || !values.key || !values.limited || folder === undefined) {
  print('record --url URL --key KEY --limited KEY --out DIR, or compare … --with DIR')
  process.exit(2)
}
const target: Target = {
  address: values.url.replace(/\/$/, ''),
  keys: { all: values.key, limited: values.limited },
}
const bodyFile = (index: number): string => join(resolve(folder), 'bodies', String(index).padStart(4, '0'))
const report = (done: number): void => {
  if (done % 100 === 0) print(`${done} requests sent`)
}
const ids = await readIds(target)

if (action === 'record') {
  const entries = await chooseEntries(target)
  const answers = await exchangeAll(target, entries, ids, report)
  rmSync(join(resolve(folder), 'bodies'), { recursive: true, force: true })
  mkdirSync(join(resolve(folder), 'bodies'), { recursive: true })
  answers.forEach(({ body }, index) => {
    writeFileSync(bodyFile(index), gzipSync(body))
  })
  const recording: Recording = {
    ids,
    entries,
    answers: answers.map(({ status, headers }) => ({ status, headers })),
  }
  writeFileSync(join(resolve(folder), 'recording.json'), `${JSON.stringify(recording, null, 1)}\n`)
  const statuses = new Map<number, number>()
  for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const counts = [...statuses]
    .sort(([left], [right]) => left - right)
    .map(([status, count]) => `${count} × ${status}`)
  print(`${entries.length} answers of ${ids.analytics} are in ${folder}: ${counts.join(', ')}`)
} else {
  const recording = JSON.parse(readFileSync(join(resolve(folder), 'recording.json'), 'utf8')) as Recording
  const isSame = JSON.stringify(recording.ids) === JSON.stringify(ids)
  if (!isSame) print('release ids differ: ids and the digests made of them are replaced on both sides')
  const answers = await exchangeAll(target, recording.entries, ids, report)
  let [differing, noted] = [0, 0]
  for (const [index, entry] of recording.entries.entries()) {
    const [old, current] = [recording.answers[index], answers[index]]
    if (old === undefined || current === undefined) throw new Error(`no answer of ${entry.name}`)
    const before: Answer = { ...old, body: gunzipSync(readFileSync(bodyFile(index))) }
    const { differences, notes } = await compareAnswers(
      entry,
      { answer: before, ids: recording.ids },
      { answer: current, ids },
    )
    if (differences.length > 0) differing += 1
    noted += notes.length
    for (const text of differences) process.stdout.write(`DIFFERS ${entry.name}: ${text}\n`)
    for (const text of notes) process.stdout.write(`note ${entry.name}: ${text}\n`)
  }
  print(`${recording.entries.length} answers compared: ${differing} differ, ${noted} notes`)
  if (differing > 0) process.exitCode = 1
}
