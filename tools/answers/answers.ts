/**
 * `npm run answers`: records what a running server answers, and compares what another one answers to the same requests.
 *
 *   record  --url URL --key KEY --limited KEY --out DIR     asks about 600 requests chosen from the server's own data
 *   compare --url URL --key KEY --limited KEY --with DIR    asks the recorded requests again; exit 1 where answers differ
 *
 * KEY may read everything; the key of --limited may read geo, facilities, equipment_inventory and analytics (catalog and
 * query) only. Both need a rate that is not met (`keys create --rate 100000000`). Both servers must serve the same data;
 * where their release ids differ, ids and the digests made of them are replaced on both sides, and the report says so.
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

const say = (text: string): void => void process.stderr.write(`answers: ${text}\n`)
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
  say('record --url URL --key KEY --limited KEY --out DIR, or compare … --with DIR')
  process.exit(2)
}
const target: Target = {
  address: values.url.replace(/\/$/, ''),
  keys: { all: values.key, limited: values.limited },
}
const bodyFile = (index: number): string => join(resolve(folder), 'bodies', String(index).padStart(4, '0'))
const report = (done: number): void => {
  if (done % 100 === 0) say(`${done} asked`)
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
  say(`${entries.length} answers of ${ids.analytics} are in ${folder}: ${counts.join(', ')}`)
} else {
  const recording = JSON.parse(readFileSync(join(resolve(folder), 'recording.json'), 'utf8')) as Recording
  const isSame = JSON.stringify(recording.ids) === JSON.stringify(ids)
  if (!isSame) say('release ids differ: ids and the digests made of them are replaced on both sides')
  const answers = await exchangeAll(target, recording.entries, ids, report)
  let [differing, noted] = [0, 0]
  for (const [index, entry] of recording.entries.entries()) {
    const [old, now] = [recording.answers[index], answers[index]]
    if (old === undefined || now === undefined) throw new Error(`no answer of ${entry.name}`)
    const before: Answer = { ...old, body: gunzipSync(readFileSync(bodyFile(index))) }
    const { differences, notes } = await compareAnswers(
      entry,
      { answer: before, ids: recording.ids },
      { answer: now, ids },
    )
    if (differences.length > 0) differing += 1
    noted += notes.length
    for (const text of differences) process.stdout.write(`DIFFERS ${entry.name}: ${text}\n`)
    for (const text of notes) process.stdout.write(`note ${entry.name}: ${text}\n`)
  }
  say(`${recording.entries.length} answers compared: ${differing} differ, ${noted} notes`)
  if (differing > 0) process.exitCode = 1
}
