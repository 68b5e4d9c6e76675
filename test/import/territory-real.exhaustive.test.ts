/**
 * The real territorial base of 2025-10, TabWin's conversion tables and the edition of 2020, imported with the real list of
 * municipalities: regions and macro-regions of all of them, against a plain look at the tables by other code (characters,
 * one after another).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const LIST = 'ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls'
const BASE = 'territory/base_territorial_out25.zip'
const IGNORED = 27

/** A quoted table read character by character. */
function plainRows(text: string, delimiter: string): string[][] {
  const rows: string[][] = [[]]
  let [cell, isQuoted] = ['', false]
  const endCell = (): void => {
    rows.at(-1)?.push(cell)
    cell = ''
  }
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted || (character !== delimiter && character !== '\n' && character !== '\r'))
      cell += character
    else if (character === delimiter) endCell()
    else if (character === '\n') {
      endCell()
      rows.push([])
    }
  }
  return rows.filter((row) => row.length > 1)
}

/** Municipality (6 digits) → line of a conversion table, by its places alone. */
const plainConversion = (file: string): Map<string, string> =>
  new Map(
    readFileSync(sharedPath(file), 'latin1')
      .split('\n')
      .slice(1)
      .map((line): [string, string] => [line.slice(60, 66), line.slice(9, 59).trim()]),
  )

interface Made {
  readonly manifest: Manifest
  readonly municipalities: readonly Record<string, unknown>[]
  readonly regions: readonly Record<string, unknown>[]
  readonly macroregions: readonly Record<string, unknown>[]
}

