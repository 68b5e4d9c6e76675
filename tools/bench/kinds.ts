/**
 * Chooses five kinds of look-ups for scenarios of first seconds, pinned releases and promotions: records, pages, filtered
 * pages, searches, beds of a facility. In: a release's files and the cursors of its list.
 */
import type { Walk } from './context.ts'
import type { Direct } from './fixture.ts'
import { getAll, type Request } from './load.ts'

export interface Kind {
  readonly name: 'records' | 'pages' | 'filtered pages' | 'searches' | 'beds of a facility'
  readonly requests: readonly Request[]
}

/** @returns a seeded sort expression: a release gives the same keys in the same order */
export const seeded = (column: string, seed = 'bench'): string =>
  `hash(CAST(${column} AS VARCHAR) || '${seed}')`

/** @returns URL-encoded search texts as users type them: words and prefixes from names, with or without accents */
export async function searchTexts({ texts: read }: Direct, count: number): Promise<string[]> {
  const names = await read(
    `SELECT coalesce(trade_name, legal_name) FROM facilities WHERE is_active ORDER BY ${seeded('cnes_code')}, cnes_code LIMIT ${count * 2}`,
  )
  const texts = names.flatMap((name, index) => {
    const words = name.split(/[^\p{L}\d]+/u).filter((word) => word.length >= 4)
    const word = words[index % Math.max(1, words.length)]
    if (word === undefined) return []
    const two = words.slice(0, 2).join(' ')
    const kinds = [word, word.toLowerCase(), word.slice(0, 5), name.includes(two) ? two : word]
    const text = kinds[index % kinds.length] ?? word
    return [index % 3 === 0 ? text.normalize('NFD').replaceAll(/\p{Mn}/gu, '') : text]
  })
  return [...new Set(texts)].slice(0, count).map(encodeURIComponent)
}

/**
 * Limits from 1 to 100. They make every path distinct within a run, although pages, filters and names are few, so that no
 * response is cached.
 */
const LIMITS = Array.from({ length: 100 }, (_, index) => 1 + ((index * 37) % 100))
const withLimits = (paths: readonly string[]): string[] =>
  LIMITS.flatMap((limit) => paths.map((path) => `${path}&limit=${limit}`))

/**
 * @param pin release that every request names, or null
 * @param isWanted selects the facilities; all of the release by default
 */
export async function chooseKinds(
  direct: Direct,
  { starts }: Walk,
  pin: string | null,
  isWanted: (code: string) => boolean = () => true,
): Promise<Kind[]> {
  const address = (path: string, query = ''): string => {
    const pinned = pin === null ? '' : `expected_release_id=${pin}`
    const fullQuery = [pinned, query].filter((part) => part !== '').join('&')
    return fullQuery === '' ? path : `${path}?${fullQuery}`
  }
  const list = (query: string): string => address('/v1/facilities', query)
  const records = await direct.texts(
    `SELECT cnes_code FROM facilities ORDER BY ${seeded('cnes_code', 'kinds')}, cnes_code LIMIT 200000`,
  )
  const beds = await direct.texts(
    `SELECT DISTINCT cnes_code FROM bed_capacity ORDER BY ${seeded('cnes_code', 'kinds')}, cnes_code`,
  )
  const pairs = await direct.rows(
    `SELECT uf, facility_type_code AS type FROM facilities WHERE is_active AND facility_type_code IS NOT NULL
     GROUP BY uf, facility_type_code ORDER BY ${seeded('uf || facility_type_code')}, uf, type`,
  )
  const shuffled = starts.map((_, index) => starts[(index * 7919) % starts.length]?.cursor ?? '')
  return [
    {
      name: 'records',
      requests: getAll(records.filter(isWanted).map((code) => address(`/v1/facilities/${code}`))),
    },
    {
      name: 'pages',
      requests: getAll(withLimits(shuffled.map((cursor) => list(`cursor=${cursor}`)))),
    },
    {
      name: 'filtered pages',
      requests: getAll(withLimits(pairs.map(({ uf, type }) => list(`uf=${uf}&facility_type_code=${type}`)))),
    },
    {
      name: 'searches',
      requests: getAll(withLimits((await searchTexts(direct, 4000)).map((text) => list(`search=${text}`)))),
    },
    {
      name: 'beds of a facility',
      requests: getAll(beds.filter(isWanted).map((code) => address(`/v1/facilities/${code}/bed-capacity`))),
    },
  ]
}

export const partOf = ({ requests }: Kind, part: number, parts: number): Request[] =>
  requests.filter((_, index) => index % parts === part)

/** Interleaves all kinds, half of them records, like real traffic. */
export function mixKinds(kinds: readonly Kind[], count: number): Request[] {
  const [records, ...others] = kinds
  return Array.from({ length: count }, (_, index) => {
    const kind = index % 2 === 0 ? records : others[((index - 1) / 2) % others.length]
    const list = kind?.requests ?? []
    return list[Math.floor(index / 2) % Math.max(1, list.length)] ?? { path: '/health' }
  })
}
