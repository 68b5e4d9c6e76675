/** Names that were given where a code is asked for. In: filters of a question. Out: lines that say which codes have these names. */
import type { Api, Member, Page } from '../explorer/api.ts'
import { SEARCH_MAX } from '../text-limits.ts'
import { addressOf } from './tool.ts'

/** Members are searched by name and by the beginning of a code, so the code itself is among these. */
const SEARCHED = 100
const SHOWN = 5
/** Values of one filter that are looked up. */
const VALUES = 3

/**
 * @param release whose codes they are; none: the one in service
 * @returns a line for each value that is no code of its dimension; none for a dimension that has no members to be searched
 */
export async function describeCodes(filter: unknown, api: Api, release: unknown): Promise<string[]> {
  const { dimension, value } = (filter ?? {}) as Readonly<Record<string, unknown>>
  const lines: string[] = []
  if (typeof dimension !== 'string' || dimension.length > SEARCH_MAX) return lines
  for (const own of (Array.isArray(value) ? value : [value]).slice(0, VALUES)) {
    if (typeof own !== 'string' && typeof own !== 'number') continue
    const path = `/v1/analytics/dimensions/${encodeURIComponent(dimension)}/values`
    const search = String(own).slice(0, SEARCH_MAX)
    const address = addressOf(path, { search, limit: SEARCHED, expected_release_id: release })
    const found = await api.get<Page<Member>>(address).catch(() => null)
    if (found === null || found.data.some(({ code }) => String(code) === search)) continue
    const codes = found.data.slice(0, SHOWN).map(({ code, name }) => `${JSON.stringify(code)} (${name})`)
    const known = codes.length === 0 ? 'members lists the codes' : `codes with this name: ${codes.join(', ')}`
    lines.push(
      `${JSON.stringify(typeof own === 'string' ? search : own)} is no code of ${dimension}; ${known}.`,
    )
  }
  return lines
}
