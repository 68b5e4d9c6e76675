/** Every formula, unit, note, rule and attribute that the pages show has a Portuguese text. */
import t from 'tap'
import type { Catalog, Metric, Note } from '../../src/explorer/api.ts'
import { formulaText, noteText, unitOutsideLabel } from '../../src/explorer/catalog-texts.ts'
import { basisConflict, dimensionConflict, metricConflict } from '../../src/explorer/conflicts.ts'
import { monthBefore, unitText } from '../../src/explorer/numbers.ts'
import { matches } from '../../src/explorer/parts/options.tsx'
import { EMPTY_QUESTION } from '../../src/explorer/question.ts'
import { ATTRIBUTES } from '../../src/explorer/record-texts.ts'
import { EN } from '../../src/explorer/texts-en.ts'
import { PT } from '../../src/explorer/texts-pt.ts'
import { datasetOf } from '../../src/model/datasets.ts'
import { FACTS } from '../../src/model/declarations.ts'
import { sentenceOf } from '../../src/model/note-sentences.ts'
import { RULES } from '../../src/model/rules.ts'
import type { Text } from '../../src/model/types.ts'
import { ORIGINS, RULE_TEXTS } from '../../src/query/provenance/derived.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const server = await startExplorer({ release: await makeSmallRelease('gaps') })
t.teardown(() => server.close())

// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
const get = async (path: string, body?: unknown): Promise<any> => {
  const response = await fetch(server.address + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return response.json()
}
const catalog: Catalog = (await get('/v1/analytics/catalog')).data

t.test('every formula and unit of the catalog has Portuguese', async (t) => {
  for (const metric of catalog.metrics) {
    const formula = formulaText(metric, catalog, 'pt')
    t.not(formula, '', metric.code)
    t.notMatch(formula, /\b(of|the|with|above|Sum|Distinct|[a-z]+_[a-z_]+)\b/, `${metric.code}: ${formula}`)
    // No English word is left. BRL and km are written alike in both languages.
    const english = metric.unit.split(/[^a-z-]+/).filter((word) => word.length > 1 && word !== 'km')
    t.same(
      unitText(metric.unit, 'pt')
        .split(' ')
        .filter((word) => english.includes(word)),
      [],
      metric.unit,
    )
  }
  const rate = catalog.metrics.find(({ code }) => code === 'beds_existing_per_100k') as Metric
  t.equal(formulaText(rate, catalog, 'pt'), '100.000 × Leitos existentes ÷ População do censo')
  t.equal(formulaText(rate, catalog, 'pt', 'estimate'), '100.000 × Leitos existentes ÷ População estimada')
  t.equal(formulaText(rate, catalog, 'en'), '100,000 × Existing beds ÷ Census population')
  const others = { ...catalog, metrics: catalog.metrics.filter(({ code }) => !code.startsWith('population')) }
  for (const metric of others.metrics)
    for (const language of ['pt', 'en'] as const)
      t.equal(formulaText(metric, others, language), formulaText(metric, catalog, language), 'for any key')
  const years = catalog.metrics.find(({ code }) => code === 'life_expectancy_at_birth') as Metric
  t.match(formulaText(years, catalog, 'pt'), /^tábua de vida por grupos de idade/, 'not a single division')
  t.equal(unitOutsideLabel(rate, 'pt'), '', 'the label says it')
  t.equal(unitOutsideLabel({ ...rate, label: 'Leitos' }, 'pt'), 'leitos por 100 mil habitantes')
})

t.test('notes of answers are said in Portuguese, by labels', async (t) => {
  const state = (value: string) => ({ dimension: 'state', operator: 'EQ', value })
  const month = (value: string) => ({ dimension: 'reference_period', operator: 'EQ', value })
  const questions = [
    { metrics: ['beds_existing_per_100k', 'equipment_in_use'], group_by: ['health_region'] },
    { metrics: ['bed_capacity_sus', 'service_offerings'], group_by: ['state'], change: { to: 'previous' } },
    { metrics: ['bed_capacity_sus', 'population_census'], change: { to: '-12' }, filters: [state('AC')] },
    {
      metrics: ['beds_existing_per_100k'],
      group_by: ['reference_period'],
      population_basis: 'estimate_of_period',
    },
    { metrics: ['facilities_per_100k'], filters: [month('2009-12'), state('RR')] },
    { metrics: ['service_offerings_outsourced'], filters: [month('2026-05'), state('RR')] },
    { metrics: ['facilities_linked_sus'], filters: [month('2026-02')] },
    { metrics: ['population_by_age'], group_by: ['municipality'] },
    { metrics: ['beds_sus_share'], group_by: ['municipality'], filters: [month('2026-02'), state('AC')] },
    { metrics: ['equipment_sus'], group_by: ['reference_period'], filters: [state('RR')] },
  ]
  const seen = new Map<string, Note>()
  for (const question of questions) {
    const { meta } = await get('/v1/analytics/query', question)
    for (const note of (meta?.notes ?? []) as Note[]) seen.set(note.message, note)
  }
  t.ok(seen.size >= 8, `${seen.size} notes`)
  for (const note of seen.values()) {
    t.notMatch(noteText(note, catalog, 'pt'), /\b(not collected|null|rows|the|which|[a-z]+_[a-z]+)\b/)
    t.notMatch(noteText(note, catalog, 'en'), /\b[a-z]+_[a-z]+\b/, 'by labels in English, too')
  }
  const country: Note = { code: 'comparator_not_collected', comparator: 'country', message: '' }
  const peers: Note = { code: 'peers', year: 2022, message: '' }
  t.match(noteText(country, catalog, 'pt'), 'Comparação (o Brasil): ')
  t.match(noteText(country, catalog, 'en'), 'Compare places with Brazil: ')
  t.match(noteText(peers, catalog, 'pt'), 'Comparação (municípios semelhantes): ')
  t.match(noteText(peers, catalog, 'en'), 'Compare places with municipalities alike: ')
  t.match(sentenceOf(country, 'pt'), 'Comparação (country): ', 'the API has the code')
  t.match(sentenceOf(peers, 'en'), 'compare_to peers: ')
})

t.test(
  'every attribute of provenance has Portuguese, and rules are in the language of the request',
  async (t) => {
    const { data } = await get('/v1/facilities?limit=1&uf=RR')
    const { data: provenance } = await get(`/v1/facilities/${data[0].cnes_code}/provenance`)
    const texts: readonly Text[] = [
      ...Object.values(RULES),
      ...Object.values(RULE_TEXTS),
      ...Object.values(ORIGINS).flatMap((own) =>
        Object.values(own).flatMap(({ rule }) => Object.values(rule)),
      ),
    ]
    for (const { pt, en } of texts) t.not(pt, en)
    for (const { attribute, rule } of provenance.entries) {
      t.ok(attribute in ATTRIBUTES, attribute)
      t.notMatch(rule, /\b(the|of|anything|blanks|digits|true)\b/, attribute)
    }
  },
)

t.test('the key of every record behind a number has Portuguese', (t) => {
  for (const dataset of Object.keys(FACTS) as (keyof typeof FACTS)[])
    t.same(
      datasetOf(dataset).key.filter((field) => !Object.hasOwn(ATTRIBUTES, field)),
      [],
      dataset,
    )
  t.end()
})

t.test('both languages have the same texts', async (t) => {
  t.same(Object.keys(EN).sort(), Object.keys(PT).sort())
})

t.test('what does not go together says why', async (t) => {
  const find = <Entry extends { code: string }>(list: readonly Entry[], code: string): Entry =>
    list.find((entry) => entry.code === code) as Entry
  const beds = { ...EMPTY_QUESTION, metrics: ['bed_capacity_sus'], groupBy: ['bed_type'] }
  const equipment = find(catalog.dimensions, 'equipment_type')
  t.equal(dimensionConflict(equipment, beds, catalog, 'pt'), 'Não existe para Leitos SUS')
  t.equal(dimensionConflict(find(catalog.dimensions, 'state'), beds, catalog, 'pt'), null)
  t.equal(metricConflict(find(catalog.metrics, 'equipment_in_use'), beds, catalog, 'pt'), 'Sem Tipo de leito')
  t.equal(metricConflict(find(catalog.metrics, 'bed_capacity_existing'), beds, catalog, 'pt'), null)
  t.match(basisConflict(beds, catalog, 'pt'), /taxas/)
  t.equal(basisConflict({ ...beds, metrics: ['beds_sus_per_100k'] }, catalog, 'pt'), null)
  t.equal(monthBefore('2026-05', 12), '2025-05')
  t.equal(monthBefore('2026-01', 1), '2025-12')
})

t.test('choices are found by words in any order, accents or not', async (t) => {
  t.ok(matches('Leitos de UTI existentes por 100 mil habitantes', 'existentes uti'))
  t.ok(matches('Região de saúde', 'saude regiao'))
  t.notOk(matches('Leitos de UTI', 'equipamento'))
})
