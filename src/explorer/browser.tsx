/**
 * The explorer in the browser: takes over the page that the server drew, follows links and forms without loading it anew, and
 * keeps a key that the visitor pastes in this tab alone. What pages show is theirs; this file only moves between them.
 */
import { render } from 'preact'
import { type Api, ApiFailure, type Problem } from './api.ts'
import { App, findPage, loadVisit, titleOf } from './app.tsx'
import type { Start } from './document.tsx'
import type { Loaded } from './page.ts'
import { walk } from './parts/options.tsx'
import { languageOfVisit, type Site, type Visit } from './parts/site.tsx'
import { readQuestion, writeQuestion } from './question.ts'
import { TEXTS } from './texts.ts'

const KEY_NAME = 'sus-data key'
const THEME_NAME = 'sus-data theme'
/** Answers that many pages need are asked for once in so long. */
const FRESH_MS = 60_000

const root = document.getElementById('page') as HTMLElement
const start = JSON.parse(document.getElementById('data')?.textContent ?? '{}') as Start
const state = {
  visit: visitOf(new URL(location.href)),
  loaded: start.loaded,
  key: sessionStorage.getItem(KEY_NAME) ?? '',
  api: null as Api | null,
}

function visitOf({ pathname, search }: URL): Visit {
  return { path: pathname, search }
}

/** @param key a pasted one; '' is the operator's, on the server's side */
function makeApi(key: string, language: string): Api {
  const fresh = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>()
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
      const problem = (body ?? {
        status: response.status,
        code: '',
        title: response.statusText,
        detail: '',
      }) as Problem
      throw new ApiFailure(problem)
    }
    return body
  }
  return {
    get<Answer>(path: string, accept = 'application/json'): Promise<Answer> {
      const name = `${accept} ${path}`
      const found = fresh.get(name)
      if (found !== undefined && performance.now() - found.at < FRESH_MS)
        return found.answer as Promise<Answer>
      const answer = call(path, { headers: { accept } })
      fresh.set(name, { at: performance.now(), answer })
      answer.catch(() => fresh.delete(name))
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

function draw(): void {
  const { visit, loaded, api } = state
  const language = languageOfVisit(visit.search)
  const site: Site = {
    visit,
    origin: location.origin,
    language,
    access: accessOf(),
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
/** Loads what the visit needs and draws it, unless the visitor has gone on meanwhile. */
async function show(visit: Visit): Promise<boolean> {
  turn += 1
  const mine = turn
  const content = document.getElementById('content')
  content?.setAttribute('aria-busy', 'true')
  let loaded: Loaded
  try {
    loaded = await loadVisit(visit, state.api, true)
  } catch {
    loaded = { kind: 'problem', problem: { status: 500, code: 'internal', title: '', detail: '' } }
  }
  if (mine !== turn) return false
  state.visit = visit
  state.loaded = loaded
  draw()
  document.getElementById('content')?.removeAttribute('aria-busy')
  return true
}

function go(address: string, { isReplaced = false }: { readonly isReplaced?: boolean } = {}): void {
  const url = new URL(address, location.href)
  const before = state.visit.path
  // What has the focus may be gone from the next view: then the part of the form that it was in gets it.
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
  void show(state.visit)
}

function renewApi(): void {
  const language = languageOfVisit(state.visit.search)
  state.api = accessOf() === 'none' ? null : makeApi(state.key, language)
}

/** A question from the form: an order by what is no longer shown is left out. */
function addressOfForm(form: HTMLFormElement): string {
  const params = new URLSearchParams()
  for (const [name, value] of new FormData(form))
    if (typeof value === 'string' && value !== '') params.append(name, value)
  const path = new URL(form.action).pathname
  const language = params.get('lang') === 'en' ? 'lang=en' : ''
  if (!form.hasAttribute('data-auto')) return `${path}?${params}`
  const asked = readQuestion(`?${params}`)
  // Boxes stand in the catalog's order; what is chosen keeps that of the question, and what is new comes last.
  const before = readQuestion(state.visit.search)
  const question = {
    ...asked,
    metrics: keepOrder(asked.metrics, before.metrics),
    groupBy: keepOrder(asked.groupBy, before.groupBy),
  }
  const field = question.order.replace(/^-/, '')
  const order = [...question.metrics, ...question.groupBy].includes(field) ? question.order : ''
  const search = writeQuestion({ ...question, order, page: 1, cell: null })
  return `${path}${search}${language === '' ? '' : `${search === '' ? '?' : '&'}${language}`}`
}

const keepOrder = (codes: readonly string[], before: readonly string[]): string[] => [
  ...before.filter((code) => codes.includes(code)),
  ...codes.filter((code) => !before.includes(code)),
]

const isOurs = (url: URL): boolean =>
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
  if (link.hasAttribute('data-external') || link.hasAttribute('download') || !isOurs(url)) return
  // A jump within the page is the browser's own.
  if (url.hash !== '' && url.pathname === location.pathname && url.search === location.search) return
  event.preventDefault()
  go(url.href, { isReplaced: link.hasAttribute('data-retry') })
})

/** A file that needs the visitor's key, which no address may hold. */
async function download(url: URL): Promise<void> {
  const path = url.pathname.replace('/explorer/api', '') + url.search
  const response = await fetch(path, { headers: { authorization: `Bearer ${state.key}` } }).catch(() => null)
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

const theme = localStorage.getItem(THEME_NAME)
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
renewApi()
draw()
// The server has no key of this tab, and sends one page of rows where the browser draws all of them.
if (state.key !== '' || (state.loaded.kind === 'data' && readQuestion(state.visit.search).view !== 'table'))
  void show(state.visit)
