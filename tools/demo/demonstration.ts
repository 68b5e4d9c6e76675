/**
 * The demonstration: synthetic snapshots in the publishers' raw formats, so that a new machine can run every step. In:
 * folder, scale, months, seed. Out: zips of the national base (with gaps: files by state, too) and responses of IBGE's API;
 * equal seeds give equal bytes. Codes and names of territories and catalogs are real. Every facility, person and number is
 * invented and says so.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { SYNTHETIC_MEMBER } from '../../src/import/demography/mesh-files.ts'
import { YOUNGEST_MUNICIPALITY } from '../../src/import/demography/national-list.ts'
import {
  DEACTIVATION_REASONS,
  FACILITY_TYPES,
  LEGAL_NATURES,
  OPENING_HOURS,
} from '../../src/model/cnes/codes/index.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { digestFile } from '../../src/release/digest.ts'
import { admissionFiles, admissionTables } from './admissions.ts'
import { birthFiles } from './births.ts'
import { type DemoCatalogs, INVENTED_TABLES, makeCatalogs } from './catalogs.ts'
import { deathFiles, fetalFile } from './deaths.ts'
import { FACILITY_HEADER, type FacilityPlan, facilityRow, planFacilities } from './facilities.ts'
import {
  BED_HEADER,
  bedRows,
  equipmentHeader,
  equipmentRows,
  type FactContext,
  SERVICE_HEADER,
  serviceRows,
} from './facts.ts'
import { financingFiles } from './financing.ts'
import { MONTHS_WITH_GAPS, stateFiles } from './gaps.ts'
import { type DemoMunicipality, listMunicipalities } from './geography.ts'
import { demonstrationMesh } from './mesh.ts'
import { populationByAgeDbf } from './population-by-age.ts'
import { priceIndexValues } from './prices.ts'
import { PRODUCTION_CODES, productionFiles } from './production.ts'
import { type Chance, createChance, inventCnpj } from './random.ts'
import { TERRITORY_ARCHIVE, territoryTables } from './territory.ts'

export interface DemonstrationOptions {
  readonly out: string
  readonly scale: 'small' | 'national'
  /** Number of months; the newest is 2026-05. */
  readonly periods: number
  readonly seed: number
  /** Abbreviations of the states with the facilities of the small scale, instead of RR, AC and AP. */
  readonly states?: readonly string[]
  /** Writes the incomplete months of MONTHS_WITH_GAPS instead of `periods` complete months. */
  readonly gaps?: boolean
  /** Adds hospital admissions of every month. With several months, the newest of Amapá is missing. */
  readonly admissions?: boolean
  /** Admissions per month and inhabitant; the scale's number by default. */
  readonly admissionRate?: number
  /** Adds outpatient production of every month. With several months, the newest of Amapá is missing. */
  readonly production?: boolean
  /** Adds health financing: transfers of 2024 to 2026-03, reports of governments, accounts of SIOPS. */
  readonly financing?: boolean
  /** Adds deaths and births of the scale's years, in the folders of final and preliminary files. */
  readonly vitalRecords?: boolean
  readonly onProgress?: (step: string) => void
}

