/**
 * Context of a page: language, texts, access to the API, and links. Links are ordinary; in the browser, browser.tsx follows those of the
 * explorer without reloading.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { queryString } from '../api.ts'
import type { Language } from '../numbers.ts'
import { type Question, writeQuestion } from '../question.ts'
import { TEXTS, type Texts } from '../texts.ts'

export interface Visit {
  readonly path: string
  readonly search: string
}

export interface Site {
  readonly visit: Visit
  /** Public origin of the server, e.g. https://dados.example.org, for links that leave the page. */
  readonly origin: string
  readonly language: Language
  /** Access to the API: the operator's key on the server, a key in this tab, or none. */
  readonly access: 'explorer' | 'key' | 'none'
  /** Some origins may frame answers. */
  readonly mayEmbed: boolean
  /** True in the browser, where elements that need a script are shown. */
  readonly isLive: boolean
  readonly go?: (address: string, options?: { readonly isReplaced?: boolean }) => void
  /** Stores a pasted key; '' removes it. Browser only. */
  readonly useKey?: (secret: string) => void
  readonly api?: import('../api.ts').Api
}

export const SiteContext = createContext<Site>({
  visit: { path: '/', search: '' },
  origin: '',
  language: 'pt',
  access: 'none',
  mayEmbed: false,
  isLive: false,
})

/** Address of answers for frames in other pages. */
export const EMBED_PATH = '/explorer/embed'

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

export function useSite(): Site & {
  readonly t: Texts
  readonly href: (path: string, search?: string) => string
} {
  const site = useContext(SiteContext)
  return {
    ...site,
    t: TEXTS[site.language],
    href: (path, search = '') => addressOf(path, search, site.language),
  }
}

/** @returns an address that keeps the language; Portuguese, the default, has no parameter */
export function addressOf(path: string, search: string, language: Language): string {
  if (language === 'pt') return path + search
  return `${path}${search === '' ? '?' : `${search}&`}lang=en`
}

export const languageOfVisit = (search: string): Language =>
  new URLSearchParams(search).get('lang') === 'en' ? 'en' : 'pt'

export function useQuestionHref(): (question: Question) => string {
  const { href } = useSite()
  return (question) => href('/explorer', writeQuestion(question))
}

/** Link to a file of the API in the language of the page. With a key in the tab, browser.tsx fetches it. */
export function Download(props: {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly children: ComponentChildren
}) {
  const { language } = useSite()
  const search = queryString({ ...props.params, lang: language })
  return (
    <a class="button" href={`/explorer/api${props.path}${search}`} download data-download>
      {props.children}
    </a>
  )
}

export function PlaceLink(props: {
  readonly level: string
  readonly code: string
  readonly children: ComponentChildren
}) {
  const { href } = useSite()
  return <a href={href(`/explorer/places/${props.level}/${props.code}`)}>{props.children}</a>
}
