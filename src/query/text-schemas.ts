/**
 * Schemas of query parameters that stand for numbers, booleans and lists. In: bounds. Out: a zod schema that checks the text and carries
 * the JSON Schema of its value. The API document shows that JSON Schema, so both use the same bounds.
 */
import { z } from 'zod'
import { SEARCH_MAX } from '../text-limits.ts'
import { takes } from './field-texts.ts'

export type Json = { readonly [name: string]: unknown }

/** Schemas that the API document lists as components, by name. */
export const COMPONENTS: Record<string, Json> = {}
export const componentRef = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

/** @param name component name in the API document @returns the same schema, documented as a reference to the component */
export function componentAs<Schema extends z.ZodType>(schema: Schema, name: string): Schema {
  COMPONENTS[name] = documentOf(schema)
  return documentedAs(schema, componentRef(name))
}

const MEMBER = 'documented'

/** @param json replaces zod's own JSON Schema in the API document @returns the same schema */
export function documentedAs<Schema extends z.ZodType>(schema: Schema, json: Json): Schema {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), [MEMBER]: json })
  return schema
}

/** @returns JSON Schema of a zod schema, without `$schema`, which the API document states once */
export function documentOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): Json {
  // Replaced schemas may leave definitions behind that nothing refers to.
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...json
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const documented = jsonSchema[MEMBER] as Json | undefined
      // In some regular-expression engines \d also matches other digits; JSON Schema means [0-9].
      const { pattern, additionalProperties, default: defaultValue } = jsonSchema
      // An empty schema allows everything; true says so.
      if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length === 0)
        jsonSchema.additionalProperties = true
      if (pattern !== undefined) jsonSchema.pattern = pattern.replaceAll('\\d', '[0-9]')
      // Code generators treat a member with a default as required, which is wrong for a request. Put the default in the description.
      if (defaultValue !== undefined && io === 'input') {
        delete jsonSchema.default
        const { description } = jsonSchema
        const prefix = description === undefined ? '' : `${description} `
        jsonSchema.description = `${prefix}Without it: ${JSON.stringify(defaultValue)}.`
      }
      if (documented === undefined) return nameNull(jsonSchema)
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name as keyof typeof jsonSchema]
      Object.assign(jsonSchema, documented)
    },
  })
  return json
}

/** Writes "this or null" as two types of one schema, so that generators of clients keep its description. They lose null beside codes. */
function nameNull(schema: z.core.JSONSchema.BaseSchema): void {
  const [value, other, ...more] = schema.anyOf ?? []
  if (typeof value !== 'object' || typeof value.type !== 'string') return
  if (value.enum !== undefined || MEMBER in value) return
  if (typeof other !== 'object' || other.type !== 'null' || more.length > 0) return
  delete schema.anyOf
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] })
}

export const integerText = (low: number, high: number) =>
  documentedAs(
    takes(
      z
        .string()
        .regex(/^\d{1,9}$/)
        .refine((text) => Number(text) >= low && Number(text) <= high),
      `um número inteiro de ${low} a ${high}`,
      `a whole number from ${low} to ${high}`,
    ),
    { type: 'integer', minimum: low, maximum: high },
  )

export const jsonText = (max: number) =>
  documentedAs(z.string().min(2).max(max), {
    type: 'string',
    minLength: 2,
    maxLength: max,
    contentMediaType: 'application/json',
  })

export const booleanText = () => documentedAs(z.enum(['true', 'false']), { type: 'boolean' })

export const YEAR = documentedAs(
  takes(z.string().regex(/^[1-9]\d{3}$/), 'um ano de 4 dígitos', 'a year of 4 digits'),
  { type: 'integer', minimum: 1000, maximum: 9999 },
)

/** A search text needs at least one letter, digit or sign, because accents and blanks alone match every name. */
const SEARCHABLE =
  '^[\\s -~\\u00a0-\\ud7a3]*[!-~\\u00a1-\\u02ff\\u0370-\\u0482\\u1e00-\\u1fff\\u202a-\\u202e\\u2030-\\u205e\\u2100-\\u2bff\\u4e00-\\u9fff\\uac00-\\ud7a3][\\s -~\\u00a0-\\ud7a3]*$'
/** Also accepts characters outside the basic plane. The documented pattern omits them, because not all readers support them. */
const withPairs = (pattern: string): RegExp => new RegExp(pattern.replaceAll('\\ud7a3', '\\uffff'))

export const searchText = () =>
  documentedAs(
    takes(
      z
        .string()
        .min(1)
        .max(SEARCH_MAX, { abort: true })
        .regex(withPairs(SEARCHABLE))
        .refine((text) => text.isWellFormed()),
      `um texto de 1 a ${SEARCH_MAX} caracteres, não só de acentos ou espaços`,
      `a text of 1 to ${SEARCH_MAX} characters, not of accents or blanks alone`,
    ),
    { type: 'string', minLength: 1, maxLength: SEARCH_MAX, pattern: SEARCHABLE },
  )
