/** Answers about the server itself: whether it lives and is ready, its public key, links to addresses. */
import { z } from 'zod'
import { LINK_FORMS, LINK_SCOPES } from '../keys/links.ts'
import { componentAs } from '../query/text-schemas.ts'
import { type AnswerOf, flag, oneOf, text } from './parts.ts'
import { problem } from './problem.ts'

export const health = z.strictObject({ status: z.literal('ok') })

const problems = (description: string) =>
  z
    .array(z.strictObject({ release_id: text('A release that does not verify.'), reason: text('Why.') }))
    .describe(description)

export const readiness = z.strictObject({
  status: z.literal('ready'),
  release_id: text('Analytics release in service.'),
  refused: problems('Releases that are here and were refused.'),
  pointer: text('Defect of current.json; null without one.').nullable(),
  keys: text('Defect of the file of keys; null without one.').nullable(),
  log: z
    .array(z.strictObject({ file: text('Path below the folder of releases.'), reason: text('Why.') }))
    .describe(
      'Missing or damaged parts of the log of releases and of the proofs beside releases; the server goes on.',
    ),
  source: z
    .strictObject({
      up: flag('The place could be read at the last attempt.'),
      release_id: text('Analytics release in service there, as far as known.').nullable(),
      reason: oneOf(
        ['unreachable', 'copying', 'refused', 'cache_full', 'none_in_service'],
        'Why that release is not in service here yet; null where it is.',
      ).nullable(),
    })
    .describe('The place that this server copies releases from (SUS_RELEASES_URL); null without one.')
    .nullable(),
  missing_files: z.array(text('File of an open release that is gone or cut: release id and path.')),
  damaged_files: z
    .array(z.strictObject({ file: text('Release id and path.'), reason: text('Why.') }))
    .describe(
      'Files of open releases that are damaged or gone since they were verified: what needs one answers 503.',
    ),
  row_store: z.strictObject({
    complete: flag('Lists and records are answered from row files.'),
    missing: z.array(z.strictObject({ dataset: text('Dataset without a row file.'), reason: text('Why.') })),
  }),
  trino: z
    .strictObject({
      used: z.enum(['for large queries', 'for all queries']),
      up: flag('It takes statements.'),
      registered: flag('It has the tables of the release in service.'),
    })
    .describe('The second engine; null where DuckDB has all to itself.')
    .nullable(),
})
export type Readiness = AnswerOf<typeof readiness>

const { refused, pointer, keys, log, source } = readiness.shape
/** Problem of /ready. It lacks the members of readiness while the server ends. */
export const notReady = componentAs(
  problem
    .extend(z.object({ refused, pointer, keys, log, source }).partial().shape)
    .describe('Problem document that says why no release is in service.'),
  'NotReadyResponse',
)

export const signingKey = z.strictObject({
  algorithm: z.literal('Ed25519'),
  public_key: text('32 bytes, base64.'),
  signs: text('Signed part of a report.'),
  name: text('Name of the key in signed notes, and of the log.'),
  verifier_key: text(
    'Name, key id and key in one text: notes of releases and of the log are checked with it.',
  ),
})

export const link = z.strictObject({
  link: text('Address with its token; whoever has it can read what it says.'),
  scope: oneOf(LINK_SCOPES, 'Extent of the link: an address, or everything of a release.'),
  form: oneOf(LINK_FORMS, 'Form of the answer.'),
  expires_at: text('When it ends, in UTC.'),
  key: text('Id of the key that it is of; it ends with it.'),
})
