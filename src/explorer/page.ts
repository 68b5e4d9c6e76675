/** Interface of the explorer's pages: their addresses, data and views. Server and browser run the same pages. */
import type { ComponentType } from 'preact'
import type { Api, Problem } from './api.ts'
import type { Visit } from './parts/site.tsx'
import type { Texts } from './texts.ts'

export interface LoadContext<Data = unknown> {
  readonly visit: Visit
  readonly api: Api
  readonly language: 'pt' | 'en'
  /** True in the browser, which needs all rows to draw a map. */
  readonly isLive: boolean
  /** Data of the same page that the browser shows, such as the answer before this one; null where it shows another page. */
  readonly shown: Data | null
}

export interface PageModule<Data> {
  /** @returns parameters of the path, or null when another page has it */
  readonly match: (path: string) => Readonly<Record<string, string>> | null
  /** @throws ApiFailure */
  readonly load: (context: LoadContext<Data>, params: Readonly<Record<string, string>>) => Promise<Data>
  readonly title: (data: Data, texts: Texts, language: 'pt' | 'en') => string
  readonly isSynthetic: (data: Data) => boolean
  readonly View: ComponentType<{ readonly data: Data }>
}

export type Loaded =
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'problem'; readonly problem: Problem }
  | { readonly kind: 'locked' }
