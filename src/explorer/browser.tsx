/**
 * Runs the explorer in the browser: takes over the server's page, follows links and forms without reloading, and keeps a pasted key in this
 * tab. Not here: what pages show.
 */
import { render } from 'preact'
import { type Api, ApiFailure, type Problem } from './api.ts'
import { App, findPage, loadVisit, titleOf } from './app.tsx'
import type { Start } from './document.tsx'
import type { Loaded } from './page.ts'
import { walk } from './parts/options.tsx'
import { EMBED_PATH, languageOfVisit, type Site, type Visit } from './parts/site.tsx'
import { savePicture } from './picture.ts'
import { keptOrder, readQuestion, writeQuestion } from './question.ts'
import { TEXTS } from './texts.ts'

const KEY_NAME = 'sus-data key'
const THEME_NAME = 'sus-data theme'
/** How long answers of GET requests are reused, in milliseconds. */
const FRESH_MS = 60_000

let root = document.getElementById('page') as HTMLElement
const start = JSON.parse(document.getElementById('data')?.textContent ?? '{}') as Start
const state = {
  visit: visitOf(new URL(location.href)),
  loaded: start.loaded,
  key: stored(() => sessionStorage, KEY_NAME) ?? '',
  api: null as Api | null,
}

/** @returns what the browser keeps; null where it keeps nothing for a page in a frame of another origin */
function stored(storage: () => Storage, name: string): string | null {
  try {
    return storage().getItem(name)
  } catch {
    return null
  }
}

function visitOf({ pathname, search }: URL): Visit {
  return { path: pathname, search }
}

/** @param key a pasted key; '' uses the operator's key on the server */
function makeApi(key: string, language: string): Api {
  const cache = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>()
  const call = async (path: string, init: RequestInit): Promise<unknown> => {
    const headers = new Headers(init.headers)
    headers.set('accept-language', language)
    if (key !== '') headers.set('authorization', `Bearer ${key}`)
    const response = await fetch(key === '' ? `/explorer/api${path}` : path, { ...init, headers }).catch(
      () => null,
    )
    if (response === null) throw new ApiFailure({ status: 0, code: 'offline', title: '', detail: '' })
    const body: unknown = await response.json().catch(() => null)
    if (!response.ok) {
      // A proxy before the server answers with a page, or with JSON that is no problem.
      const { status, statusText } = response
      throw new ApiFailure({ status, code: '', title: statusText, detail: '', ...(body as object | null) })
    }
    return body
  }
  return {
    get<Answer>(path: string, accept = 'application/json'): Promise<Answer> {
      const name = `${accept} ${path}`
      const cached = cache.get(name)
      if (cached !== undefined && performance.now() - cached.at < FRESH_MS)
        return cached.answer as Promise<Answer>
      const answer = call(path, { headers: { accept } })
      cache.set(name, { at: performance.now(), answer })
      answer.catch(() => cache.delete(name))
      return answer as Promise<Answer>
    },
    post: <Answer,>(path: string, body: unknown) =>
      call(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }) as Promise<Answer>,
  }
}

const accessOf = (): Site['access'] =>
  state.key !== '' ? 'key' : start.access === 'explorer' ? 'explorer' : 'none'

/** The problem page shows this when a page fails to load or to be drawn. */
const DEFECT: Loaded = {
  kind: 'problem',
  problem: { status: 500, code: 'internal', title: '', detail: '' },
}

function draw(): void {
  try {
    drawLoaded()
  } catch {
    // Preact cannot go on from a page that it drew in part.
    const fresh = root.cloneNode() as HTMLElement
    root.replaceWith(fresh)
    root = fresh
    state.loaded = DEFECT
    drawLoaded()
  }
}

