/** The table of areas: each area follows what it needs, has a release header and a name for readers, and every dataset belongs to one. */
import t from 'tap'
import { EN } from '../../src/explorer/texts-en.ts'
import { PT } from '../../src/explorer/texts-pt.ts'
import { AREA_NAMES, AREAS_BY_NEED, areaOf, forEachArea } from '../../src/model/areas.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { DATASETS, type DatasetName, datasetOf } from '../../src/model/datasets.ts'
import { capabilitiesOfTable } from '../../src/model/table-capabilities.ts'
import { FACT_TABLES, tablesOfArea } from '../../src/release/coverage.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'

t.test('each area follows the areas that it needs, and every list of areas has all of them', async (t) => {
  t.same([...AREAS_BY_NEED].sort(), [...AREA_NAMES].sort())
  for (const [position, area] of AREAS_BY_NEED.entries())
    for (const needed of areaOf(area).needs)
      t.ok(
        AREAS_BY_NEED.slice(0, position).some((other) => other === needed),
        `${area} after ${needed}`,
      )
  const visited: string[] = []
  t.same(
    await forEachArea(async (area) => {
      visited.push(area)
      return area.length
    }),
    Object.fromEntries(AREA_NAMES.map((area) => [area, area.length])),
  )
  t.same(visited, AREA_NAMES, 'one after another, in the order of the table')
  for (const area of [...AREA_NAMES, 'analytics']) {
    t.match(`${area}-br-202605-${'0'.repeat(64)}`, RELEASE_ID)
    for (const texts of [PT, EN]) t.type(texts.areas[area], 'string', area)
  }
})

t.test('every dataset belongs to an area of the table, and needs one capability', async (t) => {
  for (const name of Object.keys(DATASETS) as DatasetName[]) {
    t.ok(AREA_NAMES.includes(datasetOf(name).area), name)
    const [capability, ...others] = capabilitiesOfTable(name)
    t.same(others, [], name)
    t.ok(CAPABILITIES.includes(capability as (typeof CAPABILITIES)[number]), name)
  }
  t.same(AREA_NAMES.flatMap(tablesOfArea), FACT_TABLES, 'each table of facts is in one area')
})
