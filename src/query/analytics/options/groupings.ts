/**
 * Parses groupings: groups of a dimension's members that stand as a dimension of the query. Pure.
 *
 * Inside the service a grouping has a code of its slot (model/dimensions.ts), so that it is planned like any dimension that
 * follows from another. Requests and answers use the name that the request gives it.
 */
import { z } from 'zod'
import { both } from '../../../errors.ts'
import {
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  GROUPINGS_MAX,
  groupingCode,
  isMunicipality,
} from '../../../model/dimensions.ts'
import { isTime } from '../../../model/periods.ts'
import { SEARCH_MAX } from '../../../text-limits.ts'
import { takes } from '../../field-texts.ts'
import { refuse } from '../../refusals.ts'
import { componentAs } from '../../text-schemas.ts'
import {
  dimensionText,
  type FilterValue,
  normaliseFilters,
  type QueryFilter,
  resolveDimension,
  resolveValue,
  unique,
} from '../filters.ts'
import { labelText, nameText, problemOfName } from './defined-metrics.ts'

export interface Group {
  readonly code: string
  readonly name: string
  /** Sorted, in the form of the dimension's column. No two groups share one. */
  readonly members: readonly FilterValue[]
}

export interface Grouping {
  /** Stands for the grouping among the dimensions of the query. */
  readonly code: DimensionCode
  readonly name: string
  /** The dimension whose members are grouped. */
  readonly dimension: DimensionCode
  /** Sorted by code. */
  readonly groups: readonly Group[]
  /** Members of no group: the query leaves them out, or they form one more group without a code. */
  readonly others: 'leave_out' | 'group'
}

const GROUPS_MAX = 1000
const MEMBERS_MAX = 6000
/** Members of all groupings together; an answer repeats them in its query. */
const ALL_MEMBERS_MAX = 12_000

const groupItem = z.strictObject({
  code: takes(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/),
    'um código de até 40 letras, dígitos, ponto, _ ou -, que comece por letra ou dígito',
    'a code of up to 40 letters, digits, dots, _ or -, which begins with a letter or digit',
  ),
  name: labelText,
  members: takes(
    z
      .array(z.union([z.string().max(SEARCH_MAX), z.number().int()]))
      .min(1)
      .max(MEMBERS_MAX),
    `uma lista de 1 a ${MEMBERS_MAX} códigos`,
    `a list of 1 to ${MEMBERS_MAX} codes`,
  ),
})
const groupingItem = componentAs(
  z.strictObject({
    dimension: dimensionText,
    groups: z.array(groupItem).min(1).max(GROUPS_MAX),
    others: z
      .enum(['leave_out', 'group'])
      .default('leave_out')
      .describe(
        'leave_out: the query is about the members of the groups alone, totals too; group: all others form one more group, without a code.',
      ),
  }),
  'Grouping',
)
export const groupingsField = takes(
  z.record(nameText, groupingItem).refine((groupings) => Object.keys(groupings).length <= GROUPINGS_MAX),
  `um objeto de no máximo ${GROUPINGS_MAX} agrupamentos por nome`,
  `an object of at most ${GROUPINGS_MAX} groupings by name`,
)
  .optional()
  .describe(
    `Up to ${GROUPINGS_MAX} groups of members by name, for group_by: everything is computed again for each group, rates over the population of its members.`,
  )

type GroupingsData = z.infer<typeof groupingsField>

/**
 * @param used names in group_by; other groupings have no effect and are dropped
 * @throws AppError 'invalid_request', 'unknown_dimension'
 */
export function resolveGroupings(data: GroupingsData, used: readonly string[]): Grouping[] {
  const entries = Object.entries(data ?? {}).sort(([left], [right]) => (left < right ? -1 : 1))
  const groupings = entries.map(([name, { dimension, groups, others }]) => {
    const pointer = `/groupings/${name}`
    const otherNames = entries.map(([other]) => other).filter((other) => other !== name)
    const problem = problemOfName(name, otherNames)
    if (problem !== null) throw refuse('invalid_request', pointer, problem)
    const code = resolveDimension(dimension, `${pointer}/dimension`)
    if (isTime(code))
      throw refuse(
        'invalid_request',
        `${pointer}/dimension`,
        both(
          'não tem membros para agrupar: use reference_year, reference_quarter ou reference_quadrimester',
          'has no members to group: use reference_year, reference_quarter or reference_quadrimester',
        ),
        DIMENSION_CODES.filter((other) => !isTime(other)),
      )
    return { name, dimension: code, others, groups: resolveGroups(code, groups, `${pointer}/groups`) }
  })
  const members = groupings.flatMap(({ groups }) => groups.flatMap((group) => group.members))
  if (members.length > ALL_MEMBERS_MAX)
    throw refuse(
      'invalid_request',
      '/groupings',
      both(
        `não podem ter mais de ${ALL_MEMBERS_MAX} membros juntos; têm ${members.length}`,
        `must not have more than ${ALL_MEMBERS_MAX} members together; they have ${members.length}`,
      ),
    )
  return groupings
    .filter(({ name }) => used.includes(name))
    .map((grouping, index) => ({ ...grouping, code: groupingCode(grouping.dimension, index + 1) }))
}

