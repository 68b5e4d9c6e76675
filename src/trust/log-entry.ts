/** Entries of the log: canonical JSON, one for each release made and each promotion. Values only. */
import { z } from 'zod'
import { canonicalJson } from '../release/digest.ts'
import { RELEASE_ID } from '../release/manifest.ts'

export const LOG_FORMAT = 'sus-data-log-1'

const id = z.string().regex(RELEASE_ID)
const base = { format: z.literal(LOG_FORMAT), release_id: id, time: z.iso.datetime({ precision: 3 }) }

const logEntrySchema = z.discriminatedUnion('kind', [
  /** A release that was made here, or came here and was recorded. */
  z.strictObject({ ...base, kind: z.literal('release') }),
  /** A release that was put in service. */
  z.strictObject({
    ...base,
    kind: z.literal('promotion'),
    /** What was in service before. */
    previous: id.nullable(),
    /** Promoted although a promotion check failed. */
    forced: z.boolean(),
  }),
])
export type LogEntry = z.infer<typeof logEntrySchema>
/** An entry before it gets its time. */
export type NewEntry =
  | { readonly kind: 'release'; readonly release_id: string }
  | {
      readonly kind: 'promotion'
      readonly release_id: string
      readonly previous: string | null
      readonly forced: boolean
    }

export const encodeEntry = (entry: LogEntry): Buffer => Buffer.from(canonicalJson(entry))

/** @returns null where the bytes are no entry in its one form */
export function decodeEntry(bytes: Buffer): LogEntry | null {
  try {
    const parsed = logEntrySchema.safeParse(JSON.parse(bytes.toString()))
    return parsed.success && encodeEntry(parsed.data).equals(bytes) ? parsed.data : null
  } catch {
    return null
  }
}
