/**
 * `sus-data mcp`: the Model Context Protocol on standard input and output, for clients that start their server themselves.
 *
 * Each line is a JSON-RPC message or response. Without --url, this process serves the local releases without a key, because
 * the user can read the files anyway. With --url, a server responds (POST /mcp) with the key in SUS_KEY. Both use the same
 * endpoint, so the tools are equal. Only messages go to standard output; the log goes to standard error.
 */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import type { KeyStore } from '../../src/keys/keys.ts'
import { PARSE_ERROR, refusal } from '../../src/mcp/protocol.ts'
import { headersOf } from '../../src/mcp/stateless.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { openService } from '../../src/service.ts'
import { readSettings, type Settings } from '../../src/settings.ts'
import { type Command, textOption, UsageError } from '../command.ts'

/** JSON-RPC error code for a message that the server did not accept, in the range reserved for servers. */
const NOT_ACCEPTED = -32000
/** Largest number of messages processed at once; more wait in the pipe. */
const PENDING_MAX = 16

/** Sends a message. @param repeated headers that repeat parts of the message @returns status and body of the response */
type Post = (
  message: string,
  repeated: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly body: string }>

interface Target {
  readonly post: Post
  close(): Promise<void>
}

export const command: Command = {
  name: 'mcp',
  summary: 'Answer agents: the Model Context Protocol on standard input and output.',
  usage: ['mcp [--releases DIR]', 'mcp --url URL'],
  options: {
    releases: { type: 'string', value: 'DIR', help: 'Folder of releases; the default is SUS_RELEASES_DIR.' },
    url: { type: 'string', value: 'URL', help: 'A server that answers instead, with the key of SUS_KEY.' },
  },
  async run(args) {
    const url = textOption(args, 'url')
    const releases = textOption(args, 'releases')
    if (args.positionals.length > 0) throw new UsageError('mcp takes options only')
    if (url !== undefined && releases !== undefined)
      throw new UsageError('mcp takes --url or --releases, not both')
    const settings = readSettings()
    const target =
      url === undefined
        ? await openLocal({
            ...settings,
            releasesDir: releases === undefined ? settings.releasesDir : resolve(releases),
          })
        : openRemote(url, settings.clientKey)
    try {
      await serveLines(target.post)
    } finally {
      await target.close()
    }
    return 0
  },
}

/** The local user's key, with all capabilities and no practical rate limit. */
const LOCAL_KEY = { id: 'local', name: 'local', capabilities: CAPABILITIES, rate_per_minute: 1_000_000 }
const LOCAL_KEYS: KeyStore = {
  authenticate: () => LOCAL_KEY,
  find: () => null,
  problem: () => null,
  close: () => undefined,
}

async function openLocal(settings: Settings): Promise<Target> {
  const service = await openService(settings, {
    keys: LOCAL_KEYS,
    log: pino.destination({ fd: 2, sync: true }),
  })
  const headers = { authorization: 'Bearer local', 'content-type': 'application/json', host: '' }
  return {
    async post(payload, repeated, signal) {
      const { statusCode: status, payload: body } = await service.app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { ...headers, ...repeated },
        payload,
        signal,
      })
      return { status, body }
    },
    close: () => service.close(),
  }
}

function openRemote(url: string, key: string | null): Target {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError('--url is the address of a server, such as https://dados.example.br')
  if (key === null) throw new UsageError('mcp --url needs a key in SUS_KEY')
  const address = new URL('/mcp', url)
  return {
    async post(body, repeated, signal) {
      const headers = {
        ...repeated,
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      }
      // Reject redirects: the key is only for the named server.
      const answer = await fetch(address, { method: 'POST', headers, body, signal, redirect: 'error' })
      return { status: answer.status, body: await answer.text() }
    },
    close: async () => undefined,
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly requestId?: unknown }
}

async function serveLines(post: Post): Promise<void> {
  const running = new Map<string, AbortController>()
  const pending = new Set<Promise<void>>()
  const write = (answer: unknown): void => void process.stdout.write(`${JSON.stringify(answer)}\n`)
  for await (const line of createInterface({ input: process.stdin, terminal: false })) {
    if (line.trim() === '') continue
    let message: Message
    try {
      message = JSON.parse(line) ?? {}
    } catch {
      write(refusal(null, PARSE_ERROR, 'Each line is one JSON text.'))
      continue
    }
    if (message.method === 'notifications/cancelled') {
      running.get(JSON.stringify(message.params?.requestId))?.abort()
      continue
    }
    const id = typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null
    const name = JSON.stringify(id)
    const controller = new AbortController()
    if (id !== null) running.set(name, controller)
    const answered = answerLine(post, line, message, id, controller.signal).then((answer) => {
      running.delete(name)
      // A client that cancelled a request expects no response.
      if (answer !== null && !controller.signal.aborted) write(answer)
    })
    pending.add(answered)
    answered.finally(() => pending.delete(answered))
    if (pending.size >= PENDING_MAX) await Promise.race(pending)
  }
  await Promise.all(pending)
}

async function answerLine(
  post: Post,
  line: string,
  message: Message,
  id: string | number | null,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const { status, body } = await post(line, headersOf(message), signal)
    const answer: unknown = body === '' ? null : JSON.parse(body)
    // A protocol error also has an HTTP error status, but is a JSON-RPC response. Other errors are HTTP problem documents.
    if (status < 400 || (answer !== null && Object.hasOwn(Object(answer), 'jsonrpc'))) return answer
    const { detail, title } = (answer ?? {}) as { readonly detail?: string; readonly title?: string }
    return id === null ? null : refusal(id, NOT_ACCEPTED, detail ?? title ?? `The server answered ${status}.`)
  } catch (error) {
    const cause = error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : ''
    return id === null ? null : refusal(id, NOT_ACCEPTED, `The server cannot be reached: ${cause}`)
  }
}
