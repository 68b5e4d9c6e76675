/** Mounts the pages outside the API: its document, the documentation, the explorer and the metrics. */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { ApiResponse } from './connection/send.ts'
import { createExplorer, EXPLORER_PATHS } from './explorer.ts'
import { isLocal, type Metrics } from './metrics.ts'
import { docsPages } from './openapi/docs-page.ts'
import { describeApi } from './openapi/document.ts'
import { matchesTag } from './request/etag.ts'
import type { Output } from './request/mount.ts'
import { ROUTES } from './routes/index.ts'

export interface PageServices {
  readonly metrics: Metrics
  /** Serve /metrics on this app, to requests from this machine only. */
  readonly servesMetrics: boolean
  readonly explorerKey?: string | null
  /** Origins whose pages may frame answers; none by default. */
  readonly embedOrigins?: readonly string[]
}

/** Paths of the pages that everyone may read. Below /explorer/ there is also the API of the pages, whose other paths are unknown. */
export const pagePaths = (): string[] => [
  '/openapi.json',
  ...docsPages().map(({ path }) => path),
  ...EXPLORER_PATHS.filter((path) => !path.endsWith('*')),
]

export function mountPages(app: FastifyInstance, services: PageServices, output: Output): void {
  const mountPage = (
    path: string,
    render: (request: FastifyRequest) => Promise<ApiResponse> | ApiResponse,
  ): void => {
    app.get(
      path,
      { onRequest: (request, _reply, done) => output.precheck(request, path, null, done) },
      (request, reply) => {
        reply.hijack()
        Promise.resolve(request)
          .then(render)
          .then(
            (answer) => output.send(request, reply, answer),
            (error: unknown) => output.fail(request, reply, error),
          )
      },
    )
  }
  let document: string | null = null
  mountPage('/openapi.json', ({ headers }) => {
    document ??= JSON.stringify(describeApi(ROUTES))
    return answerPage('/openapi.json', headers, 'application/json; charset=utf-8', document)
  })
  for (const { path, type, policy, read } of docsPages())
    mountPage(path, ({ headers }) =>
      answerPage(path, headers, type, read(), { 'content-security-policy': policy }),
    )
  const explore = createExplorer(
    (request) => app.inject(request),
    services.explorerKey ?? null,
    services.embedOrigins ?? [],
  )
  for (const path of EXPLORER_PATHS)
    mountPage(path, async ({ url, headers }) => {
      const page = await explore(url, headers)
      if (page === null) throw new AppError('route_not_found')
      return page
    })
  if (services.servesMetrics)
    mountPage('/metrics', async ({ ip, headers }) => {
      if (!isLocal(ip, headers)) throw new AppError('route_not_found')
      const { type, text } = await services.metrics.render()
      return content(type, text, { 'cache-control': 'no-store' })
    })
}

const content = (
  type: string,
  bytes: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse => ({ status: 200, headers, body: { kind: 'content', type, content: bytes } })

/** Entity tags by path. Pages do not change while the server runs. */
const PAGE_TAGS = new Map<string, string>()
/** Answers with a page and its digest as entity tag, or with 304 when the client has that version. */
function answerPage(
  path: string,
  requestHeaders: IncomingHttpHeaders,
  type: string,
  bytes: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  let etag = PAGE_TAGS.get(path)
  if (etag === undefined) {
    etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`
    PAGE_TAGS.set(path, etag)
  }
  const allHeaders = { ...headers, etag, 'cache-control': 'no-cache' }
  if (matchesTag(requestHeaders['if-none-match'], etag))
    return { status: 304, headers: allHeaders, body: { kind: 'none' } }
  return content(type, bytes, allHeaders)
}
