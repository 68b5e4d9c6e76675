/**
 * What every part of a page knows: the language and its texts, who the visitor is to the API, and how links are written.
 * Links are ordinary ones; in the browser, browser.tsx follows those of the explorer without loading the page anew.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { queryString } from '../api.ts'
import type { Language } from '../numbers.ts'
import { type Question, writeQuestion } from '../question.ts'
import { TEXTS, type Texts } from '../texts.ts'

/** An address of the explorer. */
export interface Visit {
  /** Begins with /. */
  readonly path: string
  /** Query string with `?`, or ''. */
  readonly search: string
}

export interface Site {
  readonly visit: Visit
  /** Where this server is for the visitor, e.g. https://dados.example.org; for links that leave the page. */
  readonly origin: string
  readonly language: Language
  /** How requests reach the API: the operator's key on the server's side, a key of this tab, or not at all. */
  readonly access: 'explorer' | 'key' | 'none'
  /** True in the browser: what needs a script is shown. */
  readonly isLive: boolean
  /** Follows a link of the explorer; only in the browser. */
  readonly go?: (address: string, options?: { readonly isReplaced?: boolean }) => void
  /** A key pasted by the visitor; '' forgets it. Only in the browser. */
  readonly useKey?: (secret: string) => void
  /** The API of the page, for what is loaded later. Only in the browser. */
  readonly api?: import('../api.ts').Api
}

export const SiteContext = createContext<Site>({
  visit: { path: '/', search: '' },
  origin: '',
  language: 'pt',
  access: 'none',
  isLive: false,
})

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

/** @returns an address that keeps the language; Portuguese is the one without a parameter */
export function addressOf(path: string, search: string, language: Language): string {
  if (language === 'pt') return path + search
  return `${path}${search === '' ? '?' : `${search}&`}lang=en`
}

export const languageOfVisit = (search: string): Language =>
  new URLSearchParams(search).get('lang') === 'en' ? 'en' : 'pt'

/** The address of a question. */
export function useQuestionHref(): (question: Question) => string {
  const { href } = useSite()
  return (question) => href('/explorer', writeQuestion(question))
}

/** A file of the API that the browser loads by itself; with a key of the tab, browser.tsx fetches it. */
export function Download(props: {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly children: ComponentChildren
}) {
  return (
    <a class="button" href={`/explorer/api${props.path}${queryString(props.params)}`} download data-download>
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
