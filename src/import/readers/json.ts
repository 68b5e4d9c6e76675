/** Parses published JSON within limits: API responses, meshes, and notes of the operator. */
import { exceededLimit } from '../../json-size.ts'
import { ImportError } from '../import-error.ts'

/** Size limits. A mesh of all municipalities has 500,000 points, each an array of two numbers. */
const LIMITS = { depth: 64, objects: 3_000_000, values: 12_000_000 }

/** @throws ImportError if the bytes are not JSON or exceed the limits */
export function parseJson(bytes: Buffer, file: string): unknown {
  if (exceededLimit(bytes, LIMITS) !== null)
    throw new ImportError(
      file,
      `has more than ${LIMITS.objects} objects or ${LIMITS.values} values, or is nested deeper than ${LIMITS.depth} levels`,
      'Fetch the file again; no published one is as large',
    )
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  } catch {
    throw new ImportError(file, 'is not whole JSON', 'Fetch the file again')
  }
}
