/**
 * Declares every source: publisher, folders and names, first and last period, what a whole period consists of, how long it
 * changes, and usual sizes. To add a source, add an entry; docs/bringing-data-in.md is made from this table.
 */
import type { DocumentSource, ListedSource, ManualSource, Source } from './types.ts'

const UF = '(?<uf>[A-Z]{2})'
const YEAR_MONTH = String.raw`(?<year>\d{2})(?<month>0[1-9]|1[0-2])`
const MiB = 2 ** 20

const registry = (
  group: string,
  what: string,
  first: number,
  bytes: readonly [number, number],
): ListedSource => ({
  code: `cnes-${group.toLowerCase()}`,
  kind: 'listed',
  areas: ['cnes'],
  publisher: 'datasus',
  what,
  first,
  last: null,
  changes:
    'appears on day 13 to 27 of the next month, then stands still; a month may still be redone years later',
  folders: [{ path: `/dissemin/publicos/CNES/200508_/Dados/${group}`, from: first, to: null }],
  pattern: new RegExp(`^${group}${UF}${YEAR_MONTH}\\.dbc$`, 'i'),
  completeness: 'by state',
  bytes,
})

const yearly = (
  code: string,
  area: 'sim' | 'sinasc',
  what: string,
  first: number,
  pattern: string,
  folders: ListedSource['folders'],
  completeness: 'by state' | 'beside states' = 'by state',
): ListedSource => ({
  code,
  kind: 'listed',
  areas: [area],
  publisher: 'datasus',
  what,
  first,
  last: null,
  changes:
    'a preliminary year (folder PRELIM) changes until the final one replaces it, about a year later; final years are redone at any age',
  folders,
  pattern: new RegExp(pattern, 'i'),
  isYearly: true,
  completeness,
  bytes: [10_000, 64 * MiB],
})

/** Folders of the parts of deaths that are of the country. Others of their files repeat deaths of the states. */
const OF_COUNTRY: ListedSource['folders'] = [
  { path: '/dissemin/publicos/SIM/CID10/DOFET', from: 1996, to: null },
  { path: '/dissemin/publicos/SIM/PRELIM/DOFET', from: 1996, to: null, isPreliminary: true },
]

