/** Another sus-data server as a place. Manifests need any of its keys, and files a key with the capability of their table. */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { RELEASE_ID } from '../release/manifest.ts'
import { bodyFrom, type Outgoing, readWithRetries, send } from './http.ts'
import { type Place, PlaceError } from './place.ts'

const readySchema = z.object({ data: z.object({ release_id: z.string().regex(RELEASE_ID) }) })
const listSchema = z.object({ data: z.array(z.object({ release_id: z.string().regex(RELEASE_ID) })) })
const trustSchema = z.object({
  meta: z.object({ attestations: z.array(z.object({ key_id: z.string().regex(/^[0-9a-f]{8}$/) })) }),
})

/** @param address of the server, without a / at its end @param key that it is shown; null shows none */
export function serverPlace(address: string, key: string | null): Place {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
  const openPath = async (path: string, start: number, signal?: AbortSignal): Promise<Readable | null> => {
    const range: Record<string, string> = start === 0 ? {} : { range: `bytes=${start}-` }
    const outgoing: Outgoing = {
      method: 'GET',
      url: `${address}${path}`,
      headers: { ...headers, ...range },
    }
    const answer = await send(address, async () => outgoing, signal)
    const body = bodyFrom(answer, start)
    if (body !== null) return body
    answer.body.destroy()
    const { status } = answer
    if (status === 404) return null
    if (status >= 300 && status < 400) throw movedError(address, path, answer.headers.location ?? '')
    if (status === 401)
      throw new PlaceError(
        `${address} demands a key, and ${key === null ? 'SUS_KEY is not set' : 'does not take the one in SUS_KEY'}.`,
      )
    if (status === 403)
      throw new PlaceError(
        `The key in SUS_KEY lacks a capability that ${address} demands for ${path}; copies need all of them.`,
      )
    throw new PlaceError(`${address} answers ${path} with status ${status}.`)
  }
  const readJson = async <Value>(path: string, schema: z.ZodType<Value>): Promise<Value | null> => {
    const bytes = await readWithRetries(address, () => openPath(path, 0))
    if (bytes === null) return null
    try {
      return schema.parse(JSON.parse(bytes.toString()))
    } catch {
      throw otherServerError(address, path)
    }
  }
  const pathOf = (file: string): string => {
    if (file.startsWith('log/')) return `/v1/${file}`
    const [id = '', ...path] = file.split('/')
    return `/v1/releases/${id}/files/${path.join('/')}`
  }
  const open: Place['open'] = (file, start, signal) => openPath(pathOf(file), start, signal)
  return {
    name: address,
    async current() {
      const ready = await readJson('/ready', readySchema)
      if (ready === null) throw otherServerError(address, '/ready')
      return ready.data.release_id
    },
    list: async () =>
      ((await readJson('/v1/releases', listSchema))?.data ?? []).map(({ release_id }) => release_id).sort(),
    read: (file) => readWithRetries(address, () => open(file, 0)),
    open,
    attestations: async (id) =>
      ((await readJson(`/v1/releases/${id}`, trustSchema))?.meta.attestations ?? []).map(
        ({ key_id }) => `attestations/${key_id}.note`,
      ),
  }
}

const otherServerError = (address: string, path: string): PlaceError =>
  new PlaceError(`${address} does not answer ${path} as a sus-data server does.`)

/** The message has only the origin of the new address, because the rest may hold a secret. */
function movedError(address: string, path: string, location: string): PlaceError {
  const origin = URL.canParse(location, address) ? new URL(location, address).origin : null
  return origin === null || origin === new URL(address).origin
    ? otherServerError(address, path)
    : new PlaceError(`${address} has moved to ${origin}; use that address.`)
}
