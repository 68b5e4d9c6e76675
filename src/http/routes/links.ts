/** Creates links that carry their own read permission. A link is signed and not stored. */
import { z } from 'zod'
import { AppError, both } from '../../errors.ts'
import { parseExpiry } from '../../keys/keys.ts'
import { KeysError } from '../../keys/keys-error.ts'
import {
  defaultExpiry,
  LINK_DAYS,
  LINK_DAYS_MAX,
  LINK_FORMS,
  LINK_SCOPES,
  linkSecretOf,
  makeLink,
} from '../../keys/links.ts'
import { parseBody } from '../../query/analytics/request.ts'
import { takes } from '../../query/field-texts.ts'
import { releaseIdsIn } from '../../release/manifest.ts'
import { originOf } from '../request/origin.ts'
import type { Call, DataResult, Route, Services } from '../route.ts'

const linkSchema = z.strictObject({
  address: takes(
    z
      .string()
      .max(12_000)
      .regex(/^\/v1(\/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)+(\?[^#]*)?$/),
    'um caminho da API com seus parâmetros, como /v1/states?uf=RR',
    'a path of the API with its parameters, such as /v1/states?uf=RR',
  ).describe('Path and parameters, below the server’s address, that the link reads by GET.'),
  scope: z
    .enum(LINK_SCOPES)
    .default('address')
    .describe('address: this address alone; release: everything below /v1/releases/ID/.'),
  form: z
    .enum(LINK_FORMS)
    .default('any')
    .describe('The form of the answer, which else a header asks for; any: what the reader asks for.'),
  expires: takes(
    z
      .string()
      .max(40)
      .regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}.*)?$/),
    'um dia (2027-01-31) ou um momento (2027-01-31T12:00:00Z)',
    'a day (2027-01-31) or a time (2027-01-31T12:00:00Z)',
  )
    .optional()
    .describe(
      `Last day (2027-01-31, UTC) or end (2027-01-31T12:00:00Z), at most ${LINK_DAYS_MAX} days from now; ${LINK_DAYS} days without it.`,
    ),
})

async function answerLink(
  { body, key, headers }: Call,
  { cursorSecret, releases, recordLink }: Services,
): Promise<DataResult> {
  if (key === null) throw new AppError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } })
  const { address, scope, form, expires } = parseBody(linkSchema, body)
  const invalidField = (pointer: string, pt: string, en: string, cause: KeysError): AppError =>
    new AppError('invalid_request', { errors: [{ pointer, message: both(pt, en) }], cause })
  let expiresMs = defaultExpiry()
  try {
    if (expires !== undefined) expiresMs = Date.parse(parseExpiry(expires))
    if (!(expiresMs > Date.now() && expiresMs <= Date.now() + LINK_DAYS_MAX * 86_400_000))
      throw new KeysError(`A link ends after now, and within ${LINK_DAYS_MAX} days.`)
  } catch (error) {
    if (!(error instanceof KeysError)) throw error
    throw invalidField(
      '/expires',
      `deve ser um dia (2027-01-31) ou um momento (2027-01-31T12:00:00Z) nos próximos ${LINK_DAYS_MAX} dias`,
      `must be a day (2027-01-31) or a time (2027-01-31T12:00:00Z) within the next ${LINK_DAYS_MAX} days`,
      error,
    )
  }
  try {
    const link = makeLink({ keyId: key.id, address, scope, form, expiresMs }, linkSecretOf(cursorSecret))
    const named = releaseIdsIn(address)
    const found = await Promise.all(named.map((id) => releases.locate(id)))
    // Only releases that are here are recorded, so that no client can make the record grow.
    const releaseIds = named.filter((_id, index) => found[index] !== null)
    if (releaseIds.length > 0) recordLink?.({ releaseIds, keyId: key.id, expiresMs })
    return {
      data: {
        link: originOf(headers) + link,
        scope,
        form,
        expires_at: new Date(expiresMs).toISOString(),
        key: key.id,
      },
      rows: 1,
    }
  } catch (error) {
    if (!(error instanceof KeysError)) throw error
    throw invalidField(
      '/address',
      scope === 'release'
        ? 'deve estar abaixo de /v1/releases/ID/, como /v1/releases/ID/metadata.jsonld'
        : 'deve ser um caminho da API com seus parâmetros, como /v1/states, sem access_token',
      scope === 'release'
        ? 'must be below /v1/releases/ID/, such as /v1/releases/ID/metadata.jsonld'
        : 'must be a path of the API with its parameters, such as /v1/states, without access_token',
      error,
    )
  }
}

export const LINKS: readonly Route[] = [
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/links',
    operation: 'createLink',
    summary:
      'A link that reads one address, or one release, without a header, until it ends: for programs that take an address.',
    capability: 'any',
    release: null,
    response: 'LinkResponse',
    body: linkSchema,
    handle: answerLink,
  },
]
