/**
 * Describes a release as a Data Package (https://datapackage.org/, version 2) for data catalogues: files, digests, columns.
 * Pure. In: a manifest. Out: a JSON value that never changes, because it contains no time.
 */
import type { JsonValue } from '../../engine/types.ts'
import { DATASETS, type DatasetName, datasetOf, isNullable } from '../../model/datasets.ts'
import { FIELDS, type FieldName, fieldOf } from '../../model/fields.ts'
import type { Manifest } from '../manifest.ts'

const SCHEMA = 'https://datapackage.org/profiles/2.0/datapackage.json'

/** @param address returns the address of a file by its path: absolute, or relative to the description */
export function dataPackage(manifest: Manifest, address: (path: string) => string): JsonValue {
  const { release_id, area, scope, synthetic, datasets, files, snapshots } = manifest
  const publishers = [...new Set(snapshots.map(({ publisher }) => publisher))].sort()
  return {
    $schema: SCHEMA,
    name: release_id,
    id: release_id,
    version: release_id.slice(-64),
    title: `sus-data: ${area}, ${scope.toUpperCase()}`,
    description: `${synthetic ? 'Invented data of a demonstration. ' : ''}An immutable release of sus-data: its name ends with the SHA-256 of its manifest, which names every file by its own.`,
    sources: publishers.map((title) => ({ title })),
    resources: Object.entries(datasets).flatMap(([name, { fields, key }]) =>
      files
        .filter(({ path }) => path.startsWith(`${name}/`))
        .map(({ path, bytes, sha256 }) => ({
          name: resourceName(path),
          path: address(path),
          ...describe(name),
          format: 'parquet',
          mediatype: 'application/vnd.apache.parquet',
          bytes,
          hash: `sha256:${sha256}`,
          schema: {
            fields: fields.map((field) => describeField(name, field.name, field.type)),
            // Each file covers one month, so the key identifies its rows. Provenance has several cells per record and no key.
            ...(hasKey(name, key) ? { primaryKey: [...key] } : {}),
          },
        })),
    ),
  }
}

/** bed_capacity/reference_period=202605/part-0.parquet → bed_capacity-202605 */
export const resourceName = (path: string): string =>
  path
    .replace(/\/part-(\d+)\.parquet$/, (_, part: string) => (part === '0' ? '' : `-${part}`))
    .replace(/\/reference_period=/, '-')

const describe = (name: string): { readonly description?: string } =>
  Object.hasOwn(DATASETS, name) ? { description: DATASETS[name as DatasetName].description } : {}

const typeOf = (type: string): string => {
  if (type.endsWith('[]')) return 'array'
  if (type.startsWith('STRUCT')) return 'object'
  if (/^(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return 'integer'
  if (type === 'DOUBLE' || type.startsWith('DECIMAL')) return 'number'
  return { BOOLEAN: 'boolean', DATE: 'date', VARCHAR: 'string' }[type] ?? 'any'
}

/** A primary key must not contain a null. */
const hasKey = (dataset: string, key: readonly string[]): boolean =>
  Object.hasOwn(DATASETS, dataset) && key.every((field) => isNeverNull(dataset, field))

/** Tables that no route shows, such as pre-aggregates, make no promise about nulls. */
const isNeverNull = (dataset: string, field: string): boolean =>
  Object.hasOwn(DATASETS, dataset) &&
  Object.hasOwn(FIELDS, field) &&
  !isNullable(datasetOf(dataset as DatasetName), field as FieldName)

function describeField(dataset: string, name: string, type: string): JsonValue {
  if (!Object.hasOwn(FIELDS, name)) return { name, type: typeOf(type) }
  const { description, unit } = fieldOf(name as FieldName)
  return {
    name,
    type: typeOf(type),
    description: unit === undefined ? description : `${description} Unit: ${unit}.`,
    ...(isNeverNull(dataset, name) ? { constraints: { required: true } } : {}),
  }
}