/** The size of the real month 202605, and a miniature of three states. */
const SCALES = {
  small: {
    facilities: 4000,
    beds: 600,
    equipment: 9000,
    services: 10_000,
    ufs: new Set(['RR', 'AC', 'AP']) as ReadonlySet<string> | null,
    admissions: 0.0004,
    hasRegions: false,
    production: { rate: 0.003, partRows: 2000 },
    vitalYears: [2024, 2025],
  },
  national: {
    facilities: 623_207,
    beds: 60_000,
    equipment: 1_348_380,
    services: 1_442_080,
    ufs: null,
    admissions: 0.0069,
    hasRegions: true,
    production: { rate: 0.18, rows: { SP: 8_000_000 }, partRows: 2_500_000 },
    vitalYears: [2025],
  },
} as const
const NEWEST = 202605
/** With several months, this state's admissions and production of the newest are missing. */
const LATE_STATE = 'AP'
/** First month (YYYYMM) in which QT_SUS of equipment is published. */
const QT_SUS_FROM = 202601
/** Deaths and births from this year on are preliminary. */
const PRELIMINARY_FROM = 2025
/** A fixed time, so that an archive's bytes do not depend on when it was made. */
const ARCHIVE_TIME = new Date(2026, 0, 1)
const ARCHIVE_SETTINGS = {
  mtime: ARCHIVE_TIME,
  forceDosTimestamp: true,
  compressionLevel: 1,
  mode: 0o100644,
} as const
const CHUNK_CHARACTERS = 1 << 18
export const DEMONSTRATION_TEXT = `Dados inteiramente fictícios, gerados pela demonstração do sus-data. Nenhum estabelecimento, pessoa ou número é real.
Entirely invented data, made by the sus-data demonstration. No facility, person or number in it is real.
`

export async function writeDemonstration(
  options: DemonstrationOptions,
): Promise<{ path: string; bytes: number }[]> {
  const { out, scale, periods, seed, onProgress = () => undefined } = options
  const chance = createChance(seed)
  const all = listMunicipalities(chance)
  const size = SCALES[scale]
  const ufs = options.states === undefined ? size.ufs : new Set(options.states)
  const plan = planFacilities(all, ufs, size.facilities, chance)
  const catalogs = makeCatalogs()
  const written: { path: string; bytes: number }[] = []
  onProgress('population')
  const pricesUntil = options.gaps === true ? monthBefore(NEWEST, 1) : NEWEST
  written.push(...(await writeIbge(join(out, 'ibge'), all, pricesUntil, chance)))
  written.push(...(await writePopulationByAge(join(out, 'datasus'), all, chance)))
  written.push(...(await writeTerritory(join(out, 'territory'), all, chance)))
  const months =
    options.gaps === true
      ? MONTHS_WITH_GAPS
      : Array.from({ length: periods }, (_, month) => ({
          period: monthBefore(NEWEST, periods - 1 - month),
          files: 'base' as const,
        }))
  for (const { period, files } of months) {
    onProgress(`month ${period}`)
    const context = {
      plan,
      all,
      catalogs,
      chance,
      age: monthsBetween(period, NEWEST),
      hasRegions: size.hasRegions,
    }
    const folder = join(out, 'cnes', `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`)
    written.push(
      ...(files === 'base'
        ? await writeMonth(folder, period, context, size)
        : await writeFiles(folder, stateFiles(period, files, context, size))),
    )
  }
  if (options.admissions === true) {
    const context = {
      plan,
      all,
      chance,
      rate: options.admissionRate ?? size.admissions,
      hasRegions: size.hasRegions,
    }
    const states = STATES.map(({ uf }) => uf).filter((uf) => ufs?.has(uf) ?? true)
    for (const { period } of months) {
      onProgress(`admissions ${period}`)
      const isLate = period === NEWEST && months.length > 1
      const published = states.filter((uf) => !isLate || uf !== LATE_STATE)
      const files = admissionFiles({ period, states: published }, monthsBetween(period, NEWEST), context)
      written.push(...(await writeStreams(join(out, 'sih', String(period)), files)))
    }
  }
  if (options.production === true)
    for (const { period } of months) {
      onProgress(`outpatient production ${period}`)
      const folder = join(out, 'sia', String(period))
      const context = { plan, all, chance, ...size.production }
      const states = STATES.map(({ uf }) => uf).filter((uf) => size.ufs?.has(uf) ?? true)
      written.push(
        ...(await writeStreams(
          folder,
          states
            .filter((uf) => period !== NEWEST || months.length === 1 || uf !== LATE_STATE)
            .flatMap((uf) => productionFiles(uf, period, monthsBetween(period, NEWEST), context)),
        )),
      )
    }
  if (options.admissions === true || options.production === true) {
    const moreCodes = options.production === true ? PRODUCTION_CODES : undefined
    written.push(...(await writeFiles(join(out, 'sigtap'), admissionTables(NEWEST, moreCodes))))
  }
  if (options.vitalRecords === true) {
    const context = { all, chance, states: STATES.map(({ uf }) => uf).filter((uf) => ufs?.has(uf) ?? true) }
    for (const year of size.vitalYears) {
      onProgress(`deaths and births ${year}`)
      const isFinal = year < PRELIMINARY_FROM
      const sim = join(out, 'SIM', isFinal ? 'CID10' : 'PRELIM')
      const births = join(out, 'SINASC', isFinal ? '1996_/Dados/DNRES' : 'PRELIM/DNRES')
      written.push(...(await writeStreams(join(sim, 'DORES'), deathFiles(year, context))))
      // Nothing says of which states such a file is, so it has all of them at every scale.
      const country = { ...context, states: STATES.map(({ uf }) => uf) }
      written.push(...(await writeStreams(join(sim, 'DOFET'), [fetalFile(year, country)])))
      written.push(...(await writeStreams(births, birthFiles(year, context))))
    }
  }
  if (options.financing === true) {
    onProgress('financing')
    for (const [folder, files] of Object.entries(financingFiles({ all, ufs, chance })))
      written.push(...(await writeFiles(join(out, 'financing', folder), files)))
  }
  return written
}