function resolveGroups(
  dimension: DimensionCode,
  data: readonly z.infer<typeof groupItem>[],
  pointer: string,
): Group[] {
  const codes = new Set<string>()
  const groupOf = new Map<FilterValue, string>()
  let count = 0
  const groups = data.map(({ code, name, members }, index): Group => {
    if (codes.has(code))
      throw refuse(
        'invalid_request',
        `${pointer}/${index}/code`,
        both('já é o código de outro grupo', 'is the code of another group'),
      )
    codes.add(code)
    const values = members.map((member, position) => {
      const memberPointer = `${pointer}/${index}/members/${position}`
      const value = resolveValue(dimension, member, memberPointer)
      checkLabel(dimension, value, memberPointer)
      // Codes of six and of seven digits may name the same municipality.
      const key = isMunicipality(dimension) ? sixDigits(value) : value
      const other = groupOf.get(key) ?? code
      if (other !== code)
        throw refuse(
          'invalid_request',
          memberPointer,
          both(
            `${value} já está no grupo ${other}; um membro fica em um só grupo`,
            `${value} is in the group ${other} already; a member is in one group only`,
          ),
        )
      groupOf.set(key, code)
      return value
    })
    count += values.length
    return { code, name, members: sortValues(unique(values)) }
  })
  if (count > MEMBERS_MAX)
    throw refuse(
      'invalid_request',
      pointer,
      both(
        `não podem ter mais de ${MEMBERS_MAX} membros juntos; têm ${count}`,
        `must not have more than ${MEMBERS_MAX} members together; they have ${count}`,
      ),
    )
  return groups.sort((left, right) => (left.code < right.code ? -1 : 1))
}

const sixDigits = (value: FilterValue): number => {
  const code = Number(value)
  return code < 1_000_000 ? code : Math.floor(code / 10)
}

export const sortValues = (values: readonly FilterValue[]): FilterValue[] =>
  [...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0))

/** Members of a closed list are checked here, those of a release's list in analytics/group-members.ts. */
function checkLabel(dimension: DimensionCode, value: FilterValue, pointer: string): void {
  const { labels } = dimensionOf(dimension)
  if (labels === undefined || Object.hasOwn(labels, String(value))) return
  throw refuse(
    'invalid_request',
    pointer,
    both(`${value} não é membro de ${dimension}`, `${value} is no member of ${dimension}`),
    Object.keys(labels),
  )
}

/** @returns the filters that leave out members of no group */
export const filtersOfGroupings = (groupings: readonly Grouping[]): QueryFilter[] =>
  normaliseFilters(
    groupings
      .filter(({ others }) => others === 'leave_out')
      .map(({ dimension, groups }) => ({
        dimension,
        operator: 'IN',
        values: groups.flatMap(({ members }) => members),
      })),
  )

/** @returns the name of a grouped dimension or grouping in requests and answers */
export const nameOfGroup = (
  code: string,
  { groupings }: { readonly groupings: readonly Pick<Grouping, 'code' | 'name'>[] },
): string => groupings.find((grouping) => grouping.code === code)?.name ?? code

/** @returns the code of a grouped dimension or grouping; the name itself when it is no grouping */
export const codeOfGroup = (name: string, groupings: readonly Pick<Grouping, 'code' | 'name'>[]): string =>
  groupings.find((grouping) => grouping.name === name)?.code ?? name

export const normaliseGroupings = (groupings: readonly Grouping[]) =>
  Object.fromEntries(
    groupings.map(({ name, dimension, groups, others }) => [
      name,
      {
        dimension,
        groups: groups.map((group) => ({ code: group.code, name: group.name, members: group.members })),
        others,
      },
    ]),
  )
