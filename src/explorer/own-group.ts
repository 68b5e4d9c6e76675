/**
 * A group of municipalities that a visitor makes: codes and names pasted as text. In: the text and the municipalities of the release.
 * Out: the codes that it names, and the lines that name none or several.
 */
import { type Api, type Member, type Problem, queryString } from './api.ts'
import { formatNumber, type Language } from './numbers.ts'

export interface OwnGroup {
  readonly name: string
  /** Dimension whose members are grouped. */
  readonly of: string
  readonly codes: readonly string[]
  /** Pasted text whose municipalities are not looked up yet, or that names none. */
  readonly paste: string
}

/** Code of the group among the grouped dimensions of a question. */
export const GROUP = 'group'
export const GROUP_DIMENSIONS = ['municipality', 'residence_municipality'] as const
/** An address with more codes would be longer than servers take. A larger group is refused, because a part of it would be another group. */
export const GROUP_CODES_MAX = 500
/** Largest number of characters of the pasted text. */
export const PASTE_MAX = 20_000

/** @param readText reads a parameter of the address @returns null when no field of a group is filled in */
export function readGroup(readText: (name: string) => string, codes: readonly string[]): OwnGroup | null {
  const paste = readText('group.paste')
  const name = readText('group.name').slice(0, 60)
  if (codes.length === 0 && paste === '' && name === '') return null
  const of = GROUP_DIMENSIONS.find((dimension) => dimension === readText('group.of')) ?? 'municipality'
  return { name, of, codes, paste }
}

/** @returns parameters of the address */
export const paramsOfGroup = (group: OwnGroup | null): Readonly<Record<string, string>> =>
  group === null
    ? {}
    : {
        'group.name': group.name,
        'group.of': group.of === 'municipality' ? '' : group.of,
        'group.in': group.codes.join(','),
        'group.paste': group.paste,
      }

/** @returns the grouping of the query body; members of no group are one more row */
export const bodyOfGroup = (
  group: OwnGroup | null,
  memberValue: (dimension: string, code: string) => string | number,
) =>
  group === null || group.codes.length === 0
    ? {}
    : {
        groupings: {
          [GROUP]: {
            dimension: group.of,
            others: 'group',
            groups: [
              {
                code: '1',
                name: group.name || 'Grupo',
                members: group.codes.map((code) => memberValue('municipality', code)),
              },
            ],
          },
        },
      }

export interface UnresolvedLine {
  readonly text: string
  /** Municipalities of that name; none when the release has no such name or code. */
  readonly candidates: readonly Member[]
}

const normalise = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Diacritic}/gu, '')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, ' ')
    .trim()

/** @returns lines of a text; commas separate, too, unless a state follows: "Bom Jesus, PB" */
export function linesOf(text: string): string[] {
  return text
    .split(/[\n\r;\t]+/)
    .flatMap((line) => line.split(/,(?!\s*[A-Za-z]{2}\s*(?:,|$))/))
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Finds municipalities by code (6 or 7 digits) or by name, with or without accents and state: "Bom Jesus", "Bom Jesus - PB". */
export function resolveLines(
  text: string,
  municipalities: readonly Member[],
): { readonly codes: readonly string[]; readonly unresolved: readonly UnresolvedLine[] } {
  const byCode = new Map<string, Member>()
  const byName = new Map<string, Member[]>()
  for (const member of municipalities) {
    const code = String(member.code)
    byCode.set(code, member).set(code.slice(0, 6), member)
    for (const key of [member.name ?? '', `${member.name} ${member.parent?.code}`].map(normalise))
      byName.set(key, [...(byName.get(key) ?? []), member])
  }
  const codes = new Set<string>()
  const unresolved: UnresolvedLine[] = []
  for (const line of linesOf(text)) {
    const digits = /^\d{6,7}$/.test(line) ? byCode.get(line) : undefined
    const alike = digits === undefined ? (byName.get(normalise(line)) ?? []) : [digits]
    // Goiana and Goianá are two municipalities, which only their accents tell apart.
    const exact = alike.filter(({ name }) => name === line.normalize('NFC'))
    const found = exact.length === 0 ? alike : exact
    if (found.length === 1) codes.add(String(found[0]?.code))
    else unresolved.push({ text: line, candidates: found })
  }
  return { codes: [...codes], unresolved }
}

const REFUSALS = {
  codes: {
    pt: (count: string, most: string) => `O grupo tem ${count} municípios; cabem ${most}.`,
    en: (count: string, most: string) => `The group has ${count} municipalities; ${most} fit.`,
  },
  paste: {
    pt: (count: string, most: string) => `O texto colado tem ${count} caracteres; cabem ${most}.`,
    en: (count: string, most: string) => `The pasted text has ${count} characters; ${most} fit.`,
  },
} as const

interface ResolvedGroup {
  readonly group: OwnGroup | null
  readonly unresolved: readonly UnresolvedLine[]
  /** Why the group is too large to be answered, or null. */
  readonly refusal: Problem | null
}

/** Looks up the municipalities that a visitor pasted. @returns the group with their codes; a group that is too large stays as it is */
export async function resolveGroup(
  api: Api,
  group: OwnGroup | null,
  release: string,
  language: Language,
): Promise<ResolvedGroup> {
  const refuse = (part: keyof typeof REFUSALS, count: number, most: number): ResolvedGroup => {
    const show = (value: number): string => formatNumber(value, 0, language)
    const detail = REFUSALS[part][language](show(count), show(most))
    return { group, unresolved: [], refusal: { status: 400, code: 'large_group', title: '', detail } }
  }
  const { codes = [], paste = '' } = group ?? {}
  if (paste.length > PASTE_MAX) return refuse('paste', paste.length, PASTE_MAX)
  const found =
    paste === '' ? { codes: [], unresolved: [] } : resolveLines(paste, await listAll(api, release))
  const all = [...new Set([...codes, ...found.codes])]
  if (all.length > GROUP_CODES_MAX) return refuse('codes', all.length, GROUP_CODES_MAX)
  const { unresolved } = found
  const resolved =
    group === null ? null : { ...group, codes: all, paste: unresolved.map(({ text }) => text).join('\n') }
  return { group: resolved, unresolved, refusal: null }
}

/** @returns the municipalities of a release; '' is the one in service */
async function listAll(api: Api, release: string): Promise<readonly Member[]> {
  const municipalities: Member[] = []
  for (let hasMore = true; hasMore; ) {
    const page = queryString({
      limit: '250',
      offset: String(municipalities.length),
      expected_release_id: release,
    })
    const { data, pagination } = await api.get<{
      readonly data: readonly Member[]
      readonly pagination: { readonly has_more: boolean }
    }>(`/v1/analytics/dimensions/municipality/values${page}`)
    municipalities.push(...data)
    hasMore = pagination.has_more && data.length > 0
  }
  return municipalities.filter(({ code }) => code !== null)
}
