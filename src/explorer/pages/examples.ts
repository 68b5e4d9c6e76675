/** Questions to start from, where the catalog has what they need. */
import type { Labels } from '../api.ts'
import { EMPTY_QUESTION, type Question } from '../question.ts'

/** @param newest newest month, YYYY-MM @returns titles and questions */
export function examplesOf(catalog: Labels, language: 'pt' | 'en', newest: string): [string, Question][] {
  const has = (code: string): boolean =>
    catalog.metrics.some((metric) => metric.code === code) ||
    catalog.dimensions.some((dimension) => dimension.code === code)
  const isPt = language === 'pt'
  const list: [string, Question, readonly string[]][] = [
    [
      isPt ? 'Leitos por 100 mil habitantes, por estado' : 'Beds per 100,000 inhabitants, by state',
      {
        ...EMPTY_QUESTION,
        metrics: ['beds_existing_per_100k', 'beds_sus_share'],
        groupBy: ['state'],
        order: '-beds_existing_per_100k',
      },
      ['beds_existing_per_100k'],
    ],
    [
      isPt
        ? 'Leitos de UTI por 100 mil nas regiões de saúde da Bahia, no mapa'
        : 'ICU beds per 100,000 in the health regions of Bahia, on a map',
      {
        ...EMPTY_QUESTION,
        metrics: ['icu_beds_existing_per_100k'],
        groupBy: ['health_region'],
        filters: { state: ['BA'] },
        totals: true,
        view: 'map',
      },
      ['icu_beds_existing_per_100k', 'health_region'],
    ],
    [
      isPt
        ? 'Equipamentos em uso por município do Acre, com totais'
        : 'Equipment in use by municipality of Acre, with totals',
      {
        ...EMPTY_QUESTION,
        metrics: ['equipment_in_use', 'equipment_in_use_share'],
        groupBy: ['municipality'],
        filters: { state: ['AC'] },
        totals: true,
      },
      ['equipment_in_use'],
    ],
    [
      isPt ? 'Leitos do SUS: variação em um ano' : 'SUS beds: change in a year',
      {
        ...EMPTY_QUESTION,
        metrics: ['bed_capacity_sus'],
        groupBy: ['state'],
        from: newest,
        to: newest,
        change: '-12',
      },
      ['bed_capacity_sus'],
    ],
    [
      isPt
        ? 'Que regiões de saúde perderam leitos de UTI em um ano?'
        : 'Which health regions lost ICU beds in a year?',
      {
        ...EMPTY_QUESTION,
        metrics: ['icu_beds_existing'],
        groupBy: ['health_region'],
        from: newest,
        to: newest,
        change: '-12',
        order: 'icu_beds_existing__change',
      },
      ['icu_beds_existing', 'health_region'],
    ],
    [
      isPt
        ? 'Internações evitáveis: que regiões diferem mais do que o acaso explica?'
        : 'Avoidable admissions: which regions differ by more than chance explains?',
      {
        ...EMPTY_QUESTION,
        metrics: ['icsap_share'],
        groupBy: ['residence_health_region'],
        view: 'funnel',
      },
      ['icsap_share', 'residence_health_region'],
    ],
  ]
  return list.filter(([, , needed]) => needed.every(has)).map(([label, question]) => [label, question])
}
