/**
 * Describes a release as JSON-LD for data catalogues and search engines: one document that is a schema.org Dataset, a
 * Croissant 1.1 description and a DCAT 3 dataset with a distribution per file. Pure. In: the manifest, those of the joined
 * releases, and addresses. Out: a JSON value that never changes: it contains no time, so datePublished is the newest month of
 * the data. Every file has its size and SHA-256. Columns of documented datasets are described; provenance tables are listed
 * only as files.
 */
import type { JsonValue } from '../../engine/types.ts'
import { DATASETS, type DatasetName } from '../../model/datasets.ts'
import { FIELDS, type FieldName, fieldOf } from '../../model/fields.ts'
import type { Manifest, ManifestFile } from '../manifest.ts'
import { formatPeriod, isMonthZero } from '../view.ts'
import { resourceName } from './data-package.ts'

/** The context of Croissant 1.1, and the vocabularies of DCAT. */
const CONTEXT: JsonValue = {
  '@language': 'en',
  '@vocab': 'https://schema.org/',
  arrayShape: 'cr:arrayShape',
  citeAs: 'cr:citeAs',
  column: 'cr:column',
  conformsTo: 'dct:conformsTo',
  containedIn: 'cr:containedIn',
  cr: 'http://mlcommons.org/croissant/',
  rai: 'http://mlcommons.org/croissant/RAI/',
  data: { '@id': 'cr:data', '@type': '@json' },
  dataType: { '@id': 'cr:dataType', '@type': '@vocab' },
  dct: 'http://purl.org/dc/terms/',
  description: { '@container': '@language' },
  equivalentProperty: 'cr:equivalentProperty',
  examples: { '@id': 'cr:examples', '@type': '@json' },
  extract: 'cr:extract',
  field: 'cr:field',
  fileProperty: 'cr:fileProperty',
  fileObject: 'cr:fileObject',
  fileSet: 'cr:fileSet',
  format: 'cr:format',
  includes: 'cr:includes',
  isArray: 'cr:isArray',
  isLiveDataset: 'cr:isLiveDataset',
  jsonPath: 'cr:jsonPath',
  key: 'cr:key',
  md5: 'cr:md5',
  name: { '@container': '@language' },
  parentField: 'cr:parentField',
  path: 'cr:path',
  recordSet: 'cr:recordSet',
  references: 'cr:references',
  regex: 'cr:regex',
  repeated: 'cr:repeated',
  replace: 'cr:replace',
  samplingRate: 'cr:samplingRate',
  sc: 'https://schema.org/',
  separator: 'cr:separator',
  source: 'cr:source',
  subField: 'cr:subField',
  transform: 'cr:transform',
  dcat: 'http://www.w3.org/ns/dcat#',
  foaf: 'http://xmlns.com/foaf/0.1/',
  spdx: 'http://spdx.org/rdf/terms#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
}
/** The registered media type, and the one that readers of Croissant recognize. */
const PARQUET = ['application/vnd.apache.parquet', 'application/x-parquet']
const MEDIA_TYPE = 'https://www.iana.org/assignments/media-types/application/vnd.apache.parquet'
const ORGANISATIONS: Readonly<Record<string, string>> = {
  DATASUS: 'https://datasus.saude.gov.br',
  IBGE: 'https://www.ibge.gov.br',
}

export interface Addresses {
  /** Returns the address of a release's manifest. */
  readonly release: (releaseId: string) => string
  readonly metadata: (releaseId: string) => string
  readonly file: (path: string) => string
}

/** @param joined releases that this one was built with or joins */
export function describeMetadata(
  manifest: Manifest,
  joined: readonly Manifest[],
  addresses: Addresses,
): JsonValue {
  const { release_id: id, area, scope, month, synthetic, datasets, files } = manifest
  const title = `sus-data: ${area}, ${scope.toUpperCase()}, ${formatPeriod(month)}`
  const description = `${synthetic ? 'Invented data of a demonstration. ' : ''}An immutable release of public-health data of Brazil. Its name ends with the SHA-256 of its manifest, which names every file by its own.`
  const publishers = [
    ...new Set(
      [manifest, ...joined].flatMap(({ snapshots }) => snapshots.map((snapshot) => snapshot.publisher)),
    ),
  ].sort()
  const documented = Object.entries(datasets).filter(([name]) => Object.hasOwn(DATASETS, name))
  const periods = Object.values(datasets)
    .flatMap((dataset) => dataset.periods)
    .filter((period) => !isMonthZero(period))
  const [first, last] = [Math.min(month, ...periods), Math.max(month, ...periods)]
  const rights = synthetic
    ? 'Invented data, dedicated to the public domain (CC0 1.0).'
    : `Made of files that ${publishers.join(', ')} published; their terms hold for the data.`
  return {
    '@context': CONTEXT,
    '@type': ['sc:Dataset', 'dcat:Dataset'],
    '@id': addresses.release(id),
    conformsTo: 'http://mlcommons.org/croissant/1.1',
    name: id,
    description,
    url: addresses.release(id),
    version: `1.0.0+${id.slice(-64)}`,
    identifier: id,
    license: synthetic
      ? 'https://creativecommons.org/publicdomain/zero/1.0/'
      : { '@type': 'sc:CreativeWork', name: rights },
    datePublished: formatPeriod(month),
    temporalCoverage: `${formatPeriod(first)}/${formatPeriod(last)}`,
    spatialCoverage: { '@type': 'sc:Place', name: scope === 'br' ? 'Brasil' : scope.toUpperCase() },
    inLanguage: 'pt-BR',
    keywords: ['saúde pública', 'SUS', 'Brasil', area],
    isAccessibleForFree: true,
    citeAs: `@misc{susdata_${id.slice(-64, -52)}, title = {{${title}}}, year = {${Math.floor(month / 100)}}, version = {${id}}}`,
    creator: publishers.map(describeOrganisation),
    isBasedOn: joined.map(({ release_id }) => addresses.metadata(release_id)),
    'dct:title': title,
    'dct:description': description,
    'dct:identifier': id,
    'dct:creator': publishers.map(describeAgent),
    // DCAT-AP allows one publisher; a release of several publishers' files names them as creators alone.
    ...(publishers.length === 1 ? { 'dct:publisher': describeAgent(publishers[0] ?? '') } : {}),
    'dct:rights': { '@type': 'dct:RightsStatement', 'http://www.w3.org/2000/01/rdf-schema#label': rights },
    'dct:issued': { '@value': formatPeriod(month), '@type': 'xsd:gYearMonth' },
    'dct:temporal': {
      '@type': 'dct:PeriodOfTime',
      'dcat:startDate': { '@value': formatPeriod(first), '@type': 'xsd:gYearMonth' },
      'dcat:endDate': { '@value': formatPeriod(last), '@type': 'xsd:gYearMonth' },
    },
    'dcat:version': id.slice(-64),
    'dcat:keyword': ['saúde pública', 'SUS', area],
    ...(joined.length === 0
      ? {}
      : { 'dct:hasPart': joined.map(({ release_id }) => ({ '@id': addresses.release(release_id) })) }),
    'dcat:distribution': files.map((file) => describeDistribution(file, addresses.file(file.path))),
    distribution: files.map((file) => describeFile(file, addresses.file(file.path), area)),
    recordSet: documented.flatMap(([name, dataset]) =>
      filesOf(name, files).map(({ path }) => describeRecords(name, dataset, path)),
    ),
  }
}

