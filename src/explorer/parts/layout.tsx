/** Frame of every page: skip link, header with search, key form, notice of synthetic data, footer. */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../api.ts'
import { addressOf, useSite } from './site.tsx'

export function Layout(props: { readonly synthetic: boolean; readonly children: ComponentChildren }) {
  const { t, href, visit, language, isLive, access } = useSite()
  const params = new URLSearchParams(visit.search)
  params.delete('lang')
  const search = params.size === 0 ? '' : `?${params}`
  return (
    <>
      <a class="skip" href="#content">
        {t.skip}
      </a>
      <header class="site">
        <div class="bar">
          <a class="brand" href={href('/')}>
            <strong>sus-data</strong>
          </a>
          <nav aria-label={t.title}>
            <a href={href('/explorer')}>{t.explore}</a>
            <a href={href('/explorer/releases')}>{t.releases}</a>
            <a href="/docs" data-external>
              {t.apiDocs}
            </a>
          </nav>
          <SearchBox />
          <div class="tools">
            <a
              href={addressOf(visit.path, search, language === 'pt' ? 'en' : 'pt')}
              hreflang={language === 'pt' ? 'en' : 'pt-BR'}
              lang={language === 'pt' ? 'en' : 'pt-BR'}
              data-external
            >
              {t.otherLanguage}
            </a>
            {isLive ? (
              <button type="button" data-theme-switch aria-label={t.theme} title={t.theme}>
                <span aria-hidden="true">◐</span>
              </button>
            ) : null}
          </div>
        </div>
        {props.synthetic ? <p class="synthetic">{t.synthetic}</p> : null}
      </header>
      <main id="content" tabIndex={-1}>
        {props.children}
      </main>
      {/* A page that waits for a key shows both in its middle. */}
      {access === 'none' ? null : (
        <footer class="site">
          <p>{t.tagline}</p>
          <KeyForm />
        </footer>
      )}
    </>
  )
}

/** Layout of a page in another page's frame: content only. */
export function BareLayout(props: { readonly synthetic: boolean; readonly children: ComponentChildren }) {
  const { t } = useSite()
  return (
    <main id="content" class="bare" tabIndex={-1}>
      {props.synthetic ? <p class="synthetic">{t.synthetic}</p> : null}
      {props.children}
    </main>
  )
}

function SearchBox() {
  const { t, language, visit } = useSite()
  const text = visit.path === '/explorer/search' ? (new URLSearchParams(visit.search).get('text') ?? '') : ''
  return (
    <search class="search">
      <form action="/explorer/search" data-go>
        {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
        <label class="hidden" for="search-text">
          {t.searchLabel}
        </label>
        <input
          id="search-text"
          type="search"
          name="text"
          defaultValue={text}
          placeholder={t.searchLabel}
          title={t.searchHint}
          autocomplete="off"
          maxLength={100}
        />
        <button type="submit">{t.search}</button>
      </form>
    </search>
  )
}

/** Form for the visitor's API key, which is kept in the tab and never put in an address. */
export function KeyForm() {
  const { t, access, isLive, useKey } = useSite()
  if (!isLive) return access === 'none' ? <p class="notice">{t.keyNeedsScript}</p> : null
  if (access === 'key')
    return (
      <p>
        {t.keyInUse}{' '}
        <button type="button" onClick={() => useKey?.('')}>
          {t.forgetKey}
        </button>
      </p>
    )
  return (
    <form
      class="key"
      onSubmit={(event) => {
        event.preventDefault()
        const field = event.currentTarget.elements.namedItem('key')
        if (field instanceof HTMLInputElement && field.value.trim() !== '') useKey?.(field.value.trim())
      }}
    >
      {access === 'none' ? <p class="notice">{t.keyNeeded}</p> : null}
      <label for="key">{t.key}</label>
      <input id="key" name="key" type="password" autocomplete="off" spellcheck={false} required />
      <button type="submit">{t.useKey}</button>
      <p class="hint">{t.keyHint}</p>
    </form>
  )
}

export function ProblemNotice({ problem }: { readonly problem: Problem }) {
  const { t, visit, isLive, language } = useSite()
  const params = new URLSearchParams(visit.search)
  const isPinned = problem.code === 'release_mismatch' && params.has('release')
  params.delete('release')
  params.delete('cell')
  const words =
    problem.status === 0
      ? t.offline
      : (t.problems[problem.code] ?? (problem.detail || t.noReason(problem.status)))
  return (
    <section class="problem" role="alert">
      <h2>{t.problem}</h2>
      <p>{words}</p>
      {(problem.errors ?? []).map(({ pointer, parameter, message, allowed = [] }, index) => (
        <p key={`${pointer}${parameter}${message}`}>
          {/* The paragraph above already shows the first error. */}
          {index === 0 ? null : (
            <>
              <code>{pointer ?? parameter}</code> {message}{' '}
            </>
          )}
          {allowed.length === 0 || allowed.length > 20 ? null : (
            <span class="hint">
              {t.possible}: {allowed.join(', ')}
            </span>
          )}
        </p>
      ))}
      {isPinned ? (
        <p>
          <a href={`${visit.path}?${params}`}>{t.unpin}</a>
        </p>
      ) : null}
      {problem.status === 401 || problem.status === 403 ? <KeyForm /> : null}
      {problem.status === 0 || problem.status === 429 || problem.status >= 500 ? (
        <p>
          <a
            class="button"
            href={visit.path + visit.search}
            data-retry={isLive ? true : undefined}
            lang={language === 'pt' ? 'pt-BR' : 'en'}
          >
            {t.retry}
          </a>
        </p>
      ) : null}
    </section>
  )
}
