/**
 * What the API says in English alone, in Portuguese: formulas of metrics and notes of answers. In: the API's text. Out: the
 * text to show. A text that is not known here is shown as it is; tests compare these with the catalog, so that none is missed.
 * Not here: rules and attributes of a facility's record (record-texts.ts), and texts of the pages' own (texts-pt.ts).
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

const FIELDS: Readonly<Record<string, string>> = {
  beds_existing: 'leitos existentes',
  beds_sus: 'leitos SUS',
  beds_non_sus: 'leitos não SUS',
  quantity_existing: 'equipamentos existentes',
  quantity_in_use: 'equipamentos em uso',
  quantity_sus: 'equipamentos disponíveis ao SUS',
}
const fieldName = (field: string): string => FIELDS[field] ?? field

/** Formulas of measures: sentences of the catalog. */
const FORMULAS: readonly (readonly [RegExp, (...groups: string[]) => string])[] = [
  [/^Sum of (\w+)\.$/, (field) => `Soma de ${fieldName(field)}.`],
  [
    /^Sum of (\w+) less sum of (\w+)\.$/,
    (field, less) => `Soma de ${fieldName(field)} menos soma de ${fieldName(less)}.`,
  ],
  [
    /^Sum of (\w+) of bed category (\d+)\.$/,
    (field, code) => `Soma de ${fieldName(field)} da categoria de leito ${code}.`,
  ],
  [
    /^Sum of (\w+) of the bed categories ([\d, ]+): all but the complementary ones, as TabNet counts "(.*)"\.$/,
    (field, codes, name) =>
      `Soma de ${fieldName(field)} das categorias de leito ${codes}: todas menos a dos complementares, como o TabNet conta “${name}”.`,
  ],
  [
    /^Sum of (\w+) of the bed types ([\d, ]+): those that the domain table of DATASUS and SIGTAP call UTI; burns and coronary units are in no age\.$/,
    (field, codes) =>
      `Soma de ${fieldName(field)} dos tipos de leito ${codes}: os que a tabela de domínio do DATASUS e o SIGTAP chamam de UTI; queimados e unidade coronariana não entram em nenhuma idade.`,
  ],
  [
    /^Offerings: facility, service and classification\.$/,
    () => 'Ofertas: estabelecimento, serviço e classificação.',
  ],
  [/^Offerings with an SUS flag\.$/, () => 'Ofertas marcadas para o SUS.'],
  [/^Offerings with has_ambulatory or has_ambulatory_sus\.$/, () => 'Ofertas ambulatoriais, do SUS ou não.'],
  [/^Offerings with has_ambulatory_sus\.$/, () => 'Ofertas ambulatoriais ao SUS.'],
  [/^Offerings with has_hospital or has_hospital_sus\.$/, () => 'Ofertas hospitalares, do SUS ou não.'],
  [/^Offerings with has_hospital_sus\.$/, () => 'Ofertas hospitalares ao SUS.'],
  [
    /^Offerings with a declaration of characteristic 2 or 3\.$/,
    () => 'Ofertas com declaração de característica 2 ou 3.',
  ],
  [/^Distinct active facilities\.$/, () => 'Estabelecimentos ativos distintos.'],
  [
    /^Distinct facilities with a bed quantity above 0\.$/,
    () => 'Estabelecimentos distintos com algum leito.',
  ],
  [/^Distinct facilities with SUS beds above 0\.$/, () => 'Estabelecimentos distintos com algum leito SUS.'],
  [
    /^Distinct facilities with (?:a|an equipment) quantity above 0\.$/,
    () => 'Estabelecimentos distintos com algum equipamento.',
  ],
  [
    /^Distinct facilities with an SUS quantity above 0\.$/,
    () => 'Estabelecimentos distintos com algum equipamento ao SUS.',
  ],
  [/^Distinct facilities with an offering\.$/, () => 'Estabelecimentos distintos com alguma oferta.'],
  [
    /^Distinct facilities with an SUS offering\.$/,
    () => 'Estabelecimentos distintos com alguma oferta ao SUS.',
  ],
  [
    /^Distinct facilities with SUS beds, SUS equipment or an SUS offering\.$/,
    () => 'Estabelecimentos distintos com leito, equipamento ou oferta ao SUS.',
  ],
  [
    /^Distinct facilities that the registry links to SUS .*\.$/,
    () =>
      'Estabelecimentos distintos que o cadastro vincula ao SUS (VINC_SUS dos arquivos por estado); sem dado onde os arquivos do mês não o publicam.',
  ],
  [
    /^Distinct equipment types with a quantity above 0\.$/,
    () => 'Tipos distintos de equipamento com algum equipamento.',
  ],
  [/^Distinct services offered\.$/, () => 'Serviços distintos ofertados.'],
  [
    /^Population of the newest census of the release\.$/,
    () => 'População do censo mais novo desta versão dos dados.',
  ],
  [
    /^Population of the newest estimate of the release\.$/,
    () => 'População da estimativa mais nova desta versão dos dados.',
  ],
  [
    /^Population of the newest year of the estimates by municipality, sex and age of the Ministry of Health \(POPSBR\): .*\.$/,
    () =>
      'População do ano mais novo das estimativas do Ministério da Saúde por município, sexo e idade (POPSBR): outra fonte que o censo e as estimativas do IBGE.',
  ],
  [
    /^Approved admissions of SUS \(AIH with IDENT 1\), by month of processing, .*\.$/,
    () =>
      'Internações aprovadas do SUS (AIH com IDENT 1), pelo mês de processamento, que é o da alta ou um posterior. Transferências e reinternações são outras internações: não são pessoas.',
  ],
  [
    /^Approved admission authorisations \(AIH\), .*\.$/,
    () =>
      'AIH aprovadas, com as continuações de longa permanência (IDENT 5), pelo mês de processamento, que é o da alta ou um posterior.',
  ],
  [
    /^Days of stay of the records; .*\.$/,
    () => 'Dias de permanência dos registros; de uma continuação, os do seu mês.',
  ],
  [/^Records that ended with death\.$/, () => 'Registros que terminaram em óbito.'],
  [
    /^Value of the records in reais \(VAL_TOT\): .*\.$/,
    () => 'Valor dos registros em reais (VAL_TOT): aprovado, o que ainda não é pago, em preços da época.',
  ],
  [
    /^Transfers of the national health fund \(FNS\) to funds .*\.$/,
    () =>
      'Transferências do Fundo Nacional de Saúde (FNS) a fundos de municípios e estados no ano, brutas, em reais da época. Um ano é a competência do seu último mês (2025-12).',
  ],
  [/^Days in intensive care of the records\.$/, () => 'Dias de terapia intensiva dos registros.'],
  [
    /^SUS beds of each month times its days, added up over the months\.$/,
    () => 'Leitos SUS de cada mês vezes os seus dias, somados pelos meses.',
  ],
  [
    /^Quantity of outpatient procedures approved \(PA_QTDAPR\), .*\.$/,
    () =>
      'Quantidade aprovada de procedimentos ambulatoriais (PA_QTDAPR), pelo mês de processamento. Cada procedimento tem a sua unidade (de medicamentos, comprimidos): não são consultas nem pessoas.',
  ],
  [
    /^Quantity of outpatient procedures presented \(PA_QTDPRO\), .*\.$/,
    () =>
      'Quantidade apresentada de procedimentos ambulatoriais (PA_QTDPRO), pelo mês de processamento, com o que não foi aprovado.',
  ],
  [
    /^Value of outpatient procedures in reais \(PA_VALAPR\), .*\.$/,
    () =>
      'Valor dos procedimentos ambulatoriais em reais (PA_VALAPR), com complementos locais: aprovado, o que ainda não é pago, em preços da época.',
  ],
]

