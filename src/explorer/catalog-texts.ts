/**
 * Units, formulas and notes with the labels of metrics, dimensions and datasets in place of their codes. In: parts of the API's answers.
 * Out: texts to show. Not here: attributes of records (record-texts.ts), and texts of the pages (texts-pt.ts).
 */
import { sentenceOf } from '../model/note-sentences.ts'
import type { Catalog, Metric, Note } from './api.ts'
import { formatNumber, type Language, unitText } from './numbers.ts'
import { lookUp } from './question.ts'
import { ATTRIBUTES } from './record-texts.ts'

/** @returns the unit, or '' where the label of the metric says it already */
export function unitBeside(metric: Metric | undefined, language: Language): string {
  const unit = unitText(metric?.unit, language)
  const label = (language === 'pt' ? metric?.label : metric?.label_en) ?? ''
  const [, base = ''] = /((?:por|per) .*)$/.exec(unit) ?? []
  const isInLabel = label.toLowerCase().includes(unit.toLowerCase()) || (base !== '' && label.endsWith(base))
  return unit !== '%' && isInLabel ? '' : unit
}

/** Basis of the rates → what they are divided by, in place of the census. */
const BASES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  estimate: ['População estimada', 'Estimated population'],
  estimate_of_period: ['População estimada do ano do período', 'Estimated population of the period’s year'],
}

/**
 * @param basis of the question; '' is the census
 * @returns a ratio by the labels of its metrics, a measure as a sentence
 */
export function formulaText(metric: Metric, catalog: Catalog, language: Language, basis = ''): string {
  const { scale = 1, numerator, less, denominator, standardized_by } = metric
  if (numerator === undefined || denominator === undefined) return metric.formula
  const nameOf = (code: string): string => {
    const found = catalog.metrics.find((other) => other.code === code)
    return found === undefined ? code : language === 'pt' ? found.label : found.label_en
  }
  const base = denominator === 'population_census' ? lookUp(BASES, basis) : undefined
  const below = base?.[language === 'pt' ? 0 : 1] ?? nameOf(denominator)
  const above = less === undefined ? nameOf(numerator) : `(${nameOf(numerator)} − ${nameOf(less)})`
  const quotient = standardized_by === undefined ? `${above} ÷ ${below}` : `Σ (w × ${above} ÷ ${below}) ÷ Σ w`
  return scale === 1 ? quotient : `${formatNumber(scale, 0, language)} × ${quotient}`
}

const DATASETS: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  facilities: ['Estabelecimentos', 'Facilities'],
  bed_capacity: ['Leitos', 'Beds'],
  equipment_inventory: ['Equipamentos', 'Equipment'],
  specialized_services: ['Serviços especializados', 'Specialised services'],
  hospital_admissions: ['Internações', 'Hospital admissions'],
  hospital_admissions_by_residence: ['Internações por residência', 'Hospital admissions by residence'],
  outpatient_production: ['Produção ambulatorial', 'Outpatient production'],
  federal_health_transfers: ['Transferências federais', 'Federal transfers'],
  population: ['População', 'Population'],
  population_by_age: ['População por idade e sexo', 'Population by age and sex'],
}
export const datasetName = (dataset: string, language: 'pt' | 'en'): string =>
  DATASETS[dataset]?.[language === 'pt' ? 0 : 1] ?? dataset

/** @returns the sentence of a note; in Portuguese with the labels of metrics, dimensions and datasets in place of their codes */
export function noteText(note: Note, catalog: Catalog, language: Language): string {
  if (language === 'en') return sentenceOf(note, language)
  return sentenceOf(note, language, (code) => {
    const found =
      catalog.metrics.find((metric) => metric.code === code) ??
      catalog.dimensions.find((dimension) => dimension.code === code)
    return found?.label ?? ATTRIBUTES[code] ?? datasetName(code, language)
  })
}
