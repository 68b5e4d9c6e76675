/** Builds the schemas of records, list rows and their additions from the fields of the datasets. Pure. */
import { FACILITY_LINEAGE, FACT_LINEAGE, type FactName, type Family } from '../../model/cnes/lineage.ts'
import { DATASETS, type Dataset, type DatasetName, isNullable } from '../../model/datasets.ts'
import { type FieldName, type FieldType, fieldOf } from '../../model/fields.ts'
import type { Lineage } from '../../model/types.ts'
import { codeSchema } from '../../query/lists/filters.ts'
import { FACILITY_FIELDS, INCLUDED_FIELDS } from '../../records/include-facility.ts'
import type { Route, ScopedRoute } from '../route.ts'
import { documentOf, type Json, list, object, orNull, ref } from './json.ts'

/** Names of single records, for datasets whose name is a plural. */
const RECORD_NAMES: Readonly<Partial<Record<DatasetName, string>>> = {
  states: 'State',
  municipalities: 'Municipality',
  health_regions: 'HealthRegion',
  health_macroregions: 'HealthMacroregion',
  facilities: 'Facility',
  bed_types: 'BedType',
  bed_categories: 'BedCategory',
  equipment_categories: 'EquipmentCategory',
  equipment_types: 'EquipmentType',
  specialized_service_types: 'SpecializedServiceType',
  specialized_service_classifications: 'SpecializedServiceClassification',
  specialized_services: 'SpecializedServiceOffering',
}
/** @returns the name of a record's schema: that of the table, else the dataset's name in capitals (PopulationByAge) */
export const recordName = ({ name }: Dataset): string =>
  RECORD_NAMES[name as DatasetName] ??
  name.replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase())

const TEXT: Json = { type: ['string', 'null'] }
const FLAG: Json = { type: 'boolean' }
const FIELD_SCHEMAS: Readonly<Record<FieldType, Json>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  boolean: FLAG,
  coordinate: { type: 'number', minimum: -180, maximum: 180 },
  date: { type: 'string', format: 'date' },
  period: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$' },
  address: ref('Address'),
  declarations: list(ref('ServiceDeclaration')),
  cells: list(object({ source_row: { type: 'integer' }, raw_value: TEXT })),
  codes: list({ type: 'string' }),
  percentage: { type: 'number' },
  index: { type: 'string', pattern: '^[0-9]+\\.[0-9]{13}$' },
}

/** @returns a field's published columns, in the national base and in the files by state */
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

/** Fields whose codes the importer restricts to a closed list. Files may contain unknown codes in other fields. */
const CLOSED_FIELDS: ReadonlySet<string> = new Set([
  'uf',
  'population_type',
  'territorial_type',
  'provider_kind',
  'sex',
  'age_group',
  'source',
])
/** @returns the codes of a closed field, as in the filter of the same name */
function codesOf(dataset: Dataset, name: FieldName): Json {
  const filter =
    dataset.filters?.[name] ??
    Object.values(dataset.filters ?? {}).find((other) => other.kind === 'equals' && other.column === name)
  const code = filter === undefined || !CLOSED_FIELDS.has(name) ? null : codeSchema(filter)
  const { enum: values } = code === null ? {} : documentOf(code)
  return values === undefined ? {} : { enum: values }
}

const describeField = (dataset: Dataset, name: FieldName): Json => {
  const { type, description, unit } = fieldOf(name)
  const schema: Json = { ...FIELD_SCHEMAS[type], ...codesOf(dataset, name) }
  const measured = unit === undefined ? [] : [`Unit: ${unit}.`]
  return {
    ...(isNullable(dataset, name) ? orNull(schema) : schema),
    description: [description, ...measured, ...publishedColumns(dataset.name, name)].join(' '),
  }
}

function recordSchema(dataset: Dataset, isDetail: boolean): Json {
  const names = [...dataset.fields, ...(isDetail ? (dataset.detail ?? []) : [])]
  return object(
    Object.fromEntries(names.map((name) => [name, describeField(dataset, name)])),
    dataset.description,
  )
}

