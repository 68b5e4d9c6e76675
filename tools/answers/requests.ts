/**
 * Chooses the requests to record: every route, filter, metric, dimension, format and refusal that needs no waiting or
 * limiting.
 * In: a running server, whose lists provide the codes. Out: entries, equal for equal data, because a seeded generator draws
 * the codes and release ids are placeholders.
 */
import { analyticsEntries } from './analytics-requests.ts'
import { type Codes, drawer, get, type ListRow } from './entry.ts'
import { type Entry, exchange, type Target } from './exchange.ts'
import { catalogEntries, formEntries, releaseEntries } from './form-requests.ts'
import { refusalEntries } from './refusal-requests.ts'
import { reportEntries } from './report-requests.ts'

async function readCodes(target: Target): Promise<Codes> {
  const list = async (path: string): Promise<ListRow[]> => {
    const { status, body } = await exchange(target, { method: 'GET', path, key: 'all', headers: {} })
    if (status !== 200) throw new Error(`${path} is ${status}: ${body.toString().slice(0, 300)}`)
    return (JSON.parse(body.toString()) as { data: ListRow[] }).data
  }
  const draw = drawer(13)
  const open: ListRow[] = []
  for (const uf of ['AC', 'AM', 'BA', 'DF', 'MG', 'RR', 'SP'])
    open.push(...(await list(`/v1/facilities?uf=${uf}&limit=250`).catch(() => [])))
  const names = draw(open, 60).map((row) => String(row.trade_name ?? row.legal_name))
  const codeOf = (row: ListRow): string => String(row.cnes_code)
  const beds = await list('/v1/bed-capacity?limit=100')
  return {
    facilities: draw(open.map(codeOf), 40),
    closed: draw((await list('/v1/facilities?status=inactive&limit=250')).map(codeOf), 10),
    beds: draw(beds, 20),
    equipment: draw(await list('/v1/equipment-inventory?limit=200'), 20),
    services: draw(await list('/v1/specialized-service-offerings?limit=200'), 20),
    municipalities: draw(await list('/v1/municipalities?limit=250&state=SP'), 12).concat(
      draw(await list('/v1/municipalities?limit=250&state=AC'), 6),
    ),
    words: names.flatMap((name) =>
      draw(
        name.split(/[^\p{L}]+/u).filter((word) => word.length >= 4),
        1,
      ),
    ),
    period: String(beds[0]?.reference_period),
  }
}

const stripAccents = (text: string): string => text.normalize('NFD').replaceAll(/\p{Mn}/gu, '')

function recordEntries(codes: Codes): Entry[] {
  const [first = ''] = codes.facilities
  const scoped = ['bed-capacity', 'equipment-inventory', 'specialized-services']
  return [
    ...[...codes.facilities, ...codes.closed].map((code) => get(`/v1/facilities/${code}`)),
    ...[...codes.beds, ...codes.equipment, ...codes.services]
      .slice(0, 45)
      .flatMap(({ cnes_code }, index) => [
        get(`/v1/facilities/${cnes_code}/${scoped[Math.floor(index / 20)]}`),
      ]),
    ...scoped.flatMap((name) => [
      get(`/v1/facilities/${first}/${name}`),
      get(`/v1/facilities/${codes.closed[0]}/${name}`),
      get(`/v1/facilities/${codes.beds[0]?.cnes_code}/${name}?reference_period=${codes.period}`),
      get(`/v1/facilities/${codes.beds[1]?.cnes_code}/${name}?reference_period=all`),
    ]),
    ...[...codes.facilities.slice(0, 4), ...codes.closed.slice(0, 2)].map((code) =>
      get(`/v1/facilities/${code}/provenance`),
    ),
    ...codes.beds
      .slice(0, 5)
      .map((row) => get(`/v1/facilities/${row.cnes_code}/bed-capacity/${row.bed_type_code}/provenance`)),
    ...codes.equipment
      .slice(0, 5)
      .map((row) =>
        get(
          `/v1/facilities/${row.cnes_code}/equipment-inventory/${row.category_code}/${row.equipment_code}/provenance`,
        ),
      ),
    ...codes.services
      .slice(0, 5)
      .map((row) =>
        get(
          `/v1/facilities/${row.cnes_code}/specialized-services/${row.service_code}/${row.classification_code}/provenance`,
        ),
      ),
    ...['11', '35', '53'].map((code) => get(`/v1/states/${code}`)),
    ...codes.municipalities.slice(0, 8).map(({ ibge_code }) => get(`/v1/municipalities/${ibge_code}`)),
    get('/v1/municipalities/5300108'),
    ...codes.municipalities
      .slice(8)
      .flatMap(({ ibge_code }, index) => [
        get(`/v1/demography/population/${ibge_code}`),
        get(`/v1/demography/population/${ibge_code}?population_type=CENSUS_POPULATION`),
        get(`/v1/demography/population/${ibge_code}?reference_year=${[2022, 2025, 2024][index % 3]}`),
      ]),
  ]
}

