/** Schemas shared by several answers. Answers of single routes are in answers.ts, records in records.ts. */
import { ERRORS } from '../../errors.ts'
import {
  dictionary,
  flag,
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

export const SHA256: Json = { type: 'string', pattern: '^[0-9a-f]{64}$' }
const PERIODS_TEXT: Json = {
  type: ['string', 'null'],
  description: 'Month of the data, YYYY-MM; several are separated by commas; null where they have none.',
}
const NOTES = list(ref('Note'), 'What to know about the answer, such as what was not collected.')
export const ANSWER_META = {
  version: text('Version of the program.'),
}
const RELEASE_META = {
  ...ANSWER_META,
  release_id: text('Release the answer comes from.'),
  synthetic: flag('true: invented data of the demonstration.'),
  'reference_period?': PERIODS_TEXT,
}
const SOURCE_FILE = {
  publisher: text('Who published the file.'),
  file: text('File as published.'),
  archive: orNull(text('Archive the file came in.')),
  sha256: SHA256,
}
export const CONTENT_ID = orNull(text('Digest of what the release says, whatever wrote its files.'))
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
  Problem: openObject(
    {
      type: text('What went wrong, as an address: /problems/<code>.'),
      title: text('What went wrong, in the language asked for.'),
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: text('What is wrong with this request, and what to change.'),
      code: oneOf(Object.keys(ERRORS), 'What went wrong, for programs.'),
      request_id: text('Of the request, as in its header x-request-id and in the log of the server.'),
      errors: list(
        object({
          'parameter?': text('Parameter of the address.'),
          'pointer?': text('Place in the body, as a JSON pointer.'),
          message: text('What may stand there.'),
          'allowed?': list({ type: ['string', 'number'] }, 'All or the nearest of what is allowed.'),
        }),
      ),
    },
    'RFC 9457 problem document.',
  ),
  Note: NOTE,
  Meta: object(ANSWER_META, 'What is said of an answer.'),
  ReleaseMeta: object(
    { ...RELEASE_META, 'notes?': NOTES },
    'What is said of an answer that one release gives.',
  ),
  ProvenanceMeta: object(
    {
      ...RELEASE_META,
      content_id: CONTENT_ID,
      acquisitions: list(
        ref('Acquisition'),
        'Where and when the files of the entries were fetched, as their operator recorded it. Empty without a record.',
      ),
    },
    'What is said of an answer about the sources of a record.',
  ),
  OutlinesMeta: object({
    ...RELEASE_META,
    level: text('Level of the outlines.'),
    format: oneOf(['topojson', 'geojson'], 'Format of the outlines.'),
    detail: oneOf(['full', 'overview'], 'How fine the outlines are.'),
    outlines: integer('Places with an outline.'),
    missing: list(
      object({
        code: integer('IBGE code.'),
        name: text('Name of the municipality.'),
        uf: text('Its state.'),
      }),
      'Municipalities that no outline holds.',
    ),
    source: orNull(object(SOURCE_FILE)),
  }),
  HealthFinancingMeta: object({
    ...RELEASE_META,
    'notes?': NOTES,
    sources: list(
      object({
        source: text('Code of the source.'),
        label: text('Name in Portuguese.'),
        label_en: text('Name in English.'),
        means: text('What its numbers mean, in Portuguese.'),
        means_en: text('What its numbers mean, in English.'),
        adds: text('What of them may be added, in Portuguese.'),
        adds_en: text('What of them may be added, in English.'),
      }),
      'What the numbers of each source mean, and what of them may be added.',
    ),
  }),
  Pagination: object({
    limit: integer('Rows of a page.'),
    has_more: flag('There are rows after this page.'),
    next_cursor: orNull(text('cursor of the next page; null on the last one.')),
    'total?': {
      type: ['integer', 'null'],
      minimum: 0,
      description:
        'With count=true; null where something of the list was not collected: meta.notes says what.',
    },
  }),
  ProvenanceEntry: object(
    {
      attribute: text('Field of the record; of a part of one, its path.'),
      value: ref('ProvenanceValue'),
      raw_value: orNull(text('The published cell.')),
      rule: text('How the cell became the value, in the requested language.'),
      source: orNull(
        object({
          ...SOURCE_FILE,
          row: { type: ['integer', 'null'], minimum: 1, description: 'Row of the file, header = 1.' },
          column: orNull(text('Column of the file.')),
        }),
      ),
    },
    'Where a value of a record comes from.',
  ),
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
    pagination: ref('Pagination'),
    meta: ref('FacilityCollectionMeta'),
  }),
  FacilityCollectionMeta: object({ ...RELEASE_META, 'notes?': NOTES }),
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
