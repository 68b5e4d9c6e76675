/** Notes written in a language, and lists of notes. In: notes. Out: notes with their sentences. Pure. */
import { type Namer, NOTES, type Note } from './notes.ts'

/** A note as answers and reports have it. */
export type WrittenNote = Note & { readonly message: string }

/** @param name what a code of a metric, a dimension or a dataset is called; by default the code itself */
export function sentenceOf(note: Note, language: 'pt' | 'en', name: Namer = (code) => code): string {
  const write = NOTES[note.code][language] as (params: Note, name: Namer) => string
  const prefix = language === 'pt' ? 'Variação: ' : 'change: '
  return `${note.of_base === true ? prefix : ''}${write(note, name)}`
}

/** @returns the notes in a language: code, message, then the parameters */
export const writeNotes = (notes: readonly Note[], language: 'pt' | 'en'): WrittenNote[] =>
  notes.map((note) => {
    const { code, ...params } = note
    return { code, message: sentenceOf(note, language), ...params } as WrittenNote
  })

/** @returns each note once, in the order in which they come first */
export const uniqueNotes = (notes: readonly Note[]): Note[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note), note])).values(),
]

/** @returns the notes that are not among others */
export function notesBeyond(notes: readonly Note[], others: readonly Note[]): Note[] {
  const known = new Set(others.map((note) => JSON.stringify(note)))
  return notes.filter((note) => !known.has(JSON.stringify(note)))
}
