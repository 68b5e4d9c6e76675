/** Describes where the values of a record come from: each published cell behind a value, and the rule that made it the value. */
import { z } from 'zod'
import type { JsonValue } from '../engine/types.ts'
import { componentAs, componentRef, documentedAs } from '../query/text-schemas.ts'
import { type AnswerOf, count, SHA256, text } from './parts.ts'

export const SOURCE_FILE = {
  publisher: text('Who published the file.'),
  file: text('File as published.'),
  archive: text('Archive the file came in.').nullable(),
  sha256: documentedAs(z.string(), SHA256),
}

export const provenanceEntry = componentAs(
  z
    .strictObject({
      attribute: text('Field of the record; of a part of one, its path.'),
      value: documentedAs(z.custom<JsonValue>(), componentRef('ProvenanceValue')),
      raw_value: text('The published cell.').nullable(),
      rule: text('How the cell became the value, in the requested language.'),
      source: z
        .strictObject({
          ...SOURCE_FILE,
          row: count('Row of the file, header = 1.').min(1).nullable(),
          column: text('Column of the file.').nullable(),
        })
        .nullable(),
    })
    .describe('Source of a value of a record.'),
  'ProvenanceEntry',
)
export type ProvenanceEntry = AnswerOf<typeof provenanceEntry>
