/** The fields of all areas: every column once, so that equal names mean equal things. Values only. */
import { FIELDS } from './areas.ts'
import type { Field } from './types.ts'

export type { FieldType } from './types.ts'

export { FIELDS }
export type FieldName = keyof typeof FIELDS

/** @returns the declaration of a field, with optional members visible to the type checker */
export const fieldOf = (fieldName: FieldName): Field => FIELDS[fieldName]
