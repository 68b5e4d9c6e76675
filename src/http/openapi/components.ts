/** Schemas shared by several answers. Answers of single routes are in answers.ts, records in records.ts. */
import { cursorPagination, facilityCollectionMeta } from '../../answers/meta.ts'
import {
  dictionary,
  documentOf,
  integer,
  type Json,
  list,
  object,
  oneOf,
  openObject,
  orNull,
  ref,
  text,
} from './json.ts'
import { NOTE } from './notes.ts'

/** GeoJSON positions, nested to a geometry's depth. */
const POSITIONS = (depth: number): Json => (depth === 0 ? { type: 'number' } : list(POSITIONS(depth - 1)))
const GEOMETRY: Json = {
  oneOf: [
    object({ type: { const: 'Point' }, coordinates: POSITIONS(1) }),
    object({ type: { const: 'Polygon' }, coordinates: POSITIONS(3) }),
    object({ type: { const: 'MultiPolygon' }, coordinates: POSITIONS(4) }),
  ],
}

const OUTLINE_MEMBERS = {
  id: { type: ['string', 'integer'] },
  'properties?': ref('OutlineProperties'),
} as const

export const SHARED: Readonly<Record<string, Json>> = {
  Note: NOTE,
  ProvenanceValue: {
    description: 'Value of the field, as the record has it.',
    anyOf: [
      { type: ['string', 'number', 'boolean', 'null'] },
      dictionary({ type: ['string', 'number', 'boolean', 'null'] }, 'Of an address, its parts.'),
      list(
        {
          anyOf: [
            { type: ['string', 'number', 'boolean', 'null'] },
            dictionary({ type: ['string', 'number', 'boolean', 'null'] }, 'A part of the value.'),
          ],
        },
        'Of declarations and codes, all of them.',
      ),
    ],
  },
  NormalisedQuery: openObject(
    {
      metrics: list({ anyOf: [ref('MetricCode'), ref('FilteredMetric'), ref('RatioOfMetrics')] }),
      group_by: list(text('A dimension, or a grouping by its name.')),
      filters: list(
        object({
          dimension: ref('DimensionCode'),
          operator: ref('FilterOperator'),
          value: {
            anyOf: [{ type: ['string', 'integer'] }, list({ type: ['string', 'integer'] })],
          },
        }),
      ),
      order_by: list(
        object({ field: text('Metric or dimension.'), direction: oneOf(['asc', 'desc'], 'Order.') }),
      ),
      over_period: orNull(oneOf(['last', 'first', 'avg', 'max'], 'What stocks of several months become.')),
      'limit?': integer('Rows of a page; a report has all.'),
      'offset?': integer('Rows passed over.'),
    },
    'The query in its one form: sorted, without repetition, defaults filled in; options that were asked for stand beside these.',
  ),
  FacilityFeature: object({
    type: { const: 'Feature' },
    id: text('Code of the facility.'),
    geometry: orNull(GEOMETRY),
    properties: ref('FacilityProperties'),
  }),
  FacilityCollection: object({
    type: { const: 'FeatureCollection' },
    features: list(ref('FacilityFeature')),
    pagination: documentOf(cursorPagination, 'output'),
    meta: documentOf(facilityCollectionMeta, 'output'),
  }),
  OutlineProperties: openObject(
    {
      'code?': { type: ['string', 'integer'], description: 'Code of the analytics dimension of the level.' },
    },
    'What is said of a place: with detail=overview nothing but its id.',
  ),
  OutlineCollection: object(
    {
      type: { const: 'FeatureCollection' },
      features: list(
        object({
          type: { const: 'Feature' },
          id: { type: ['string', 'integer'] },
          'properties?': ref('OutlineProperties'),
          geometry: orNull(GEOMETRY),
        }),
      ),
    },
    'Outlines as GeoJSON.',
  ),
  OutlineTopology: object(
    {
      type: { const: 'Topology' },
      transform: object({ scale: POSITIONS(1), translate: POSITIONS(1) }),
      'bbox?': POSITIONS(1),
      objects: dictionary(
        object({
          type: { const: 'GeometryCollection' },
          geometries: list({ oneOf: [ref('OutlinePolygon'), ref('OutlineMultiPolygon')] }),
        }),
        'One collection, called as the level.',
      ),
      arcs: list(POSITIONS(2), 'Lines; neighbours share those between them.'),
    },
    'Outlines as TopoJSON: positions are whole numbers of steps of transform.scale.',
  ),
  OutlinePolygon: object({ type: { const: 'Polygon' }, ...OUTLINE_MEMBERS, arcs: POSITIONS(2) }),
  OutlineMultiPolygon: object({ type: { const: 'MultiPolygon' }, ...OUTLINE_MEMBERS, arcs: POSITIONS(3) }),
  JsonStat: openObject(
    {
      version: { const: '2.0' },
      class: { const: 'dataset' },
      label: text('What is shown.'),
      id: list({ type: 'string' }, 'Dimensions of the cube, the metrics last.'),
      size: list({ type: 'integer' }, 'Categories of each.'),
      role: dictionary(list({ type: 'string' }), 'Which dimensions are time, places and metrics.'),
      dimension: dictionary(
        openObject({ label: text('Name.'), category: openObject({ index: list({ type: 'string' }) }) }),
        'Categories of each dimension.',
      ),
      value: {
        anyOf: [
          list({ type: ['number', 'null'] }),
          dictionary({ type: 'number' }, 'Cells by their number, where some have no value.'),
        ],
      },
      'status?': dictionary(
        { type: 'string' },
        'Status of each value by the number of its cell, with status.',
      ),
      note: list({ type: 'string' }),
      extension: openObject(
        {
          rows: orNull(list({ type: 'integer' })),
          'texts?': dictionary(
            list({ type: ['string', 'null'] }),
            'Texts beside the values, such as the significance, by row.',
          ),
        },
        'Release, fingerprint, digest of the rows, labels of the statuses.',
      ),
    },
    'JSON-stat 2.0.',
  ),
  LinkedData: openObject(
    {
      '@context': {
        description: 'Names of the terms.',
        anyOf: [{ type: 'string' }, openObject({}), list(openObject({}))],
      },
    },
    'JSON-LD in the terms of schema.org, Croissant 1.1 and DCAT 3.',
  ),
  DataPackage: openObject(
    {
      name: text('Id of the release.'),
      resources: list(
        openObject({
          name: text('Name of the resource.'),
          path: { type: 'string', format: 'uri' },
          bytes: integer('Size of the file.'),
          hash: text('Digest of the file.'),
        }),
      ),
    },
    'Data Package, version 2 (datapackage.org).',
  ),
}
