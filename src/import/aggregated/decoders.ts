/**
 * Files of admissions or of production read side by side, each by a worker process. In: files, and how many processes there may be.
 * Out: what the reader of their kind makes of each, in the order of the files, whichever was ready first: an import writes the same
 * bytes with any number of them. Not here: the reading (sih/admission-files.ts, sia/production-files.ts), and what becomes of it.
 */
import { createJobWorker } from '../../workers/entry.ts'
import { ImportError } from '../import-error.ts'
import { type ProductionFileName, type ReadProduction, readProduction } from '../sia/production-files.ts'
import {
  type AdmissionFileName,
  type ReadAdmissions,
  readAdmissions,
  type Sums,
} from '../sih/admission-files.ts'

/** What each kind of files promises by name and gives when read. */
interface Kinds {
  readonly admissions: { readonly promise: AdmissionFileName; readonly read: ReadAdmissions }
  readonly production: { readonly promise: ProductionFileName; readonly read: ReadProduction }
}
export type FileKind = keyof Kinds
export type PromiseOf<Kind extends FileKind> = Kinds[Kind]['promise']
export type ReadOf<Kind extends FileKind> = Kinds[Kind]['read']

type Reader<Kind extends FileKind> = (
  path: string,
  name: string,
  promise: PromiseOf<Kind>,
) => Promise<ReadOf<Kind>>
const READERS: { readonly [Kind in FileKind]: Reader<Kind> } = {
  admissions: readAdmissions,
  production: readProduction,
}
/** Members that are sums by group. */
const GROUPS: Readonly<Record<FileKind, readonly string[]>> = {
  admissions: ['byHospital', 'byResidence'],
  production: ['groups'],
}

/** One file to read: what a worker is sent. */
export interface DecodeJob<Kind extends FileKind = FileKind> {
  readonly kind: Kind
  readonly path: string
  readonly name: string
  readonly promise: PromiseOf<Kind>
  readonly bytes: number
}

const read = <Kind extends FileKind>({ kind, path, name, promise }: DecodeJob<Kind>): Promise<ReadOf<Kind>> =>
  READERS[kind](path, name, promise)

/** Groups as one text and one array, which pass from process to process in a tenth of the time of objects. */
interface PackedSums {
  /** A line a group, its codes between bars: they are digits and letters. */
  readonly codes: string
  readonly values: Float64Array
}
/** What was read, but groups are packed. */
type Packed = Readonly<Record<string, unknown>>
/** What a worker answers. */
export type DecodeReply =
  | { readonly read: Packed }
  | { readonly refused: readonly [file: string, problem: string, remedy: string] }
  | { readonly error: string }

/** A process costs a start of a third of a second: files that one reads in less are read here. */
const BYTES_OF_ONE = 8 * 2 ** 20

/** What a worker does with a job. */
export async function decode(job: DecodeJob): Promise<DecodeReply> {
  try {
    return {
      read: mapGroups(job.kind, { ...(await read(job)) }, (groups) =>
        pack(groups as Iterable<Sums<readonly string[]>>),
      ),
    }
  } catch (error) {
    if (error instanceof ImportError) return { refused: [error.file, error.problem, error.remedy] }
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

const mapGroups = (kind: FileKind, whole: Packed, change: (groups: unknown) => unknown): Packed =>
  Object.fromEntries(
    Object.entries(whole).map(([name, value]) => [name, GROUPS[kind].includes(name) ? change(value) : value]),
  )

function pack(sums: Iterable<Sums<readonly string[]>>): PackedSums {
  const groups = [...sums]
  const width = groups[0]?.values.length ?? 0
  const values = new Float64Array(groups.length * width)
  groups.forEach((group, index) => {
    values.set(group.values, index * width)
  })
  return { codes: groups.map(({ codes }) => codes.join('|')).join('\n'), values }
}

function* unpack({ codes, values }: PackedSums): Generator<Sums<readonly string[]>> {
  if (values.length === 0) return
  const lines = codes.split('\n')
  const width = values.length / lines.length
  let at = 0
  for (const line of lines) {
    yield { codes: line.split('|'), values: values.subarray(at, at + width) }
    at += width
  }
}

/**
 * @param months jobs of each month, in the order of their appending
 * @param processes 1: this one alone
 * @returns what each file holds, in that order. @throws ImportError of the first file that cannot be read
 */
export async function* readInOrder<Kind extends FileKind>(
  months: readonly (readonly DecodeJob<Kind>[])[],
  processes: number,
): AsyncGenerator<ReadOf<Kind>, undefined> {
  const bytes = months.flat().reduce((sum, job) => sum + job.bytes, 0)
  const count = Math.min(processes, months.flat().length)
  if (count <= 1 || bytes < BYTES_OF_ONE) {
    for (const job of months.flat()) yield await read(job)
    return
  }
  // The largest of a month first, so that none is begun when all others are done; at most a month ahead of what was taken.
  const waiting = months.flatMap((jobs, month) =>
    [...jobs].sort((left, right) => right.bytes - left.bytes).map((job) => ({ job, month })),
  )
  const results = new Map<DecodeJob<Kind>, Promise<ReadOf<Kind>>>()
  const settle = new Map<DecodeJob<Kind>, (read: Promise<ReadOf<Kind>>) => void>()
  for (const job of months.flat()) {
    const result = new Promise<ReadOf<Kind>>((resolve) => settle.set(job, resolve))
    // A file that fails is reported when its turn comes.
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
      const result = decoder.run(next.job)
      settle.get(next.job)?.(result)
      const free = (): void => {
        idle.push(decoder)
        fill()
      }
      result.then(free, free)
    }
  }
  try {
    fill()
    for (const [month, jobs] of months.entries()) {
      taken = month
      fill()
      for (const job of jobs) {
        yield await (results.get(job) as Promise<ReadOf<Kind>>)
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
  run<Kind extends FileKind>(job: DecodeJob<Kind>): Promise<ReadOf<Kind>>
  end(): void
}

function createDecoder(): Decoder {
  const worker = createJobWorker<DecodeJob, DecodeReply>('decoder')
  return {
    async run(job) {
      const reply = await worker.run(job as unknown as DecodeJob).catch((error: Error): never => {
        const [why = ''] = error.message.trim().split('\n')
        throw new ImportError(
          job.name,
          `could not be read: its worker ended (${why})`,
          'Import again, with --threads 1 if it happens again',
        )
      })
      if ('refused' in reply) throw new ImportError(...reply.refused)
      if ('error' in reply) throw new Error(reply.error)
      return mapGroups(job.kind, reply.read, (groups) => unpack(groups as PackedSums)) as unknown as ReadOf<
        typeof job.kind
      >
    },
    end: () => worker.end(),
  }
}
