/**
 * Writes validation messages: what a parameter or body field accepts, in Portuguese and English. In: a zod schema, the received value and
 * the validation error. Out: the invalid places, each with a message. The message comes from the JSON Schema of the zod schema or from the
 * text that `takes` registers, never from zod's own messages or internals. The meaning of codes in a query is checked in request.ts.
 */
import { z } from 'zod'
import { both, type ErrorDetail, type Text } from '../errors.ts'

const TEXTS = z.registry<{ takes: Text; enum?: readonly (string | number)[] }>()

/**
 * Registers the description of a schema whose shape does not describe it: `takes(z.string().regex(…), 'AAAA-MM', 'YYYY-MM')`. The texts
 * continue "deve ser" and "must be".
 */
export function takes<Schema extends z.ZodType>(schema: Schema, pt: string, en: string): Schema {
  TEXTS.add(schema, { takes: both(pt, en) })
  return schema
}

/** Registers a description that accepts one or several comma-separated values of `one`. */
export function takesSeveral<Schema extends z.ZodType>(schema: Schema, one: z.ZodType): Schema {
  const node = nodeOf(one)
  const { pt, en } = describeNode(node)
  const allowed = allowedAt(node)
  TEXTS.add(schema, {
    takes: both(`${pt}, ou vários separados por vírgulas`, `${en}, or several separated by commas`),
    ...(allowed.length === 0 ? {} : { enum: allowed }),
  })
  return schema
}

interface Node {
  readonly takes?: Text
  readonly type?: string
  readonly enum?: readonly (string | number)[]
  readonly const?: unknown
  readonly anyOf?: readonly Node[]
  readonly items?: Node
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

const NODES = new WeakMap<z.ZodType, Node>()
function nodeOf(schema: z.ZodType): Node {
  let node = NODES.get(schema)
  if (node === undefined) {
    node = z.toJSONSchema(schema, { io: 'input', metadata: TEXTS, unrepresentable: 'any' }) as Node
    NODES.set(schema, node)
  }
  return node
}

/** @returns bounds in words, such as "de 1 a 20" or "de até 20", or '' */
function boundsText(low: number | undefined, high: number | undefined, least = 0): Text {
  // Ignore bounds that no JSON number can exceed.
  const top = high === undefined || high >= Number.MAX_SAFE_INTEGER ? undefined : high
  const bottom = low === undefined || low <= -Number.MAX_SAFE_INTEGER || low < least ? undefined : low
  if (bottom !== undefined && top !== undefined)
    return bottom === top
      ? both(`de ${top}`, `of ${top}`)
      : both(`de ${bottom} a ${top}`, `of ${bottom} to ${top}`)
  if (top !== undefined) return both(`de até ${top}`, `of at most ${top}`)
  return bottom === undefined ? both('', '') : both(`de pelo menos ${bottom}`, `of at least ${bottom}`)
}

const spaced = (...words: readonly string[]): string => words.filter((word) => word !== '').join(' ')

function describeNode(node: Node): Text {
  if (node.takes !== undefined) return node.takes
  if (node.anyOf !== undefined) return joinTexts(node.anyOf.map(describeNode))
  if (node.enum !== undefined) return both('um dos valores permitidos', 'one of the allowed values')
  if (node.const !== undefined) return both(JSON.stringify(node.const), JSON.stringify(node.const))
  switch (node.type) {
    case 'null':
      return both('null', 'null')
    case 'boolean':
      return both('true ou false', 'true or false')
    case 'integer':
    case 'number': {
      const bounds = boundsText(node.minimum, node.maximum, Number.NEGATIVE_INFINITY)
      const isInteger = node.type === 'integer'
      return both(
        spaced('um número', isInteger ? 'inteiro' : '', bounds.pt),
        spaced(isInteger ? 'a whole number' : 'a number', bounds.en.replace(/^of (?=-?\d)/, 'from ')),
      )
    }
    case 'array': {
      const bounds = boundsText(node.minItems, node.maxItems)
      const item = node.items === undefined ? null : describeNode(node.items)
      return both(
        spaced('uma lista', bounds.pt, bounds.pt === '' ? '' : 'itens') +
          (item === null ? '' : `, cada um deles ${item.pt}`),
        spaced('a list', bounds.en, bounds.en === '' ? '' : 'items') +
          (item === null ? '' : `, each of them ${item.en}`),
      )
    }
    case 'object': {
      const names = Object.keys(node.properties ?? {}).join(', ')
      return names === ''
        ? both('um objeto', 'an object')
        : both(`um objeto com os campos ${names}`, `an object with the fields ${names}`)
    }
    default: {
      const bounds = boundsText(node.minLength, node.maxLength, 1)
      return both(
        spaced('um texto', bounds.pt, bounds.pt === '' ? '' : 'caracteres'),
        spaced('a text', bounds.en, bounds.en === '' ? '' : 'characters'),
      )
    }
  }
}

function joinTexts(texts: readonly Text[]): Text {
  const join = (words: readonly string[], or: string): string => [...new Set(words)].join(or)
  return both(
    join(
      texts.map(({ pt }) => pt),
      ' ou ',
    ),
    join(
      texts.map(({ en }) => en),
      ' or ',
    ),
  )
}

function nodeAt(node: Node | undefined, path: readonly PropertyKey[]): Node | undefined {
  if (node === undefined || path.length === 0) return node
  if (node.anyOf !== undefined) {
    for (const option of node.anyOf) {
      const found = nodeAt(option, path)
      if (found !== undefined) return found
    }
    return undefined
  }
  const [step, ...rest] = path
  const property = typeof step === 'string' ? node.properties?.[step] : undefined
  if (property !== undefined) return nodeAt(property, rest)
  if (typeof step === 'number') return nodeAt(node.items, rest)
  return typeof node.additionalProperties === 'object' ? nodeAt(node.additionalProperties, rest) : undefined
}

const allowedAt = (node: Node): readonly (string | number)[] =>
  node.anyOf === undefined ? (node.enum ?? []) : node.anyOf.flatMap(allowedAt)

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value
  for (const step of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, step)
        ? (found as Record<PropertyKey, unknown>)[step]
        : undefined
  return found
}

