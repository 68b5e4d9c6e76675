/** Renders the feed of promotions as Atom (RFC 4287). In: what promotions changed. Out: XML with absolute addresses. */
import { hash } from 'node:crypto'
import { h } from 'preact'
import { render } from 'preact-render-to-string'
import type { PromotionChanges } from './api.ts'
import type { Language } from './numbers.ts'
import { changeLines, questionOfChanges } from './parts/changes.ts'
import { addressOf } from './parts/site.tsx'
import { writeQuestion } from './question.ts'
import { TEXTS } from './texts.ts'

/** @param origin of this server, without a slash at its end @param changes newest first */
export function renderFeed(changes: readonly PromotionChanges[], origin: string, language: Language): string {
  const t = TEXTS[language].whatChanged
  const address = (path: string, search = ''): string => `${origin}${addressOf(path, search, language)}`
  const entries = changes.map(({ promoted_at, release_id, previous_release_id, areas }) => {
    const lines = changeLines(areas, language)
    const releasePage = address(`/explorer/releases/${release_id}`)
    const compared =
      previous_release_id === null || areas === null
        ? []
        : [address('/explorer', writeQuestion(questionOfChanges(previous_release_id)))]
    const content = render(
      <>
        <ul>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        {compared.map((link) => (
          <p key={link}>
            <a href={link}>{TEXTS[language].home.seeChanges}</a>
          </p>
        ))}
      </>,
    )
    return element(
      'entry',
      {},
      element('id', {}, uuidOf(`${promoted_at} ${release_id}`)),
      element('title', {}, t.inService(release_id)),
      element('updated', {}, promoted_at),
      element('link', { rel: 'alternate', type: 'text/html', href: releasePage }),
      element('content', { type: 'html' }, content),
    )
  })
  const feed = element(
    'feed',
    { xmlns: 'http://www.w3.org/2005/Atom', 'xml:lang': language === 'pt' ? 'pt-BR' : 'en' },
    element('id', {}, address('/feed.atom')),
    element('title', {}, t.feedTitle),
    element('updated', {}, changes[0]?.promoted_at ?? '1970-01-01T00:00:00.000Z'),
    element('author', {}, element('name', {}, 'sus-data')),
    element('link', { rel: 'self', type: 'application/atom+xml', href: address('/feed.atom') }),
    element('link', { rel: 'alternate', type: 'text/html', href: address('/') }),
    ...entries,
  )
  return `<?xml version="1.0" encoding="utf-8"?>\n${render(feed)}\n`
}
const element = h as (
  name: string,
  attributes: object,
  ...children: readonly unknown[]
) => ReturnType<typeof h>

/** @returns an Atom id that depends on the text alone (UUID version 8), so that it stays when the server's address changes */
function uuidOf(text: string): string {
  const digits = hash('sha256', text)
  const groups = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ]
  return `urn:uuid:${groups.join('-')}`
}
