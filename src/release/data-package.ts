/**
 * A release as a Data Package (https://datapackage.org/, version 2): its files, digests and columns in terms that data catalogues
 * read. In: a manifest. Out: a JSON value, the same for ever: no clock enters it. Pure.
 */
import type { JsonValue } from '../engine/types.ts'
import { DATASETS, type DatasetName } from '../model/datasets.ts'
import { FIELDS, type FieldName, fieldOf } from '../model/fields.ts'
import type { Manifest } from './manifest.ts'

const SCHEMA = 'https://datapackage.org/profiles/2.0/datapackage.json'

/** @param address of a file of the release by its path: absolute, or relative to where the description is */
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
            fields: fields.map((field) => describeField(field.name, field.type)),
            // What tells rows of a file apart, which is of one month. Cells of provenance may be several of one record.
            ...(Object.hasOwn(DATASETS, name) ? { primaryKey: [...key] } : {}),
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

/** Types of SQL in the terms of a Table Schema. */
const typeOf = (type: string): string => {
  if (type.endsWith('[]')) return 'array'
  if (type.startsWith('STRUCT')) return 'object'
  if (/^(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return 'integer'
  if (type === 'DOUBLE' || type.startsWith('DECIMAL')) return 'number'
  return { BOOLEAN: 'boolean', DATE: 'date', VARCHAR: 'string' }[type] ?? 'any'
}

function describeField(name: string, type: string): JsonValue {
  if (!Object.hasOwn(FIELDS, name)) return { name, type: typeOf(type) }
  const { description, unit, nullable } = fieldOf(name as FieldName)
  return {
    name,
    type: typeOf(type),
    description: unit === undefined ? description : `${description} Unit: ${unit}.`,
    ...(nullable === true ? {} : { constraints: { required: true } }),
  }
}
