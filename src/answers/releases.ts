/** Answers about releases: the list, and what the answer of one release says besides its manifest. */
import { z } from 'zod'
import type { JsonValue } from '../engine/types.ts'
import { componentAs, componentRef, documentedAs } from '../query/text-schemas.ts'
import { promotionChangesSchema } from '../release/changes.ts'
import { RELEASE_AREAS } from '../release/manifest.ts'
import { comparedRow } from './analytics.ts'
import { type AnswerOf, count, flag, month, oneOf, SHA256, text } from './parts.ts'

export type { PromotionChanges } from '../release/changes.ts'
export type { Manifest } from '../release/manifest.ts'

const changedFigure = componentAs(
  z
    .strictObject({
      dataset: text('Dataset of the release.'),
      query: documentedAs(
        z.custom<Readonly<Record<string, JsonValue>>>(),
        componentRef('AnalyticsCompareRequest'),
      ),
      rows: z.array(comparedRow).describe('Months in which the metric differs.'),
    })
    .describe('Change of a metric by a promotion, and the comparison that shows it.'),
  'ChangedFigure',
)
export type ChangedFigure = AnswerOf<typeof changedFigure>

/** A promotion with the figures that it changed. */
export const changeFigures = promotionChangesSchema.extend({
  promoted_at: text(
    'When the release came into service, in UTC; null where no promotion says so.',
  ).nullable(),
  figures: z
    .array(changedFigure)
    .describe('A metric of each dataset of which months were revised, as far as the key may read it.'),
})
export type ChangeFigures = AnswerOf<typeof changeFigures>

/** A release, in short. */
export const releaseInfo = componentAs(
  z
    .strictObject({
      release_id: text('Id: area, scope, month and the digest of the manifest.'),
      area: oneOf(RELEASE_AREAS, 'Area that it covers.'),
      periods: z.array(month('Reference period.')).describe('Reference periods, ascending.'),
      rows: count('Rows of all files.'),
      bytes: count('Bytes of all files.'),
      files: count('Files.'),
      synthetic: flag('true: invented data of the demonstration.'),
      promoted: flag('In service.'),
      content_id: text('Digest of what it says, whatever wrote its files.').nullable(),
    })
    .describe('A release, in short.'),
  'Release',
)
export type ReleaseInfo = AnswerOf<typeof releaseInfo>

const SIGNER = {
  name: text('Name of the key.'),
  key_id: text('Eight hex digits of name and key.'),
  trusted: flag('The key is known here and made the signature; of other keys it was not checked.'),
}

export const releaseSignature = componentAs(
  z.strictObject(SIGNER).describe('A key that signed a release.'),
  'ReleaseSignature',
)
export type ReleaseSignature = AnswerOf<typeof releaseSignature>

export const releaseAttestation = componentAs(
  z.strictObject({
    ...SIGNER,
    time: text('When.'),
    duckdb_version: text('DuckDB that made it again.'),
    importer_version: text('Importer that made it again.'),
    catalog_version: text('Catalog of that importer.'),
    platform: text('System and processor.'),
    result: oneOf(
      ['same bytes', 'same content'],
      'Whether release ids or content ids were equal.',
    ).exactOptional(),
    content_id: text('Content id of the release that was made again.').exactOptional(),
    note: text('The signed note.'),
  }),
  'ReleaseAttestation',
)
export type ReleaseAttestation = AnswerOf<typeof releaseAttestation>

export const logPlace = componentAs(
  z
    .strictObject({
      origin: text('Name of the log.'),
      index: count('Number of the entry, from 0.'),
      time: text('When the release was recorded.'),
    })
    .describe('The entry of the log that names a release as made; log.tlog-proof is the proof.'),
  'LogPlace',
)
export type LogPlace = AnswerOf<typeof logPlace>

export const acquisition = componentAs(
  z
    .strictObject({
      file: text('Name of the published file.'),
      publisher: text('Who published it.').nullable(),
      url: text('Address it was fetched from.').nullable(),
      retrieved_at: text('When it was fetched.').nullable(),
      bytes: count('Size in bytes.').nullable(),
      server_time: text("Time of the file as the publisher's server gives it, without a zone.").nullable(),
      sha256: documentedAs(z.string(), SHA256).nullable(),
    })
    .describe('A published file as it was fetched. A member that was not recorded is null.'),
  'Acquisition',
)
export type Acquisition = AnswerOf<typeof acquisition>