const SUSPECT: Json = {
  type: ['boolean', 'null'],
  description:
    'The coordinates lie more than 0.2 degrees outside of the box around the outline of the municipality; null without coordinates or outline.',
}
const DISTANCE: Json = {
  type: 'number',
  minimum: 0,
  description: 'With near: kilometres to the point. Unit: km.',
}
const { facilities } = DATASETS
const ADDED: Readonly<Record<string, Json>> = {
  Address: object(
    { street: TEXT, number: TEXT, complement: TEXT, district: TEXT, postal_code: TEXT },
    'An address as published.',
  ),
  ServiceDeclaration: object(
    {
      characteristic_code: TEXT,
      provider_kind: TEXT,
      provider_code: TEXT,
      address_code: TEXT,
      has_ambulatory: FLAG,
      has_ambulatory_sus: FLAG,
      has_hospital: FLAG,
      has_hospital_sus: FLAG,
    },
    'One declaration of a service in the registry.',
  ),
  FacilityBeside: object(
    {
      ...Object.fromEntries(INCLUDED_FIELDS.map((field) => [field, describeField(facilities, field)])),
      coordinates_suspect: SUSPECT,
    },
    'The facility in the month of a row that it stands beside.',
  ),
  FacilityContext: object(
    Object.fromEntries(FACILITY_FIELDS.map((field) => [field, describeField(facilities, field)])),
    'The facility that records are of.',
  ),
  FacilityProperties: extend(recordSchema(facilities, false), {
    coordinates_suspect: SUSPECT,
    'distance_km?': DISTANCE,
  }),
  PopulationDetail: extend(recordSchema(DATASETS.population, false), {
    available: list(
      object({
        reference_year: describeField(DATASETS.population, 'reference_year'),
        population_type: describeField(DATASETS.population, 'population_type'),
      }),
      'Years and types there are.',
    ),
  }),
}

function extend(record: Json, added: Readonly<Record<string, Json>>): Json {
  const addition = object(added) as { readonly required: string[]; readonly properties: Json }
  const { required, properties } = record as { required: string[]; properties: Json }
  return {
    ...record,
    required: [...required, ...addition.required],
    properties: { ...properties, ...addition.properties },
  }
}

export function recordSchemas(routes: readonly Route[]): Record<string, Json> {
  const schemas: Record<string, Json> = { ...ADDED }
  const lists = routes.filter((route) => route.kind === 'list' || route.kind === 'all')
  for (const route of routes) {
    if (route.kind === 'custom') continue
    const name = recordName(route.dataset)
    const listRoute = lists.find(({ dataset }) => dataset === route.dataset)
    schemas[name] ??= extend(recordSchema(route.dataset, false), {
      ...(listRoute?.kind === 'list' && listRoute.includes !== undefined
        ? { 'facility?': { ...orNull(ref('FacilityBeside')), description: 'With include=facility.' } }
        : {}),
      ...(listRoute?.kind === 'list' && listRoute.features !== undefined ? { 'distance_km?': DISTANCE } : {}),
      ...(listRoute !== undefined &&
      route.dataset.periodic &&
      !route.dataset.fields.includes('reference_period')
        ? {
            'reference_period?': {
              ...FIELD_SCHEMAS.period,
              description: 'Month of the row, with reference_period=all.',
            },
          }
        : {}),
    })
    if (route.kind === 'record' && isDetailed(route))
      schemas[`${name}Detail`] = extend(
        recordSchema(route.dataset, true),
        route.marksCoordinates === true ? { coordinates_suspect: SUSPECT } : {},
      )
  }
  return schemas
}

const isDetailed = (route: Route): boolean =>
  route.kind === 'record' && (route.dataset.detail !== undefined || route.marksCoordinates === true)

export const recordRef = (route: Exclude<Route, { kind: 'custom' }>): Json =>
  ref(`${recordName(route.dataset)}${isDetailed(route) ? 'Detail' : ''}`)

export const scopedSchema = (route: ScopedRoute): Json =>
  object({
    facility: ref('FacilityContext'),
    records: list(recordRef(route)),
    totals: object(
      Object.fromEntries(
        Object.keys(route.totals).map((name) => [
          name,
          {
            type: ['integer', 'null'],
            description: 'null where meta.notes says why: not collected, or of all periods.',
          },
        ]),
      ),
    ),
  })
