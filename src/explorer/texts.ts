/** Texts of the explorer in Portuguese and English. Labels of metrics and members come from the API. */
import type { Language } from './numbers.ts'
import { EN } from './texts-en.ts'
import { PT } from './texts-pt.ts'

export type Texts = typeof PT

export const TEXTS: Readonly<Record<Language, Texts>> = { pt: PT, en: EN }
