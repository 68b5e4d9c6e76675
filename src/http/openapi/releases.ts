/** Schemas of what the answer of one release says besides its manifest: signatures, attestations, log, acquisition. */
import { ANSWER_META, CONTENT_ID, SHA256 } from './components.ts'
import { flag, integer, type Json, list, object, oneOf, orNull, ref, text } from './json.ts'

const SIGNATURE_MEMBERS = {
  name: text('Name of the key.'),
  key_id: text('Eight hex digits of name and key.'),
  trusted: flag('The key is known here and made the signature; of other keys it was not checked.'),
} as const

export const RELEASE_DETAILS: Readonly<Record<string, Json>> = {
  ReleaseDetailMeta: object({
    ...ANSWER_META,
    content_id: CONTENT_ID,
    signatures: list(ref('ReleaseSignature'), 'Who signed the release (manifest.sig).'),
    attestations: list(
      ref('ReleaseAttestation'),
      'Who imported the snapshots of the release again and got the same release, or the same content.',
    ),
    log: orNull(ref('LogPlace')),
    acquisitions: list(
      ref('Acquisition'),
      'Where and when the published files were fetched, as their operator recorded it; no digest covers it. Empty without a record.',
    ),
  }),
  Acquisition: object(
    {
      file: text('Name of the published file.'),
      publisher: orNull(text('Who published it.')),
      url: orNull(text('Address it was fetched from.')),
      retrieved_at: orNull(text('When it was fetched.')),
      bytes: orNull(integer('Size in bytes.')),
      server_time: orNull(text("Time of the file as the publisher's server gives it, without a zone.")),
      sha256: orNull(SHA256),
    },
    'A published file as it was fetched. What is not recorded is null.',
  ),
  ReleaseSignature: object(SIGNATURE_MEMBERS, 'A key that signed a release.'),
  ReleaseAttestation: object({
    ...SIGNATURE_MEMBERS,
    time: text('When.'),
    duckdb_version: text('DuckDB that made it again.'),
    importer_version: text('Importer that made it again.'),
    catalog_version: text('Catalog of that importer.'),
    platform: text('System and processor.'),
    'result?': oneOf(['same bytes', 'same content'], 'Whether release ids or content ids were equal.'),
    'content_id?': text('Content id of the release that was made again.'),
    note: text('The signed note.'),
  }),
  LogPlace: object(
    {
      origin: text('Name of the log.'),
      index: integer('Number of the entry, from 0.'),
      time: text('When the release was recorded.'),
    },
    'The entry of the log that names a release as made; log.tlog-proof is the proof.',
  ),
}