export function monthBefore(period: number, age: number): number {
  const months = Math.floor(period / 100) * 12 + (period % 100) - 1 - age
  return Math.floor(months / 12) * 100 + (months % 12) + 1
}

const monthsBetween = (older: number, newer: number): number =>
  (Math.floor(newer / 100) - Math.floor(older / 100)) * 12 + (newer % 100) - (older % 100)

async function writeFiles(
  folder: string,
  files: readonly (readonly [name: string, bytes: Buffer])[],
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const written = files.map(([name, bytes]) => ({ path: join(folder, name), bytes: bytes.length }))
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
  return [
    await writeNotes(
      folder,
      written.map(({ path }) => path),
    ),
    ...written,
  ]
}

/** Writes files one after another while they are generated. */
async function writeStreams(
  folder: string,
  files: Iterable<{ readonly name: string; readonly chunks: Iterable<Buffer> }>,
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const written: { path: string; bytes: number }[] = []
  for (const { name, chunks } of files) {
    const path = join(folder, name)
    await pipeline(Readable.from(chunks), createWriteStream(path))
    written.push({ path, bytes: (await stat(path)).size })
  }
  return [
    await writeNotes(
      folder,
      written.map(({ path }) => path),
    ),
    ...written,
  ]
}

async function writeMonth(
  folder: string,
  period: number,
  context: Omit<FactContext, 'rows'>,
  size: (typeof SCALES)['small' | 'national'],
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const { plan, all, catalogs, chance, age } = context
  const withSus = period >= QT_SUS_FROM
  const path = join(folder, `BASE_DE_DADOS_CNES_${period}.ZIP`)
  await writeArchive(path, (zip) => {
    const add = (table: string, header: readonly string[], rows: Iterable<string>, lineEnd = '\n'): void =>
      zip.addReadStreamLazy(`${table}${period}.csv`, ARCHIVE_SETTINGS, (done) =>
        done(null, Readable.from(csvChunks(header, rows, lineEnd))),
      )
    add('tbEstabelecimento', FACILITY_HEADER(withSus ? 'sql' : 'plain'), facilityRows(plan, all, age, chance))
    add('rlEstabComplementar', BED_HEADER, bedRows({ ...context, rows: size.beds }), '\r\n')
    add(
      'rlEstabEquipamento',
      equipmentHeader(withSus),
      equipmentRows({ ...context, rows: size.equipment }, withSus),
    )
    add('rlEstabServClass', SERVICE_HEADER, serviceRows({ ...context, rows: size.services }))
    for (const [table, header, rows] of catalogTables(catalogs, all, period))
      add(
        table,
        header,
        rows.map((cells) => cells.join('";"')),
        '\r\n',
      )
  })
  return [await writeNotes(folder, [path]), { path, bytes: (await digestFile(path)).bytes }]
}