/** A release of the real list and some files of the territory, read through the application. */
async function importWith(files: readonly string[], t: Test): Promise<Made> {
  const releasesDir = join(temporaryFolder('territory'), 'releases')
  const result = await importPaths([LIST, ...files].map(sharedPath), {
    releasesDir,
    maxRejected: 0.001,
    withoutPopulation: true,
  })
  writePointer(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const view = client.store.current() as ReleaseView
  const manifest = view.components.demography as Manifest
  const rowsOf = async (dataset: string): Promise<Record<string, unknown>[]> =>
    manifest.datasets[dataset] === undefined
      ? []
      : client.engine.run(
          {
            parts: [
              { kind: 'text', text: 'SELECT * FROM ' },
              { kind: 'table', dataset, period: null },
              { kind: 'text', text: ' ORDER BY 1' },
            ],
          },
          view,
        )
  return {
    manifest,
    municipalities: await rowsOf('municipalities'),
    regions: await rowsOf('health_regions'),
    macroregions: await rowsOf('health_macroregions'),
  }
}

t.test('the base of 2025-10', { skip: skipWithoutShared }, async (t) => {
  const entries = unzipSync(readFileSync(sharedPath(BASE)))
  const table = (name: string): string[][] =>
    plainRows(new TextDecoder('utf-8', { fatal: true }).decode(entries[name]), ',').slice(1)
  const regionOf = new Map(table('rl_municip_regsaud.csv').map(([town = '', region = '']) => [town, region]))
  const macroOf = new Map(table('rl_municip_macsaud.csv').map(([town = '', macro = '']) => [town, macro]))
  const tidy = (text: string): string => text.split(/\s+/).filter(Boolean).join(' ')
  const regionNames = new Map(table('tb_regsaud.csv').map(([code = '', , name = '']) => [code, tidy(name)]))
  const macroNames = new Map(
    table('tb_macsaud.csv').map(([code = '', , , , short = '']) => [code, tidy(short)]),
  )
  const pairs = table('rl_regsaud_macsaud.csv')

  const made = await importWith([BASE], t)
  t.equal(made.manifest.territory_edition, '2025-10')
  t.match(made.manifest.counts, {
    municipalities: 5571,
    health_regions: 439,
    health_macroregions: 121,
    municipalities_without_health_region: 0,
  })
  t.same(
    made.manifest.snapshots.map(({ file, archive, rows }) => [file, archive?.file, rows]),
    [
      ['RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls', undefined, 5571],
      ['rl_municip_macsaud.csv', 'base_territorial_out25.zip', 5597],
      ['rl_municip_regsaud.csv', 'base_territorial_out25.zip', 5572],
      ['tb_macsaud.csv', 'base_territorial_out25.zip', 168],
      ['tb_regsaud.csv', 'base_territorial_out25.zip', 466],
    ],
  )
  const towns = made.municipalities.filter(({ territorial_type: type }) => type === 'MUNICIPALITY')
  t.equal(towns.length, 5571)
  const wrong = towns.filter((town) => {
    const six = String(town.ibge_code).slice(0, 6)
    const [region = '', macro = ''] = [regionOf.get(six), macroOf.get(six)]
    return (
      town.health_region_code !== region ||
      town.health_region_name !== regionNames.get(region) ||
      town.health_macroregion_code !== macro ||
      town.health_macroregion_name !== macroNames.get(macro) ||
      town.territory_edition !== '2025-10'
    )
  })
  t.same(wrong.slice(0, 3), [], 'codes and names of all municipalities')
  const others = made.municipalities.filter(({ territorial_type: type }) => type !== 'MUNICIPALITY')
  t.ok(others.length > IGNORED - 2)
  t.same(
    others.filter(({ health_region_code, territory_edition }) => health_region_code ?? territory_edition),
    [],
    'what is no municipality has none',
  )
  t.equal(made.regions.length, 439)
  t.equal(made.macroregions.length, 121)
  const split = made.regions.find(({ health_region_code: code }) => code === '11003')
  t.same(split?.health_macroregion_codes, ['1101', '1102'], 'Central - RO lies in two')
  t.same(
    made.regions.flatMap((region) =>
      (region.health_macroregion_codes as string[]).map((macro) => `${region.health_region_code} ${macro}`),
    ),
    pairs.map((pair) => pair.join(' ')).sort(),
    'the published pairs, which are 440',
  )
  t.equal(
    made.regions.find(({ health_region_code: code }) => code === '23025')?.health_region_name,
    '4ª RS Litoral Leste/Jaguaribe - CE',
    'a name with a line break',
  )
  t.equal(
    towns.find(({ ibge_code }) => ibge_code === 5101837)?.health_region_code,
    '51014',
    'the youngest municipality',
  )
  t.equal(
    made.regions.reduce((sum, { municipality_count: count }) => sum + Number(count), 0),
    5571,
  )
})

t.test('the conversion tables', { skip: skipWithoutShared }, async (t) => {
  const made = await importWith(['territory/br_regsaud.cnv', 'territory/br_macsaud.cnv'], t)
  const [regionOf, macroOf] = ['regsaud', 'macsaud'].map((name) =>
    plainConversion(`territory/br_${name}.cnv`),
  )
  const towns = made.municipalities.filter(({ territorial_type: type }) => type === 'MUNICIPALITY')
  const wrong = towns.filter((town) => {
    const six = String(town.ibge_code).slice(0, 6)
    return (
      `${town.health_region_code} ${town.health_region_name}` !==
        regionOf?.get(six)?.replaceAll(/ +/g, ' ') ||
      `${town.health_macroregion_code} ${town.health_macroregion_name}` !==
        macroOf?.get(six)?.replaceAll(/ +/g, ' ')
    )
  })
  t.same(wrong.slice(0, 3), [])
  t.equal(made.manifest.territory_edition, 'br_regsaud')
  t.equal(made.regions.length, 439)
})

t.test('the edition of 2020, without header and names', { skip: skipWithoutShared }, async (t) => {
  const made = await importWith(['territory/rl_municip_regsaud_2020.csv'], t)
  const regionOf = new Map(
    plainRows(readFileSync(sharedPath('territory/rl_municip_regsaud_2020.csv'), 'latin1'), ';').map(
      ([town = '', region = '']) => [town, region],
    ),
  )
  t.equal(made.manifest.territory_edition, '2020')
  t.equal(made.manifest.counts.municipalities_without_health_region, 1)
  t.equal(made.manifest.counts.health_regions, 438)
  const towns = made.municipalities.filter(({ territorial_type: type }) => type === 'MUNICIPALITY')
  t.same(
    towns.filter(
      ({ ibge_code, health_region_code }) =>
        health_region_code !== (regionOf.get(String(ibge_code).slice(0, 6)) ?? null),
    ),
    [],
  )
  t.same(
    towns.filter(({ health_region_code: code }) => code === null).map(({ ibge_code }) => ibge_code),
    [5101837],
    'younger than the edition',
  )
  t.equal(made.manifest.datasets.health_macroregions, undefined)
})

t.test('two claims to be the health regions', { skip: skipWithoutShared }, async (t) => {
  const claims: readonly (readonly [string[], RegExp])[] = [
    [
      ['br_regsaud.cnv', 'br_regsaudn.cnv'],
      /^br_regsaud\.cnv and br_regsaudn\.cnv: claim, each of them, to be the health regions/,
    ],
    [
      ['base_territorial_out25.zip', 'br_regsaud.cnv'],
      /^base_territorial_out25\.zip\/rl_municip_regsaud\.csv and br_regsaud\.cnv: claim/,
    ],
    [
      ['base_territorial_out25.zip', 'rl_municip_regsaud_2020.csv'],
      /rl_municip_regsaud\.csv and rl_municip_regsaud_2020\.csv: claim/,
    ],
  ]
  for (const [files, message] of claims)
    await t.rejects(
      importPaths([LIST, ...files.map((file) => `territory/${file}`)].map(sharedPath), {
        releasesDir: join(temporaryFolder('territory'), 'releases'),
        maxRejected: 0.001,
        withoutPopulation: true,
      }),
      { message },
      files.join(' and '),
    )
})
