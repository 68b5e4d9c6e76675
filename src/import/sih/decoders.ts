/**
 * Files of admissions read side by side, each by a worker process. In: files, and how many processes there may be. Out: what
 * readAdmissions makes of each, in the order of the files, whichever was ready first: an import writes the same bytes with any number
 * of them. Not here: the reading (admission-files.ts), and what becomes of it (importer.ts).
 */
import { type ChildProcess, fork } from 'node:child_process'
import { workerEntry } from '../../workers/entry.ts'
import { ImportError } from '../import-error.ts'
import {
  type AdmissionFileName,
  MEASURES,
  type ReadAdmissions,
  readAdmissions,
  type Sums,
} from './admission-files.ts'

/** One file to read: what a worker is sent. */
export interface DecodeJob {
  readonly path: string
  readonly name: string
  readonly promise: AdmissionFileName
  readonly bytes: number
}

/** Groups as one text and one array, which pass from process to process in a tenth of the time of objects. */
interface PackedSums {
  /** A line a group, its codes between bars: they are digits and letters. */
  readonly codes: string
  readonly values: Float64Array
}
type Packed = Omit<ReadAdmissions, 'byHospital' | 'byResidence'> & {
  readonly byHospital: PackedSums
  readonly byResidence: PackedSums
}
/** What a worker answers. */
export type DecodeReply =
  | { readonly read: Packed }
  | { readonly refused: readonly [file: string, problem: string, remedy: string] }
  | { readonly error: string }

/** A process costs a start of a third of a second: files that one reads in less are read here. */
const BYTES_OF_ONE = 8 * 2 ** 20
const OUTPUT_MAX = 4000

/** What a worker does with a job. */
export async function decode({ path, name, promise }: DecodeJob): Promise<DecodeReply> {
  try {
    const read = await readAdmissions(path, name, promise)
    return { read: { ...read, byHospital: pack(read.byHospital), byResidence: pack(read.byResidence) } }
  } catch (error) {
    if (error instanceof ImportError) return { refused: [error.file, error.problem, error.remedy] }
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function pack(sums: Iterable<Sums<readonly string[]>>): PackedSums {
  const groups = [...sums]
  const values = new Float64Array(groups.length * MEASURES.length)
  groups.forEach((group, index) => {
    values.set(group.values, index * MEASURES.length)
  })
  return { codes: groups.map(({ codes }) => codes.join('|')).join('\n'), values }
}

function* unpack<Codes extends readonly string[]>({ codes, values }: PackedSums): Generator<Sums<Codes>> {
  if (values.length === 0) return
  let at = 0
  for (const line of codes.split('\n')) {
    yield {
      codes: line.split('|') as unknown as Codes,
      values: values.subarray(at, at + MEASURES.length),
    }
    at += MEASURES.length
  }
}

/**
 * @param months jobs of each month, in the order of their appending
 * @param processes 1: this one alone
 * @returns what each file holds, in that order. @throws ImportError of the first file that cannot be read
 */
export async function* readInOrder(
  months: readonly (readonly DecodeJob[])[],
  processes: number,
): AsyncGenerator<ReadAdmissions, undefined> {
  const bytes = months.flat().reduce((sum, job) => sum + job.bytes, 0)
  const count = Math.min(processes, months.flat().length)
  if (count <= 1 || bytes < BYTES_OF_ONE) {
    for (const { path, name, promise } of months.flat()) yield await readAdmissions(path, name, promise)
    return
  }
  // The largest of a month first, so that none is begun when all others are done; at most a month ahead of what was taken.
  const waiting = months.flatMap((jobs, month) =>
    [...jobs].sort((left, right) => right.bytes - left.bytes).map((job) => ({ job, month })),
  )
  const results = new Map<DecodeJob, Promise<ReadAdmissions>>()
  const settle = new Map<DecodeJob, (read: Promise<ReadAdmissions>) => void>()
  for (const job of months.flat()) {
    const result = new Promise<ReadAdmissions>((resolve) => settle.set(job, resolve))
    // A file that fails is told when its turn comes.
    result.catch(() => undefined)
    results.set(job, result)
  }
  const idle = Array.from({ length: count }, createDecoder)
  const all = [...idle]
  let taken = 0
  const fill = (): void => {
    for (;;) {
      const [next] = waiting
      const decoder = idle[0]
      if (next === undefined || decoder === undefined || next.month > taken + 1) return
      waiting.shift()
      idle.shift()
      const read = decoder.run(next.job)
      settle.get(next.job)?.(read)
      const free = (): void => {
        idle.push(decoder)
        fill()
      }
      read.then(free, free)
    }
  }
  try {
    fill()
    for (const [month, jobs] of months.entries()) {
      taken = month
      fill()
      for (const job of jobs) {
        yield await (results.get(job) as Promise<ReadAdmissions>)
        results.delete(job)
        settle.delete(job)
      }
    }
  } finally {
    waiting.length = 0
    for (const decoder of all) decoder.end()
  }
}

interface Decoder {
  run(job: DecodeJob): Promise<ReadAdmissions>
  end(): void
}

/** A worker process, started with the first job; one that has died is started again. */
function createDecoder(): Decoder {
  let child: ChildProcess | null = null
  const start = (): ChildProcess => {
    // No environment: settings and secrets are not the child's.
    const { file, execArgv } = workerEntry('admissions')
    return fork(file, [], {
      execArgv: [...execArgv],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      env: {},
    })
  }
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        child ??= start()
        const own = child
        let errors = ''
        own.stderr?.removeAllListeners('data')
        own.stderr?.on('data', (chunk: Buffer) => {
          errors = (errors + chunk.toString()).slice(0, OUTPUT_MAX)
        })
        const fail = (why: string): void => {
          own.removeAllListeners()
          child = null
          const problem = `could not be read: its worker ended (${why.trim().split('\n')[0] ?? ''})`
          reject(new ImportError(job.name, problem, 'Import again, with --threads 1 if it happens again'))
        }
        own.once('message', (reply: DecodeReply) => {
          own.removeAllListeners()
          if ('refused' in reply) reject(new ImportError(...reply.refused))
          else if ('error' in reply) reject(new Error(reply.error))
          else {
            const { byHospital, byResidence, ...read } = reply.read
            resolve({ ...read, byHospital: unpack(byHospital), byResidence: unpack(byResidence) })
          }
        })
        own.once('error', (error) => fail(error.message))
        own.once('close', (code, signal) => fail(errors.trim() || (signal ?? `code ${code}`)))
        own.send(job)
      }),
    end() {
      if (child?.connected === true) child.disconnect()
      child = null
    },
  }
}
