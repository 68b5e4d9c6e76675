/** The access class of a request, part of every cache key and tag: its language and its key's capabilities. */
import type { Key } from '../../keys/keys.ts'
import { type Language, languageOf } from './problem.ts'

export interface AccessClass {
  readonly number: number
  readonly name: string
  readonly language: Language
}

const CLASSES = new Map<string, AccessClass>()
const CLASSES_MAX = 1000
let classCount = 0

function makeClass(language: Language, capabilities: string): AccessClass {
  const name = `${language} ${capabilities}`
  let accessClass = CLASSES.get(name)
  if (accessClass === undefined) {
    classCount += 1
    accessClass = { number: classCount, name, language }
    if (CLASSES.size >= CLASSES_MAX) CLASSES.clear()
    CLASSES.set(name, accessClass)
  }
  return accessClass
}

/** Classes by key. Key objects stay the same until their file changes. */
const CLASSES_OF_KEYS = new WeakMap<Key, Record<Language, AccessClass>>()
const NO_KEY: Record<Language, AccessClass> = { pt: makeClass('pt', ''), en: makeClass('en', '') }

export function accessClassOf(key: Key | null, acceptLanguage: string | undefined): AccessClass {
  const language = languageOf(acceptLanguage)
  if (key === null) return NO_KEY[language]
  let classes = CLASSES_OF_KEYS.get(key)
  if (classes === undefined) {
    const capabilities = key.capabilities.join()
    classes = { pt: makeClass('pt', capabilities), en: makeClass('en', capabilities) }
    CLASSES_OF_KEYS.set(key, classes)
  }
  return classes[language]
}
