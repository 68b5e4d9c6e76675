/**
 * A page of the explorer as data: which addresses are its own, what it loads, what it shows. The server and the browser run the
 * same pages; only how they reach the API differs.
 */
import type { ComponentType } from 'preact'
import type { Api, Problem } from './api.ts'
import type { Visit } from './parts/site.tsx'
import type { Texts } from './texts.ts'

export interface LoadContext {
  readonly visit: Visit
  readonly api: Api
  readonly language: 'pt' | 'en'
  /** All rows are wanted (a map is drawn in the browser alone). */
  readonly isLive: boolean
}

export interface PageModule<Data> {
  /** @returns parameters of the path, or null where the page is another */
  readonly match: (path: string) => Readonly<Record<string, string>> | null
  /** @throws ApiFailure */
  readonly load: (context: LoadContext, params: Readonly<Record<string, string>>) => Promise<Data>
  readonly title: (data: Data, texts: Texts, language: 'pt' | 'en') => string
  readonly isSynthetic: (data: Data) => boolean
  readonly View: ComponentType<{ readonly data: Data }>
}

/** What a page has come to: its data, or why there are none. */
export type Loaded =
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'problem'; readonly problem: Problem }
  /** No key yet. */
  | { readonly kind: 'locked' }
