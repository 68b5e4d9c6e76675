/**
 * Serves the explorer's pages, which src/explorer renders from this server's own API answers. In: a function that calls the API in-process.
 * Out: pages and assets to mount.
 * Browsers without a key call /explorer/api/, where the operator's key is added. The key itself never leaves the server.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { constants, gzipSync } from 'node:zlib'
import { type Answer, type Api, ApiFailure, type Problem, type PromotionChanges } from '../explorer/api.ts'
import { loadVisit } from '../explorer/app.tsx'
import { type Assets, renderDocument } from '../explorer/document.tsx'
import { renderFeed } from '../explorer/feed.tsx'
import type { Language } from '../explorer/numbers.ts'
import { EMBED_PATH, languageOfVisit } from '../explorer/parts/site.tsx'
import { bodyOf, readQuestion } from '../explorer/question.ts'
import { sha256Hex } from '../release/digest.ts'
import { REPORT_FORMAT_NAMES } from '../report/formats.ts'
import type { ApiResponse } from './connection/send.ts'
import { matchesTag } from './request/etag.ts'
import { originOf } from './request/origin.ts'

const API_PREFIX = '/explorer/api'
const FORMATS: readonly string[] = REPORT_FORMAT_NAMES
const FEED = '/feed.atom'
export const EXPLORER_PATHS = ['/', '/explorer', '/explorer/*', FEED] as const

/** @returns the content security policy: nothing is loaded from elsewhere, and only our script runs @param framers who may frame the page */
const policyOf = (framers: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${framers.length === 0 ? "'none'" : framers.join(' ')}`,
  ].join('; ')

export type Inject = (request: {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Record<string, string>
  readonly payload?: string
  readonly signal?: AbortSignal
}) => Promise<{ readonly statusCode: number; readonly payload: string }>

/** @returns whether the operator's key may answer this visitor: read-only requests only, so no links or other things a key can create */
function isReading({ method, url = '' }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return url.startsWith(`${API_PREFIX}/v1/`)
  return method === 'POST' && url.startsWith(`${API_PREFIX}/v1/analytics/`)
}

/**
 * Adds the operator's key where the visitor sends none, and takes the language of a file from `lang`, the last parameter, because a link
 * sends the language of the browser.
 * @returns the path as the API takes it
 */
export function rewriteExplorerUrl(request: IncomingMessage, key: string | null): string {
  const url = request.url ?? '/'
  if (!isReading(request)) return url
  if (key !== null && request.headers.authorization === undefined)
    request.headers.authorization = `Bearer ${key}`
  const [suffix = '', language] = /[?&]lang=(pt|en)$/.exec(url) ?? []
  if (language !== undefined) request.headers['accept-language'] = language
  return url.slice(API_PREFIX.length, url.length - suffix.length)
}

/** An API client that calls this server in-process. @param authorization value of the Authorization header */
export function apiOf(inject: Inject, authorization: string, language: string): Api {
  const call = async (request: Parameters<Inject>[0]): Promise<unknown> => {
    const { statusCode, payload } = await inject({
      ...request,
      headers: { ...request.headers, authorization, 'accept-language': language },
    })
    const body: unknown = JSON.parse(payload)
    if (statusCode >= 400) throw new ApiFailure(body as Problem)
    return body
  }
  return {
    get: <Answer>(url: string, accept = 'application/json') =>
      call({ method: 'GET', url, headers: { accept } }) as Promise<Answer>,
    post: <Answer>(url: string, body: unknown) =>
      call({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(body),
      }) as Promise<Answer>,
  }
}

interface Asset {
  readonly type: string
  readonly bytes: Buffer
  /** Compressed when it is first requested, once and well, because an asset is the larger part of a first view. */
  readonly gzip: () => Buffer
}

/** Reads the built browser files, whose names contain their digest. Empty when nothing was built. */
function readAssets(): { readonly names: Assets; readonly files: ReadonlyMap<string, Asset> } {
  const files = new Map<string, Asset>()
  const names = { script: '', style: '' }
  for (const folder of ['./explorer/', '../explorer/', '../../dist/explorer/']) {
    const path = fileURLToPath(new URL(folder, import.meta.url))
    let entries: string[]
    try {
      entries = readdirSync(path)
    } catch {
      continue
    }
    for (const name of entries.filter((entry) => /^[\w]+-[A-Z0-9]{8}\.(js|css)$/.test(entry))) {
      const isScript = name.endsWith('.js')
      const address = `/explorer/assets/${name}`
      const bytes = readFileSync(join(path, name))
      let gzip: Buffer | undefined
      files.set(address, {
        type: isScript ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8',
        bytes,
        gzip: () => {
          gzip ??= gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })
          return gzip
        },
      })
      names[isScript ? 'script' : 'style'] = address
    }
    if (files.size > 0) break
  }
  return { names, files }
}

/** Answers with the feed of promotions, or with 304 when the reader has it. */
async function answerFeed(api: Api, headers: IncomingHttpHeaders, language: Language): Promise<ApiResponse> {
  const { data } = await api.get<Answer<readonly PromotionChanges[]>>('/v1/changes')
  const xml = renderFeed(data, originOf(headers), language)
  const etag = `"${sha256Hex(Buffer.from(xml))}"`
  const answerHeaders = { etag, 'cache-control': 'no-cache' }
  return matchesTag(headers['if-none-match'], etag)
    ? { status: 304, headers: answerHeaders, body: { kind: 'none' } }
    : {
        status: 200,
        headers: answerHeaders,
        body: { kind: 'content', type: 'application/atom+xml; charset=utf-8', content: xml },
      }
}

/** @param key operator's API key @param embedOrigins origins that may frame answers @returns a function that answers the URL of a page or asset, with null for unknown URLs */
export function createExplorer(
  inject: Inject,
  key: string | null,
  embedOrigins: readonly string[],
): (address: string, headers: IncomingHttpHeaders) => Promise<ApiResponse | null> {
  const { names, files } = readAssets()
  // A frame must not ask for a key: the page around it could be anybody's.
  const mayEmbed = key !== null && embedOrigins.length > 0
  return async (address, headers) => {
    const { pathname: path, search } = new URL(address, 'http://localhost')
    const asset = files.get(path)
    if (asset !== undefined)
      return {
        status: 200,
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
        body: { kind: 'content', type: asset.type, content: asset.bytes, gzip: asset.gzip },
      }
    if (path.startsWith('/explorer/assets/')) return null
    const language = languageOfVisit(search)
    const api = key === null ? null : apiOf(inject, `Bearer ${key}`, language)
    if (path === FEED) return api === null ? null : answerFeed(api, headers, language)
    const format = FORMATS.find((name) => name === new URLSearchParams(search).get('format'))
    const question = readQuestion(search)
    // Pasted names are looked up for the page. An export without them would answer another question.
    if (format !== undefined && (question.group?.paste ?? '') === '') {
      const query = new URLSearchParams({
        format,
        q: JSON.stringify(bodyOf(question)),
        lang: language,
      })
      return {
        status: 307,
        headers: { location: `${API_PREFIX}/v1/analytics/export?${query}`, 'cache-control': 'no-store' },
        body: { kind: 'none' },
      }
    }
    const isEmbedded = path === EMBED_PATH
    if (isEmbedded && !mayEmbed) return null
    const visit = { path, search }
    const loaded = await loadVisit(visit, api, { isLive: false })
    return {
      status: loaded.kind === 'problem' ? loaded.problem.status : 200,
      headers: {
        'content-security-policy': policyOf(isEmbedded ? embedOrigins : []),
        'cache-control': 'no-cache',
      },
      body: {
        kind: 'content',
        type: 'text/html; charset=utf-8',
        content: renderDocument(
          visit,
          originOf(headers),
          {
            loaded,
            access: key === null ? 'none' : 'explorer',
            mayEmbed,
          },
          names,
        ),
      },
    }
  }
}