const LISTED: readonly ListedSource[] = [
  registry('ST', 'facilities by state and month', 200508, [2_000, 30 * MiB]),
  registry('LT', 'beds by state and month', 200510, [1_000, 2 * MiB]),
  registry('EQ', 'equipment by state and month', 200508, [1_000, 10 * MiB]),
  registry('SR', 'specialized services by state and month', 200508, [1_000, 20 * MiB]),
  {
    code: 'sih-rd',
    kind: 'listed',
    areas: ['sih'],
    publisher: 'datasus',
    what: 'hospital admissions by state and month',
    first: 199407,
    last: null,
    changes: 'appears two months later, on day 5 to 12; changes every month until it is 13 months old',
    folders: [
      { path: '/dissemin/publicos/SIHSUS/199201_200712/Dados', from: 199407, to: 200712 },
      { path: '/dissemin/publicos/SIHSUS/200801_/Dados', from: 200801, to: null },
    ],
    pattern: new RegExp(`^RD${UF}${YEAR_MONTH}\\.dbc$`, 'i'),
    completeness: 'by state',
    bytes: [1_000, 30 * MiB],
  },
  {
    code: 'sia-pa',
    kind: 'listed',
    areas: ['sia'],
    publisher: 'datasus',
    what: 'outpatient production by state and month; large states in parts a, b, c …',
    first: 199407,
    last: null,
    changes: 'appears two months later; files and the letters of parts change until it is 13 months old',
    folders: [
      { path: '/dissemin/publicos/SIASUS/199407_200712/Dados', from: 199407, to: 200712 },
      { path: '/dissemin/publicos/SIASUS/200801_/Dados', from: 200801, to: null },
    ],
    pattern: new RegExp(`^PA${UF}${YEAR_MONTH}(?<part>[a-z]?)\\.dbc$`, 'i'),
    completeness: 'by state',
    bytes: [1_000, 256 * MiB],
  },
  yearly(
    'sim-do',
    'sim',
    'deaths by state of residence and year',
    1979,
    String.raw`^DOR?${UF}(?<year>\d{2}|\d{4})\.dbc$`,
    [
      { path: '/dissemin/publicos/SIM/CID10/DORES', from: 1996, to: null },
      { path: '/dissemin/publicos/SIM/PRELIM/DORES', from: 1996, to: null, isPreliminary: true },
      { path: '/dissemin/publicos/SIM/CID9/DORES', from: 1979, to: 1995 },
    ],
  ),
  yearly(
    'sim-dofet',
    'sim',
    'fetal deaths of the country by year',
    1996,
    String.raw`^DOFET(?<year>\d{2})\.dbc$`,
    OF_COUNTRY,
    'beside states',
  ),
  yearly(
    'sim-dorext',
    'sim',
    'deaths of residents abroad by year',
    2013,
    String.raw`^DOREXT(?<year>\d{2})\.dbc$`,
    OF_COUNTRY,
    'beside states',
  ),
  yearly(
    'sinasc-dn',
    'sinasc',
    'births by state of residence of the mother and year',
    1994,
    String.raw`^DNR?${UF}(?<year>\d{4})\.dbc$`,
    [
      { path: '/dissemin/publicos/SINASC/1996_/Dados/DNRES', from: 1996, to: null },
      { path: '/dissemin/publicos/SINASC/PRELIM/DNRES', from: 1996, to: null, isPreliminary: true },
      { path: '/dissemin/publicos/SINASC/1994_1995/Dados/DNRES', from: 1994, to: 1995 },
    ],
  ),
  yearly(
    'sinasc-dnex',
    'sinasc',
    'births of mothers who live abroad by year',
    2014,
    String.raw`^DNEX(?<year>\d{4})\.dbc$`,
    [
      { path: '/dissemin/publicos/SINASC/1996_/Dados/DNRES', from: 1996, to: null },
      { path: '/dissemin/publicos/SINASC/PRELIM/DNRES', from: 1996, to: null, isPreliminary: true },
    ],
    'beside states',
  ),
  {
    code: 'population-by-age',
    kind: 'listed',
    areas: ['demography'],
    publisher: 'datasus',
    what: 'population by municipality, sex and age, one file a year; all years of an edition replace each other together',
    first: 2000,
    last: null,
    changes: 'a new edition about once a year',
    folders: [{ path: '/dissemin/publicos/IBGE/POPSVS', from: 2000, to: null }],
    pattern: /^POPSBR(?<year>\d{2})\.zip$/i,
    completeness: 'newest',
    bytes: [MiB, 16 * MiB],
  },
  {
    code: 'territory',
    kind: 'listed',
    areas: ['demography'],
    publisher: 'datasus',
    what: 'health regions and macro-regions of municipalities',
    first: 2023,
    last: null,
    changes: 'a new edition every one to six months; names follow no pattern',
    folders: [{ path: '/territorio/tabelas/{year}', from: 2023, to: null }],
    pattern: /^(\d\d-)?base[ _]territori(al|o)[\w ]*\.zip$/i,
    completeness: 'newest',
    bytes: [MiB, 8 * MiB],
  },
  {
    code: 'sigtap',
    kind: 'listed',
    areas: ['sih', 'sia'],
    publisher: 'sigtap',
    what: 'names of procedures (SIGTAP)',
    first: 200801,
    last: null,
    changes: 'one edition a month; the newest names the codes',
    folders: [{ path: '/public/sistemas/tup/downloads', from: 200801, to: null }],
    pattern: /^TabelaUnificada_(?<year>\d{4})(?<month>\d{2})_v\d+\.zip$/i,
    completeness: 'newest',
    bytes: [MiB / 2, 64 * MiB],
  },
]

/** The registry of the country appears about two months late. These are the months that may be the newest. */
const NEWEST_BASES = 5

const monthBefore = (month: number, by: number): number => {
  const count = Math.floor(month / 100) * 12 + (month % 100) - 1 - by
  return Math.floor(count / 12) * 100 + (count % 12) + 1
}

/** Years of IBGE's table of estimates. It has none of the years of a census or count. */
const ESTIMATE_YEARS_LAST = 3

