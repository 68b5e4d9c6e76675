/**
 * The page of a place's admission flows: where its residents are admitted, and where the patients of its hospitals live. Figures and tables
 * link to their questions; a pair of bars for each place compares both directions. Everything is drawn by the server, too.
 */
import type { ComponentChildren } from 'preact'
import type { Labels } from '../api.ts'
import { noteText, unitOutsideLabel } from '../catalog-texts.ts'
import { formatMonth, formatNumber } from '../numbers.ts'
import type { PageModule } from '../page.ts'
import { Choice } from '../parts/picker.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { PlaceLink, useQuestionHref, useSite } from '../parts/site.tsx'
import { dimensionOf, labelOf, metricOf } from '../parts/table.tsx'
import { change, lookUp } from '../question.ts'
import {
  dimensionAt,
  ENDS,
  type End,
  FLOW_LEVELS,
  type FlowsData,
  loadFlows,
  PARTNERS_SHOWN,
  type Pair,
  type Partner,
  type Side,
} from './flows-load.ts'

function View({ data }: { readonly data: FlowsData }) {
  const { t, language, href } = useSite()
  const { catalog, level, code, name, by, sides } = data
  const notes = [
    ...new Set(
      ENDS.flatMap((end) => sides?.[end].notes ?? []).map((note) => noteText(note, catalog, language)),
    ),
  ]
  const months = data.period
    .split(', ')
    .map((month) => formatMonth(month, language))
    .join(', ')
  return (
    <>
      <h1>
        {t.flows.title(name)}{' '}
        <small>
          {t.levels[level]} {code} · {months === '' ? '' : `${months} · `}
          <a href={href(`/explorer/places/${level}/${code}`)}>{t.flows.back}</a>
        </small>
      </h1>
      {data.isEarlier ? <p class="hint">{t.flows.earlier(months)}</p> : null}
      <FlowsForm data={data} />
      {sides === null ? (
        <p class="notice" role="alert">
          {t.flows.wrongOrder}
        </p>
      ) : (
        <div class="blocks close">
          {ENDS.map((end) => (
            <SideSection key={end} data={data} side={sides[end]} end={end} />
          ))}
        </div>
      )}
      {data.pairs.length === 0 ? null : (
        <section aria-labelledby="directions">
          <h2 id="directions">{t.flows.directions}</h2>
          <Pairs pairs={data.pairs} count={data.pairsCount} level={by} catalog={catalog} />
        </section>
      )}
      {notes.length === 0 ? null : (
        <section class="notes" aria-label={t.notes}>
          <h2>{t.notes}</h2>
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function FlowsForm({ data }: { readonly data: FlowsData }) {
  const { t, language, visit } = useSite()
  const months = {
    '': t.newestShort,
    ...Object.fromEntries(data.months.map((month) => [month, formatMonth(month, language)])),
  }
  const levels = Object.fromEntries(FLOW_LEVELS.map((level) => [level, t.levels[level] ?? level]))
  return (
    <form class="line" action={visit.path} data-go>
      {language === 'en' ? <input type="hidden" name="lang" value="en" /> : null}
      <Choice name="by" label={t.flows.by} value={data.by} options={levels} />
      <Choice name="from" label={t.from} value={data.from} options={months} />
      <Choice name="to" label={t.to} value={data.to} options={months} />
      <button type="submit">{t.update}</button>
    </form>
  )
}

function SideSection(props: { readonly data: FlowsData; readonly side: Side; readonly end: End }) {
  const { data, side, end } = props
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { catalog, level, code, by } = data
  const texts = t.flows.sides[end]
  const otherEnd: End = end === 'residence' ? 'hospital' : 'residence'
  const dimension = dimensionOf(catalog, dimensionAt(otherEnd, by))
  const figureLabel = (metricCode: string): string =>
    (end === 'hospital' ? lookUp(t.flows.livingElsewhere, metricCode) : undefined) ??
    labelOf(metricOf(catalog, metricCode), language)
  // Between two municipalities, distances are whole; averages of several are not.
  const distanceDecimals = side.partners.every(({ distance }) => Number.isInteger(distance ?? 0)) ? 0 : 2
  return (
    <section aria-labelledby={end} class="block">
      <h2 id={end}>{texts.title}</h2>
      <Scroll label={`${t.keyFigures}: ${texts.title}`}>
        <table>
          <tbody>
            {side.figures.map((metricCode) => {
              const metric = metricOf(catalog, metricCode)
              return (
                <tr key={metricCode}>
                  <th scope="row">
                    {figureLabel(metricCode)} <span class="uf">{unitOutsideLabel(metric, language)}</span>
                  </th>
                  <NumberCell
                    value={side.values[metricCode] ?? null}
                    decimals={metric?.decimals ?? 0}
                    href={questionHref(
                      change(side.figuresQuestion, {
                        metrics: [metricCode],
                        cell: { metric: metricCode, key: {} },
                      }),
                    )}
                  />
                </tr>
              )
            })}
          </tbody>
        </table>
      </Scroll>
      <h3 id={`${end}-partners`}>{texts.partners}</h3>
      {side.partners.length === 0 ? (
        <p>{t.flows.nobody}</p>
      ) : (
        <Scroll label={texts.partners}>
          <table class="partners" aria-labelledby={`${end}-partners`}>
            <thead>
              <tr>
                <th scope="col">{labelOf(dimension, language)}</th>
                <th scope="col" class="number">
                  {labelOf(metricOf(catalog, 'admissions'), language)}
                </th>
                <th scope="col" class="number">
                  {t.flows.share}
                </th>
                <th scope="col" class="number">
                  {t.flows.distance}
                </th>
              </tr>
            </thead>
            <tbody>
              {side.partners.map((partner) => (
                <tr key={partner.code}>
                  <th scope="row">
                    <PartnerName partner={partner} level={by} />
                    {by === level && partner.code === code ? <small> ({t.flows.home})</small> : null}
                  </th>
                  <NumberCell
                    value={partner.admissions}
                    decimals={0}
                    href={questionHref({
                      ...side.partnersQuestion,
                      metrics: ['admissions'],
                      cell: {
                        metric: 'admissions',
                        key: { [dimensionAt(otherEnd, by)]: partner.code },
                      },
                    })}
                  />
                  <NumberCell value={partner.share} decimals={2} />
                  <NumberCell value={partner.distance} decimals={distanceDecimals} />
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {side.isShort ? <p class="hint">{t.flows.short}</p> : null}
      {side.partners.length === 0 ? null : (
        <p>
          {side.hasMorePartners ? `${t.largestOnly(PARTNERS_SHOWN)} ` : ''}
          <a href={questionHref(side.partnersQuestion)}>
            {t.flows.allRows(formatNumber(side.partnersCount, 0, language))}
          </a>
        </p>
      )}
    </section>
  )
}

function NumberCell(props: {
  readonly value: number | null
  readonly decimals: number
  readonly href?: string
}) {
  const { t, language } = useSite()
  const { value, decimals, href } = props
  if (value === null)
    return (
      <td class="number missing">
        <abbr title={t.noDataLong}>{t.noData}</abbr>
      </td>
    )
  const text = formatNumber(value, decimals, language)
  return (
    <td class="number">
      {href === undefined ? (
        text
      ) : (
        <a class="cell" href={href}>
          {text}
        </a>
      )}
    </td>
  )
}

function PartnerName(props: {
  readonly partner: Pick<Partner, 'code' | 'name' | 'uf'>
  readonly level: string
}) {
  const { t } = useSite()
  const { code, name, uf } = props.partner
  if (code === '') return <span>{t.flows.unknown}</span>
  return (
    <>
      <PlaceLink level={props.level} code={code}>
        {name}
      </PlaceLink>
      {uf === '' || name.endsWith(uf) ? null : <span class="uf"> {uf}</span>}
    </>
  )
}

/** Both directions as a table, whose cells have a number and a bar. The bars meet in the middle. */
function Pairs(props: {
  readonly pairs: readonly Pair[]
  readonly count: number
  readonly level: string
  readonly catalog: Labels
}) {
  const { t, language } = useSite()
  const { pairs, count, level, catalog } = props
  const most = Math.max(1, ...pairs.flatMap(({ sent, received }) => [sent ?? 0, received ?? 0]))
  const cell = (value: number | null, isLeft: boolean): ComponentChildren => {
    const width = (100 * (value ?? 0)) / most
    return (
      <td class={isLeft ? 'sent' : 'received'}>
        <span class="value">
          {value === null ? <abbr title={t.noDataLong}>{t.noData}</abbr> : formatNumber(value, 0, language)}
        </span>
        <svg aria-hidden="true">
          <rect x={`${isLeft ? 100 - width : 0}%`} y="0" width={`${width}%`} height="100%" class="bar" />
        </svg>
      </td>
    )
  }
  return (
    <Scroll label={t.flows.directionsHint}>
      <table class="directions">
        <caption>
          {t.flows.directionsHint} {count > pairs.length ? t.largestOnly(pairs.length) : ''}
        </caption>
        <thead>
          <tr>
            <th scope="col">{labelOf(dimensionOf(catalog, level), language)}</th>
            <th scope="col" class="number">
              {t.flows.sent}
            </th>
            <th scope="col">{t.flows.received}</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={pair.code}>
              <th scope="row">
                <PartnerName partner={pair} level={level} />
              </th>
              {cell(pair.sent, true)}
              {cell(pair.received, false)}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

export const FLOWS: PageModule<FlowsData> = {
  match: (path) => {
    const [, level = '', code = ''] = /^\/explorer\/places\/([a-z_]+)\/(\w{1,10})\/flows\/?$/.exec(path) ?? []
    return FLOW_LEVELS.includes(level) ? { level, code } : null
  },
  load: loadFlows,
  title: ({ name }, { flows }) => flows.title(name),
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
