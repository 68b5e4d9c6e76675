/** The page of a facility: its record, beds, equipment and services, with the published cells of each value. */
import type { ProvenanceEntry } from '../../answers/provenance.ts'
import { type Api, ApiFailure } from '../api.ts'
import { formatDay, formatNumber } from '../numbers.ts'
import type { LoadContext, PageModule } from '../page.ts'
import { Acquisitions, type FetchedFile } from '../parts/acquisitions.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { SourceOf } from '../parts/panels.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { PlaceLink, useSite } from '../parts/site.tsx'
import { ATTRIBUTES } from '../record-texts.ts'

type Value = string | number | boolean | null | { readonly [name: string]: Value }
type FacilityRecord = Readonly<Record<string, Value>>

type Entry = Omit<ProvenanceEntry, 'value'> & { readonly value: Value }

/** Entries of a record, and where their files were fetched. */
interface Provenance {
  readonly entries: readonly Entry[]
  readonly acquisitions: readonly FetchedFile[]
}

interface FacilityData {
  readonly record: FacilityRecord
  readonly provenance: Provenance
  readonly tables: readonly {
    readonly name: 'beds' | 'equipment' | 'services'
    readonly records: readonly FacilityRecord[]
    readonly totals: Readonly<Record<string, number | null>>
  }[]
  /** Provenance of the table record that the address names. */
  readonly shown: (Provenance & { readonly title: string }) | null
  readonly synthetic: boolean
}

const TABLES = {
  beds: {
    path: 'bed-capacity',
    key: ['bed_type_code'],
    columns: ['bed_type_name', 'bed_category_name', 'beds_existing', 'beds_sus', 'beds_non_sus'],
  },
  equipment: {
    path: 'equipment-inventory',
    key: ['category_code', 'equipment_code'],
    columns: ['equipment_name', 'category_name', 'quantity_existing', 'quantity_in_use', 'quantity_sus'],
  },
  services: {
    path: 'specialized-services',
    key: ['service_code', 'classification_code'],
    columns: [
      'service_name',
      'classification_name',
      'characteristic_code',
      'provider_kind',
      'offers_any_sus',
    ],
  },
} as const
type TableName = keyof typeof TABLES

const orNull = <Answer,>(promise: Promise<Answer>): Promise<Answer | null> =>
  promise.catch((error: unknown) => {
    if (error instanceof ApiFailure && [400, 403, 404].includes(error.problem.status)) return null
    throw error
  })

async function loadShown(api: Api, cnes: string, recordPath: string): Promise<FacilityData['shown']> {
  const [name = '', ...key] = recordPath.split('/')
  if (!Object.hasOwn(TABLES, name) || key.some((code) => !/^\w{1,6}$/.test(code))) return null
  const provenance = await loadProvenance(
    api,
    `/v1/facilities/${cnes}/${TABLES[name as TableName].path}/${key.join('/')}/provenance`,
  )
  return provenance === null ? null : { title: recordPath, ...provenance }
}

async function loadProvenance(api: Api, path: string): Promise<Provenance | null> {
  const answer = await orNull(
    api.get<{
      readonly data: { readonly entries: readonly Entry[] }
      readonly meta: { readonly acquisitions: readonly FetchedFile[] }
    }>(path),
  )
  return answer === null ? null : { entries: answer.data.entries, acquisitions: answer.meta.acquisitions }
}

async function load(
  { api, visit }: LoadContext,
  { cnes = '' }: Readonly<Record<string, string>>,
): Promise<FacilityData> {
  const record = await api.get<{
    readonly data: FacilityRecord
    readonly meta: { readonly synthetic?: boolean }
  }>(`/v1/facilities/${cnes}`)
  const [provenance, shown, ...tables] = await Promise.all([
    loadProvenance(api, `/v1/facilities/${cnes}/provenance`),
    loadShown(api, cnes, new URLSearchParams(visit.search).get('of') ?? ''),
    ...(Object.keys(TABLES) as TableName[]).map((name) =>
      orNull(
        api.get<{
          readonly data: {
            readonly records: readonly FacilityRecord[]
            readonly totals?: Record<string, number | null>
          }
        }>(`/v1/facilities/${cnes}/${TABLES[name].path}`),
      ).then((answer) =>
        answer === null ? null : { name, records: answer.data.records, totals: answer.data.totals ?? {} },
      ),
    ),
  ])
  return {
    record: record.data,
    provenance: provenance ?? { entries: [], acquisitions: [] },
    tables: tables.filter((table) => table !== null),
    shown,
    synthetic: record.meta.synthetic === true,
  }
}

type Reader = Pick<ReturnType<typeof useSite>, 't' | 'language'>

const textOf = (value: Value | undefined, { t, language }: Reader, column = ''): string => {
  if (value === null || value === undefined) return t.noData
  if (typeof value === 'boolean') return value ? t.yes : t.no
  if (typeof value === 'string') return t.codeTexts[column]?.[value] ?? formatDay(value, language)
  if (typeof value === 'object')
    return Object.values(value)
      .filter((part) => part !== null)
      .join(', ')
  return String(value)
}

