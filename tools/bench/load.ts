/** Requests, load groups and results, and the process that generates the load. */
import { forkModule, nextMessage, type Server } from './children.ts'

export interface Request {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Connections that share one list of requests. */
export interface Group {
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly requests: readonly Request[]
  readonly connections: number
  readonly from?: number
  /** Requests per second of all connections together; without it, each sends as fast as responses arrive. */
  readonly perSecond?: number
}

export interface Job {
  readonly groups: readonly Group[]
  readonly seconds: number
}

export interface GroupResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly bytes: number
  /** Connections lost before a response. */
  readonly errors: number
  readonly statuses: Readonly<Record<string, number>>
  readonly timeline: readonly number[]
}

export interface Load {
  run(job: Job): Promise<GroupResult[]>
}

export function startLoad(): Load {
  const child = forkModule('load-worker.ts', {})
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(job) {
      const answer = last.then(() => {
        const message = nextMessage<GroupResult[]>(child)
        child.send(job)
        return message
      })
      last = answer.catch(() => undefined)
      return answer
    },
  }
}

export const groupOf = (
  { address, headers }: Server,
  requests: readonly Request[],
  connections: number,
  options: Pick<Group, 'from' | 'perSecond'> = {},
): Group => ({ address, headers, requests, connections, ...options })

/** @returns the JSON of one response; @throws unless its status is 200 */
export async function ask(server: Server, { method = 'GET', path, body, headers }: Request): Promise<Answer> {
  const response = await fetch(`${server.address}${path}`, {
    method,
    headers: {
      ...server.headers,
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  if (response.status !== 200)
    throw new Error(
      `${server.name}: ${method} ${path} is ${response.status}: ${(await response.text()).slice(0, 500)}`,
    )
  return (await response.json()) as Answer
}

export interface Answer {
  readonly data: unknown
  readonly pagination?: { readonly next_cursor?: string | null; readonly total_rows?: number }
  readonly meta: Readonly<Record<string, unknown>>
}

export const getAll = (paths: readonly string[]): Request[] => paths.map((path) => ({ path }))
