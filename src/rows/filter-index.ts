/**
 * Finds the rows that meet the filters of a list. Input: the filtered values of each row. Output: lists of rows by value, stored in
 * the row file, and sets of rows that meet conditions.
 *
 * Filters whose values correlate (state and municipality) share one index, whose entries hold the values of all its filters. A
 * condition is tested on the few entries, and the rows of the matching entries are united. The result therefore equals that of the
 * SQL in `query/lists/filters.ts`, including NULL: a missing value meets no comparison.
 */
import type { JsonValue } from '../engine/types.ts'
import type { Dataset, Filter } from '../model/datasets.ts'
import { codesIn, isNumber, placesIn } from '../query/lists/filters.ts'
import { type CodedColumn, mergeColumns } from './columns.ts'
import { visitList } from './row-lists.ts'
import { collectRows, type RowSet } from './row-sets.ts'
import type { ByteRange, SectionFile } from './sections.ts'

/** A declaration reduced to what filters read: characteristic, provider kind, four flags. */
export type DeclarationProfile = readonly (string | boolean | null)[]
const MEMBERS = [
  'characteristic_code',
  'provider_kind',
  'has_ambulatory',
  'has_ambulatory_sus',
  'has_hospital',
  'has_hospital_sus',
] as const
export const DECLARATIONS = 'declarations'

export interface FilterIndexHead {
  /** Columns whose values the entries hold, or `declarations`. */
  readonly columns: readonly string[]
  readonly entries: readonly (readonly JsonValue[])[]
  /** End of each entry's rows in `bytes`. */
  readonly ends: ByteRange
  readonly bytes: ByteRange
}

/** Largest number of distinct values that merging may produce, unless the group already has more. */
const MERGED_MAX = 256

/** @returns the column that a filter reads; null for filters without an index (text search and the first key column) */
export function filterColumn(dataset: Dataset, name: string): string | null {
  const filter = dataset.filters?.[name]
  if (filter === undefined || filter.kind === 'search') return null
  if (filter.kind === 'declaration') return DECLARATIONS
  if (filter.kind === 'status') return 'is_active'
  const column = filter.column ?? name
  // Rows are sorted by key, so a prefix of the first key column selects a contiguous range.
  return column === dataset.key[0] && ['equals', 'municipality', 'within'].includes(filter.kind)
    ? null
    : column
}

export const filterColumns = (dataset: Dataset): string[] => [
  ...new Set(Object.keys(dataset.filters ?? {}).flatMap((name) => filterColumn(dataset, name) ?? [])),
]

/** Merges columns into as few groups as possible without many more entries. */
export function groupColumns(
  columns: ReadonlyMap<string, CodedColumn>,
): { names: string[]; column: CodedColumn }[] {
  const groups: { names: string[]; column: CodedColumn }[] = []
  const largestFirst = [...columns].sort(([, left], [, right]) => right.values.length - left.values.length)
  for (const [name, { codes, values }] of largestFirst) {
    const single: CodedColumn = { codes, values: values.map((value) => [value]) }
    let isMerged = false
    for (const group of groups) {
      const max = Math.max(MERGED_MAX, group.column.values.length)
      const merged = mergeColumns(group.column, single, max, (left, right) => [
        ...(left as JsonValue[]),
        ...(right as JsonValue[]),
      ])
      if (merged === null) continue
      group.names.push(name)
      group.column = merged
      isMerged = true
      break
    }
    if (!isMerged) groups.push({ names: [name], column: single })
  }
  return groups
}

/** Distinct declarations of an offering, as an entry stores them. @param declarations as the record shows them */
export function profilesOf(declarations: JsonValue): DeclarationProfile[] {
  const profiles = new Map<string, DeclarationProfile>()
  for (const declaration of (declarations ?? []) as Record<string, string | boolean | null>[]) {
    const profile = MEMBERS.map((member) => declaration[member] ?? null)
    profiles.set(JSON.stringify(profile), profile)
  }
  return [...profiles].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, profile]) => profile)
}

type Test = (entry: readonly JsonValue[]) => boolean

