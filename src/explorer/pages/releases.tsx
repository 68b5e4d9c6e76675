/** Pages of releases for operators and auditors: the list, and coverage, checks, rejected rows and source files of one release. */

import { datasetName } from '../catalog-texts.ts'
import { formatBytes, formatMonth, formatNumber } from '../numbers.ts'
import type { PageModule } from '../page.ts'
import { Acquisitions, type FetchedFile } from '../parts/acquisitions.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { shortId } from '../parts/question-form.tsx'
import { Rows } from '../parts/rows.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { Download, useSite } from '../parts/site.tsx'
import { ATTRIBUTES } from '../record-texts.ts'
import { loadReleases, type Manifest, type ReleasesData } from './releases-load.ts'

const STATES = 'AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO'.split(' ')
const periodOf = (month: string): string => `${month.slice(0, 4)}-${month.slice(4)}`

function View({ data }: { readonly data: ReleasesData }) {
  const { t, language, href } = useSite()
  const { releases, manifest, acquisitions } = data
  return (
    <>
      <h1>{t.releases}</h1>
      <DataTable
        label={t.releases}
        heads={[
          { text: t.release },
          { text: t.area },
          { text: t.periods },
          { text: t.rowsHead, isNumber: true },
          { text: t.size, isNumber: true },
          { text: t.promoted },
        ]}
        rows={releases.map((release) => ({
          key: release.release_id,
          cells: [
            <a
              key="id"
              href={href(`/explorer/releases/${release.release_id}`)}
              title={release.release_id}
              aria-current={release.release_id === manifest?.release_id ? 'page' : undefined}
            >
              <code>{shortId(release.release_id)}</code>
            </a>,
            t.areas[release.area] ?? release.area,
            monthsText(release.periods, language),
            formatNumber(release.rows, 0, language),
            formatBytes(release.bytes, language),
            release.promoted ? t.yes : t.no,
          ],
        }))}
      />
      {manifest === null ? null : (
        <ManifestView
          manifest={manifest}
          acquisitions={acquisitions}
          contentId={
            releases.find(({ release_id }) => release_id === manifest.release_id)?.content_id ?? null
          }
        />
      )}
    </>
  )
}

function monthsText(periods: readonly string[], language: 'pt' | 'en'): string {
  const months = periods.filter((period) => !period.endsWith('-00'))
  const shown = periods.length > 3 ? [months[0] ?? '', months.at(-1) ?? ''] : periods
  return shown.map((period) => formatMonth(period, language)).join(periods.length > 3 ? ' – ' : ', ') || '–'
}

function ManifestView(props: {
  readonly manifest: Manifest
  readonly acquisitions: readonly FetchedFile[]
  readonly contentId: string | null
}) {
  const { manifest, acquisitions, contentId } = props
  const { t, language, href } = useSite()
  const coverage = Object.entries(manifest.coverage)
  const show = (value: number): string => formatNumber(value, 0, language)
  const rejectedRows = manifest.set_aside
  const checks = manifest.checks
  const failed = checks.filter(({ violations }) => violations > 0)
  return (
    <>
      <h2>
        {t.areas[manifest.area] ?? manifest.area} <small>{shortId(manifest.release_id)}</small>
      </h2>
      <dl class="pairs">
        <div>
          <dt>{t.release}</dt>
          <dd>
            <code class="wide">{manifest.release_id}</code>
          </dd>
        </div>
        {contentId === null ? null : (
          <div>
            <dt>{t.contentId}</dt>
            <dd>
              <code class="wide" title={t.contentIdHint}>
                {contentId}
              </code>
            </dd>
          </div>
        )}
        {Object.entries(manifest.components).map(([area, id]) => (
          <div key={area}>
            <dt>{t.areas[area] ?? area}</dt>
            <dd>
              <a href={href(`/explorer/releases/${id}`)}>
                <code class="wide">{id}</code>
              </a>
            </dd>
          </div>
        ))}
        <div>
          <dt>{t.madeBy}</dt>
          <dd>
            sus-data {manifest.importer_version}, DuckDB {manifest.duckdb_version}, {t.catalog}{' '}
            {manifest.catalog_version}
          </dd>
        </div>
      </dl>
      {coverage.length === 0 ? null : (
        <>
          <Freshness coverage={coverage} />
          <Coverage coverage={coverage} />
        </>
      )}
      <Rows
        title={t.setAside}
        count={rejectedRows.reduce((sum, { rows }) => sum + rows, 0)}
        heads={[{ text: t.publishedIn }, { text: t.reason }, { text: t.rowsHead, isNumber: true }]}
        rows={rejectedRows.map(({ file, reason, rows }) => [
          <code key="file">{file}</code>,
          reasonText(reason, language),
          show(rows),
        ])}
      >
        {manifest.files.map(({ path }) => (
          <p key={path}>
            <Download path={`/v1/releases/${manifest.release_id}/files/${path}`} params={{}}>
              {t.setAsideFile} (Parquet)
            </Download>
          </p>
        ))}
      </Rows>
      <Rows
        title={failed.length === 0 ? t.checksPassed : t.checks}
        count={checks.length}
        heads={[{ text: t.checks }, { text: t.violations, isNumber: true }]}
        rows={checks.map(({ name, violations }) => [<code key="name">{name}</code>, show(violations)])}
      />
      <Rows
        title={t.snapshots}
        count={manifest.snapshots.length}
        heads={[
          { text: t.publishedIn },
          { text: t.size, isNumber: true },
          { text: t.rowsHead, isNumber: true },
          { text: 'SHA-256' },
        ]}
        rows={manifest.snapshots.map(({ publisher, file, archive, bytes, rows, sha256 }) => [
          `${publisher}, ${file}${archive === null ? '' : ` (${archive.file})`}`,
          formatBytes(bytes, language),
          show(rows),
          <code key="digest" class="wide">
            {sha256}
          </code>,
        ])}
      />
      <Acquisitions acquisitions={acquisitions} />
    </>
  )
}

