/**
 * Texts of an address that stand for numbers, truth values and lists. In: bounds. Out: the zod schema that checks the text, which
 * knows the JSON Schema of what the text stands for; the API document shows that one, so both are made of the same bounds.
 */
import { z } from 'zod'
import { SEARCH_MAX } from '../text-limits.ts'
import { takes } from './field-texts.ts'

export type Json = { readonly [name: string]: unknown }

/** Schemas that the API document shows by a name, wherever they stand. */
export const COMPONENTS: Record<string, Json> = {}
export const componentRef = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

/** @param name of the schema in the API document @returns the same schema, which is shown by its name from here on */
export function componentAs<Schema extends z.ZodType>(schema: Schema, name: string): Schema {
  COMPONENTS[name] = documentOf(schema)
  return documentedAs(schema, componentRef(name))
}

/** Member under which the registry of zod keeps what a schema is documented as. */
const MEMBER = 'documented'

/** @param json what the document shows in place of what zod would say of the schema @returns the same schema */
export function documentedAs<Schema extends z.ZodType>(schema: Schema, json: Json): Schema {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), [MEMBER]: json })
  return schema
}

/** @returns JSON Schema of a zod schema, without the dialect: the document names one for all */
export function documentOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): Json {
  // What is documented in other words may leave definitions behind that nothing names.
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...json
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      const documented = jsonSchema[MEMBER] as Json | undefined
      // \d is [0-9] in JSON Schema, but other digits, too, in some languages that read it.
      const { pattern, default: usual } = jsonSchema
      if (pattern !== undefined) jsonSchema.pattern = pattern.replaceAll('\\d', '[0-9]')
      // Generators take a member with a default for one that is always there, which of a request it is not.
      if (usual !== undefined && io === 'input') {
        delete jsonSchema.default
        const { description } = jsonSchema
        const ownText = description === undefined ? '' : `${description} `
        jsonSchema.description = `${ownText}Without it: ${JSON.stringify(usual)}.`
      }
      if (documented === undefined) return
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name as keyof typeof jsonSchema]
      Object.assign(jsonSchema, documented)
    },
  })
  return json
}

/** A whole number in digits. */
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

/** JSON in an address; what it is of stands in the document beside it. */
export const jsonText = (max: number) =>
  documentedAs(z.string().min(2).max(max), {
    type: 'string',
    minLength: 2,
    maxLength: max,
    contentMediaType: 'application/json',
  })

/** true or false. */
export const booleanText = () => documentedAs(z.enum(['true', 'false']), { type: 'boolean' })

/** A year of 4 digits. */
export const YEAR = documentedAs(
  takes(z.string().regex(/^[1-9]\d{3}$/), 'um ano de 4 dígitos', 'a year of 4 digits'),
  { type: 'integer', minimum: 1000, maximum: 9999 },
)

/** What a search may be of: letters, digits and signs. Accents and blanks alone are part of every name. */
const SEARCHABLE =
  '^[\\s -~\\u00a0-\\ud7a3]*[!-~\\u00a1-\\u02ff\\u0370-\\u0482\\u1e00-\\u1fff\\u202a-\\u202e\\u2030-\\u205e\\u2100-\\u2bff\\u4e00-\\u9fff\\uac00-\\ud7a3][\\s -~\\u00a0-\\ud7a3]*$'
/** Signs that UTF-16 writes in two parts are read, too; not all that read patterns know what those are. */
const withPairs = (pattern: string): RegExp => new RegExp(pattern.replaceAll('\\ud7a3', '\\uffff'))

/** Words of a name, or the beginning of a code. */
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