/** @param params valid filters on columns of this index, names → texts */
function createTest(
  dataset: Dataset,
  columns: readonly string[],
  params: readonly (readonly [string, string])[],
): Test {
  const tests: Test[] = []
  const profileTests: ((profile: DeclarationProfile) => boolean)[] = []
  for (const [name, text] of params) {
    const filter = dataset.filters?.[name]
    if (filter === undefined || filter.kind === 'search') continue
    const at = columns.indexOf(filterColumn(dataset, name) ?? '')
    if (filter.kind !== 'declaration') {
      const meets = valueTest(filter, text)
      tests.push((entry) => meets(entry[at] ?? null))
    } else if ('boolean' in filter.values && text === 'false') {
      // `false` is the complement of `true` over offerings: no declaration may have the flag.
      const meets = declarationTest(filter.column, 'true')
      tests.push((entry) => !(entry[at] as unknown as DeclarationProfile[]).some(meets))
    } else profileTests.push(declarationTest(filter.column, text))
  }
  if (profileTests.length > 0) {
    const at = columns.indexOf(DECLARATIONS)
    tests.push((entry) =>
      (entry[at] as unknown as DeclarationProfile[]).some((profile) =>
        profileTests.every((meets) => meets(profile)),
      ),
    )
  }
  return (entry) => tests.every((meets) => meets(entry))
}

function declarationTest(column: string, text: string): (profile: DeclarationProfile) => boolean {
  const member = (profile: DeclarationProfile, name: (typeof MEMBERS)[number]) =>
    profile[MEMBERS.indexOf(name)]
  if (column === 'offers_any_sus')
    return (profile) =>
      member(profile, 'has_ambulatory_sus') === true || member(profile, 'has_hospital_sus') === true
  const name = column as (typeof MEMBERS)[number]
  if (text === 'true') return (profile) => member(profile, name) === true
  const wanted = new Set<string | boolean | null | undefined>(codesIn(text))
  return (profile) => wanted.has(member(profile, name))
}

function valueTest(
  filter: Exclude<Filter, { kind: 'declaration' | 'search' }>,
  text: string,
): (value: JsonValue) => boolean {
  switch (filter.kind) {
    case 'equals': {
      const codes = codesIn(text)
      const wanted = new Set<JsonValue>(isNumber(filter.values) ? codes.map(Number) : codes)
      return (value) => value !== null && wanted.has(value)
    }
    case 'municipality': {
      const wanted = new Set(codesIn(text))
      return (value) => {
        const code = String(value)
        return wanted.has(code) || wanted.has(code.slice(0, -1))
      }
    }
    case 'within': {
      const wanted = new Set(placesIn(text))
      return (value) => value !== null && wanted.has(String(value))
    }
    case 'prefix': {
      const wanted = codesIn(text)
      return (value) => wanted.some((code) => String(value).startsWith(code))
    }
    case 'positive':
      return (value) => value !== null && Number(value) > 0 === (text === 'true')
    case 'flag':
      return (value) => value === (text === 'true')
    case 'status':
      return (value) => value === (text === 'active')
  }
}

export function findMatchingRows(
  dataset: Dataset,
  rows: number,
  file: SectionFile,
  index: FilterIndexHead & { readonly ends32: Uint32Array },
  params: readonly (readonly [string, string])[],
): RowSet {
  const meets = createTest(dataset, index.columns, params)
  const found = collectRows(rows)
  const { entries, ends32 } = index
  let entry = 0
  while (entry < entries.length) {
    if (!meets(entries[entry] ?? [])) {
      entry += 1
      continue
    }
    // Adjacent lists are read with one call.
    const first = entry
    while (entry + 1 < entries.length && meets(entries[entry + 1] ?? [])) entry += 1
    const start = first === 0 ? 0 : (ends32[first - 1] ?? 0)
    const bytes = file.read([index.bytes[0] + start, (ends32[entry] ?? 0) - start])
    for (let at = first; at <= entry; at += 1)
      visitList(bytes, (at === 0 ? 0 : (ends32[at - 1] ?? 0)) - start, (ends32[at] ?? 0) - start, found.add)
    entry += 1
  }
  return found.finish()
}