const describeAgent = (name: string): JsonValue => ({ '@type': 'foaf:Agent', 'foaf:name': name })

const describeOrganisation = (name: string): JsonValue => ({
  '@type': 'sc:Organization',
  name,
  ...(ORGANISATIONS[name] === undefined ? {} : { url: ORGANISATIONS[name] }),
})

const filesOf = (dataset: string, files: readonly ManifestFile[]): ManifestFile[] =>
  files.filter(({ path }) => path.startsWith(`${dataset}/`))

function describeDistribution({ path, bytes, sha256 }: ManifestFile, address: string): JsonValue {
  return {
    '@type': 'dcat:Distribution',
    'dct:title': path,
    'dcat:accessURL': { '@id': address },
    'dcat:downloadURL': { '@id': address },
    'dcat:mediaType': { '@id': MEDIA_TYPE, '@type': 'dct:MediaType' },
    'dcat:byteSize': { '@value': String(bytes), '@type': 'xsd:nonNegativeInteger' },
    'spdx:checksum': {
      '@type': 'spdx:Checksum',
      'spdx:algorithm': { '@id': 'spdx:checksumAlgorithm_sha256' },
      'spdx:checksumValue': { '@value': sha256, '@type': 'xsd:hexBinary' },
    },
  }
}

const describeFile = ({ path, bytes, sha256 }: ManifestFile, address: string, area: string): JsonValue => ({
  '@type': 'cr:FileObject',
  '@id': path,
  name: path,
  description: descriptionOf(path.split('/')[0] ?? '') ?? `Table of the area ${area}.`,
  contentUrl: address,
  contentSize: `${bytes} B`,
  encodingFormat: PARQUET,
  sha256,
})

const descriptionOf = (dataset: string): string | null =>
  Object.hasOwn(DATASETS, dataset) ? DATASETS[dataset as DatasetName].description : null

/** Describes the records of one file; the file covers one month when the dataset has months. */
function describeRecords(
  dataset: string,
  { fields, key }: Manifest['datasets'][string],
  path: string,
): JsonValue {
  const recordSetId = resourceName(path)
  const fieldId = (name: string): string => `${recordSetId}#${name}`
  return {
    '@type': 'cr:RecordSet',
    '@id': recordSetId,
    name: recordSetId,
    description: descriptionOf(dataset) ?? dataset,
    key: key
      .filter((name) => fields.some((field) => field.name === name))
      .map((name) => ({ '@id': fieldId(name) })),
    // Croissant has no terms for struct columns that its readers support, so they are left out.
    field: fields
      .filter(({ type }) => !type.startsWith('STRUCT'))
      .map(({ name, type }) => ({
        '@type': 'cr:Field',
        '@id': fieldId(name),
        name,
        description: describeField(name),
        ...typeOf(type),
        source: { fileObject: { '@id': path }, extract: { column: name } },
      })),
  }
}

function describeField(name: string): string {
  if (!Object.hasOwn(FIELDS, name)) return name
  const { description, unit } = fieldOf(name as FieldName)
  return unit === undefined ? description : `${description} Unit: ${unit}.`
}

function typeOf(type: string): { readonly [name: string]: JsonValue } {
  if (type.endsWith('[]')) return { ...typeOf(type.slice(0, -2)), isArray: true, arrayShape: '-1' }
  if (/^(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return { dataType: 'sc:Integer' }
  if (type === 'DOUBLE' || type.startsWith('DECIMAL')) return { dataType: 'sc:Float' }
  if (type === 'BOOLEAN') return { dataType: 'sc:Boolean' }
  if (type === 'DATE') return { dataType: 'sc:Date' }
  return { dataType: 'sc:Text' }
}
