/** The folders of model/ declare each name once, and joined they hold everything that is declared. */
import t from 'tap'
import { MEANINGS } from '../../src/model/caveats.ts'
import * as classifications from '../../src/model/classifications/index.ts'
import * as cnes from '../../src/model/cnes/index.ts'
import { datasetOf } from '../../src/model/datasets.ts'
import * as joined from '../../src/model/declarations.ts'
import * as demography from '../../src/model/demography/index.ts'
import * as financing from '../../src/model/financing/index.ts'
import { isFlowMetric, METRIC_CODES, measuresOf, metricOf } from '../../src/model/metrics.ts'
import * as outlines from '../../src/model/outlines/index.ts'
import * as periods from '../../src/model/periods.ts'
import * as sia from '../../src/model/sia/index.ts'
import * as sih from '../../src/model/sih/index.ts'
import * as sim from '../../src/model/sim/index.ts'
import * as sinasc from '../../src/model/sinasc/index.ts'
import * as territory from '../../src/model/territory/index.ts'

/** @returns the names in a table, or the metrics of a list of indicators */
const namesOf = (declared: object): string[] =>
  Array.isArray(declared) ? declared.map(({ metric }) => metric) : Object.keys(declared)

t.test('no two areas declare one name', async (t) => {
  for (const [kind, all] of Object.entries(joined)) {
    const declared = [
      territory,
      classifications,
      cnes,
      demography,
      outlines,
      sih,
      sia,
      sim,
      sinasc,
      financing,
      periods,
    ].flatMap((area) => namesOf((area as Readonly<Record<string, object>>)[kind] ?? {}))
    t.same(namesOf(all).sort(), declared.sort(), kind)
    t.equal(new Set(declared).size, declared.length, kind)
  }
})

t.test('sides of ratios are metrics that are no ratios', async (t) => {
  for (const code of METRIC_CODES) {
    const { numerator, denominator } = measuresOf(code)
    t.equal(denominator !== null, metricOf(code).kind === 'ratio', `${code} of ${numerator.dataset}`)
  }
})

t.test('what a number of admissions, production or transfers means is said in both languages', async (t) => {
  const codes = METRIC_CODES.filter(
    (code) =>
      isFlowMetric(code) ||
      ['sih', 'sia', 'sim', 'sinasc', 'financing'].includes(
        datasetOf(measuresOf(code).numerator.dataset).area,
      ),
  )
  t.same(Object.keys(MEANINGS).sort(), codes.toSorted())
  for (const [code, { pt, en }] of Object.entries(MEANINGS)) {
    t.match(pt, /\.$/, code)
    t.match(en, /\.$/, code)
    t.match(`${pt} `, /[çãáéíóúêõ]| não | sem /, `${code} in Portuguese`)
  }
})
