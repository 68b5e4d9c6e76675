/**
 * The table of areas: the subjects that releases have. Everything that lists areas reads it. To add an area, add an entry here, its
 * folder in declarations.ts, and its importer in import/import.ts; the compiler reports a missing importer. Values only.
 */
import type { Capability } from './capabilities.ts'
import type { Text } from './types.ts'

interface AreaEntry {
  /** Short name for readers of the explorer. */
  readonly label: Text
  /** Description of its records in messages; for example, a release "joins no hospital admissions". */
  readonly records: Text
  /** Published files to import, for messages. */
  readonly files: Text
  /** Author and title of the source in citations; `person` is the author in the form of BibTeX. */
  readonly source: { readonly author: string; readonly person: string; readonly name: string }
  /** Length of the periods of its datasets. A year is named by its last month; territories have no periods. */
  readonly periods: 'months' | 'years' | 'none'
  /** First month (YYYYMM) with files on the publisher's server. Ranges of months are cut there. */
  readonly firstMonth?: number
  /** Areas that its releases are built with, including those that the needed areas need. */
  readonly needs: readonly string[]
  /** Whether every promoted release must have it, and answers name it even when it is missing. */
  readonly isRequired: boolean
  /** Capability that its code lists and tables without metrics need. Facts name theirs. */
  readonly listCapability: Capability
  /** Response header with the id of its release. */
  readonly releaseHeader: 'x-data-release-id' | 'x-demography-release-id'
}

const MINISTRY = { author: 'BRASIL. Ministério da Saúde', person: 'Brasil. Ministério da Saúde' } as const

export const AREAS = {
  cnes: {
    label: { pt: 'Cadastro (CNES)', en: 'Registry (CNES)' },
    records: { pt: 'estabelecimentos', en: 'facilities' },
    files: { pt: 'da base nacional do CNES', en: 'files of the national base of CNES' },
    source: { ...MINISTRY, name: 'Cadastro Nacional de Estabelecimentos de Saúde (CNES)' },
    periods: 'months',
    firstMonth: 200508,
    needs: ['demography'],
    isRequired: true,
    listCapability: 'facilities.read',
    releaseHeader: 'x-data-release-id',
  },
  demography: {
    label: { pt: 'População e território', en: 'Population and territory' },
    records: { pt: 'população', en: 'population' },
    files: { pt: 'de população do IBGE', en: 'population files of IBGE' },
    source: {
      author: 'INSTITUTO BRASILEIRO DE GEOGRAFIA E ESTATÍSTICA',
      person: 'Instituto Brasileiro de Geografia e Estatística',
      name: 'Censo Demográfico e Estimativas da População (IBGE)',
    },
    periods: 'none',
    needs: [],
    isRequired: true,
    listCapability: 'geo.read',
    releaseHeader: 'x-demography-release-id',
  },
  sih: {
    label: { pt: 'Internações (SIH)', en: 'Hospital admissions (SIH)' },
    records: { pt: 'internações', en: 'hospital admissions' },
    files: { pt: 'RDUFAAMM.dbc do SIHSUS', en: 'RDUFAAMM.dbc files of SIHSUS' },
    source: { ...MINISTRY, name: 'Sistema de Informações Hospitalares do SUS (SIH/SUS)' },
    periods: 'months',
    firstMonth: 199201,
    needs: ['demography'],
    isRequired: false,
    listCapability: 'analytics.query.read',
    releaseHeader: 'x-data-release-id',
  },
  sia: {
    label: { pt: 'Produção ambulatorial (SIA)', en: 'Outpatient production (SIA)' },
    records: { pt: 'produção ambulatorial', en: 'outpatient production' },
    files: { pt: 'PAUFAAMM.dbc do SIASUS', en: 'PAUFAAMM.dbc files of SIASUS' },
    source: { ...MINISTRY, name: 'Sistema de Informações Ambulatoriais do SUS (SIA/SUS)' },
    periods: 'months',
    firstMonth: 199407,
    needs: ['demography'],
    isRequired: false,
    listCapability: 'analytics.query.read',
    releaseHeader: 'x-data-release-id',
  },
  sim: {
    label: { pt: 'Óbitos (SIM)', en: 'Deaths (SIM)' },
    records: { pt: 'óbitos', en: 'deaths' },
    files: { pt: 'DOUFAAAA.dbc do SIM', en: 'DOUFAAAA.dbc files of SIM' },
    source: { ...MINISTRY, name: 'Sistema de Informações sobre Mortalidade (SIM)' },
    periods: 'months',
    firstMonth: 197901,
    needs: ['demography'],
    isRequired: false,
    listCapability: 'analytics.query.read',
    releaseHeader: 'x-data-release-id',
  },
  sinasc: {
    label: { pt: 'Nascimentos (SINASC)', en: 'Births (SINASC)' },
    records: { pt: 'nascimentos', en: 'births' },
    files: { pt: 'DNUFAAAA.dbc do SINASC', en: 'DNUFAAAA.dbc files of SINASC' },
    source: { ...MINISTRY, name: 'Sistema de Informações sobre Nascidos Vivos (SINASC)' },
    periods: 'months',
    firstMonth: 199401,
    needs: ['demography'],
    isRequired: false,
    listCapability: 'analytics.query.read',
    releaseHeader: 'x-data-release-id',
  },
  financing: {
    label: { pt: 'Financiamento', en: 'Financing' },
    records: { pt: 'financiamento', en: 'financing' },
    files: { pt: 'do FNS, SICONFI e SIOPS', en: 'files of FNS, SICONFI and SIOPS' },
    source: { ...MINISTRY, name: 'Fundo Nacional de Saúde (FNS)' },
    periods: 'years',
    needs: ['demography'],
    isRequired: false,
    listCapability: 'analytics.query.read',
    releaseHeader: 'x-data-release-id',
  },
} as const satisfies Record<string, AreaEntry>

/** The subject of a release. */
export type Area = keyof typeof AREAS

export const AREA_NAMES = Object.keys(AREAS) as Area[]
export const areaOf = (area: Area): AreaEntry => AREAS[area]
/** Areas in the order in which releases are built: each follows the areas that it needs. */
export const AREAS_BY_NEED: readonly Area[] = [...AREA_NAMES].sort(
  (left, right) => areaOf(left).needs.length - areaOf(right).needs.length,
)

/** @returns a value for each area, computed one after another in the order of the table */
export async function forEachArea<Value>(
  compute: (area: Area) => Promise<Value>,
): Promise<Record<Area, Value>> {
  const values: [Area, Value][] = []
  for (const area of AREA_NAMES) values.push([area, await compute(area)])
  return Object.fromEntries(values) as Record<Area, Value>
}
