/** Releases for operators and auditors: what is here, and of one: what was collected, checked, set aside, from which files. */

import type { Answer, ReleaseInfo } from '../api.ts'
import { formatBytes, formatMonth, formatNumber } from '../numbers.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { datasetName } from '../parts/question-form.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { useSite } from '../parts/site.tsx'

interface Manifest {
  readonly release_id: string
  readonly area: string
  readonly month: number
  readonly synthetic: boolean
  readonly importer_version: string
  readonly duckdb_version: string
  readonly catalog_version: string
  readonly coverage?: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly family: string; readonly states: 'all' | readonly string[] }>>
    >
  >
  readonly counts?: Readonly<Record<string, number>>
  readonly set_aside?: readonly { readonly file: string; readonly reason: string; readonly rows: number }[]
  readonly checks?: readonly { readonly name: string; readonly violations: number }[]
  readonly snapshots?: readonly {
    readonly publisher: string
    readonly file: string
    readonly bytes: number
    readonly sha256: string
    readonly rows?: number
    readonly archive?: { readonly file: string; readonly sha256: string }
  }[]
  readonly components: Readonly<Record<string, string>>
}

interface ReleasesData {
  readonly releases: readonly ReleaseInfo[]
  readonly manifest: Manifest | null
}

async function load(
  { api }: LoadContext,
  { id = '' }: Readonly<Record<string, string>>,
): Promise<ReleasesData> {
  const [list, one] = await Promise.all([
    api.get<Answer<readonly ReleaseInfo[]>>('/v1/releases'),
    id === '' ? null : api.get<Answer<Manifest>>(`/v1/releases/${id}`),
  ])
  return { releases: list.data, manifest: one?.data ?? null }
}

const STATES = 'AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO'.split(' ')
const periodOf = (month: string): string => `${month.slice(0, 4)}-${month.slice(4)}`

