/** Suggests codes for names in filters. In: a filter. Out: one sentence for each value that is not a code of its dimension. */
import type { Api, Member, Page } from '../explorer/api.ts'
import { SEARCH_MAX } from '../text-limits.ts'
import { addressOf } from './tool.ts'

/** Members requested in one search. A search covers names and beginnings of codes, so it also finds the code itself. */
const SEARCHED = 100
const SHOWN = 5
const VALUES = 3

/**
 * @param release analytics release; undefined means the one in service
 * @returns a line for each value that is not a code; none for a dimension without searchable members
 */
export async function describeCodes(filter: unknown, api: Api, release: unknown): Promise<string[]> {
  const { dimension, value } = (filter ?? {}) as Readonly<Record<string, unknown>>
  const lines: string[] = []
  if (typeof dimension !== 'string' || dimension.length > SEARCH_MAX) return lines
  for (const element of (Array.isArray(value) ? value : [value]).slice(0, VALUES)) {
    if (typeof element !== 'string' && typeof element !== 'number') continue
    const path = `/v1/analytics/dimensions/${encodeURIComponent(dimension)}/values`
    const search = String(element).slice(0, SEARCH_MAX)
    const address = addressOf(path, { search, limit: SEARCHED, expected_release_id: release })
    const found = await api.get<Page<Member>>(address).catch(() => null)
    if (found === null || found.data.some(({ code }) => String(code) === search)) continue
    const codes = found.data.slice(0, SHOWN).map(({ code, name }) => `${JSON.stringify(code)} (${name})`)
    const suggestion =
      codes.length === 0 ? 'members lists the codes' : `codes with this name: ${codes.join(', ')}`
    lines.push(
      `${JSON.stringify(typeof element === 'string' ? search : element)} is no code of ${dimension}; ${suggestion}.`,
    )
  }
  return lines
}
