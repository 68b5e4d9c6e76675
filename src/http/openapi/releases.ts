/** Schema of what the answer of one release says besides its manifest: signatures, attestations, log, acquisition. */
import { acquisition, logPlace, releaseAttestation, releaseSignature } from '../../answers/releases.ts'
import { ANSWER_META, CONTENT_ID } from './components.ts'
import { documentOf, type Json, list, object, orNull } from './json.ts'

export const RELEASE_DETAILS: Readonly<Record<string, Json>> = {
  ReleaseDetailMeta: object({
    ...ANSWER_META,
    content_id: CONTENT_ID,
    signatures: list(documentOf(releaseSignature, 'output'), 'Who signed the release (manifest.sig).'),
    attestations: list(
      documentOf(releaseAttestation, 'output'),
      'Who imported the snapshots of the release again and got the same release, or the same content.',
    ),
    log: orNull(documentOf(logPlace, 'output')),
    acquisitions: list(
      documentOf(acquisition, 'output'),
      'Where and when the published files were fetched, as their operator recorded it; no digest covers it. Empty without a record.',
    ),
  }),
}
