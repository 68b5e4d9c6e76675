/** Panels of an answer: records of a cell, verification and citation. */

import type { ComponentChildren } from 'preact'
import type { Catalog, Labels, LineageAnswer, QueryAnswer, Source } from '../api.ts'
import { formulaText, noteText, unitOutsideLabel } from '../catalog-texts.ts'
import { formatMonth, formatNumber } from '../numbers.ts'
import { bodyOf, change, type Question, RECORDS_MAX, writeCell, writeQuestion } from '../question.ts'
import { ATTRIBUTES } from '../record-texts.ts'
import { DataTable } from './data-table.tsx'
import { Scroll } from './scroll.tsx'
import { Download, EMBED_PATH, escapeHtml, useQuestionHref, useSite } from './site.tsx'
import { dimensionOf, labelOf, metricOf } from './table.tsx'

export interface CellRecords {
  readonly sides: readonly SideOfCell[]
}

interface SideOfCell {
  readonly side: 'numerator' | 'denominator' | null
  /** Null where the key may not read the records. */
  readonly answer: LineageAnswer | null
}

export function LineagePanel(props: {
  readonly question: Question
  readonly catalog: Catalog
  readonly records: CellRecords
  /** Dimension → name of the cell's member. */
  readonly names: ReadonlyMap<string, string>
}) {
  const { question, catalog, records, names } = props
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { cell } = question
  if (cell === null) return null
  const metric = metricOf(catalog, cell.metric.replace(/__base$/, ''))
  const decimals = metric?.decimals ?? 0
  const decimalsOf = (side: SideOfCell['side']): number =>
    metricOf(catalog, (side === null ? metric?.code : metric?.[side]) ?? '')?.decimals ?? 0
  const meta = records.sides.find(({ answer }) => answer !== null)?.answer?.meta
  return (
    <section class="panel beside" id="lineage" aria-labelledby="lineage-title">
      <p class="close">
        <a href={questionHref({ ...question, cell: null })}>{t.close}</a>
      </p>
      <h2 id="lineage-title">{t.lineage}</h2>
      <dl>
        <div>
          <dt>{labelOf(metric, language)}</dt>
          <dd class="big">
            {meta?.value == null ? t.noData : formatNumber(meta.value, decimals, language)}{' '}
            <small>{unitOutsideLabel(metric, language, question.analysis.prices)}</small>
          </dd>
        </div>
        {Object.entries(cell.key).map(([dimension, code]) => (
          <div key={dimension}>
            <dt>{labelOf(dimensionOf(catalog, dimension), language)}</dt>
            <dd>
              {dimension === 'reference_period'
                ? formatMonth(code, language)
                : (names.get(dimension) ?? code)}
            </dd>
          </div>
        ))}
        <div>
          <dt>{t.formula}</dt>
          <dd>{metric === undefined ? null : formulaText(metric, catalog, language, question.basis)}</dd>
        </div>
        {metric?.meaning === undefined ? null : (
          <div>
            <dt>{t.meaning}</dt>
            <dd>{language === 'en' ? metric.meaning_en : metric.meaning}</dd>
          </div>
        )}
      </dl>
      {records.sides.map(({ side, answer }) => {
        const title = side === null ? t.sum : t[side]
        return (
          <div key={side}>
            {answer === null ? (
              <>
                <h3>{title}</h3>
                <p>{t.problems.forbidden}</p>
              </>
            ) : (
              <SideRecords {...{ title, answer, question }} decimals={decimalsOf(side)} />
            )}
          </div>
        )
      })}
      {meta?.notes.map((note) => (
        <p class="hint" key={note.message}>
          {noteText(note, catalog, language)}
        </p>
      ))}
      <p class="hint">
        {t.sameCell}: <code class="wide">{`POST /v1/analytics/lineage ${writeCell(cell)}`}</code>
      </p>
    </section>
  )
}

/** Fewest decimals of an amount that is no integer. */
const FRACTION_DECIMALS = 2