function drawLoaded(): void {
  const { visit, loaded, api } = state
  const language = languageOfVisit(visit.search)
  const site: Site = {
    visit,
    origin: location.origin,
    language,
    access: accessOf(),
    mayEmbed: start.mayEmbed,
    isLive: true,
    go,
    useKey,
    ...(api === null ? {} : { api }),
  }
  document.title = titleOf(visit, loaded)
  document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en'
  render(<App site={site} loaded={loaded} />, root)
}

let turn = 0
/** @returns data of the page on show, where the same page is visited in the same language */
function shownFor(visit: Visit): unknown {
  const { loaded, visit: before } = state
  const isSamePage =
    findPage(visit.path)?.page === findPage(before.path)?.page &&
    languageOfVisit(visit.search) === languageOfVisit(before.search)
  return isSamePage && loaded.kind === 'data' ? loaded.data : null
}

/**
 * Loads and draws a page.
 * @param shown data that the page may keep lists of; null when another key loaded them
 * @returns false when the visitor went on to another page meanwhile
 */
async function show(visit: Visit, shown: unknown = shownFor(visit)): Promise<boolean> {
  turn += 1
  const thisTurn = turn
  const content = document.getElementById('content')
  content?.setAttribute('aria-busy', 'true')
  let loaded: Loaded
  try {
    loaded = await loadVisit(visit, state.api, { isLive: true, shown })
  } catch {
    loaded = DEFECT
  }
  if (thisTurn !== turn) return false
  state.visit = visit
  state.loaded = loaded
  draw()
  document.getElementById('content')?.removeAttribute('aria-busy')
  return true
}

function go(address: string, { isReplaced = false }: { readonly isReplaced?: boolean } = {}): void {
  const url = new URL(address, location.href)
  if (state.visit.path === EMBED_PATH) return void open(url, '_blank', 'noopener')
  const before = state.visit.path
  // The focused element may be missing from the next view. Its part of the form gets the focus then.
  const picker = document.activeElement?.closest('.picker') ?? null
  history[isReplaced ? 'replaceState' : 'pushState'](null, '', url)
  void show(visitOf(url)).then((isShown) => {
    if (!isShown) return
    const target = url.hash === '' ? null : document.getElementById(url.hash.slice(1))
    if (target !== null) {
      target.tabIndex = -1
      target.focus({ preventScroll: true })
      target.scrollIntoView({ block: 'start' })
    } else if (url.pathname !== before) {
      scrollTo(0, 0)
      document.getElementById('content')?.focus({ preventScroll: true })
    } else if (document.activeElement === document.body && picker?.isConnected === true)
      picker.querySelector('summary')?.focus({ preventScroll: true })
  })
}

function useKey(secret: string): void {
  if (secret === '') sessionStorage.removeItem(KEY_NAME)
  else sessionStorage.setItem(KEY_NAME, secret)
  state.key = secret
  renewApi()
  void show(state.visit, null)
}

function renewApi(): void {
  const language = languageOfVisit(state.visit.search)
  state.api = accessOf() === 'none' ? null : makeApi(state.key, language)
}

/** Builds the address of a form. An order by a metric or dimension that is no longer selected is dropped. */
function addressOfForm(form: HTMLFormElement): string {
  const params = new URLSearchParams()
  for (const [name, value] of new FormData(form))
    if (typeof value === 'string' && value !== '') params.append(name, value)
  const path = new URL(form.action).pathname
  const language = params.get('lang') === 'en' ? 'lang=en' : ''
  if (!form.hasAttribute('data-auto')) return `${path}?${params}`
  const formQuestion = readQuestion(`?${params}`)
  // Checkboxes are in the catalog's order. Keep the order of the previous question, and append new codes.
  const before = readQuestion(state.visit.search)
  const question = {
    ...formQuestion,
    metrics: keepOrder(formQuestion.metrics, before.metrics),
    groupBy: keepOrder(formQuestion.groupBy, before.groupBy),
  }
  const search = writeQuestion({ ...question, order: keptOrder(question), page: 1, cell: null })
  return `${path}${search}${language === '' ? '' : `${search === '' ? '?' : '&'}${language}`}`
}