function* facilityRows(
  plan: FacilityPlan,
  all: readonly DemoMunicipality[],
  age: number,
  chance: Chance,
): Generator<string> {
  for (let index = 0; index < plan.count; index += 1) yield facilityRow(plan, all, index, age, chance)
  // Planted: one facility published twice, under another name.
  yield facilityRow(plan, all, 1, age, chance, ' (repetido)')
}

/** Rows come without their outer quotes; output is ISO-8859-1. */
function* csvChunks(header: readonly string[], rows: Iterable<string>, lineEnd: string): Generator<Buffer> {
  let text = `"${header.join('";"')}"${lineEnd}`
  for (const row of rows) {
    text += `"${row}"${lineEnd}`
    if (text.length > CHUNK_CHARACTERS) {
      yield Buffer.from(text, 'latin1')
      text = ''
    }
  }
  yield Buffer.from(text, 'latin1')
}

type Table = [name: string, header: string[], rows: (readonly string[])[]]

function catalogTables(catalogs: DemoCatalogs, all: readonly DemoMunicipality[], period: number): Table[] {
  const quoted = (cells: readonly string[]): string[] =>
    cells.map((cell) =>
      cell
        .replaceAll('"', '""')
        .replaceAll(/[–—]/g, '-')
        .replaceAll(/[^\n -ÿ]/g, '?'),
    )
  const tables: Table[] = [
    [
      'tbLeito',
      ['CO_LEITO', 'DS_LEITO', period % 2 === 0 ? 'TP_LEITO' : 'CO_TIPO_LEITO'],
      [...catalogs.bedTypes],
    ],
    ['tbTipoLeito', ['CO_TIPO_LEITO', 'DS_TIPO_LEITO'], [...catalogs.bedCategories]],
    [
      'tbEquipamento',
      ['CO_EQUIPAMENTO', 'CO_TIPO_EQUIPAMENTO', 'DS_EQUIPAMENTO'],
      catalogs.equipmentTypes.map(([category = '', code = '', name = '']) => [
        code,
        String(Number(category)),
        name,
      ]),
    ],
    [
      'tbTipoEquipamento',
      ['CO_TIPO_EQUIPAMENTO', 'DS_TIPO_EQUIPAMENTO'],
      catalogs.equipmentCategories.map(([code = '', name = '']) => [`${Number(code)} `.slice(0, 2), name]),
    ],
    [
      'tbServicoEspecializado',
      ['CO_SERVICO_ESPECIALIZADO', 'DS_SERVICO_ESPECIALIZADO'],
      [...catalogs.serviceTypes],
    ],
    [
      'tbClassificacaoServico',
      ['CO_CLASSIFICACAO_SERVICO', 'CO_SERVICO_ESPECIALIZADO', 'DS_CLASSIFICACAO_SERVICO'],
      catalogs.classifications.map(([service = '', code = '', name = '']) => [code, service, name]),
    ],
    ['tbTipoUnidade', ['CO_TIPO_UNIDADE', 'DS_TIPO_UNIDADE'], [...FACILITY_TYPES]],
    ['tbNaturezaJuridica', ['CO_NATUREZA_JUR', 'DS_NATUREZA_JUR'], [...LEGAL_NATURES]],
    [
      'tbMunicipio',
      ['CO_MUNICIPIO', 'NO_MUNICIPIO', 'CO_SIGLA_ESTADO', 'TP_CADASTRO'],
      municipalityRows(all),
    ],
    [
      'tbEstado',
      ['CO_UF', 'CO_SIGLA', 'NO_DESCRICAO'],
      STATES.map(({ ibge_code, uf, name }) => [String(ibge_code), uf, name.toUpperCase()]),
    ],
    ...INVENTED_TABLES.map(([name, header, rows]): Table => [name, [...header], [...rows]]),
    ['tbMotivoDesativacao', ['CD_MOTIVO_DESAB', 'DS_MOTIVO_DESAB'], [...DEACTIVATION_REASONS]],
    ['tbTurnoAtendimento', ['CO_TURNO_ATENDIMENTO', 'DS_TURNO_ATENDIMENTO'], [...OPENING_HOURS]],
    [
      'tbMantenedora',
      ['NU_CNPJ_MANTENEDORA', 'NO_RAZAO_SOCIAL'],
      Array.from({ length: 9908 }, (_, index) => [
        inventCnpj(index),
        `Mantenedora Demonstração ${index + 1}`,
      ]),
    ],
  ]
  return tables.map(([name, header, rows]) => [name, header, rows.map(quoted)])
}

