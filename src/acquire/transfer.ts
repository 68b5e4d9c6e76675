/**
 * Transfers one file into the folder of snapshots. The bytes go to a hidden part file, whose name holds the size and time at the
 * publisher, so that an interrupted transfer resumes only for the same file. The part gets its name after the checks.
 */
import { createHash } from 'node:crypto'
import { createWriteStream, mkdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { digestFile } from '../release/digest.ts'
import { checkContainer } from './containers.ts'
import { withRetries } from './retry.ts'
import { discardOtherParts, type Snapshots, type Stored } from './snapshots.ts'
import { FetchError, type Patience, type Remote, type RemoteFile, type RemoteState } from './types.ts'

export interface TransferTask {
  /** Path at the publisher, with a query if it has one. */
  readonly address: string
  /** Path on this disk. */
  readonly local: string
  readonly url: string
  readonly publisher: string
  readonly listed: RemoteState
  /** Reads the folder's listing again, because the file was replaced after the first one. Null without a listing. */
  readonly listAgain: (() => Promise<RemoteFile | null>) | null
}

export interface TransferOptions {
  readonly patience: Patience
  readonly signal: AbortSignal
  /** Receives the number of bytes that arrived, negative when they are discarded. */
  readonly onBytes: (bytes: number) => void
  readonly mayHandOver: () => boolean
}

/** @throws FetchError, or the error of the disk or network, after all attempts; the part stays for the next run */
export async function transferFile(
  remote: Remote,
  snapshots: Snapshots,
  task: TransferTask,
  options: TransferOptions,
): Promise<Stored> {
  mkdirSync(dirname(task.local), { recursive: true })
  let { listed } = task
  let refused: string | null = null
  return withRetries(
    options.patience,
    options.signal,
    async () => {
      const state = task.listAgain === null ? null : await remote.stateOf(task.address)
      if (state !== null && listed.bytes !== null && state.bytes !== listed.bytes)
        listed = (await task.listAgain?.()) ?? { bytes: state.bytes, time: null }
      const bytes = state?.bytes ?? listed.bytes
      const time = listed.time ?? state?.time ?? null
      if (bytes === 0) throw new FetchError('the publisher’s file has 0 bytes', true)
      const { part, sent } = await receive(remote, task, { bytes, time }, options)
      const expected = bytes ?? sent.bytes
      const size = sizeOf(part)
      if (size === 0) throw new FetchError('the transfer ended with success and no bytes')
      if (expected !== null && size < expected)
        throw new FetchError(`only ${size} of ${expected} bytes arrived`)
      try {
        if (expected !== null && size > expected)
          throw new FetchError(`${size} bytes arrived where the publisher says ${expected}`)
        const { sha256 } = await checkContainer(part, basename(task.local))
        const stored = await snapshots.store(part, task.local, {
          publisher: task.publisher,
          url: task.url,
          retrieved_at: new Date().toISOString(),
          bytes: size,
          server_time: time ?? sent.time,
          sha256,
        })
        discardOtherParts(task.local, null)
        return stored
      } catch (error) {
        if (!(error instanceof FetchError)) throw error
        // The same bytes twice mean that the publisher's file is like that, and no further attempt changes it.
        const { sha256 } = await digestFile(part)
        rmSync(part, { force: true })
        options.onBytes(-size)
        if (sha256 === refused) throw new FetchError(`${error.message}, at the publisher, too`, true)
        refused = sha256
        throw error
      }
    },
    options.mayHandOver,
  )
}

async function receive(
  remote: Remote,
  { address, local }: TransferTask,
  { bytes, time }: RemoteState,
  { onBytes }: TransferOptions,
): Promise<{ readonly part: string; readonly sent: RemoteState }> {
  const isResumable = time !== null
  const stamp = createHash('sha256').update(`${bytes} ${time}`).digest('hex').slice(0, 12)
  const name = `.${basename(local)}.${stamp}.part`
  const part = join(dirname(local), name)
  discardOtherParts(local, isResumable ? name : null)
  const present = isResumable ? sizeOf(part) : 0
  if (bytes !== null && present > bytes) rmSync(part)
  else if (present > 0 && present === bytes) return { part, sent: { bytes, time } }
  const offset = bytes !== null && present > bytes ? 0 : present
  const sent = await remote.transfer(address, offset, time, (start) => openPart(part, start, offset, onBytes))
  return { part, sent }
}

/** Writes and counts bytes. @param start offset that the server sends from; @param present bytes in the part */
export function openPart(
  part: string,
  start: number,
  present: number,
  onBytes: (bytes: number) => void,
): Writable {
  if (start < present) onBytes(start - present)
  const file = createWriteStream(part, { flags: start > 0 ? 'a' : 'w' })
  const counter = new Writable({
    write(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length)
      file.write(chunk, done)
    },
    final: (done) => void file.end(done),
    destroy(error, done) {
      file.destroy()
      done(error)
    },
  })
  file.on('error', (error) => counter.destroy(error))
  return counter
}

/** @returns size of a file, 0 if it does not exist */
export const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