function View({ data }: { readonly data: ReleasesData }) {
  const { t, language, href } = useSite()
  const { releases, manifest } = data
  return (
    <>
      <h1>{t.releases}</h1>
      <Scroll label={t.releases}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.release}</th>
              <th scope="col">{t.area}</th>
              <th scope="col">{t.periods}</th>
              <th scope="col" class="number">
                {t.rowCount('').trim()}
              </th>
              <th scope="col" class="number">
                {t.size}
              </th>
              <th scope="col">{t.promoted}</th>
            </tr>
          </thead>
          <tbody>
            {releases.map((release) => (
              <tr key={release.release_id}>
                <th scope="row">
                  <a
                    href={href(`/explorer/releases/${release.release_id}`)}
                    aria-current={release.release_id === manifest?.release_id ? 'page' : undefined}
                  >
                    <code class="wide">{release.release_id}</code>
                  </a>
                </th>
                <td>{release.area}</td>
                <td>{monthsText(release.periods, language)}</td>
                <td class="number">{formatNumber(release.rows, 0, language)}</td>
                <td class="number">{formatBytes(release.bytes, language)}</td>
                <td>{release.promoted ? t.yes : t.no}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {manifest === null ? null : <ManifestView manifest={manifest} />}
    </>
  )
}

/** First and last of many months. */
function monthsText(periods: readonly string[], language: 'pt' | 'en'): string {
  const shown = periods.length > 3 ? [periods[0] ?? '', periods.at(-1) ?? ''] : periods
  return shown.map((period) => formatMonth(period, language)).join(periods.length > 3 ? ' – ' : ', ') || '–'
}

function ManifestView({ manifest }: { readonly manifest: Manifest }) {
  const { t, language, href } = useSite()
  const coverage = Object.entries(manifest.coverage ?? {})
  const show = (value: number): string => formatNumber(value, 0, language)
  return (
    <>
      <h2>
        <code class="wide">{manifest.release_id}</code>
      </h2>
      <dl>
        {Object.entries(manifest.components).map(([area, id]) => (
          <div key={area}>
            <dt>{area}</dt>
            <dd>
              <a href={href(`/explorer/releases/${id}`)}>
                <code class="wide">{id}</code>
              </a>
            </dd>
          </div>
        ))}
        <dt>sus-data, DuckDB, {t.metrics}</dt>
        <dd>
          {manifest.importer_version}, {manifest.duckdb_version}, {manifest.catalog_version}
        </dd>
      </dl>
      {coverage.length === 0 ? null : (
        <section>
          <h3 id="coverage">{t.coverage}</h3>
          <p class="hint">{t.coverageHint}</p>
          <Scroll label={t.coverage}>
            <table class="coverage">
              <thead>
                <tr>
                  <th scope="col">{t.dataset}</th>
                  <th scope="col">{t.month}</th>
                  {STATES.map((uf) => (
                    <th scope="col" key={uf}>
                      {uf}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {coverage.flatMap(([dataset, months]) =>
                  Object.entries(months)
                    .sort(([left], [right]) => (left < right ? 1 : -1))
                    .map(([month, { states }]) => (
                      <tr key={dataset + month}>
                        <th scope="row">{datasetName(dataset, language)}</th>
                        <td>{formatMonth(periodOf(month), language)}</td>
                        {STATES.map((uf) => {
                          const isThere = states === 'all' || states.includes(uf)
                          return (
                            <td key={uf} class={isThere ? 'there' : 'missing'}>
                              <abbr title={`${uf}: ${isThere ? t.collected : t.notCollected}`}>
                                {isThere ? '●' : '–'}
                              </abbr>
                            </td>
                          )
                        })}
                      </tr>
                    )),
                )}
              </tbody>
            </table>
          </Scroll>
        </section>
      )}
      {(manifest.set_aside ?? []).length === 0 ? null : (
        <Rows
          title={t.setAside}
          heads={[t.publishedIn, t.reason, t.rowCount('').trim()]}
          rows={(manifest.set_aside ?? []).map(({ file, reason, rows }) => [file, reason, show(rows)])}
        />
      )}
      {(manifest.checks ?? []).length === 0 ? null : (
        <Rows
          title={t.checks}
          heads={[t.checks, t.violations]}
          rows={(manifest.checks ?? []).map(({ name, violations }) => [name, show(violations)])}
        />
      )}
      {(manifest.snapshots ?? []).length === 0 ? null : (
        <Rows
          title={t.snapshots}
          heads={[t.publishedIn, t.size, t.rowCount('').trim(), 'SHA-256']}
          rows={(manifest.snapshots ?? []).map(({ publisher, file, archive, bytes, rows, sha256 }) => [
            `${publisher}, ${file}${archive === undefined ? '' : ` (${archive.file})`}`,
            formatBytes(bytes, language),
            rows === undefined ? '–' : show(rows),
            sha256,
          ])}
        />
      )}
    </>
  )
}

function Rows(props: {
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}) {
  const isNumber = (text: string | undefined): boolean => /^[\d.,]+( [kMG]?B)?$/.test(text ?? '')
  return (
    <details>
      <summary>
        {props.title} ({props.rows.length})
      </summary>
      <Scroll label={props.title}>
        <table>
          <thead>
            <tr>
              {props.heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {props.rows.map((row) => (
              <tr key={row.join()}>
                {row.map((text, index) => (
                  <td key={props.heads[index]} class={isNumber(text) ? 'number' : undefined}>
                    <code class="wide">{text}</code>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}

export const RELEASES_PAGE: PageModule<ReleasesData> = {
  match: (path) => {
    const found = /^\/explorer\/releases(?:\/([a-z0-9-]{20,150}))?\/?$/.exec(path)
    return found === null ? null : { id: found[1] ?? '' }
  },
  load,
  title: ({ manifest }, texts) => manifest?.release_id ?? texts.releases,
  isSynthetic: ({ releases }) => releases.some(({ synthetic, promoted }) => synthetic && promoted),
  View,
}