/** The records of one side of a cell, and their sum. */
function SideRecords(props: {
  readonly title: string
  readonly answer: LineageAnswer
  /** Decimals of the metric that the side sums. */
  readonly decimals: number
  readonly question: Question
}) {
  const { title, answer, decimals, question } = props
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { data, pagination, meta } = answer
  const count = (value: number): string => formatNumber(value, 0, language)
  const decimalsOf = (amount: number): number =>
    Number.isInteger(amount) ? decimals : Math.max(decimals, FRACTION_DECIMALS)
  const show = (amount: number): string => formatNumber(amount, decimalsOf(amount), language)
  const isRounded = [meta.total ?? 0, ...data.map(({ contribution }) => contribution)].some(
    (amount) => Number(amount.toFixed(decimalsOf(amount))) !== amount,
  )
  return (
    <>
      <h3>
        {title}: {meta.total === null ? t.noData : show(meta.total)}
      </h3>
      <p>
        {data.length < pagination.total_rows
          ? t.firstRecords(count(data.length), count(pagination.total_rows))
          : t.records(count(pagination.total_rows))}
        {data.length < Math.min(RECORDS_MAX, pagination.total_rows) ? (
          <>
            {' · '}
            <a href={`${questionHref({ ...question, records: RECORDS_MAX })}#lineage`}>{t.moreRecords}</a>
          </>
        ) : null}
      </p>
      {isRounded ? <p class="hint">{t.rounded}</p> : null}
      <DataTable
        label={title}
        heads={[{ text: t.record }, { text: t.contribution, isNumber: true }, { text: t.publishedIn }]}
        rows={data.map((record) => ({
          key: JSON.stringify([record.key, record.reference_period]),
          cells: [
            <RecordKey key="key" record={record.key} />,
            show(record.contribution),
            record.sources.map((source) => (
              <SourceOf key={`${source.file}${source.row}${source.column}`} source={source} />
            )),
          ],
        }))}
      />
    </>
  )
}

function RecordKey({ record }: { readonly record: LineageAnswer['data'][number]['key'] }) {
  const { t, language, href } = useSite()
  return (
    <>
      {Object.entries(record).map(([name, value]) => (
        <div key={name}>
          {name === 'cnes_code' ? (
            <a href={href(`/explorer/facilities/${value}`)}>CNES {value}</a>
          ) : name === 'municipality_ibge_code' || name === 'municipality_code' ? (
            <a href={href(`/explorer/places/municipality/${value}`)}>IBGE {value}</a>
          ) : name === 'population_type' ? (
            (t.populationTypes[String(value)] ?? value)
          ) : (
            `${(language === 'pt' ? ATTRIBUTES[name]?.replace(' (código)', '') : undefined) ?? name.replaceAll('_', ' ')} ${value ?? '—'}`
          )}
        </div>
      ))}
    </>
  )
}

/** @returns a name of a file that may break after its underscores and dots */
const withBreaks = (name: string | null): ComponentChildren =>
  name?.split(/(?<=[_.])/).flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))

export function SourceOf({ source }: { readonly source: Source }) {
  const { t } = useSite()
  return (
    <div class="source">
      <span>
        {source.publisher}, <code>{withBreaks(source.file)}</code>
        {source.archive == null ? null : <> ({withBreaks(source.archive)})</>}
      </span>{' '}
      <span>
        {source.row === null ? null : `${t.line} ${source.row}`}
        {source.column === null ? null : (
          <>
            {source.row === null ? null : ', '}
            {t.column} <code>{source.column}</code>
          </>
        )}
      </span>
      {source.raw_value === undefined || source.raw_value === null ? null : (
        <span>
          , {t.cell} <code>“{source.raw_value}”</code>
        </span>
      )}
      <details>
        <summary>SHA-256</summary>
        <code class="wide">{source.sha256}</code>
      </details>
    </div>
  )
}

const accessDate = (): string => new Date().toISOString().slice(0, 10)

function citations({ meta }: QueryAnswer, address: string): { abnt: string; bibtex: string } {
  const [year, month, day] = accessDate().split('-')
  const months = [
    'jan.',
    'fev.',
    'mar.',
    'abr.',
    'maio',
    'jun.',
    'jul.',
    'ago.',
    'set.',
    'out.',
    'nov.',
    'dez.',
  ]
  const date = `${Number(day)} ${months[Number(month) - 1]} ${year}`
  const { abnt, bibtex } = meta.citation
  return {
    abnt: `${abnt} Disponível em: ${address}. Acesso em: ${date}.`,
    bibtex: bibtex.replace(/\n\}$/, `,\n  url = {${address}},\n  urldate = {${accessDate()}}\n}`),
  }
}

/** @returns a raw string of R, with as many dashes as the text needs to end it nowhere else */
function rawStringOf(text: string): string {
  let dashes = ''
  while (text.includes(`)${dashes}"`)) dashes += '-'
  return `r"${dashes}(${text})${dashes}"`
}

