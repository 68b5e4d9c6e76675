/**
 * Texts with labels of metrics, dimensions and datasets instead of their codes: units, formulas and notes. In: parts of API answers. Out:
 * texts to show. Not here: attributes of records (record-texts.ts) and the pages' texts (texts-pt.ts).
 */
import { sentenceOf } from '../model/note-sentences.ts'
import { ANALYSIS_TEXTS } from './analysis.ts'
import type { Labels, Metric, MetricPart, Note } from './api.ts'
import { formatMonth, formatNumber, type Language, unitText } from './numbers.ts'
import { lookUp } from './question.ts'
import { ATTRIBUTES } from './record-texts.ts'

/** @param prices month or year of the reais; '' for those of each month */
export function unitWithPrices(
  metric: Pick<Metric, 'unit'> | undefined,
  language: Language,
  prices: string,
): string {
  const unit = unitText(metric?.unit, language)
  if (prices === '' || metric?.unit.startsWith('BRL') !== true) return unit
  return unit.replace(
    /^\w+/,
    (money) => `${money} ${language === 'pt' ? 'de' : 'of'} ${formatMonth(prices, language)}`,
  )
}

/**
 * @param prices month or year of the reais; '' for those of each month
 * @returns the unit, or '' when the label of the metric already contains it
 */
export function unitOutsideLabel(
  metric: Pick<Metric, 'label' | 'label_en' | 'unit'> | undefined,
  language: Language,
  prices = '',
): string {
  const unit = unitWithPrices(metric, language, prices)
  if (unit !== unitText(metric?.unit, language)) return unit
  const label = (language === 'pt' ? metric?.label : metric?.label_en) ?? ''
  const [, base = ''] = /((?:por|per) .*)$/.exec(unit) ?? []
  const isInLabel = label.toLowerCase().includes(unit.toLowerCase()) || (base !== '' && label.endsWith(base))
  return unit !== '%' && isInLabel ? '' : unit
}

/** Population basis → name of the denominator that replaces the census, and names of populations that the catalog of some keys lacks. */
const BASES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  estimate: ['População estimada', 'Estimated population'],
  population_census: ['População do censo', 'Census population'],
  population_by_age: ['População por sexo e idade', 'Population by sex and age'],
  estimate_of_period: ['População estimada do ano do período', 'Estimated population of the period’s year'],
}

/** Metrics that a life table gives, of which a single division says too little. */
const LIFE_TABLES: ReadonlySet<string> = new Set(['life_expectancy_at_birth'])

/** @param basis population basis of the question; '' is the census @returns a formula with labels for a ratio, a sentence for a measure */
export function formulaText(metric: Metric, catalog: Labels, language: Language, basis = ''): string {
  const {
    scale = 1,
    numerator,
    numerator_part,
    less,
    denominator,
    denominator_part,
    standardized_by,
  } = metric
  if (numerator === undefined || denominator === undefined) return metric.formula
  const nameOf = (code: string, part?: MetricPart): string => {
    if (part !== undefined) return language === 'pt' ? part.label : part.label_en
    const found = catalog.metrics.find((other) => other.code === code)
    if (found === undefined) return lookUp(BASES, code)?.[language === 'pt' ? 0 : 1] ?? code
    return language === 'pt' ? found.label : found.label_en
  }
  const base = denominator === 'population_census' ? lookUp(BASES, basis) : undefined
  const below = base?.[language === 'pt' ? 0 : 1] ?? nameOf(denominator, denominator_part)
  const above =
    less === undefined ? nameOf(numerator, numerator_part) : `(${nameOf(numerator)} − ${nameOf(less)})`
  if (LIFE_TABLES.has(metric.code))
    return language === 'pt'
      ? `tábua de vida por grupos de idade, a partir de ${above} ÷ ${below} em cada grupo`
      : `life table by age groups, from ${above} ÷ ${below} in each group`
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
  hospital_admission_flows: ['Fluxos de internações', 'Hospital admission flows'],
  deaths: ['Óbitos', 'Deaths'],
  fetal_deaths: ['Óbitos fetais', 'Fetal deaths'],
  deaths_by_occurrence: ['Óbitos por local de ocorrência', 'Deaths by place of occurrence'],
  births: ['Nascidos vivos', 'Live births'],
  outpatient_production: ['Produção ambulatorial', 'Outpatient production'],
  federal_health_transfers: ['Transferências federais', 'Federal transfers'],
  population: ['População', 'Population'],
  population_by_age: ['População por idade e sexo', 'Population by age and sex'],
}
export const datasetName = (dataset: string, language: 'pt' | 'en'): string =>
  DATASETS[dataset]?.[language === 'pt' ? 0 : 1] ?? dataset

/** Parameters of notes that count rows; years are numbers, too. */
const COUNTS: ReadonlySet<string> = new Set([
  'rows',
  'total_rows',
  'records',
  'municipalities',
  'births',
  'deaths',
])

/** @returns a note whose large counts are written as a reader expects them: 1.803 */
function withThousands(note: Note, language: Language): Note {
  return Object.fromEntries(
    Object.entries(note).map(([name, value]) => [
      name,
      COUNTS.has(name) && Number(value) >= 1000 ? formatNumber(Number(value), 0, language) : value,
    ]),
  ) as unknown as Note
}

/** @returns the sentence of a note; labels replace codes */
export function noteText(note: Note, catalog: Labels, language: Language): string {
  const { compare, comparators } = ANALYSIS_TEXTS[language]
  const comparisons: Readonly<Record<string, string>> = { ...comparators, compare_to: compare }
  return sentenceOf(withThousands(note, language), language, (code) => {
    const found =
      catalog.metrics.find((metric) => metric.code === code) ??
      catalog.dimensions.find((dimension) => dimension.code === code)
    const attribute = language === 'pt' ? lookUp(ATTRIBUTES, code) : undefined
    return (
      (language === 'pt' ? found?.label : found?.label_en) ??
      attribute ??
      lookUp(comparisons, code) ??
      datasetName(code, language)
    )
  })
}
