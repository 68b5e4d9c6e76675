/** Builds the schema of a note from the declarations of all notes. */
import { type Kind, NOTE_CODES, NOTES } from '../../model/notes.ts'
import { flag, type Json, list, object, oneOf, text } from './json.ts'

const MONTH: Json = { type: 'string', pattern: '^\\d{4}-\\d{2}$' }
const KINDS: Readonly<Record<Exclude<Kind, readonly string[]>, Json>> = {
  code: { type: 'string' },
  codes: list({ type: 'string' }),
  month: MONTH,
  months: list(MONTH),
  year: { type: 'integer' },
  count: { type: 'integer', minimum: 0 },
  month_by_metric: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
}
const schemaOf = (kind: Kind): Json =>
  typeof kind === 'string' ? KINDS[kind] : { type: 'string', enum: kind }

/** Parameters of all notes. A name has the same kind in every note. */
const PARAMS: Readonly<Record<string, Json>> = Object.fromEntries(
  Object.values(NOTES).flatMap(({ params }) =>
    Object.entries<Kind>(params).map(([name, kind]) => [`${name}?`, schemaOf(kind)]),
  ),
)

export const NOTE = object(
  {
    code: oneOf(NOTE_CODES, 'Which note it is; docs/analytics.md says when each is due and what it carries.'),
    message: text('The note as a sentence, in the requested language.'),
    'of_base?': flag('true: the note is about the months that values are compared with.'),
    ...PARAMS,
  },
  'What to know about an answer. The code decides which parameters a note has.',
)