function listEntries(codes: Codes): Entry[] {
  const [bed, equipment, service] = [codes.beds[2], codes.equipment[2], codes.services[2]]
  const [place, small] = [codes.municipalities[0]?.ibge_code, codes.municipalities.at(-1)?.ibge_code]
  const code = codes.facilities[1]
  const onFacts = (row: ListRow | undefined, place_: unknown): Record<string, readonly unknown[]> => ({
    cnes_code: [row?.cnes_code],
    municipality_ibge_code: [row?.municipality_ibge_code, place_, String(place_).slice(0, 6)],
    status: ['active', 'inactive', 'all'],
    reference_period: [codes.period, 'all'],
  })
  const booleans = ['true', 'false']
  const filters: Readonly<Record<string, Record<string, readonly unknown[]>>> = {
    '/v1/facilities': {
      uf: ['SP', 'RR', 'AC', 'DF'],
      municipality_ibge_code: [place, small, String(place).slice(0, 6)],
      facility_type_code: ['01', '02', '05', '36', '99'],
      management_type: ['M', 'E', 'D', 'S'],
      legal_nature_code: ['1244', '2062', '9999'],
      status: ['active', 'inactive', 'all'],
      reference_period: [codes.period, 'all'],
      search: [
        ...codes.words.slice(0, 20),
        ...codes.words.slice(20, 30).map((word) => stripAccents(word).toLowerCase()),
        ...codes.words.slice(30, 36).map((word) => word.slice(0, 3)),
        'sao',
        'São',
        'SÃO',
        'sa\u0303o',
        'hospital sa',
        'de',
        'a',
        '%',
        '_',
        '100%',
        'a_b',
        '\\',
        "d'",
        '"',
        '-',
        ' ',
        'nada disto existe',
        code,
        String(code).slice(0, 3),
        '0',
        '00',
      ],
    },
    '/v1/municipalities': {
      state: ['SP', 'DF', 'RR'],
      territorial_type: ['MUNICIPALITY', 'ADMINISTRATIVE_REGION', 'IGNORED'],
      search: ['sao', 'São', 'luis', 'Mogi', '%', '_', "d'oeste", '35', '3550308', 'x y z'],
    },
    '/v1/states/SP/municipalities': {},
    '/v1/states/DF/municipalities': {},
    '/v1/bed-capacity': {
      ...onFacts(bed, place),
      bed_type_code: [bed?.bed_type_code, '33', '00'],
      bed_category_code: ['1', '2', '3', '7', '9'],
      has_sus_capacity: booleans,
    },
    '/v1/equipment-inventory': {
      ...onFacts(equipment, place),
      equipment_category_code: ['1', '01', '02', '99'].slice(1),
      equipment_type_code: [equipment?.equipment_code, '99'],
      equipment_type_key: [equipment?.equipment_type_key, '99:99'],
      renem_code: [equipment?.renem_code ?? '1', 'none such'],
      tp_sus_code: ['1', '2', '0', '9'],
      has_sus_quantity: booleans,
    },
    '/v1/specialized-service-offerings': {
      ...onFacts(service, place),
      service_code: [service?.service_code, '999'],
      classification_code: [service?.classification_code, '999'],
      classification_key: [service?.classification_key, '999:999'],
      characteristic_code: ['1', '2', '3'],
      provider_kind: ['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL'],
      has_ambulatory: booleans,
      has_ambulatory_sus: booleans,
      has_hospital: booleans,
      has_hospital_sus: booleans,
      offers_any_sus: booleans,
    },
    '/v1/demography/population': {
      state: ['SP', 'RR'],
      municipality: [place, String(place).slice(0, 6)],
      reference_year: ['2010', '2022', '2024', '2025', '1900'],
      population_type: ['ESTIMATED_POPULATION', 'CENSUS_POPULATION'],
    },
  }
  const single = Object.entries(filters).flatMap(([path, parameters]) => [
    get(path),
    get(`${path}?limit=1`),
    get(`${path}?limit=10&count=true`),
    ...Object.entries(parameters).flatMap(([name, values]) =>
      [...new Set(values)].map((value) =>
        get(`${path}?${name}=${encodeURIComponent(String(value))}&limit=20`),
      ),
    ),
  ])
  const together = [
    '/v1/facilities?uf=SP&facility_type_code=05&management_type=M&count=true',
    '/v1/facilities?uf=RR&search=posto&status=all&count=true',
    `/v1/facilities?search=${encodeURIComponent(codes.words[0] ?? '')}&uf=SP&limit=250`,
    `/v1/bed-capacity?municipality_ibge_code=${place}&has_sus_capacity=true&bed_category_code=1&count=true`,
    `/v1/equipment-inventory?municipality_ibge_code=${place}&tp_sus_code=1&count=true&status=all`,
    '/v1/specialized-service-offerings?provider_kind=CNPJ&has_ambulatory=true&characteristic_code=2&count=true&limit=30',
    '/v1/specialized-service-offerings?has_ambulatory=false&has_hospital=true&limit=30',
    '/v1/specialized-service-offerings?provider_kind=CNES&offers_any_sus=false&limit=30',
    '/v1/demography/population?municipality=3550308&reference_year=2022&population_type=CENSUS_POPULATION',
    '/v1/demography/population?state=SP&reference_year=2022&population_type=CENSUS_POPULATION&count=true&limit=250',
    '/v1/facilities?expected_release_id={analytics}&limit=5',
    '/v1/bed-capacity?expected_release_id={analytics}&limit=5&bed_category_code=2',
    '/v1/demography/population?expected_release_id={analytics}&limit=5',
    `/v1/facilities/${code}?expected_release_id={analytics}`,
    '/v1/states?expected_release_id={analytics}',
  ]
  return [...single, ...together.map((path) => get(path))]
}