/** 5,607 rows of municipalities in CNES: 36 more than in IBGE. */
function municipalityRows(all: readonly DemoMunicipality[]): string[][] {
  const rows = all.map(({ code, name, uf }) => [String(Math.floor(code / 10)), name, uf, 'M'])
  for (const { ibge_code, uf } of STATES)
    if (uf !== 'DF') rows.push([`${ibge_code}0000`, `Município ignorado - ${uf}`, uf, 'I'])
  for (let region = 2; region <= 11; region += 1)
    rows.push([String(530_000 + region * 10), `Região administrativa ${region}`, 'DF', 'R'])
  return rows
}

async function writeIbge(
  folder: string,
  all: readonly DemoMunicipality[],
  pricesUntil: number,
  chance: Chance,
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const header = [
    'UF',
    'Nome_UF',
    'Região Geográfica Intermediária',
    'Nome Região Geográfica Intermediária',
    'Região Geográfica Imediata',
    'Nome Região Geográfica Imediata',
    'Mesorregião Geográfica',
    'Nome_Mesorregião',
    'Microrregião Geográfica',
    'Nome_Microrregião',
    'Município',
    'Código Município Completo',
    'Nome_Município',
  ]
  const stateName = new Map(STATES.map(({ ibge_code, name }) => [ibge_code, name]))
  const lines = all.map(({ code, name, stateCode }) => [
    stateCode,
    stateName.get(stateCode),
    '',
    '',
    '',
    '',
    '',
    '',
    '',
    '',
    String(code).slice(2),
    code,
    name,
  ])
  const list = join(folder, 'RELATORIO_DTB_BRASIL_MUNICIPIO.csv')
  await writeFile(list, `${[header, ...lines].map((cells) => `"${cells.join('","')}"`).join('\n')}\n`)
  const paths = [list]
  const growth = (town: DemoMunicipality, year: number): number | null => {
    if (town.census === null) return year < 2025 ? null : 6_000
    return Math.round(town.census * (1 + (chance(town.code, 10) - 0.4) * 0.01 * (year - 2022)))
  }
  const series: [string, number, (town: DemoMunicipality) => number | null][] = [
    ['93', 2022, ({ census }) => census],
    ['9324', 2024, (town) => growth(town, 2024)],
    ['9324', 2025, (town) => growth(town, 2025)],
  ]
  for (const [variable, year, value] of series) {
    const path = join(folder, `sidra_values_${variable}_${year}.json`)
    await writeFile(path, `${JSON.stringify(sidraValues(all, variable, year, value), null, 1)}\n`)
    paths.push(path)
  }
  const prices = join(folder, 'sidra_values_1737.json')
  await writeFile(prices, `${JSON.stringify(priceIndexValues(pricesUntil, chance), null, 1)}\n`)
  paths.push(prices)
  const mesh = join(folder, 'malha_municipios_demonstracao.json')
  await writeFile(mesh, `${demonstrationMesh(SYNTHETIC_MEMBER, DEMONSTRATION_TEXT)}\n`)
  paths.push(mesh)
  return [
    await writeNotes(folder, paths),
    ...(await Promise.all(paths.map(async (path) => ({ path, bytes: (await digestFile(path)).bytes })))),
  ]
}

