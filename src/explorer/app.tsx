/** Routes addresses to pages, loads their data and draws them. Entry point of the server and the browser. */
import type { FunctionComponent } from 'preact'
import { type Api, ApiFailure } from './api.ts'
import type { Loaded, PageModule } from './page.ts'
import { COMPARE } from './pages/compare.tsx'
import { EMBED } from './pages/embed.tsx'
import { EXPLORE } from './pages/explore.tsx'
import { FACILITY } from './pages/facility.tsx'
import { FLOWS } from './pages/flows.tsx'
import { HOME } from './pages/home.tsx'
import { INDICATOR } from './pages/indicator.tsx'
import { PLACE } from './pages/place.tsx'
import { RELEASES_PAGE } from './pages/releases.tsx'
import { SEARCH } from './pages/search.tsx'
import { BareLayout, KeyForm, Layout, ProblemNotice } from './parts/layout.tsx'
import { EMBED_PATH, languageOfVisit, type Site, SiteContext, useSite, type Visit } from './parts/site.tsx'
import { TEXTS } from './texts.ts'

// Each page keeps its type of data from load to view, so this list may erase it.
const PAGES = [
  HOME,
  EXPLORE,
  EMBED,
  SEARCH,
  COMPARE,
  INDICATOR,
  PLACE,
  FLOWS,
  FACILITY,
  RELEASES_PAGE,
] as unknown as readonly PageModule<unknown>[]

export function findPage(
  path: string,
): { page: PageModule<unknown>; params: Readonly<Record<string, string>> } | null {
  for (const page of PAGES) {
    const params = page.match(path)
    if (params !== null) return { page, params }
  }
  return null
}

/** @returns the page's data, or the API problem that prevented it; @throws other errors, which are defects */
export async function loadVisit(
  visit: Visit,
  api: Api | null,
  { isLive, shown = null }: { readonly isLive: boolean; readonly shown?: unknown },
): Promise<Loaded> {
  const found = findPage(visit.path)
  const language = languageOfVisit(visit.search)
  if (found === null)
    return {
      kind: 'problem',
      problem: { status: 404, code: 'not_found', title: '', detail: TEXTS[language].notFound },
    }
  if (api === null) return { kind: 'locked' }
  try {
    return {
      kind: 'data',
      data: await found.page.load({ visit, api, language, isLive, shown }, found.params),
    }
  } catch (error) {
    if (error instanceof ApiFailure) return { kind: 'problem', problem: error.problem }
    throw error
  }
}

export function titleOf(visit: Visit, loaded: Loaded): string {
  const language = languageOfVisit(visit.search)
  const found = findPage(visit.path)
  const title =
    loaded.kind === 'data' && found !== null
      ? found.page.title(loaded.data, TEXTS[language], language)
      : TEXTS[language].title
  return `${title} · sus-data`
}

export function App({ site, loaded }: { readonly site: Site; readonly loaded: Loaded }) {
  const found = findPage(site.visit.path)
  const Frame = site.visit.path === EMBED_PATH ? BareLayout : Layout
  return (
    <SiteContext.Provider value={site}>
      <Frame synthetic={loaded.kind === 'data' && found?.page.isSynthetic(loaded.data) === true}>
        <Content found={found?.page ?? null} loaded={loaded} />
      </Frame>
    </SiteContext.Provider>
  )
}

function Content({ found, loaded }: { readonly found: PageModule<unknown> | null; readonly loaded: Loaded }) {
  const { t } = useSite()
  if (loaded.kind === 'locked')
    return (
      <>
        <h1>{t.title}</h1>
        <p class="lead">{t.tagline}</p>
        <KeyForm />
      </>
    )
  if (loaded.kind === 'problem' || found === null)
    return (
      <>
        <h1>{t.title}</h1>
        {loaded.kind === 'problem' ? <ProblemNotice problem={loaded.problem} /> : null}
      </>
    )
  const PageView = found.View as FunctionComponent<{ data: unknown }>
  return <PageView data={loaded.data} />
}
