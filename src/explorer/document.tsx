/** Renders the HTML document on the server. The browser takes over #page and reads its data from #data. */
import { render } from 'preact-render-to-string'
import { App, titleOf } from './app.tsx'
import type { Loaded } from './page.ts'
import { addressOf, EMBED_PATH, escapeHtml, languageOfVisit, type Site, type Visit } from './parts/site.tsx'
import { TEXTS } from './texts.ts'

export interface Assets {
  /** Paths of the script and the style sheet; the script is '' when it was not built. */
  readonly script: string
  readonly style: string
}

export interface Start {
  readonly loaded: Loaded
  readonly access: Site['access']
  readonly mayEmbed: boolean
}

export function renderDocument(visit: Visit, origin: string, start: Start, assets: Assets): string {
  const language = languageOfVisit(visit.search)
  const { loaded, access, mayEmbed } = start
  const site: Site = { visit, origin, language, access, mayEmbed, isLive: false }
  const script = assets.script === '' ? '' : `<script type="module" src="${assets.script}"></script>`
  return `<!doctype html>
<html lang="${language === 'pt' ? 'pt-BR' : 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(TEXTS[language].tagline)}">
${visit.path === EMBED_PATH ? '<base target="_blank">\n' : ''}<title>${escapeHtml(titleOf(visit, loaded))}</title>
<link rel="stylesheet" href="${assets.style}">
<link rel="alternate" type="application/atom+xml" title="${TEXTS[language].whatChanged.feedTitle}" href="${addressOf('/feed.atom', '', language)}">
<link rel="icon" href="data:,">
${script}
</head>
<body>
<div id="page">${render(<App site={site} loaded={loaded} />)}</div>
<script type="application/json" id="data">${JSON.stringify(start).replaceAll('<', '\\u003c')}</script>
</body>
</html>
`
}