/** @returns the query in several programming languages, pinned to the release of the answer */
function snippets(
  question: Question,
  answer: QueryAnswer,
  origin: string,
  t: { readonly key: string },
): Record<string, string> {
  const body = JSON.stringify({
    ...bodyOf(question),
    limit: 10_000,
    expected_release_id: answer.meta.release_id,
  })
  const url = `${origin}/v1/analytics/query`
  return {
    curl: `curl -s '${url}' -H "Authorization: Bearer $SUS_KEY" \\\n  -H 'content-type: application/json' -d '${body.replaceAll("'", "'\\''")}'`,
    Python: `import json, os, urllib.request\n\nrequest = urllib.request.Request("${url}", data=${JSON.stringify(body)}.encode(), headers={\n    "Authorization": "Bearer " + os.environ["SUS_KEY"], "Content-Type": "application/json"})\nwith urllib.request.urlopen(request) as answer:\n    rows = json.load(answer)["data"]`,
    R: `library(httr2)\n\nanswer <- request("${url}") |>\n  req_auth_bearer_token(Sys.getenv("SUS_KEY")) |>\n  req_body_raw(${rawStringOf(body)}, "application/json") |>\n  req_perform() |>\n  resp_body_json()\nrows <- answer$data`,
    TypeScript: `const key = '…' // ${t.key}\nconst response = await fetch('${url}', {\n  method: 'POST',\n  headers: { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' },\n  body: ${JSON.stringify(body)},\n})\nif (!response.ok) throw new Error(await response.text())\nconst { data: rows } = await response.json()`,
  }
}

export function VerifyPanel(props: {
  readonly question: Question
  readonly catalog: Labels
  readonly answer: QueryAnswer
}) {
  const { question, catalog, answer } = props
  const { t, language, origin, href, mayEmbed } = useSite()
  const questionHref = useQuestionHref()
  const rows = question.groupBy.map((code) => labelOf(dimensionOf(catalog, code), language)).join(', ')
  const metrics = question.metrics.map((code) => labelOf(metricOf(catalog, code), language)).join('; ')
  const title = rows === '' ? metrics : `${metrics}, ${t.by} ${rows}`
  const pinned = { ...question, release: answer.meta.release_id, cell: null }
  const address = `${origin}${questionHref(pinned)}`
  const { abnt, bibtex } = citations(answer, address)
  const report = { q: JSON.stringify({ ...bodyOf(pinned), title: title.slice(0, 120) }) }
  return (
    <section class="verify" aria-labelledby="verify-title">
      <h2 id="verify-title">{t.verify}</h2>
      <p class="downloads">
        {['xlsx', 'csv', 'json', 'parquet'].map((format) => (
          <Download key={format} path="/v1/analytics/export" params={{ format, ...report }}>
            {t.download} {format.toUpperCase()}
          </Download>
        ))}
        {question.release === '' ? (
          <a class="button" href={questionHref(pinned)}>
            {t.pin}
          </a>
        ) : (
          <a class="button" href={questionHref(change(question, { release: '' }))}>
            {t.unpin}
          </a>
        )}
      </p>
      <p class="hint">{t.thisAddress}</p>
      <dl>
        <dt>{t.release}</dt>
        <dd>
          <code class="wide">{answer.meta.release_id}</code>
        </dd>
        <dt>{t.fingerprint}</dt>
        <dd>
          <code class="wide">{answer.meta.fingerprint}</code>
        </dd>
        <dt>{t.rowsDigest}</dt>
        <dd>
          <code class="wide">{answer.meta.rows_sha256}</code>
        </dd>
      </dl>
      <p>{t.verifyHow}</p>
      <Code text="npx sus-data verify-report sus-data-*.xlsx" label="verify-report" />
      <details>
        <summary>{t.citation}, BibTeX</summary>
        <Code text={abnt} label={t.citation} />
        <Code text={bibtex} label="BibTeX" />
      </details>
      {mayEmbed ? (
        <details>
          <summary>{t.embed}</summary>
          <Code
            text={frameOf(`${origin}${href(EMBED_PATH, writeQuestion(pinned))}`, title)}
            label={t.embed}
          />
        </details>
      ) : null}
      <details>
        <summary>{t.asCode}</summary>
        {Object.entries(snippets(question, answer, origin, t)).map(([name, text]) => (
          <div key={name}>
            <h3>{name}</h3>
            <Code text={text} label={name} />
          </div>
        ))}
      </details>
    </section>
  )
}

/** @returns HTML that shows an answer in another page */
const frameOf = (address: string, title: string): string =>
  `<iframe src="${escapeHtml(address)}" title="${escapeHtml(title)}" width="100%" height="600" loading="lazy"></iframe>`

function Code({ text, label }: { readonly text: string; readonly label: string }) {
  const { t, isLive } = useSite()
  return (
    <div class="code">
      <Scroll label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </Scroll>
      {isLive ? (
        <button type="button" data-copy={text} aria-label={`${t.copy}: ${label}`}>
          {t.copy}
        </button>
      ) : null}
    </div>
  )
}