/** Basis of the rates → what they are divided by, in place of the census. */
const BASES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  estimate: ['População estimada', 'Estimated population'],
  estimate_of_period: ['População estimada do ano do período', 'Estimated population of the period’s year'],
}

/** @returns the first translation that fits, or null */
function translate(
  text: string,
  table: readonly (readonly [RegExp, (...groups: string[]) => string])[],
): string | null {
  for (const [pattern, write] of table) {
    const found = pattern.exec(text)
    if (found !== null) return write(...found.slice(1))
  }
  return null
}

/**
 * @param basis of the question; '' is the census
 * @returns a ratio by the labels of its metrics, a measure as a sentence; null where Portuguese lacks it
 */
export function formulaText(metric: Metric, catalog: Catalog, language: Language, basis = ''): string | null {
  const { formula } = metric
  if (metric.kind !== 'ratio') return language === 'en' ? formula : translate(formula, FORMULAS)
  const isPt = language === 'pt'
  return formula
    .replace(/^1 × /, '')
    .replace(/\d{4,}/g, (digits) => formatNumber(Number(digits), 0, language))
    .replace(/[a-z][a-z0-9_]{3,}/g, (code) => {
      const base =
        code === metric.denominator && code === 'population_census' ? lookUp(BASES, basis) : undefined
      if (base !== undefined) return base[isPt ? 0 : 1]
      const found = catalog.metrics.find((other) => other.code === code)
      return found === undefined ? code : isPt ? found.label : found.label_en
    })
}

const TABLES: Readonly<Record<string, string>> = {
  facilities: 'estabelecimentos',
  bed_capacity: 'leitos',
  equipment_inventory: 'equipamentos',
  specialized_services: 'serviços especializados',
  hospital_admissions: 'internações',
  hospital_admissions_by_residence: 'internações por residência',
  outpatient_production: 'produção ambulatorial',
  federal_health_transfers: 'transferências federais',
  population: 'população',
  population_by_age: 'população por idade',
}

/** @returns the sentence of a note; in Portuguese with the labels of metrics, dimensions and datasets in place of their codes */
export function noteText(note: Note, catalog: Catalog, language: Language): string {
  if (language === 'en') return sentenceOf(note, language)
  const found = (code: string) =>
    catalog.metrics.find((metric) => metric.code === code) ??
    catalog.dimensions.find((dimension) => dimension.code === code)
  const text = sentenceOf(
    note,
    language,
    (code) => TABLES[code] ?? found(code)?.label ?? ATTRIBUTES[code] ?? code,
  )
  return text.charAt(0).toUpperCase() + text.slice(1)
}
