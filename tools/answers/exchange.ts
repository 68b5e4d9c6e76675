/**
 * One request to a running server and its answer as bytes: nothing is followed, retried or interpreted.
 *
 * In: an address and what is sent, with its headers as they are. Out: status, headers and the body, decoded where it was
 * compressed. Meaning is not looked at here: see compare.ts.
 */
import { request as sendRequest } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/** What is sent. Texts may hold `{analytics}`, `{cnes}`, `{demography}` (release ids) and `{cursor}`, `{etag}` (of `from`). */
export interface Entry {
  readonly name: string
  readonly method: string
  readonly path: string
  /** Which key is sent: one that may read everything, one that may not, none, or a header of its own. */
  readonly key: 'all' | 'limited' | 'none'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Entry whose answer the cursor or the ETag is taken from. */
  readonly from?: string
  /** JSON paths (a regular expression) whose differences are noted but are no failure. */
  readonly lenient?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface Target {
  readonly address: string
  readonly keys: Readonly<Record<'all' | 'limited', string>>
}

/** Release ids by the area they answer for. */
export type Ids = Readonly<Record<'analytics' | 'cnes' | 'demography', string>>

const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
}

/** @returns status, headers with lower-case names, decoded body */
export function exchange(target: Target, entry: Omit<Entry, 'name'>): Promise<Answer> {
  const { address, keys } = target
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest(
      {
        hostname,
        port,
        method: entry.method,
        path: entry.path,
        headers: {
          ...(entry.key === 'none' ? {} : { authorization: `Bearer ${keys[entry.key]}` }),
          ...(entry.body === undefined
            ? {}
            : {
                'content-type': 'application/json',
                'content-length': String(Buffer.byteLength(entry.body)),
              }),
          ...entry.headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const headers = Object.fromEntries(
            Object.entries(incoming.headers).map(([name, value]) => [
              name,
              Array.isArray(value) ? value.join(', ') : (value ?? ''),
            ]),
          )
          const raw = Buffer.concat(chunks)
          const decode = raw.length === 0 ? undefined : DECODERS[headers['content-encoding'] ?? '']
          resolve({ status: incoming.statusCode ?? 0, headers, body: decode?.(raw) ?? raw })
        })
      },
    )
    outgoing.on('error', reject)
    // A server may answer a body that is too large before all of it is sent.
    outgoing.end(entry.body ?? '')
  })
}

/** @returns the ids the server answers from when nothing is pinned */
export async function readIds(target: Target): Promise<Ids> {
  const read = async (path: string, header: string): Promise<string> => {
    const { status, headers } = await exchange(target, { method: 'GET', path, key: 'all', headers: {} })
    const id = headers[header]
    if (status !== 200 || id === undefined) throw new Error(`${path} is ${status}, ${header} is ${id}`)
    return id
  }
  return {
    analytics: await read('/v1/analytics/catalog', 'x-analytics-release-id'),
    cnes: await read('/v1/facilities?limit=1', 'x-data-release-id'),
    demography: await read('/v1/demography/population?limit=1', 'x-demography-release-id'),
  }
}

/** Every entry in turn. @returns their answers, in their order */
export async function exchangeAll(
  target: Target,
  entries: readonly Entry[],
  ids: Ids,
  report: (done: number) => void,
): Promise<Answer[]> {
  const answers = new Map<string, Answer>()
  for (const entry of entries) {
    const source = entry.from === undefined ? undefined : answers.get(entry.from)
    const cursor = /"next_cursor":"([^"]*)"/.exec(source?.body.toString() ?? '')?.[1] ?? 'none'
    const fill = (text: string): string =>
      text
        .replaceAll('{analytics}', ids.analytics)
        .replaceAll('{cnes}', ids.cnes)
        .replaceAll('{demography}', ids.demography)
        .replaceAll('{cursor}', cursor)
        // One bit of the last but fourth character: inside the signature, whatever its length.
        .replaceAll(
          '{changed cursor}',
          `${cursor.slice(0, -5)}${cursor.at(-5) === 'A' ? 'B' : 'A'}${cursor.slice(-4)}`,
        )
        .replaceAll('{etag}', source?.headers.etag ?? '"none"')
    answers.set(
      entry.name,
      await exchange(target, {
        ...entry,
        path: fill(entry.path),
        headers: Object.fromEntries(
          Object.entries(entry.headers).map(([name, value]) => [name, fill(value)]),
        ),
        ...(entry.body === undefined ? {} : { body: fill(entry.body) }),
      }),
    )
    report(answers.size)
  }
  return entries.flatMap(({ name }) => answers.get(name) ?? [])
}
