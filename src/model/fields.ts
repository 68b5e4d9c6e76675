/** The fields of all areas. Each column is declared once, so that equal names mean equal things. Values only. */
import { FIELDS } from './declarations.ts'
import type { Field } from './types.ts'

export type { FieldType } from './types.ts'

export { FIELDS }
export type FieldName = keyof typeof FIELDS

export const fieldOf = (fieldName: FieldName): Field => FIELDS[fieldName]