type CoverageList = readonly (readonly [
  dataset: string,
  months: Readonly<Record<string, { readonly states: 'all' | readonly string[] }>>,
])[]

const statesOf = (states: 'all' | readonly string[]): number =>
  states === 'all' ? STATES.length : states.length

function Freshness({ coverage }: { readonly coverage: CoverageList }) {
  const { t, language } = useSite()
  const today = new Date()
  return (
    <section>
      <h3 id="freshness">{t.freshness}</h3>
      <DataTable
        label={t.freshness}
        heads={[
          { text: t.dataset },
          { text: t.newestMonth },
          { text: t.age, isNumber: true },
          { text: t.statesCollected, isNumber: true },
          { text: t.monthsCollected, isNumber: true },
        ]}
        rows={coverage.map(([dataset, months]) => {
          const [newest = ''] = Object.keys(months).sort().reverse()
          const [year = 0, month = 0] = periodOf(newest).split('-').map(Number)
          const age = (today.getUTCFullYear() - year) * 12 + today.getUTCMonth() + 1 - month
          return {
            key: dataset,
            cells: [
              datasetName(dataset, language),
              formatMonth(periodOf(newest), language),
              t.monthsOld(formatNumber(age, 0, language)),
              `${statesOf(months[newest]?.states ?? [])} / ${STATES.length}`,
              formatNumber(Object.keys(months).length, 0, language),
            ],
          }
        })}
      />
    </section>
  )
}

function Coverage({ coverage }: { readonly coverage: CoverageList }) {
  const { t, language } = useSite()
  return (
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
                      const isCollected = states === 'all' || states.includes(uf)
                      return (
                        <td key={uf} class={isCollected ? 'there' : 'missing'}>
                          <abbr title={`${uf}: ${isCollected ? t.collected : t.notCollected}`}>
                            {isCollected ? '●' : '–'}
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
  )
}

const REASONS: Readonly<Record<string, string>> = {
  amount_is_no_number: 'valor que não é número',
  deleted: 'linha que a fonte marcou como excluída',
  duplicate_identical: 'linha repetida, igual em tudo',
  duplicate_key: 'outra linha tem a mesma chave',
  invalid_cnes_code: 'código CNES inválido',
  mark_not_applicable: 'marca “não se aplica”',
  mark_not_available: 'marca “não disponível”',
  mark_range: 'marca de faixa de valores',
  mark_suppressed: 'marca de valor omitido',
  municipality_without_health_macroregion: 'município sem macrorregião de saúde',
  municipality_without_health_region: 'município sem região de saúde',
  no_bimester: 'sem bimestre',
  no_geometry: 'sem contorno',
  no_municipality: 'sem município',
  no_month: 'sem mês do óbito',
  no_procedure: 'sem procedimento',
  no_year: 'sem ano',
  not_a_municipality: 'não é um município',
  not_a_total: 'não é um total',
  other_variable: 'outra variável',
  sum_out_of_range: 'soma fora do que cabe',
  unknown_column: 'coluna desconhecida',
  unknown_facility: 'estabelecimento que não está no cadastro',
  unknown_government: 'governo desconhecido',
  unknown_municipality: 'município desconhecido',
  unknown_stage: 'etapa da despesa desconhecida',
  unreadable_missing_columns: 'linha com colunas de menos',
  unreadable_number: 'número ilegível',
  unreadable_row: 'linha ilegível',
  unreadable_too_many_columns: 'linha com colunas de mais',
  unreadable_unclosed_quote: 'aspas que não fecham',
  unreadable_unquoted_value: 'texto depois das aspas',
}
/** @returns why rows were rejected; in Portuguese with the code of the reason */
function reasonText(reason: string, language: 'pt' | 'en'): string {
  if (language === 'en') return reason.replaceAll('_', ' ')
  const [, field] = /^invalid_(.+)$/.exec(reason) ?? []
  const words =
    REASONS[reason] ?? (field === undefined ? undefined : `valor inválido: ${ATTRIBUTES[field] ?? field}`)
  return words === undefined ? reason : `${words} (${reason})`
}

export const RELEASES_PAGE: PageModule<ReleasesData> = {
  match: (path) => {
    const found = /^\/explorer\/releases(?:\/([a-z0-9-]{20,150}))?\/?$/.exec(path)
    return found === null ? null : { id: found[1] ?? '' }
  },
  load: loadReleases,
  title: ({ manifest }, texts) => manifest?.release_id ?? texts.releases,
  isSynthetic: ({ releases }) => releases.some(({ synthetic, promoted }) => synthetic && promoted),
  View,
}
