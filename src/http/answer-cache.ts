/**
 * Answers kept for as long as there is room: a release never changes, so the same question on it has the same answer.
 *
 * In: what makes a question (release, route, parameters or body, language, what the key may read) and how to answer it.
 * Out: the envelope, cut where the request's id goes. The same question asked twice at once is answered once.
 * Keys, rates, capabilities and pins are checked before this is reached; errors are never kept.
 */
import { LRUCache } from 'lru-cache'
import type { JsonValue } from '../engine/types.ts'
import { AppError } from '../errors.ts'
import { type Bytes, readBytes } from '../rows/shelf.ts'
import type { CustomAnswer, Route, WrittenAnswer } from './route.ts'

export interface KeptAnswer {
  /** UTF-8: JSON of data, and what stands behind it before and after the request's id. */
  readonly data: Bytes
  readonly behind: Buffer
  readonly tail: Buffer
  readonly rows: number | null
}

/** A request as it came, whose answer is known. */
export interface Spelling {
  readonly question: string
  readonly route: Route
  /** Of the header that names the release. */
  readonly releaseId: string
  /** The request names the release itself. */
  readonly isPinned: boolean
}

export interface AnswerCache {
  /**
   * The answer a request had, found by the bytes that came, without reading them as a question again. A spelling holds
   * everything the answer depends on.
   */
  recall(spelling: string): { readonly known: Spelling; readonly kept: KeptAnswer } | null
  /** Keeps an answer that took no waiting. @returns it, with bytes of its own */
  put(question: string, answer: KeptAnswer): KeptAnswer
  /** Only for what was answered from the release in service. */
  note(spelling: string, answered: Spelling): void
  /** @param answer asked once for all that wait for it */
  get(question: string, answer: () => Promise<KeptAnswer>): Promise<KeptAnswer>
  /** Bytes held now, at most those it was made with. */
  bytes(): number
}

/** Of the cache, one part in sixteen is for how known questions are spelled. */
const SPELLINGS_SHARE = 16

/** @returns bytes of the envelope but for the request's id */
export const sizeOf = ({ data, behind, tail }: KeptAnswer): number =>
  BEFORE.length + data.length + behind.length + tail.length
/** A character of a JavaScript string takes one byte or two; the entry itself some more. */
const sizeInCache = (kept: KeptAnswer, question: string): number => sizeOf(kept) + 2 * question.length + 600

/** @param maxBytes 0 keeps nothing; questions at once are still answered once */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const spellingBytes = Math.floor(maxBytes / SPELLINGS_SHARE)
  const answerBytes = maxBytes - spellingBytes
  const kept =
    maxBytes === 0
      ? null
      : new LRUCache<string, KeptAnswer>({
          maxSize: answerBytes,
          maxEntrySize: Math.max(1, Math.floor(answerBytes / 8)),
          sizeCalculation: sizeInCache,
        })
  const spellings =
    spellingBytes === 0
      ? null
      : new LRUCache<string, Spelling>({
          maxSize: spellingBytes,
          sizeCalculation: ({ question }, spelling) => 2 * (question.length + spelling.length) + 300,
        })
  const asked = new Map<string, Promise<KeptAnswer>>()
  return {
    recall(spelling) {
      const known = spellings?.get(spelling)
      const found = known === undefined ? undefined : kept?.get(known.question)
      return known === undefined || found === undefined ? null : { known, kept: found }
    },
    put(question, answer) {
      if (kept === null) return answer
      const own = holdBytes(answer)
      kept.set(question, own)
      return own
    },
    note: (spelling, answered) => void spellings?.set(spelling, answered),
    async get(question, answer) {
      const known = kept?.get(question)
      if (known !== undefined) return known
      const running = asked.get(question)
      if (running !== undefined)
        try {
          return await running
        } catch (error) {
          // Who asked first has left, and the query with it: this client has not.
          if (!(error instanceof AppError && error.code === 'query_timeout')) throw error
        }
      const own = answer().then(holdBytes)
      asked.set(question, own)
      try {
        const found = await own
        kept?.set(question, found)
        return found
      } finally {
        if (asked.get(question) === own) asked.delete(question)
      }
    },
    bytes: () => (kept?.calculatedSize ?? 0) + (spellings?.calculatedSize ?? 0),
  }
}

/** @returns the envelope around the place of the request's id, the first member of meta but one */
export function keepAnswer(
  answer: CustomAnswer | WrittenAnswer,
  meta: Readonly<Record<string, JsonValue>>,
  version: string,
): KeptAnswer {
  const data = 'json' in answer ? answer.json : Buffer.from(JSON.stringify(answer.data))
  const pagination =
    answer.pagination === undefined ? '' : `,"pagination":${JSON.stringify(answer.pagination)}`
  const more = JSON.stringify(meta)
  return {
    data,
    behind: Buffer.from(`${pagination},"meta":{"version":${JSON.stringify(version)},"request_id":"`),
    tail: Buffer.from(`"${more === '{}' ? '' : `,${more.slice(1, -1)}`}}}`),
    rows: answer.rows ?? null,
  }
}

/** Bytes that are read when they are written out may be gone later: what is kept has its own. */
const holdBytes = (answer: KeptAnswer): KeptAnswer => ({ ...answer, data: readBytes(answer.data) })

const BEFORE = Buffer.from('{"data":')

/**
 * @param requestId letters, digits and dots, lines, underscores: nothing to escape
 * @param into has room for the envelope
 * @returns the envelope in UTF-8, the beginning of `into`
 */
export function writeKept(
  { data, behind, tail }: KeptAnswer,
  requestId: string,
  into: Buffer = Buffer.allocUnsafe(
    BEFORE.length + data.length + behind.length + requestId.length + tail.length,
  ),
): Buffer {
  const id = BEFORE.length + data.length + behind.length
  const bytes = into.subarray(0, id + requestId.length + tail.length)
  BEFORE.copy(bytes, 0)
  data.copy(bytes, BEFORE.length)
  behind.copy(bytes, BEFORE.length + data.length)
  bytes.write(requestId, id, 'latin1')
  tail.copy(bytes, id + requestId.length)
  return bytes
}
