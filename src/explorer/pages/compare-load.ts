/** Loads the page that compares places: the profile of each, and places that a search for another one finds. */
import { SEARCH_MAX } from '../../text-limits.ts'
import { type Api, ApiFailure, type Member } from '../api.ts'
import type { Profile, ProfileAnswer } from '../api-profiles.ts'
import type { LoadContext } from '../page.ts'
import { findPlaces } from './search.tsx'

/** Largest number of places side by side. */
export const PLACES_MAX = 6
/** Shortest text that is searched for. */
export const TEXT_MIN = 2

interface Found {
  readonly level: string
  readonly member: Member
}

export interface CompareData {
  readonly profiles: readonly Profile[]
  /** Places of the address that the release does not have, as `level:code`. */
  readonly missing: readonly string[]
  readonly text: string
  /** Places that a search for another one found; null where the key may not read them. */
  readonly found: readonly Found[] | null
  readonly release: string
  readonly synthetic: boolean
}

/** @returns the place of a profile as addresses name it, `level:code` */
export const addressOf = ({ place }: Profile): string => `${place.level}:${place.code}`

/** @returns the code of the state that a place lies in; '' for larger places */
export const stateOf = ({ place }: Profile): string =>
  String(place.parents.find(({ level }) => level === 'state')?.code ?? '')

async function loadProfile(api: Api, address: string): Promise<ProfileAnswer | null> {
  const [level = '', code = ''] = address.split(':')
  try {
    return await api.get<ProfileAnswer>(`/v1/profiles/${level}/${encodeURIComponent(code)}`)
  } catch (error) {
    if (error instanceof ApiFailure && error.problem.status === 404) return null
    throw error
  }
}

export async function loadComparison({ api, visit }: LoadContext): Promise<CompareData> {
  const params = new URLSearchParams(visit.search)
  const addresses = [...new Set(params.getAll('place'))].filter((place) => /^[a-z_]+:\w{1,10}$/.test(place))
  const text = (params.get('text') ?? '').trim().slice(0, SEARCH_MAX)
  const answers = await Promise.all(
    addresses
      .slice(0, PLACES_MAX)
      .map(async (address) => ({ address, answer: await loadProfile(api, address) })),
  )
  const found =
    text.length < TEXT_MIN
      ? { places: [], synthetic: false }
      : await findPlaces(api, ['municipality', 'health_region', 'state'], { search: text, limit: '10' })
  // Two addresses may be of one place: states are found in small letters, too.
  const loaded = [
    ...new Map(
      answers.flatMap(({ answer }) => (answer === null ? [] : [[addressOf(answer.data), answer] as const])),
    ).values(),
  ]
  return {
    profiles: loaded.map(({ data }) => data),
    missing: answers.flatMap(({ address, answer }) => (answer === null ? [address] : [])),
    text,
    found: found.places,
    release: loaded[0]?.meta.release_id ?? '',
    synthetic: found.synthetic || loaded.some(({ meta }) => meta.synthetic === true),
  }
}
