/**
 * Sets security headers and CORS.
 * The default is closed: answers are data, so browsers may not load, frame or run anything in them. Other origins are rejected unless the
 * operator lists them. /docs widens the policy for its page.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import helmet from 'helmet'
import { RELEASE_HEADERS } from './route.ts'

const EXPOSED_HEADERS = [
  'etag',
  'link',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'x-request-id',
  ...RELEASE_HEADERS,
  'x-report-fingerprint',
  'x-report-row-count',
  'x-report-signature',
  'x-artifact-sha256',
  'content-disposition',
]
const DAY_SECONDS = 86_400

/** @returns helmet's headers, computed once because they do not depend on the request */
export function securityHeaders(origins: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  const collect = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value
    },
    removeHeader: () => undefined,
  }
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: origins.length === 0 ? 'same-origin' : 'cross-origin' },
    // Disable headers for obsolete browsers and for documents.
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
    originAgentCluster: false,
    strictTransportSecurity: { maxAge: 365 * DAY_SECONDS, includeSubDomains: false },
  })({} as IncomingMessage, collect as unknown as ServerResponse, () => undefined)
  return headers
}

/** @param origins origins whose pages may read answers; '*' allows any, empty disables CORS */
export async function enableCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  await app.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'accept',
      'accept-language',
      'if-none-match',
      'range',
      'x-request-id',
      'traceparent',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
    ],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: DAY_SECONDS,
    strictPreflight: false,
  })
}
