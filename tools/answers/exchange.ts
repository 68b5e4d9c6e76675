/**
 * Sends one request to a running server and returns the response as bytes, decompressed. It does not follow, retry or
 * interpret; compare.ts does the latter.
 */
import { request as sendRequest } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/**
 * A request. Its strings may contain `{analytics}`, `{cnes}`, `{demography}` (release ids), and `{cursor}`, `{etag}` (of
 * `from`).
 */
export interface Entry {
  readonly name: string
  readonly method: string
  readonly path: string
  /** The key to send: one with all capabilities, one with few, or none. */
  readonly key: 'all' | 'limited' | 'none'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Entry whose response provides the cursor or the ETag. */
  readonly from?: string
  /** Regular expression of JSON paths whose differences are only noted. */
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

export type Ids = Readonly<Record<'analytics' | 'cnes' | 'demography', string>>

const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
}

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
    // A server may respond to a body that is too large before all of it is sent.
    outgoing.end(entry.body ?? '')
  })
}

/** @returns the ids of the releases that the server uses by default */
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

/** Sends the entries one after another. @returns their responses in the same order */
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
        // Changes one bit of the fifth character from the end, which lies in the signature for any length.
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
