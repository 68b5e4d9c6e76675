/** Refusals of population by age, territory and outlines name the first rows of each reason by file. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { nationalList } from '../../src/import/demography/national-list.ts'
import { importPaths } from '../../src/import/import.ts'
import { readManifest } from '../../src/release/verify.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const names = nationalList()
const codes = [...names.keys()].sort((left, right) => left - right)
const list = [
  'UF,Nome_UF,Código Município Completo,Nome_Município',
  ...codes.map((code) => `${Math.floor(code / 100_000)},x,${code},${names.get(code)}`),
  '',
].join('\n')

async function importFile(name: string, content: string | Buffer, maxRejected = 0) {
  const folder = temporaryFolder('refusals')
  mkdirSync(join(folder, 'files'))
  writeFileSync(join(folder, 'files/municipios.csv'), list)
  writeFileSync(join(folder, 'files', name), content)
  const releasesDir = join(folder, 'releases')
  const options = { releasesDir, maxRejected, partialPopulation: true, withoutPopulation: true }
  const result = await importPaths([join(folder, 'files')], options)
  return readManifest(releasesDir, result.demography ?? '')
}

t.test('population by age', async (t) => {
  // The second municipality has the rows 164 to 325.
  const rows = ['1400100', '1400999'].flatMap((municipality) =>
    ['1', '2'].flatMap((sex) =>
      Array.from({ length: 81 }, (_, age) => ({
        COD_MUN: municipality,
        ANO: '2024',
        SEXO: sex,
        IDADE: String(age).padStart(3, '0'),
        POP: '10',
      })),
    ),
  )
  const columns = [
    ['COD_MUN', 7],
    ['ANO', 4],
    ['SEXO', 4],
    ['IDADE', 3],
    ['POP', 9],
  ] as const
  const bytes = makeDbf({ columns, rows })
  bytes.set([24, 12, 12], 1)
  await t.rejects(importFile('POP24.dbf', bytes), {
    message: /sets aside 162 of 5895 rows \(POP24\.dbf: unknown_municipality 162, rows 164, 165, 166 …\)/,
  })
})

t.test('territory', async (t) => {
  const line = (order: number, label: string, published: string): string =>
    `${String(order).padStart(7)}  ${label.padEnd(50)} ${published}`
  const placed = codes.filter((code) => code !== 1400050 && code !== 1400100)
  const table = [
    `${placed.length + 2} 6`,
    ...placed.map((code, index) => {
      const region = `${Math.floor(code / 100_000)}001`
      return line(index + 1, `${region} Região`, String(Math.floor(code / 10)))
    }),
    line(placed.length + 1, '14001 Região', '149998,149999'),
    line(placed.length + 2, 'Ignorado - BR', '000000,      ,000001-009999'),
    'no line of this layout',
    '',
  ].join('\r\n')
  const last = placed.length + 1
  await t.rejects(importFile('br_regsaud.cnv', table), {
    message: new RegExp(
      'sets aside 3 of 11143 rows \\(br_regsaud\\.cnv: municipality_without_health_region 2, municipalities 1400050, 1400100; ' +
        `br_regsaud\\.cnv: not_a_municipality 2, rows ${last + 1}, ${last + 2}; ` +
        `br_regsaud\\.cnv: unreadable_row 1, row ${last + 3}\\)`,
    ),
  })
  const { set_aside: counted } = await importFile('br_regsaud.cnv', table, 0.001)
  t.same(
    counted.map(({ reason, rows }) => [reason, rows]),
    [
      ['municipality_without_health_region', 2],
      ['not_a_municipality', 2],
      ['unreadable_row', 1],
    ],
  )
})

t.test('outlines', async (t) => {
  const square = [
    [
      [-60, 2],
      [-60, 3],
      [-59, 3],
      [-59, 2],
      [-60, 2],
    ],
  ]
  const feature = (code: number): object => ({
    type: 'Feature',
    properties: { CD_MUN: String(code) },
    geometry: { type: 'Polygon', coordinates: square },
  })
  const features = [1400100, 4300001, 1499991, 1499992, 1499993, 1499994].map(feature)
  await t.rejects(importFile('mesh.json', JSON.stringify({ type: 'FeatureCollection', features })), {
    message:
      /mesh\.json: unknown_municipality 4, features 3, 4, 5 …; mesh\.json: not_a_municipality 1, feature 2\)/,
  })
})
