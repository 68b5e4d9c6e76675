/** Writes notes as sentences in one language, and compares lists of notes. Pure. */
import { type Namer, NOTES, type Note } from './notes.ts'

export type WrittenNote = Note & { readonly message: string }

/** @param name returns the label of a code of a metric, dimension or dataset; by default the code itself */
export function sentenceOf(note: Note, language: 'pt' | 'en', name: Namer = (code) => code): string {
  const write = NOTES[note.code][language] as (params: Note, name: Namer) => string
  const prefix = language === 'pt' ? 'Variação: ' : 'change: '
  return `${note.of_base === true ? prefix : ''}${write(note, name)}`
}

export const writeNotes = (notes: readonly Note[], language: 'pt' | 'en'): WrittenNote[] =>
  notes.map((note) => {
    const { code, ...params } = note
    return { code, message: sentenceOf(note, language), ...params } as WrittenNote
  })

export const uniqueNotes = (notes: readonly Note[]): Note[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note), note])).values(),
]

export function notesBeyond(notes: readonly Note[], others: readonly Note[]): Note[] {
  const otherNotes = new Set(others.map((note) => JSON.stringify(note)))
  return notes.filter((note) => !otherNotes.has(JSON.stringify(note)))
}
