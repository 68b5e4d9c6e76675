/**
 * S3-compatible storage as a place: the objects of a bucket below a prefix, with the paths of a folder of releases. Requests are
 * signed (AWS Signature Version 4) with the SHA-256 of their content, so that the storage refuses content that changed on its way.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { RELEASE_ID } from '../release/manifest.ts'
import { POINTER, parsePointer } from '../release/pointer.ts'
import { TRUST_FILE } from '../release/verify.ts'
import { bodyFrom, type Incoming, type Outgoing, readBody, readWithRetries, send } from './http.ts'
import { type Content, type ObjectStore, PlaceError } from './place.ts'

export interface S3Settings {
  readonly s3Endpoint: string | null
  readonly s3Region: string
  readonly s3AccessKeyId: string | null
  readonly s3SecretAccessKey: string | null
  readonly s3SessionToken: string | null
}

const EMPTY_SHA256 = createHash('sha256').digest('hex')
/** Largest object that a single request writes. */
const OBJECT_BYTES_MAX = 5 * 2 ** 30

/** @param prefix folder in the bucket, without a / at its ends; empty for all of the bucket */
export function s3Place(bucket: string, prefix: string, settings: S3Settings): ObjectStore {
  const { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey, s3SessionToken } = settings
  const name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`
  const base = `${s3Endpoint ?? `https://s3.${s3Region}.amazonaws.com`}/${bucket}`
  const keyOf = (path: string): string => (prefix === '' ? path : `${prefix}/${path}`)
  const sign = async (outgoing: Outgoing): Promise<Outgoing> => {
    if (s3AccessKeyId === null) return outgoing
    const { method, url } = outgoing
    const headers = { ...outgoing.headers, 'x-amz-content-sha256': outgoing.content?.sha256 ?? EMPTY_SHA256 }
    const signed = await new AwsV4Signer({
      method,
      url,
      headers,
      accessKeyId: s3AccessKeyId,
      secretAccessKey: s3SecretAccessKey ?? '',
      ...(s3SessionToken === null ? {} : { sessionToken: s3SessionToken }),
      service: 's3',
      region: s3Region,
    }).sign()
    return { ...outgoing, url: signed.url.toString(), headers: Object.fromEntries(signed.headers) }
  }
  const request = (outgoing: Outgoing, signal?: AbortSignal): Promise<Incoming> =>
    send(name, () => sign(outgoing), signal)
  const urlOf = (path: string): string =>
    `${base}/${keyOf(path).split('/').map(encodeURIComponent).join('/')}`

  const open = async (path: string, start: number, signal?: AbortSignal): Promise<Readable | null> => {
    const headers: Record<string, string> = start === 0 ? {} : { range: `bytes=${start}-` }
    const answer = await request({ method: 'GET', url: urlOf(path), headers }, signal)
    const body = bodyFrom(answer, start)
    if (body !== null) return body
    const problem = await refusal(name, path, answer)
    if (answer.status === 404 && !problem.message.includes('NoSuchBucket')) return null
    throw problem
  }
  const read = (path: string): Promise<Buffer | null> => readWithRetries(name, () => open(path, 0))
  const write = async (path: string, content: Content, signal?: AbortSignal): Promise<void> => {
    if (content.bytes > OBJECT_BYTES_MAX)
      throw new PlaceError(
        `${path} has ${content.bytes} bytes, and ${name} takes ${OBJECT_BYTES_MAX} in an object.`,
      )
    const answer = await request({ method: 'PUT', url: urlOf(path), headers: {}, content }, signal)
    if (answer.status !== 200) throw await refusal(name, path, answer)
    answer.body.resume()
  }
  /** @returns size by key of all objects below a folder; an empty folder means everything */
  const sizes = async (folder: string): Promise<Map<string, number>> => {
    const found = new Map<string, number>()
    const start = keyOf('')
    let token: string | null = null
    do {
      const query = new URLSearchParams({
        'list-type': '2',
        prefix: keyOf(folder === '' ? '' : `${folder}/`),
      })
      if (token !== null) query.set('continuation-token', token)
      const answer = await request({ method: 'GET', url: `${base}?${query}`, headers: {} })
      if (answer.status !== 200) throw await refusal(name, null, answer)
      const text = (await readBody(name, answer.body)).toString()
      for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = textOf(entry, 'Key') ?? ''
        if (key.startsWith(start)) found.set(key.slice(start.length), Number(textOf(entry, 'Size')))
      }
      token = textOf(text, 'NextContinuationToken')
    } while (token !== null)
    return found
  }
  return {
    name,
    async current() {
      const text = await read(POINTER)
      if (text === null) return null
      const { id, problem } = parsePointer(text.toString())
      if (problem !== null) throw new PlaceError(`${name}/${POINTER} ${problem}.`)
      return id
    },
    list: async () =>
      [...(await sizes('')).keys()]
        .flatMap((path) => (path.endsWith('/manifest.json') ? [path.slice(0, -'/manifest.json'.length)] : []))
        .filter((id) => RELEASE_ID.test(id))
        .sort(),
    read,
    open,
    attestations: async (id) =>
      [...(await sizes(`${id}/attestations`)).keys()]
        .map((path) => path.slice(id.length + 1))
        .filter((path) => TRUST_FILE.test(path)),
    sizes,
    write,
    async copy(from, to, signal) {
      const source = `/${bucket}/${keyOf(from).split('/').map(encodeURIComponent).join('/')}`
      const headers = { 'x-amz-copy-source': source }
      const answer = await request({ method: 'PUT', url: urlOf(to), headers, content: NOTHING }, signal)
      const text = (await readBody(name, answer.body)).toString()
      // A copy that fails after it began is answered with 200 and an error.
      if (answer.status !== 200 || text.includes('<Error>'))
        throw new PlaceError(`${name} does not copy ${from} (${textOf(text, 'Code') ?? answer.status}).`)
    },
  }
}

const NOTHING: Content = { bytes: 0, sha256: EMPTY_SHA256, open: () => Readable.from([]) }

/** @returns the text of the first element with a name, or null */
function textOf(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }
  return (
    text?.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_match, entity: string) => entities[entity] ?? '') ?? null
  )
}

/** @param path null when the storage refuses to list its objects */
async function refusal(name: string, path: string | null, { status, body }: Incoming): Promise<PlaceError> {
  const text = await readBody(name, body).then(String, () => '')
  const code = textOf(text, 'Code') ?? `status ${status}`
  const keys = 'check SUS_S3_ACCESS_KEY_ID and SUS_S3_SECRET_ACCESS_KEY'
  if (code === 'AuthorizationHeaderMalformed' || (status >= 300 && status < 400))
    return new PlaceError(
      `${name} is in another region or at another address (${code}); check SUS_S3_REGION and SUS_S3_ENDPOINT.`,
    )
  if (code === 'RequestTimeTooSkewed')
    return new PlaceError(`${name} refuses the time of this machine (${code}); set its clock.`)
  if (status === 403)
    return new PlaceError(
      path === null
        ? `${name} refuses to list its objects (${code}); ${keys}, and that the right to list (s3:ListBucket) is granted.`
        : `${name} refuses access to ${path} (${code}); ${keys}.`,
    )
  return new PlaceError(`${name} answers ${path ?? 'a request to list its objects'} with ${code}.`)
}
