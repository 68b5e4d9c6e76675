/** Admissions of a place's residents, for the page of the place: avoidable ones, those elsewhere, and groups of avoidable ones. */
import {
  type Api,
  codeOf,
  type Labels,
  type Note,
  nameOf,
  orNull,
  type QueryAnswer,
  type QueryRow,
} from '../api.ts'
import { noteText, unitOutsideLabel } from '../catalog-texts.ts'
import { formatMonth, formatNumber } from '../numbers.ts'
import { bodyOf, change, EMPTY_QUESTION, type Question } from '../question.ts'
import { Scroll } from './scroll.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { dimensionOf, labelOf, metricOf } from './table.tsx'

const METRICS = [
  'admissions',
  'icsap_share',
  'icsap_per_10k',
  'admissions_outside_municipality_share',
  'admissions_outside_health_region_share',
  'admissions_outside_state_share',
]
const GROUP_METRIC = 'icsap_admissions'
/** Levels of residence that admissions have. */
export const RESIDENCE_LEVELS: readonly string[] = ['municipality', 'health_region', 'state']

interface Column {
  readonly level: string
  readonly code: string
  readonly name: string
}

export interface ResidentsData {
  readonly columns: readonly (Column & {
    readonly row: QueryRow | null
    /** Months that the column covers, as the answer names them: larger places may lack the newest. */
    readonly period: string
  })[]
  readonly groups: readonly QueryRow[]
  readonly notes: readonly Note[]
}

const questionOf = ({ level, code }: Column, metrics: readonly string[]): Question =>
  change(EMPTY_QUESTION, {
    metrics,
    filters: level === 'country' ? {} : { [`residence_${level}`]: [code] },
  })
const groupsQuestionOf = (place: Column): Question =>
  change(questionOf(place, [GROUP_METRIC]), { groupBy: ['icsap_group'], order: `-${GROUP_METRIC}` })

/**
 * @param places the place, then the areas that contain it
 * @returns null for a level without residents' admissions, and for releases and keys without them
 */
export async function loadResidents(api: Api, places: readonly Column[]): Promise<ResidentsData | null> {
  const [place] = places
  if (place === undefined || !RESIDENCE_LEVELS.includes(place.level)) return null
  const columns = places.filter(({ level }) => level === 'country' || RESIDENCE_LEVELS.includes(level))
  const ask = (question: Question): Promise<QueryAnswer | null> =>
    orNull(api.post<QueryAnswer>('/v1/analytics/query', bodyOf(question)))
  const [groups, ...answers] = await Promise.all([
    ask(groupsQuestionOf(place)),
    ...columns.map((column) => ask(questionOf(column, METRICS))),
  ])
  const [first] = answers
  // A release without admissions answers with nulls of no month.
  if (first === null || first === undefined || (first.meta.reference_period ?? '') === '') return null
  return {
    columns: columns.map(({ level, code, name }, index) => ({
      level,
      code,
      name,
      row: answers[index]?.data[0] ?? null,
      period: answers[index]?.meta.reference_period ?? '',
    })),
    groups: (groups?.data ?? []).filter(({ metrics }) => (metrics[GROUP_METRIC] ?? 0) > 0),
    notes: first.meta.notes,
  }
}

export function ResidentAdmissions(props: { readonly catalog: Labels; readonly data: ResidentsData }) {
  const { t, language, href } = useSite()
  const questionHref = useQuestionHref()
  const { catalog } = props
  const { columns, groups, notes } = props.data
  const [place] = columns
  if (place === undefined) return null
  const monthsOf = (period: string): string =>
    period
      .split(', ')
      .map((month) => formatMonth(month, language))
      .join(', ')
  const titleOf = ({ level, name }: Column): string => (level === 'country' ? t.country : name)
  const aboutOf = ({ level, period }: (typeof columns)[number]): string =>
    [t.levels[level], ...(period === '' || period === place.period ? [] : [monthsOf(period)])].join(', ')
  const groupTitle = labelOf(dimensionOf(catalog, 'icsap_group'), language)
  return (
    <section aria-labelledby="residents" class="residents">
      <h2 id="residents">
        {t.residents.title} <small>{monthsOf(place.period)}</small>
      </h2>
      <div class="side-by-side">
        <Scroll label={t.residents.title}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">{t.metrics}</th>
                {columns.map((column) => (
                  <th scope="col" class="number" key={column.level}>
                    {titleOf(column)}
                    <span class="unit">{aboutOf(column)}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {METRICS.map((code) => {
                const metric = metricOf(catalog, code)
                return (
                  <tr key={code}>
                    <th scope="row">
                      {labelOf(metric, language)} <span class="uf">{unitOutsideLabel(metric, language)}</span>
                    </th>
                    {columns.map((column) => {
                      const value = column.row?.metrics[code] ?? null
                      return (
                        <td
                          class={value === null ? 'number missing' : 'number'}
                          key={column.level}
                          data-label={`${titleOf(column)} (${aboutOf(column)})`}
                        >
                          {value === null ? (
                            <abbr title={t.noDataLong}>{t.noData}</abbr>
                          ) : (
                            <a href={questionHref(questionOf(column, [code]))}>
                              {formatNumber(value, metric?.decimals ?? 0, language)}
                            </a>
                          )}
                        </td>
                      )
                    })}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </Scroll>
        {groups.length === 0 ? null : (
          <Scroll label={t.residents.groups}>
            <table>
              <caption>{t.residents.groups}</caption>
              <thead>
                <tr>
                  <th scope="col">{groupTitle}</th>
                  <th scope="col" class="number">
                    {labelOf(metricOf(catalog, GROUP_METRIC), language)}
                  </th>
                </tr>
              </thead>
              <tbody>
                {groups.map((row) => {
                  const code = codeOf(row.dimensions.icsap_group)
                  return (
                    <tr key={code}>
                      <th scope="row">{nameOf(row.dimensions.icsap_group)}</th>
                      <td class="number">
                        <a
                          class="cell"
                          href={questionHref({
                            ...groupsQuestionOf(place),
                            cell: { metric: GROUP_METRIC, key: { icsap_group: code } },
                          })}
                        >
                          {formatNumber(row.metrics[GROUP_METRIC] ?? 0, 0, language)}
                        </a>
                      </td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
          </Scroll>
        )}
      </div>
      <p>
        <a class="button" href={href(`/explorer/places/${place.level}/${place.code}/flows`)}>
          {t.flows.link}
        </a>
      </p>
      {notes.length === 0 ? null : (
        <ul class="hint">
          {notes.map((note) => (
            <li key={note.message}>{noteText(note, catalog, language)}</li>
          ))}
        </ul>
      )}
    </section>
  )
}