/** An invalid place. Body fields use the whole path, parameters only its first step. */
export interface OffendingPlace {
  readonly path: readonly PropertyKey[]
  readonly message: Text
  readonly allowed?: readonly (string | number)[]
}

/** Longest part of a client's name that a message repeats, in characters. */
const NAME_MAX = 100
const PLACES_MAX = 20

/**
 * @param schema the schema that rejected `value`
 * @param unknownName message for a member that the schema does not have
 * @returns at most 20 places, in the order of the schema
 */
function describeIssues(
  error: z.ZodError,
  schema: z.ZodType,
  value: unknown,
  unknownName: Text,
): OffendingPlace[] {
  const root = nodeOf(schema)
  const places = error.issues.flatMap((issue): OffendingPlace[] => {
    const path = issue.path.map((step) => (typeof step === 'string' ? step.slice(0, NAME_MAX) : step))
    const node = nodeAt(root, issue.path)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.slice(0, PLACES_MAX).map((name) => ({
        path: [...path, name.slice(0, NAME_MAX)],
        message: unknownName,
        allowed: Object.keys(node?.properties ?? {}),
      }))
    const { pt, en } = describeNode(node ?? {})
    const allowed = allowedAt(node ?? {})
    const found = valueAt(value, issue.path)
    return [
      {
        path,
        message:
          found === undefined
            ? both(`é obrigatório e deve ser ${pt}`, `is required and must be ${en}`)
            : both(`deve ser ${pt}`, `must be ${en}`),
        ...(allowed.length === 0 ? {} : { allowed }),
      },
    ]
  })
  // Several checks of one field may fail with the same message. Keep one.
  const once = new Map(places.map((place) => [`${pointerOf(place.path)} ${place.message.en}`, place]))
  return [...once.values()].slice(0, PLACES_MAX)
}

/** @returns a path as a JSON pointer (RFC 6901); '' is the body itself */
const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const NOT_REPEATABLE: Text = both('deve aparecer uma só vez', 'must appear only once')

export const describeBody = (error: z.ZodError, schema: z.ZodType, body: unknown): ErrorDetail[] =>
  describeIssues(
    error,
    schema,
    body,
    both('não é um campo deste pedido', 'is not a field of this request'),
  ).map(({ path, ...place }) => ({ pointer: pointerOf(path), ...place }))

export const describeParameters = (error: z.ZodError, schema: z.ZodType, query: object): ErrorDetail[] =>
  describeIssues(
    error,
    schema,
    query,
    both('não é um parâmetro desta rota', 'is not a parameter of this route'),
  ).map(({ path, ...place }) => {
    const parameter = String(path[0] ?? '')
    const isRepeated = Array.isArray((query as Record<string, unknown>)[parameter])
    return { parameter, ...place, ...(isRepeated ? { message: NOT_REPEATABLE } : {}) }
  })