const keepOrder = (codes: readonly string[], before: readonly string[]): string[] => [
  ...before.filter((code) => codes.includes(code)),
  ...codes.filter((code) => !before.includes(code)),
]

const isExplorerPage = (url: URL): boolean =>
  url.origin === location.origin &&
  !url.pathname.startsWith('/explorer/api') &&
  findPage(url.pathname) !== null

document.addEventListener('click', (event) => {
  const target = event.target as Element
  const copy = target.closest('[data-copy]')
  if (copy !== null) {
    const { copied } = TEXTS[languageOfVisit(state.visit.search)]
    void navigator.clipboard?.writeText(copy.getAttribute('data-copy') ?? '').then(() => {
      copy.textContent = copied
    })
    return
  }
  const picture = target.closest('[data-picture]')
  const figure = document.querySelector('figure.chart, figure.map')
  if (picture !== null && figure !== null) {
    const { picture: format, source = '', name = '' } = (picture as HTMLElement).dataset
    const title = [...(document.querySelector('h1')?.childNodes ?? [])].map((node) =>
      node.textContent?.trim(),
    )
    void savePicture(figure, format === 'png' ? 'png' : 'svg', {
      title: title.join(' '),
      source: source.split('\n'),
      name,
    })
    return
  }
  if (target.closest('[data-theme-switch]') !== null) return switchTheme()
  const link = target.closest('a')
  if (link === null || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const url = new URL(link.href, location.href)
  if (link.hasAttribute('data-download')) {
    if (state.key === '') return
    event.preventDefault()
    void download(url)
    return
  }
  // Links of a framed page open in a tab of their own.
  if (state.visit.path === EMBED_PATH) return
  if (link.hasAttribute('data-external') || link.hasAttribute('download') || !isExplorerPage(url)) return
  if (url.hash !== '' && url.pathname === location.pathname && url.search === location.search) return
  event.preventDefault()
  go(url.href, { isReplaced: link.hasAttribute('data-retry') })
})

/** Downloads a file with the visitor's key, which must not appear in a URL. */
async function download(url: URL): Promise<void> {
  const language = languageOfVisit(url.search)
  url.searchParams.delete('lang')
  const path = url.pathname.replace('/explorer/api', '') + url.search
  const headers = { authorization: `Bearer ${state.key}`, 'accept-language': language }
  const response = await fetch(path, { headers }).catch(() => null)
  if (response === null || !response.ok) {
    const problem = (await response?.json().catch(() => null)) as Problem | null
    state.loaded = {
      kind: 'problem',
      problem: problem ?? { status: response?.status ?? 0, code: '', title: '', detail: '' },
    }
    return draw()
  }
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'sus-data'
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement
  if (!form.hasAttribute('data-go') || event.defaultPrevented) return
  event.preventDefault()
  go(addressOfForm(form))
})

document.addEventListener('change', (event) => {
  const field = event.target as HTMLInputElement
  const form = field.form
  if (form === null || !form.hasAttribute('data-auto') || field.hasAttribute('data-ignored')) return
  go(addressOfForm(form))
})

document.addEventListener('keydown', walk)

addEventListener('popstate', () => void show(visitOf(new URL(location.href))))

function switchTheme(): void {
  const { documentElement } = document
  const isDark =
    (documentElement.dataset.theme ??
      (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  documentElement.dataset.theme = isDark ? 'light' : 'dark'
  localStorage.setItem(THEME_NAME, documentElement.dataset.theme)
}

const theme = stored(() => localStorage, THEME_NAME)
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
renewApi()
draw()
// Load again with this tab's key, and for charts and maps, which need all rows while the server sends one page.
if (state.key !== '') void show(state.visit, null)
else if (state.loaded.kind === 'data' && readQuestion(state.visit.search).view !== 'table')
  void show(state.visit)
