/**
 * Converts the manifest to rows of the sheet Manifesto, and back. Pure.
 *
 * Texts are written unchanged, other values as canonical JSON. A cell holds 32,767 characters, so a longer value continues in
 * further rows with the same name.
 */
import { canonicalJson } from '../release/digest.ts'
import { type ReportManifest, reportManifestSchema } from './manifest.ts'

const CELL_CHARACTERS = 32_000
/** Matches up to CELL_CHARACTERS UTF-16 units, as cells count them, without splitting a surrogate pair. */
const PIECE = new RegExp(`[\\s\\S]{1,${CELL_CHARACTERS}}(?![\\uDC00-\\uDFFF])`, 'g')
/** Fields stored as JSON. The others are text, where an empty cell means null. */
const JSON_FIELDS: ReadonlySet<string> = new Set([
  'components',
  'synthetic',
  'query',
  'columns',
  'row_count',
  'notes',
  'signature',
  'log_proof',
])

const CITATION_FIELDS = ['citation.abnt', 'citation.bibtex']

/** @returns rows, header first */
export function describeManifest(manifest: ReportManifest): string[][] {
  const header = manifest.language === 'en' ? ['field', 'value'] : ['campo', 'valor']
  const { citation } = manifest
  // One row per citation, for copying.
  const flat: Readonly<Record<string, unknown>> = {
    ...manifest,
    ...(citation === undefined ? {} : { 'citation.abnt': citation.abnt, 'citation.bibtex': citation.bibtex }),
  }
  const names = Object.keys(reportManifestSchema.shape).flatMap((name) =>
    name === 'citation' ? CITATION_FIELDS.filter((field) => field in flat) : [name],
  )
  const rows = names.flatMap((name) => {
    const value = flat[name]
    if (value === undefined) return []
    const text = JSON_FIELDS.has(name) ? canonicalJson(value) : String(value ?? '')
    const pieces = text.match(PIECE) ?? ['']
    return pieces.map((piece) => [name, piece])
  })
  return [header, ...rows]
}

/** @param rows of the sheet, header first @throws Error with the problem */
export function readManifestRows(rows: readonly (readonly string[])[]): ReportManifest {
  const texts = new Map<string, string>()
  for (const [name = '', text = ''] of rows.slice(1)) texts.set(name, (texts.get(name) ?? '') + text)
  const values = [...texts].map(([name, text]): [string, unknown] => {
    if (!JSON_FIELDS.has(name)) return [name, text === '' ? null : text]
    try {
      return [name, JSON.parse(text)]
    } catch {
      throw new Error(`the field ${name} of the manifest is not JSON`)
    }
  })
  const { 'citation.abnt': abnt, 'citation.bibtex': bibtex, ...others } = Object.fromEntries(values)
  return parseManifest({ ...others, ...(abnt === undefined ? {} : { citation: { abnt, bibtex } }) })
}

/** @throws Error that names the field */
export function parseManifest(value: unknown): ReportManifest {
  const parsed = reportManifestSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const name = issue?.path.join('.') ?? ''
  throw new Error(`the field ${name} of the manifest is wrong: ${issue?.message ?? ''}`)
}
