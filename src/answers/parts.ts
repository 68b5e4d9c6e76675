/** Schemas that several answers share. An answer's schema is its type for who makes it and who reads it, and its entry in the API document. */
import { z } from 'zod'
import type { JsonValue } from '../engine/types.ts'
import { componentRef, documentedAs } from '../query/text-schemas.ts'

/** The type of the answers that a schema describes. */
export type AnswerOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>
type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value

export const text = (description: string) => z.string().describe(description)
export const flag = (description: string) => z.boolean().describe(description)
export const count = (description: string) => z.int().min(0).describe(description)
export const oneOf = <const Values extends readonly string[]>(values: Values, description: string) =>
  z.enum(values).describe(description)
export const dictionary = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  z.record(z.string(), schema).describe(description)

/** JSON Schema of a digest. */
export const SHA256 = { type: 'string', pattern: '^[0-9a-f]{64}$' }

/** A number that is null where it is not defined. */
export const value = (description?: string) => {
  const schema = z.number().nullable()
  return description === undefined ? schema : schema.describe(description)
}
export const month = (description: string) =>
  z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}$/)
    .describe(description)

/** Code of a member of a dimension; null is the member without a code. */
export const memberCode = (description?: string) =>
  documentedAs(z.union([z.string(), z.number(), z.null()]), {
    type: ['string', 'integer', 'null'],
    ...(description === undefined ? {} : { description }),
  })

/** A part that the API document describes elsewhere. */
const refer = <Schema extends z.ZodType>(schema: Schema, component: string): Schema =>
  documentedAs(schema, componentRef(component))
export const metricCode = refer(z.string(), 'MetricCode')
export const dimensionCode = refer(z.string(), 'DimensionCode')
export const operator = refer(z.string(), 'FilterOperator')
export const metricSide = refer(z.string(), 'MetricSide')
export const queryBody = refer(z.custom<Readonly<Record<string, JsonValue>>>(), 'AnalyticsQueryRequest')
