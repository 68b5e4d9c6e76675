/**
 * Reads aggregated files in parallel worker processes. Results are returned in the order of the files, so an import writes the
 * same bytes with any number of processes. readers.ts lists the readers.
 */
import { createJobWorker } from '../../workers/entry.ts'
import { ImportError, type PackedError, packError, unpackError } from '../import-error.ts'
import { CodeGroups, type PackedSums, Sums } from './code-groups.ts'
import { type FileKind, type NamePartsOf, READERS, type ReadOf } from './readers.ts'

export interface DecodeJob<Kind extends FileKind = FileKind> {
  readonly kind: Kind
  readonly path: string
  readonly name: string
  readonly promise: NamePartsOf<Kind>
  readonly bytes: number
}

type Reader<Kind extends FileKind> = (
  path: string,
  name: string,
  nameParts: NamePartsOf<Kind>,
) => Promise<ReadOf<Kind>>
const readJob = <Kind extends FileKind>({
  kind,
  path,
  name,
  promise,
}: DecodeJob<Kind>): Promise<ReadOf<Kind>> => (READERS[kind].read as Reader<Kind>)(path, name, promise)

type Packed = Readonly<Record<string, unknown>>
export type DecodeReply =
  | { readonly read: Packed }
  | { readonly refused: PackedError }
  | { readonly error: string }

/** Smaller imports are read in this process, because starting a worker takes a third of a second. */
const MIN_PARALLEL_BYTES = 8 * 2 ** 20

/** Runs a job in a worker. Errors become part of the response. */
export async function decode(job: DecodeJob): Promise<DecodeReply> {
  try {
    return {
      read: mapGroups(job.kind, { ...(await readJob(job)) }, (groups) =>
        pack(groups as Iterable<Sums<readonly string[]>>),
      ),
    }
  } catch (error) {
    if (error instanceof ImportError) return { refused: packError(error) }
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

const mapGroups = (kind: FileKind, result: Packed, transform: (groups: unknown) => unknown): Packed =>
  Object.fromEntries(
    Object.entries(result).map(([name, value]) => [
      name,
      (READERS[kind].groups as readonly string[]).includes(name) ? transform(value) : value,
    ]),
  )

function pack(sums: Iterable<Sums<readonly string[]>>): PackedSums {
  if (sums instanceof CodeGroups) return sums.pack()
  const groups = [...sums]
  const width = groups[0]?.values.length ?? 0
  const values = new Float64Array(groups.length * width)
  groups.forEach((group, index) => {
    values.set(group.values, index * width)
  })
  return { codes: groups.map(({ key }) => key).join('\n'), values }
}

function* unpack({ codes, values }: PackedSums): Generator<Sums<readonly string[]>> {
  if (values.length === 0) return
  const lines = codes.split('\n')
  const width = values.length / lines.length
  let position = 0
  for (const line of lines) {
    yield new Sums(line, values.subarray(position, position + width))
    position += width
  }
}

/**
 * Reads all files and yields the results in order.
 * @param months jobs of each month, in append order
 * @param processes number of worker processes; 1 reads in this process
 * @throws ImportError of the first file that cannot be read
 */
export async function* readInOrder<Kind extends FileKind>(
  months: readonly (readonly DecodeJob<Kind>[])[],
  processes: number,
): AsyncGenerator<ReadOf<Kind>, undefined> {
  const bytes = months.flat().reduce((sum, job) => sum + job.bytes, 0)
  const count = Math.min(processes, months.flat().length)
  if (count <= 1 || bytes < MIN_PARALLEL_BYTES) {
    for (const job of months.flat()) yield await readJob(job)
    return
  }
  // Start the largest file of a month first, so that it does not finish last. The next month waits until the consumer has written this one:
  // when it was read at the same time, the peak of a national year of admissions was 3.3 GB.
  const pending = months.flatMap((jobs, month) =>
    [...jobs].sort((left, right) => right.bytes - left.bytes).map((job) => ({ job, month })),
  )
  const results = new Map<DecodeJob<Kind>, Promise<ReadOf<Kind>>>()
  const resolvers = new Map<DecodeJob<Kind>, (readJob: Promise<ReadOf<Kind>>) => void>()
  for (const job of months.flat()) {
    const result = new Promise<ReadOf<Kind>>((resolve) => resolvers.set(job, resolve))
    // Avoid an unhandled rejection: the error is thrown when this file is consumed.
    result.catch(() => undefined)
    results.set(job, result)
  }
  const idleDecoders = Array.from({ length: count }, createDecoder)
  const decoders = [...idleDecoders]
  let currentMonth = 0
  const startJobs = (): void => {
    for (;;) {
      const [next] = pending
      const decoder = idleDecoders[0]
      if (next === undefined || decoder === undefined || next.month > currentMonth) return
      pending.shift()
      idleDecoders.shift()
      const result = decoder.run(next.job)
      resolvers.get(next.job)?.(result)
      const releaseDecoder = (): void => {
        idleDecoders.push(decoder)
        startJobs()
      }
      result.then(releaseDecoder, releaseDecoder)
    }
  }
  try {
    for (const [month, jobs] of months.entries()) {
      currentMonth = month
      startJobs()
      for (const job of jobs) {
        yield await (results.get(job) as Promise<ReadOf<Kind>>)
        results.delete(job)
        resolvers.delete(job)
      }
    }
  } finally {
    pending.length = 0
    for (const decoder of decoders) decoder.end()
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
        const [reason = ''] = error.message.trim().split('\n')
        throw new ImportError(
          job.name,
          `could not be read: its worker ended (${reason})`,
          'Import again, with --threads 1 if it happens again',
        )
      })
      if ('refused' in reply) throw unpackError(reply.refused)
      if ('error' in reply) throw new Error(reply.error)
      return mapGroups(job.kind, reply.read, (groups) => unpack(groups as PackedSums)) as unknown as ReadOf<
        typeof job.kind
      >
    },
    end: () => worker.end(),
  }
}