/** Writes the territorial base in the published format: an archive of quoted CSV in UTF-8 with CR LF. */
async function writeTerritory(
  folder: string,
  all: readonly DemoMunicipality[],
  chance: Chance,
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, TERRITORY_ARCHIVE)
  await writeArchive(path, (zip) => {
    for (const [table, rows] of territoryTables(all, chance)) {
      const lines = rows.map((cells) => `"${cells.join('","')}"\r\n`)
      zip.addBuffer(Buffer.from(lines.join('')), `${table}.csv`, ARCHIVE_SETTINGS)
    }
  })
  return [await writeNotes(folder, [path]), { path, bytes: (await digestFile(path)).bytes }]
}

const AGES_YEAR = 2025

async function writePopulationByAge(
  folder: string,
  all: readonly DemoMunicipality[],
  chance: Chance,
): Promise<{ path: string; bytes: number }[]> {
  await mkdir(folder, { recursive: true })
  const year = String(AGES_YEAR % 100)
  const path = join(folder, `POPSBR${year}.zip`)
  await writeArchive(path, (zip) =>
    zip.addBuffer(populationByAgeDbf(all, AGES_YEAR, chance), `POP${year}.dbf`, ARCHIVE_SETTINGS),
  )
  return [await writeNotes(folder, [path]), { path, bytes: (await digestFile(path)).bytes }]
}

/** Writes a zip that states that it belongs to the demonstration. @param fill adds the entries */
async function writeArchive(path: string, fill: (zip: ZipFile) => void): Promise<void> {
  const zip = new ZipFile()
  fill(zip)
  zip.addBuffer(Buffer.from(DEMONSTRATION_TEXT), 'sus-data-demonstration.txt', ARCHIVE_SETTINGS)
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(path))
}

function sidraValues(
  all: readonly DemoMunicipality[],
  variable: string,
  year: number,
  value: (town: DemoMunicipality) => number | null,
): Record<string, string>[] {
  const labels = {
    NC: 'Nível Territorial (Código)',
    NN: 'Nível Territorial',
    MC: 'Unidade de Medida (Código)',
    MN: 'Unidade de Medida',
    V: 'Valor (sus-data demonstration)',
    D1C: 'Município (Código)',
    D1N: 'Município',
    D2C: 'Variável (Código)',
    D2N: 'Variável',
    D3C: 'Ano (Código)',
    D3N: 'Ano',
  }
  // The census has no element for the youngest municipality; earlier estimates have a mark instead of a number.
  const towns = all.filter(({ code }) => variable !== '93' || code !== YOUNGEST_MUNICIPALITY.code)
  const rows = towns.map((town) => ({
    NC: '6',
    NN: 'Município',
    MC: '45',
    MN: 'Pessoas',
    V: String(value(town) ?? '...'),
    D1C: String(town.code),
    D1N: `${town.name} - ${town.uf}`,
    D2C: variable,
    D2N: variable === '93' ? 'População residente' : 'População residente estimada',
    D3C: String(year),
    D3N: String(year),
  }))
  return [labels, ...rows]
}

async function writeNotes(
  folder: string,
  paths: readonly string[],
): Promise<{ path: string; bytes: number }> {
  const files: Record<string, unknown> = {}
  for (const path of paths)
    files[path.slice(folder.length + 1)] = { url: null, retrieved_at: null, ...(await digestFile(path)) }
  const text = `${JSON.stringify({ publisher: 'sus-data demonstration', synthetic: true, licence: 'CC0-1.0', files }, null, 2)}\n`
  const path = join(folder, 'snapshot.json')
  await writeFile(path, text)
  return { path, bytes: text.length }
}
