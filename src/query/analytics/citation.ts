/**
 * How an answer is cited: a reference by ABNT NBR 6023 and an entry of BibTeX. Pure.
 *
 * In: the plan of a query, its release, its fingerprint. Out: two texts that follow from them alone: no clock, no host, no language
 * of the request takes part, so equal questions are cited equally. Where and when somebody read the answer is not in them: whoever
 * cites adds "Disponível em: … Acesso em: …", or url and urldate. Not responsible for: what is true of the numbers (notes).
 */
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import { type DimensionCode, dimensionOf } from '../../model/dimensions.ts'
import { CATALOG_VERSION, factDatasetsOf, measuresOf, metricOf } from '../../model/metrics.ts'
import type { ReleaseView } from '../../release/view.ts'
import { dimensionsUsed } from './dimensions-used.ts'
import type { AggregatePlan } from './plan.ts'
import type { QueryFilter } from './request.ts'

export interface Citation {
  readonly abnt: string
  readonly bibtex: string
}

interface PublishedSource {
  /** As the author of a reference by ABNT, and of an entry of BibTeX. */
  readonly author: string
  readonly person: string
  readonly name: string
}

const MINISTRY = {
  author: 'BRASIL. Ministério da Saúde',
  person: 'Brasil. Ministério da Saúde',
} as const
/** By what the datasets of a query are of; in the order in which they are named. */
const SOURCES: Readonly<Record<string, PublishedSource>> = {
  cnes: { ...MINISTRY, name: 'Cadastro Nacional de Estabelecimentos de Saúde (CNES)' },
  sih: { ...MINISTRY, name: 'Sistema de Informações Hospitalares do SUS (SIH/SUS)' },
  sia: { ...MINISTRY, name: 'Sistema de Informações Ambulatoriais do SUS (SIA/SUS)' },
  financing: { ...MINISTRY, name: 'Fundo Nacional de Saúde (FNS)' },
  population_by_age: { ...MINISTRY, name: 'População residente por idade e sexo (POPSBR)' },
  demography: {
    author: 'INSTITUTO BRASILEIRO DE GEOGRAFIA E ESTATÍSTICA',
    person: 'Instituto Brasileiro de Geografia e Estatística',
    name: 'Censo Demográfico e Estimativas da População (IBGE)',
  },
}

/** Longer lists are cut: the fingerprint says which query it is. */
const METRICS_SHOWN = 3
const VALUES_SHOWN = 5

/** @param fingerprint of the query and its rows */
export function citationOf(plan: AggregatePlan, view: ReleaseView, fingerprint: string): Citation {
  const title = titleOf(plan)
  const sources = sourcesOf(plan)
  const year = Math.floor(view.analytics.month / 100)
  const names = sources.map(({ name }) => name).join('; ')
  const authors = [...new Set(sources.map(({ author }) => author))]
  const persons = [...new Set(sources.map(({ person }) => person))]
  // Invented numbers have no publisher to be blamed for them.
  const [by, people, kind, from] = view.synthetic
    ? [['SUS-DATA'], ['sus-data'], 'dados fictícios de demonstração', 'nenhuma']
    : [authors, persons, 'conjunto de dados', names]
  return {
    abnt: `${by.join('; ')}. ${title} [${kind}]. Fontes: ${from}. sus-data, catálogo ${CATALOG_VERSION}, ${year}. Versão dos dados: ${view.id}. Impressão digital da consulta: ${fingerprint}.`,
    bibtex: [
      `@misc{susdata_${fingerprint.slice(0, 12)},`,
      `  author = {${people.map((name) => `{${escapeTex(name)}}`).join(' and ')}},`,
      `  title = {{${escapeTex(title)}}},`,
      `  year = {${year}},`,
      `  howpublished = {${escapeTex(`sus-data, catálogo ${CATALOG_VERSION}`)}},`,
      `  version = {${escapeTex(view.id)}},`,
      `  note = {${escapeTex(`${kind}; fontes: ${from}; impressão digital da consulta: ${fingerprint}`)}},`,
      '  langid = {brazilian}',
      '}',
    ].join('\n'),
  }
}

/** Sources of the datasets that the metrics are added up and divided over. */
function sourcesOf({ query }: AggregatePlan): PublishedSource[] {
  const used = dimensionsUsed(query)
  const datasets = query.metrics.flatMap((code): DatasetName[] => {
    const { denominator } = measuresOf(code, used)
    return [...factDatasetsOf(code, used), ...(denominator === null ? [] : [denominator.dataset])]
  })
  const found = new Set<string>(datasets.map((name) => (name in SOURCES ? name : datasetOf(name).area)))
  return Object.entries(SOURCES).flatMap(([name, source]) => (found.has(name) ? [source] : []))
}

/** What is counted, by what, where, and of when: `Leitos existentes, por Município; Unidade da Federação: AC, RR; 2026-05`. */
function titleOf({ query, referencePeriod }: AggregatePlan): string {
  const { metrics, group_by, filters } = query
  const shown = metrics.slice(0, METRICS_SHOWN).map((code) => metricOf(code).label)
  const others = metrics.length - shown.length
  const named = `${shown.join('; ')}${others > 0 ? ` e mais ${others}` : ''}`
  const groups = group_by.map(labelOf).join(', ')
  const places = filters.filter(({ dimension }) => dimension !== 'reference_period')
  const periods = referencePeriod?.split(', ') ?? []
  const [first, last] = [periods[0], periods.at(-1)]
  return [
    groups === '' ? named : `${named}, por ${groups}`,
    ...places.map(describeFilter),
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

/** Characters that TeX reads as commands. */
const TEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
}
const escapeTex = (text: string): string =>
  text.replaceAll(/[\\~^{}$&#%_]/g, (character) => TEX[character] ?? `\\${character}`)
