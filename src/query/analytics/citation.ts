/**
 * Writes how to cite an answer: an ABNT NBR 6023 reference and a BibTeX entry. Pure.
 *
 * Both depend only on the query's plan, release and fingerprint, so equal queries are cited equally. The reader adds the
 * address and date of access. Caveats about the numbers are notes, not part of the citation.
 */
import type { Citation } from '../../answers/meta.ts'
import { AREA_NAMES, areaOf } from '../../model/areas.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type DimensionCode, dimensionOf, groupedDimension } from '../../model/dimensions.ts'
import { CATALOG_VERSION, factDatasetsOf, measuresOf } from '../../model/metrics.ts'
import { isTime } from '../../model/periods.ts'
import type { ReleaseView } from '../../release/view.ts'
import { labelOfMetric } from './datasets/metric-plan.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { QueryFilter } from './filters.ts'
import { queryOfMetric } from './options/defined-metrics.ts'
import { nameOfGroup } from './options/groupings.ts'
import { isMoney, labelPrices } from './options/prices.ts'
import type { AggregatePlan } from './plan.ts'

type PublishedSource = ReturnType<typeof areaOf>['source']

/** Sources by area, or by dataset where it has another one. The population is a denominator, so its sources come last. */
const SOURCES: Readonly<Record<string, PublishedSource>> = {
  ...Object.fromEntries(
    AREA_NAMES.filter((area) => area !== 'demography').map((area) => [area, areaOf(area).source]),
  ),
  population_by_age: { ...areaOf('cnes').source, name: 'População residente por idade e sexo (POPSBR)' },
  price_index: {
    ...areaOf('demography').source,
    name: 'Índice Nacional de Preços ao Consumidor Amplo (IPCA), tabela 1737 do SIDRA (IBGE)',
  },
  demography: areaOf('demography').source,
}

/** Number of metrics in a title. The fingerprint identifies the query when the list is cut. */
const METRICS_SHOWN = 3
const VALUES_SHOWN = 5

export function citationOf(plan: AggregatePlan, view: ReleaseView, fingerprint: string): Citation {
  const title = writeTitle(plan)
  const sources = listSources(plan)
  const year = Math.floor(view.analytics.month / 100)
  const names = sources.map(({ name }) => name).join('; ')
  const authors = [...new Set(sources.map(({ author }) => author))]
  const persons = [...new Set(sources.map(({ person }) => person))]
  // Demonstration data is invented, so it names no publisher.
  const [abntAuthors, bibtexAuthors, kind, sourceNames] = view.synthetic
    ? [['SUS-DATA'], ['sus-data'], 'dados fictícios de demonstração', 'nenhuma']
    : [authors, persons, 'conjunto de dados', names]
  return {
    abnt: `${abntAuthors.join('; ')}. ${title} [${kind}]. Fontes: ${sourceNames}. sus-data, catálogo ${CATALOG_VERSION}, ${year}. Versão dos dados: ${view.id}. Impressão digital da consulta: ${fingerprint}.`,
    bibtex: [
      `@misc{susdata_${fingerprint.slice(0, 12)},`,
      `  author = {${bibtexAuthors.map((name) => `{${escapeTex(name)}}`).join(' and ')}},`,
      `  title = {{${escapeTex(title)}}},`,
      `  year = {${year}},`,
      `  howpublished = {${escapeTex(`sus-data, catálogo ${CATALOG_VERSION}`)}},`,
      `  version = {${escapeTex(view.id)}},`,
      `  note = {${escapeTex(`${kind}; fontes: ${sourceNames}; impressão digital da consulta: ${fingerprint}`)}},`,
      '  langid = {brazilian}',
      '}',
    ].join('\n'),
  }
}

function listSources({ query }: AggregatePlan): PublishedSource[] {
  const datasets = query.metrics.flatMap((metric): DatasetName[] => {
    const code = metric.metric
    const used = dimensionsUsed(queryOfMetric(query, metric))
    const { denominator } = measuresOf(code, used)
    return [
      ...factDatasetsOf(code, used),
      ...(denominator === null ? [] : [denominator.dataset]),
      ...(query.prices === null || !isMoney(code) ? [] : (['price_index'] as const)),
    ]
  })
  const areas = new Set<string>(datasets.map((name) => (name in SOURCES ? name : datasetOf(name).area)))
  return Object.entries(SOURCES).flatMap(([name, source]) => (areas.has(name) ? [source] : []))
}

/** The title names metrics, groups, filters and months: `Leitos existentes, por Município; Unidade da Federação: AC, RR; 2026-05`. */
function writeTitle({ query, metrics, referencePeriod }: AggregatePlan): string {
  const { group_by, filters, prices } = query
  const shown = metrics
    .slice(0, METRICS_SHOWN)
    .map((metric) => `${labelOfMetric(metric, 'pt')}${labelPrices(metric, prices, 'pt')}`)
  const others = metrics.length - shown.length
  const metricNames = `${shown.join('; ')}${others > 0 ? ` e mais ${others}` : ''}`
  const groups = group_by
    .map((code) => (groupedDimension(code) === null ? labelOf(code) : nameOfGroup(code, query)))
    .join(', ')
  const otherFilters = filters.filter(({ dimension }) => !isTime(dimension))
  const periods = referencePeriod?.split(', ') ?? []
  const [first, last] = [periods[0], periods.at(-1)]
  return [
    groups === '' ? metricNames : `${metricNames}, por ${groups}`,
    ...otherFilters.map(describeFilter),
    ...(first === undefined ? [] : [first === last ? first : `${first} a ${last}`]),
  ].join('; ')
}

const labelOf = (code: DimensionCode): string => dimensionOf(code).label

function describeFilter({ dimension, operator, values }: QueryFilter): string {
  const others = values.length - VALUES_SHOWN
  const shown = values.slice(0, VALUES_SHOWN).join(', ')
  const not = operator === 'NEQ' || operator === 'NOT_IN' ? ' exceto' : ''
  return `${labelOf(dimension)}:${not} ${shown}${others > 0 ? ` e mais ${others}` : ''}`
}

/** TeX commands for the characters that a backslash does not escape. */
const TEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
}
const escapeTex = (text: string): string =>
  text.replaceAll(/[\\~^{}$&#%_]/g, (character) => TEX[character] ?? `\\${character}`)
