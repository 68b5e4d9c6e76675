/** The schemas of records, of the rows of lists, and of what is added to them, made from the fields of the datasets. Pure. */
import { FACILITY_LINEAGE, FACT_LINEAGE, type FactName, type Family } from '../model/cnes/lineage.ts'
import { DATASETS, type Dataset } from '../model/datasets.ts'
import { type FieldName, type FieldType, fieldOf } from '../model/fields.ts'
import type { Lineage } from '../model/types.ts'
import { BESIDE } from './facility-beside.ts'
import { type Json, orNull } from './openapi-answers.ts'
import type { ListRoute, RecordRoute } from './route.ts'

const TEXT: Json = { type: ['string', 'null'] }
const FIELD_SCHEMAS: Readonly<Record<FieldType, Json>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  coordinate: { type: 'number' },
  date: { type: 'string', format: 'date' },
  period: { type: 'string', pattern: '^\\d{4}-\\d{2}$' },
  address: {
    type: 'object',
    properties: { street: TEXT, number: TEXT, complement: TEXT, district: TEXT, postal_code: TEXT },
  },
  declarations: { type: 'array', items: { type: 'object' } },
  cells: { type: 'array', items: { type: 'object' } },
  codes: { type: 'array', items: { type: 'string' } },
  percentage: { type: 'number' },
}

/** Where a field was published: its columns in the national base and in the files by state. */
function publishedColumns(dataset: string, field: string): string[] {
  const lineage: Readonly<Record<Family, readonly Lineage[]>> | undefined =
    dataset === 'facilities' ? FACILITY_LINEAGE : FACT_LINEAGE[dataset as FactName]
  const columnIn = (family: Family): string | undefined =>
    lineage?.[family].find(({ attribute }) => attribute === field || attribute.startsWith(`${field}.`))
      ?.column
  const [base, state] = [columnIn('base'), columnIn('state')]
  if (base === undefined && state === undefined) return []
  return [
    `Source: ${[base, state === base ? undefined : state].filter((name) => name !== undefined).join(' or ')}.`,
  ]
}

export function recordSchema(dataset: Dataset, isDetail: boolean): Json {
  const names = [...dataset.fields, ...(isDetail ? (dataset.detail ?? []) : [])]
  const describe = (name: FieldName): Json => {
    const { type, nullable, description, unit } = fieldOf(name)
    const schema = FIELD_SCHEMAS[type]
    const measured = unit === undefined ? [] : [`Unit: ${unit}.`]
    return {
      ...(nullable === true ? orNull(schema) : schema),
      description: [description, ...measured, ...publishedColumns(dataset.name, name)].join(' '),
    }
  }
  return {
    type: 'object',
    additionalProperties: false,
    description: dataset.description,
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, describe(name)])),
  }
}

const SUSPECT: Json = {
  type: ['boolean', 'null'],
  description:
    'The coordinates lie more than 0.2 degrees outside of the box around the outline of the municipality; null without coordinates or outline.',
}

/** A record, with what is said of it at the time of the answer. */
export function markedSchema({ dataset, marksCoordinates }: RecordRoute): Json {
  const record = recordSchema(dataset, true) as { readonly properties: Json; readonly required: string[] }
  if (marksCoordinates !== true) return record
  return {
    ...record,
    required: [...record.required, 'coordinates_suspect'],
    properties: { ...record.properties, coordinates_suspect: SUSPECT },
  }
}

/** A row of a list, with what a request may have added to it. */
export function listedSchema(route: ListRoute): Json {
  const record = recordSchema(route.dataset, false) as { readonly properties: Json }
  const facility = {
    ...recordSchema(DATASETS.facilities, true),
    required: [...BESIDE, 'coordinates_suspect'],
    additionalProperties: false,
  }
  const { properties } = facility as unknown as { readonly properties: Readonly<Record<string, Json>> }
  const beside = {
    ...Object.fromEntries(BESIDE.map((field) => [field, properties[field]])),
    coordinates_suspect: SUSPECT,
  }
  const added: Json = {
    ...(route.includes === undefined
      ? {}
      : {
          facility: {
            ...facility,
            type: ['object', 'null'],
            description: 'With include=facility: the facility in the month of the row.',
            properties: beside,
          },
        }),
    ...(route.features === undefined
      ? {}
      : { distance_km: { type: 'number', description: 'With near: kilometres to the point. Unit: km.' } }),
  }
  return { ...record, properties: { ...record.properties, ...added } }
}
