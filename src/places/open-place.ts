/** Opens a place by its address: a folder, https:// of a sus-data server, or s3:// of a bucket. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderPlace } from './folder.ts'
import { type ObjectStore, type Place, PlaceError } from './place.ts'
import { type S3Settings, s3Place } from './s3.ts'
import { serverPlace } from './server.ts'

export interface PlaceAccess extends S3Settings {
  /** Key that other sus-data servers are shown. */
  readonly clientKey: string | null
}

export type OpenedPlace =
  | { readonly kind: 'folder'; readonly place: Place; readonly folder: string }
  | { readonly kind: 'server'; readonly place: Place }
  | { readonly kind: 'storage'; readonly place: ObjectStore }

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/*$/
const PREFIX = /^(?!\.)[A-Za-z0-9._-]+(\/(?!\.)[A-Za-z0-9._-]+)*$/

/** @throws PlaceError for an address that names no place; the message leaves the address out, which may hold a password */
export function openPlace(address: string, access: PlaceAccess): OpenedPlace {
  if (address.startsWith('s3:')) {
    const [, bucket, prefix = ''] = BUCKET.exec(address) ?? []
    if (bucket === undefined || (prefix !== '' && !PREFIX.test(prefix)))
      throw new PlaceError(
        'An address of S3 is s3://bucket or s3://bucket/prefix: a bucket of 3 to 63 characters in lower case, and a prefix of letters, digits, points, hyphens and underscores, no part of which begins with a point.',
      )
    return { kind: 'storage', place: s3Place(bucket, prefix, access) }
  }
  if (/^https?:/.test(address)) {
    const url = URL.canParse(address) ? new URL(address) : null
    if (url === null || url.username + url.password + url.search + url.hash !== '')
      throw new PlaceError(
        'The address of a server has no user, no parameters and no #, such as https://data.example.org.',
      )
    return { kind: 'server', place: serverPlace(url.href.replace(/\/+$/, ''), access.clientKey) }
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(address) && !address.startsWith('file:'))
    throw new PlaceError(
      'The address is not supported: use a folder, file:///, https:// of a sus-data server, or s3://.',
    )
  const folder = address.startsWith('file:') ? pathOfAddress(address) : resolve(address)
  return { kind: 'folder', place: folderPlace(folder), folder }
}

function pathOfAddress(address: string): string {
  try {
    return fileURLToPath(address)
  } catch {
    throw new PlaceError(
      'The address of a folder must have no host; write % as %25, such as file:///srv/releases.',
    )
  }
}
