/** Shorthand constructors for JSON schemas. Pure. */
import { componentRef, type Json } from '../../query/text-schemas.ts'

export { COMPONENTS, documentOf, type Json } from '../../query/text-schemas.ts'

export const text = (description: string): Json => ({ type: 'string', description })
export const integer = (description: string): Json => ({ type: 'integer', minimum: 0, description })
export const number = (description: string): Json => ({ type: 'number', description })
export const flag = (description: string): Json => ({ type: 'boolean', description })
export const oneOf = (values: readonly string[], description: string): Json => ({
  type: 'string',
  enum: values,
  description,
})
export const ref = componentRef
export function orNull(schema: Json): Json {
  const { type, enum: values, ...rest } = schema
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return {
    type: [type, 'null'],
    ...(values === undefined ? {} : { enum: [...(values as string[]), null] }),
    ...rest,
  }
}
export const list = (items: Json, description?: string): Json => ({
  type: 'array',
  items,
  ...(description === undefined ? {} : { description }),
})
/** An object with exactly these members; a name that ends in ? is optional. */
export const object = (properties: Readonly<Record<string, Json>>, description?: string): Json => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !name.endsWith('?')),
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name.replace(/\?$/, ''), schema]),
  ),
})
export const openObject = (properties: Readonly<Record<string, Json>>, description?: string): Json => ({
  ...object(properties, description),
  additionalProperties: true,
})
export const dictionary = (schema: Json, description: string): Json => ({
  type: 'object',
  additionalProperties: schema,
  description,
})