const DOCUMENTS: readonly DocumentSource[] = [
  {
    code: 'cnes-base',
    kind: 'document',
    areas: ['cnes-base'],
    publisher: 'cnes',
    what: 'the whole facility registry of the country, about 700 MB a month; import it instead of the files by state',
    first: 201701,
    last: null,
    changes: 'appears about two months later, then stands still',
    documents: ({ from, to, now }) => {
      const base = (month: number, anyOf?: string) => ({
        address: `/EstatisticasServlet?path=BASE_DE_DADOS_CNES_${month}.ZIP`,
        path: `BASE_DE_DADOS_CNES_${month}.ZIP`,
        ...(anyOf === undefined ? {} : { anyOf }),
      })
      if (from === null)
        return Array.from({ length: NEWEST_BASES }, (_, index) =>
          base(monthBefore(to ?? now, index), 'the newest national base'),
        )
      const months: number[] = []
      for (let month = to ?? now; month >= from; month = monthBefore(month, 1)) months.unshift(month)
      return months.map((month) => base(month))
    },
  },
  {
    code: 'ibge-municipalities',
    kind: 'document',
    areas: ['demography'],
    publisher: 'ibge',
    what: 'list of municipalities',
    first: null,
    last: null,
    changes: 'when a municipality is founded',
    documents: () => [
      { address: '/api/v1/localidades/municipios', path: 'api/v1/localidades/municipios.json' },
    ],
  },
  {
    code: 'ibge-population',
    kind: 'document',
    areas: ['demography'],
    publisher: 'ibge',
    what: 'census 2022 and yearly estimates by municipality (SIDRA tables 9514 and 6579)',
    first: 2001,
    last: null,
    changes: 'estimates once a year, in August; a census every ten years',
    documents: ({ now }) => {
      const year = Math.floor(now / 100)
      return [
        {
          address: '/api/v3/agregados/9514/periodos/2022/variaveis/93?localidades=N6[all]',
          path: 'api/v3/agregados/9514-2022.json',
        },
        ...Array.from({ length: ESTIMATE_YEARS_LAST }, (_, index) => ({
          address: `/api/v3/agregados/6579/periodos/${year - index}/variaveis/9324?localidades=N6[all]`,
          path: `api/v3/agregados/6579-${year - index}.json`,
          anyOf: 'the newest estimate of population',
        })),
      ]
    },
  },
  {
    code: 'ibge-mesh',
    kind: 'document',
    areas: ['demography'],
    publisher: 'ibge',
    what: 'outlines of municipalities',
    first: null,
    last: null,
    changes: 'once a year',
    documents: () => [
      {
        address:
          '/api/v3/malhas/paises/BR?intrarregiao=municipio&qualidade=intermediaria&formato=application/json',
        path: 'api/v3/malhas/BR-municipio.topojson.json',
      },
    ],
  },
  {
    code: 'ibge-prices',
    kind: 'document',
    areas: ['demography'],
    publisher: 'sidra',
    what: 'index of consumer prices IPCA by month (SIDRA table 1737)',
    first: 197912,
    last: null,
    changes: 'a month is added on about day 10 of the next one',
    documents: () => [
      { address: '/values/t/1737/n1/all/v/2266/p/all', path: 'values/t/1737/n1/all/v/2266/p/all.json' },
    ],
  },
  {
    code: 'siconfi-rreo',
    kind: 'document',
    areas: ['financing'],
    publisher: 'siconfi',
    what: 'fiscal reports of state governments (RREO, annexes 02 and 14), last bimester of each year',
    first: 2015,
    last: null,
    changes: 'governments restate earlier bimesters at any time',
    documents: ({ states, from, to, now }) => {
      const last = Math.floor((to ?? now) / 100) - (to === null ? 1 : 0)
      const first = from === null ? last : Math.floor(from / 100)
      const years = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
      return years.flatMap((year) =>
        states.flatMap(({ ibge_code }) =>
          ['02', '14'].map((annex) => ({
            address: `/ords/siconfi/tt/rreo?an_exercicio=${year}&nr_periodo=6&co_tipo_demonstrativo=RREO&no_anexo=RREO-Anexo%20${annex}&id_ente=${ibge_code}`,
            path: `ords/siconfi/tt/rreo-${year}-6-anexo${annex}-${ibge_code}`,
            isPaged: true,
          })),
        ),
      )
    },
  },
]

const BY_HAND: readonly ManualSource[] = [
  {
    code: 'cnes-names',
    kind: 'by hand',
    areas: ['cnes'],
    publisher: 'DATASUS',
    what: 'names of facilities (CADGER) and of legal natures (natjur.cnv)',
    first: null,
    last: null,
    changes: 'with each month',
    how: 'they are among many other tables in TAB_CNES.zip (127 MB, /dissemin/publicos/CNES/200508_/Auxiliar), some of which contradict the health regions in use: unpack it, and put CADGER…, natjur.cnv and br_municip.cnv into the folder by-hand of the snapshots',
  },
  {
    code: 'diagnosis-names',
    kind: 'by hand',
    areas: ['sih'],
    publisher: 'DATASUS',
    what: 'names of diagnoses (CID-10-CATEGORIAS.CSV, CID-10-CAPITULOS.CSV)',
    first: null,
    last: null,
    changes: 'never',
    how: 'download CID10CSV.zip from the page "CID-10" of datasus.saude.gov.br with a browser, and put the two tables into the folder by-hand of the snapshots',
  },
  {
    code: 'fns',
    kind: 'by hand',
    areas: ['financing'],
    publisher: 'FNS',
    what: 'transfers to health funds, one national file a year, up to 120 MB',
    first: 2020,
    last: null,
    changes: 'the running year several times, older years seldom',
    how: 'each year has another address: take REPASSE-FAF-COM-POPULACAO-AAAA from the page of downloads of portalfns.saude.gov.br with a browser, and put it into the folder by-hand of the snapshots',
  },
  {
    code: 'siops',
    kind: 'by hand',
    areas: ['financing'],
    publisher: 'SIOPS',
    what: 'health accounts and indicators that governments declare',
    first: 2000,
    last: null,
    changes: 'whenever a government delivers again',
    how: 'save answers of siops-consulta-publica-api.saude.gov.br/v1/indicador/… one government at a time, under a name that ends as the address, into the folder by-hand of the snapshots',
  },
]

export const SOURCES: readonly Source[] = [...LISTED, ...DOCUMENTS, ...BY_HAND]