const nameOf = (record: FacilityRecord): string =>
  String(record.trade_name ?? record.legal_name ?? `CNES ${record.cnes_code}`)

/** @returns whether the record names the facility; files by state do not */
const hasName = (record: FacilityRecord): boolean => record.trade_name !== null || record.legal_name !== null

function View({ data }: { readonly data: FacilityData }) {
  const site = useSite()
  const { t, language, href, visit } = site
  const { record, tables, shown } = data
  const provenanceHref = (recordPath: string): string => href(visit.path, `?of=${recordPath}`)
  return (
    <>
      <h1>
        {nameOf(record)} {hasName(record) ? <small>CNES {String(record.cnes_code)}</small> : null}
      </h1>
      <p class="lead">
        {textOf(record.facility_type_name, site)},{' '}
        <PlaceLink level="municipality" code={String(record.municipality_ibge_code)}>
          {textOf(record.municipality_name, site)}
        </PlaceLink>
        ,{' '}
        <PlaceLink level="state" code={String(record.uf)}>
          {textOf(record.uf, site)}
        </PlaceLink>
      </p>
      {record.is_active === false ? <p class="notice">{t.closedFacility}</p> : null}
      {shown === null ? null : (
        <section class="panel" id="lineage" aria-labelledby="shown-title">
          <p class="close">
            <a href={href(visit.path)}>{t.close}</a>
          </p>
          <h2 id="shown-title">
            {t.lineage}: {shown.title}
          </h2>
          <Entries provenance={shown} label={shown.title} />
        </section>
      )}
      {tables.map(({ name, records, totals }) => (
        <section key={name}>
          <h2 id={`table-${name}`}>{t[name]}</h2>
          {records.length === 0 ? (
            <p>{t.none}</p>
          ) : (
            <Scroll label={t[name]}>
              <table>
                <thead>
                  <tr>
                    {TABLES[name].columns.map((column) => (
                      <th key={column} scope="col" class={isQuantity(column) ? 'number' : undefined}>
                        {t.columns[column] ?? column}
                      </th>
                    ))}
                    <th scope="col">{t.source}</th>
                  </tr>
                </thead>
                <tbody>
                  {records.map((row) => {
                    const key = TABLES[name].key.map((column) => String(row[column]))
                    return (
                      <tr key={key.join()}>
                        {TABLES[name].columns.map((column, index) => {
                          const value = row[column]
                          const text =
                            typeof value === 'number'
                              ? formatNumber(value, 0, language)
                              : textOf(value, site, column)
                          return index === 0 ? (
                            <th key={column} scope="row">
                              {text}
                            </th>
                          ) : (
                            <td key={column} class={isQuantity(column) ? 'number' : undefined}>
                              {text}
                            </td>
                          )
                        })}
                        <td>
                          <a href={`${provenanceHref([name, ...key].join('/'))}#lineage`}>{t.lineage}</a>
                        </td>
                      </tr>
                    )
                  })}
                </tbody>
              </table>
            </Scroll>
          )}
          {Object.keys(totals).length === 0 ? null : (
            <p>
              {Object.entries(totals)
                .map(
                  ([total, value]) =>
                    `${t.columns[total] ?? total}: ${value === null ? t.noData : formatNumber(value, 0, language)}`,
                )
                .join('; ')}
            </p>
          )}
        </section>
      ))}
      <section>
        <h2 id="details">{t.details}</h2>
        <Entries provenance={data.provenance} label={t.details} />
      </section>
    </>
  )
}

const isQuantity = (column: string): boolean => /^(beds|quantity)_/.test(column)

function Entries({ provenance, label }: { readonly provenance: Provenance; readonly label: string }) {
  const site = useSite()
  const { t, language } = site
  const { entries, acquisitions } = provenance
  const isPt = language === 'pt'
  return (
    <>
      <DataTable
        label={label}
        heads={[{ text: t.attribute }, { text: t.value }, { text: t.source }, { text: t.rule }]}
        rows={entries.map((entry, index) => {
          const name = isPt ? ATTRIBUTES[entry.attribute] : undefined
          return {
            key: `${entry.attribute}${index}`,
            cells: [
              <span key="name" title={entry.attribute}>
                {name ?? <code>{entry.attribute}</code>}
              </span>,
              textOf(entry.value, site, entry.attribute),
              entry.source === null ? (
                '–'
              ) : (
                <SourceOf key="source" source={{ ...entry.source, raw_value: entry.raw_value }} />
              ),
              entry.rule,
            ],
          }
        })}
      />
      {acquisitions.length === 0 ? null : <Acquisitions acquisitions={acquisitions} />}
    </>
  )
}

export const FACILITY: PageModule<FacilityData> = {
  match: (path) => {
    const [, cnes = ''] = /^\/explorer\/facilities\/(\d{7})\/?$/.exec(path) ?? []
    return cnes === '' ? null : { cnes }
  },
  load,
  title: ({ record }) => nameOf(record),
  isSynthetic: ({ synthetic }) => synthetic,
  View,
}
