/** Entries of the log in canonical JSON: one for each release made, each promotion and each removal. Values only. */
import { z } from 'zod'
import { canonicalJson } from '../release/digest.ts'
import { RELEASE_ID } from '../release/manifest.ts'

export const LOG_FORMAT = 'sus-data-log-1'

const id = z.string().regex(RELEASE_ID)
const base = { format: z.literal(LOG_FORMAT), release_id: id, time: z.iso.datetime({ precision: 3 }) }

const logEntrySchema = z.discriminatedUnion('kind', [
  /** A release that was made here, or was copied here and recorded. */
  z.strictObject({ ...base, kind: z.literal('release') }),
  z.strictObject({
    ...base,
    kind: z.literal('promotion'),
    /** Release that was in service before. */
    previous: id.nullable(),
    /** True when a promotion check failed and was overridden. */
    forced: z.boolean(),
  }),
  /** A release that nothing needed any more. A later entry `release` says that it came back. */
  z.strictObject({ ...base, kind: z.literal('removal') }),
])
export type LogEntry = z.infer<typeof logEntrySchema>
export type NewEntry =
  | { readonly kind: 'release' | 'removal'; readonly release_id: string }
  | {
      readonly kind: 'promotion'
      readonly release_id: string
      readonly previous: string | null
      readonly forced: boolean
    }

export const encodeEntry = (entry: LogEntry): Buffer => Buffer.from(canonicalJson(entry))

/** @returns null when the bytes are not an entry in canonical form */
export function decodeEntry(bytes: Buffer): LogEntry | null {
  try {
    const parsed = logEntrySchema.safeParse(JSON.parse(bytes.toString()))
    return parsed.success && encodeEntry(parsed.data).equals(bytes) ? parsed.data : null
  } catch {
    return null
  }
}