/** Walks through lists: each page is requested with the cursor of the previous page. */
const walkEntries = (codes: Codes): Entry[] =>
  [
    ['/v1/facilities?limit=250', 5],
    ['/v1/facilities?uf=RR&limit=100', 8],
    ['/v1/facilities?search=hospital&limit=50', 4],
    [`/v1/facilities?search=${encodeURIComponent(codes.words[1] ?? 'posto')}&limit=3`, 3],
    ['/v1/facilities?status=inactive&facility_type_code=22&limit=40', 3],
    ['/v1/facilities?expected_release_id={analytics}&limit=30', 3],
    ['/v1/municipalities?limit=250', 24],
    ['/v1/bed-capacity?limit=100&has_sus_capacity=true', 4],
    ['/v1/bed-capacity?limit=100&reference_period=all', 3],
    ['/v1/equipment-inventory?limit=200&equipment_category_code=01', 4],
    ['/v1/specialized-service-offerings?limit=200&provider_kind=CNPJ', 4],
    ['/v1/demography/population?limit=250&state=RR', 3],
  ].flatMap(([path, pages]) =>
    Array.from({ length: Number(pages) }, (_, page) =>
      page === 0
        ? get(`${path}`, { name: `walk ${path} 1` })
        : get(`${path}&cursor={cursor}`, { name: `walk ${path} ${page + 1}`, from: `walk ${path} ${page}` }),
    ),
  )

export async function chooseEntries(target: Target): Promise<Entry[]> {
  const codes = await readCodes(target)
  const entries = [
    ...recordEntries(codes),
    ...listEntries(codes),
    ...walkEntries(codes),
    ...formEntries(codes),
    ...catalogEntries(),
    ...releaseEntries(),
    ...(await analyticsEntries(target, codes)),
    ...reportEntries(codes),
    ...refusalEntries(codes),
  ]
  return [...new Map(entries.map((entry) => [entry.name, entry])).values()]
}
