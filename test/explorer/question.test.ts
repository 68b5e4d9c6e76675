/** A question of the explorer and its address say the same; formats and map classes are those that readers expect. */
import type { FeatureCollection } from 'geojson'
import t from 'tap'
import { topology } from 'topojson-server'
import { compareSchema } from '../../src/analytics/compare.ts'
import type { Member } from '../../src/explorer/api.ts'
import {
  classBounds,
  classOf,
  layShapes,
  neighbourOf,
  outlinesOf,
} from '../../src/explorer/drawings/map-shapes.ts'
import { formatDay, formatMonth, formatNumber, formatShort, unitText } from '../../src/explorer/numbers.ts'
import { resolveLines } from '../../src/explorer/own-group.ts'
import {
  bodyOf,
  comparedBodyOf,
  EMPTY_QUESTION,
  keyOf,
  pageBodyOf,
  type Question,
  readQuestion,
  VIEWS,
  writeQuestion,
} from '../../src/explorer/question.ts'
import { createChance } from '../../tools/demo/random.ts'

t.test('an address holds the whole question', async (t) => {
  const question: Question = {
    metrics: ['beds_existing_per_100k', 'bed_capacity_sus'],
    groupBy: ['health_region', 'reference_period'],
    filters: { state: ['BA', 'SE'], municipality: ['2927408'] },
    from: '2025-05',
    to: '2026-05',
    overPeriod: 'last',
    totals: true,
    change: '-12',
    basis: 'estimate',
    analysis: {
      window: '12',
      partial: true,
      limits: '0.95',
      compare: 'peers',
      status: true,
      prices: '2026-05',
    },
    group: null,
    ignored: false,
    order: '-bed_capacity_sus',
    page: 3,
    view: 'map',
    release: 'demo-analytics-br-202605-34',
    since: 'demo-analytics-br-202604-12',
    records: 0,
    cell: { metric: 'bed_capacity_sus', key: { health_region: '29001', reference_period: '2026-05' } },
  }
  const address = writeQuestion(question)
  t.same(readQuestion(address), question)
  t.equal(writeQuestion(readQuestion(address)), address)
  t.notMatch(address, /%2C|%3A/, 'people read it')
  t.equal(writeQuestion(EMPTY_QUESTION), '')
  t.same(readQuestion(''), EMPTY_QUESTION)
})

t.test('no filter is left out of a question: open classes and codes that are no members stay', (t) => {
  const { filters } = readQuestion('?m=deaths&in.age_group=75-79,80%2B&in.state=R%20R,SÃO&in.sex=,')
  t.same(Object.entries(filters), [
    ['age_group', ['75-79', '80+']],
    ['state', ['R R', 'SÃO']],
  ])
  const question = { ...EMPTY_QUESTION, metrics: ['births'], filters: { birth_weight: ['4000+'] } }
  t.same(Object.entries(readQuestion(writeQuestion(question)).filters), [['birth_weight', ['4000+']]])
  t.end()
})

t.test('a group of municipalities: in the address, in the query, and found by codes and names', (t) => {
  const address = '?m=beds_sus_per_100k&by=group,sex&group.name=Consórcio&group.in=1400100,1400175'
  const question = readQuestion(address)
  t.same(question.group, { name: 'Consórcio', of: 'municipality', codes: ['1400100', '1400175'], paste: '' })
  t.same(readQuestion(writeQuestion(question)), question)
  const { group_by, groupings } = bodyOf(question)
  t.same(group_by, ['group', 'sex'])
  t.same(groupings, {
    group: {
      dimension: 'municipality',
      others: 'group',
      groups: [{ code: '1', name: 'Consórcio', members: [1400100, 1400175] }],
    },
  })
  t.equal(readQuestion('?m=x&group.name=Norte').group?.name, 'Norte', 'a name that is typed first stays')
  t.same(readQuestion('?m=x&by=group').groupBy, [], 'without members there is no group')
  t.same(readQuestion('?m=x&by=sex&group.in=1400100').groupBy, ['group', 'sex'], 'with members it is a row')
  const member = (code: number, name: string, state: string): Member => ({
    code,
    name,
    parent: { dimension: 'state', code: state },
  })
  const municipalities = [
    member(1400100, 'Boa Vista', 'RR'),
    member(2501807, 'Boa Vista', 'PB'),
    member(1400175, 'Cantá', 'RR'),
    member(3549904, "Santa Bárbara d'Oeste", 'SP'),
  ]
  t.same(resolveLines("140017; boa vista, rr\nSANTA BARBARA D'OESTE\n", municipalities), {
    codes: ['1400175', '1400100', '3549904'],
    unresolved: [],
  })
  t.same(resolveLines('Canta, Boa Vista\tBoa Vista - PB\n999999', municipalities), {
    codes: ['1400175', '2501807'],
    unresolved: [
      { text: 'Boa Vista', candidates: municipalities.slice(0, 2) },
      { text: '999999', candidates: [] },
    ],
  })
  const alike = [member(2606200, 'Goiana', 'PE'), member(3127370, 'Goianá', 'MG')]
  t.same(resolveLines('Goianá', alike), { codes: ['3127370'], unresolved: [] }, 'accents tell them apart')
  t.same(resolveLines('Goiana', alike), { codes: ['2606200'], unresolved: [] })
  t.same(resolveLines('GOIANA', alike).unresolved, [{ text: 'GOIANA', candidates: alike }])
  t.end()
})

t.test('options of an analyst become options of the query', (t) => {
  const { window, incomplete, limits, compare_to, status, prices } = bodyOf(
    readQuestion('?m=admissions&window=12&partial=yes&limits=0.998&compare=state&status=yes&prices=2025'),
  )
  t.same(
    { window, incomplete, limits, compare_to, status, prices },
    {
      window: { months: 12 },
      incomplete: 'allow',
      limits: 0.998,
      compare_to: { with: 'state' },
      status: true,
      prices: '2025',
    },
  )
  t.same(bodyOf(readQuestion('?m=admissions&window=year_start')).window, { since: 'year_start' })
  t.notOk('limits' in bodyOf(EMPTY_QUESTION))
  t.equal(bodyOf(readQuestion('?m=admissions&limits=high')).limits, 'high', 'the API refuses it')
  t.end()
})

t.test('two releases are compared on the whole question', (t) => {
  const all =
    '?m=admissions_value&by=state&in.state=AC&group.in=1200401&from=2025-01&to=2025-12&over=last&totals=yes&change=-12' +
    '&basis=estimate&window=12&partial=yes&prices=2025&limits=0.95&compare=state&status=yes&ignored=no&order=-a&release=r'
  const question = readQuestion(all)
  const body = comparedBodyOf(question)
  t.ok(compareSchema.safeParse({ ...body, old_release_id: 'before' }).success, 'the API takes it')
  const { order_by, expected_release_id, change, totals, limits, compare_to, status, ...rest } =
    bodyOf(question)
  t.same(body, rest)
  t.ok('groupings' in body && 'population_basis' in body && 'prices' in body && 'window' in body)
  t.end()
})

t.test('drawn questions survive their address', async (t) => {
  const chance = createChance(5)
  const pick = <Item>(items: readonly Item[], index: number, place: number): Item =>
    items[Math.floor(chance(index, place) * items.length)] as Item
  for (let index = 0; index < 300; index += 1) {
    const question: Question = {
      ...EMPTY_QUESTION,
      metrics: ['m1', 'm2', 'm3'].slice(0, Math.floor(chance(index, 1) * 4)),
      groupBy: ['state', 'bed_type'].slice(0, Math.floor(chance(index, 2) * 3)),
      filters: chance(index, 3) < 0.5 ? {} : { equipment_type: ['01:02', '03:04'] },
      from: pick(['', '2026-01'], index, 4),
      to: pick(['', '2026-01', '2026-05'], index, 5),
      totals: chance(index, 6) < 0.5,
      change: pick(['', 'previous', '-12', '2025-05'], index, 7),
      ignored: chance(index, 8) < 0.5,
      page: 1 + Math.floor(chance(index, 9) * 3),
      view: pick(VIEWS, index, 10),
    }
    const address = writeQuestion(question)
    if (JSON.stringify(readQuestion(address)) !== JSON.stringify(question)) t.fail(address)
  }
  t.pass('300 of them')
})

t.test('forms without a script repeat a name for each box', async (t) => {
  t.same(readQuestion('?m=a&m=b&by=state&in.state=AC&in.state=RR').metrics, ['a', 'b'])
  t.same(readQuestion('?in.state=AC&in.state=RR').filters, { state: ['AC', 'RR'] })
  t.same(readQuestion('?m=<script>&page=-4&view=pie').metrics, [], 'what is no code is left out')
  t.same(readQuestion('?m=a&by=státe,sex').groupBy, ['státe', 'sex'], 'the API refuses an unknown row')
  t.equal(readQuestion('?page=-4').page, 1)
  t.equal(readQuestion('?view=pie').view, 'table')
})

t.test('the query of a question', async (t) => {
  const question = readQuestion(
    '?m=a,b&by=state&in.municipality=2927408&in.state=BA&from=2025-05&to=2026-05&over=last&totals=yes&change=-12&ignored=no&order=-a&page=2&release=r',
  )
  t.same(bodyOf(question), {
    metrics: ['a', 'b'],
    group_by: ['state'],
    filters: [
      { dimension: 'municipality', operator: 'IN', value: [2927408] },
      { dimension: 'state', operator: 'IN', value: ['BA'] },
      { dimension: 'reference_period', operator: 'BETWEEN', value: ['2025-05', '2026-05'] },
    ],
    order_by: [{ field: 'a', direction: 'desc' }],
    over_period: 'last',
    totals: true,
    change: { to: '-12' },
    include_ignored: false,
    expected_release_id: 'r',
  })
  t.same([pageBodyOf(question).limit, pageBodyOf(question).offset], [100, 100])
  t.same(
    [pageBodyOf({ ...question, view: 'map' }).limit, pageBodyOf({ ...question, view: 'map' }).offset],
    [10_000, 0],
  )
  t.same(bodyOf(readQuestion('?m=a&period=2026-05')).filters, [
    { dimension: 'reference_period', operator: 'EQ', value: '2026-05' },
  ])
  t.same(keyOf({ municipality: '2927408', state: 'BA', legal_nature: '' }), {
    municipality: 2927408,
    state: 'BA',
    legal_nature: null,
  })
})

t.test('numbers are written as Intl.NumberFormat writes them, decimal ties included', async (t) => {
  const chance = createChance(20)
  for (const [language, locale] of [
    ['pt', 'pt-BR'],
    ['en', 'en-GB'],
  ] as const) {
    const differing: string[] = []
    const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 })
    for (let decimals = 0; decimals <= 6; decimals += 1) {
      const exact = new Intl.NumberFormat(locale, {
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      })
      for (let number = 0; number < 2000; number += 1) {
        const digits = Math.floor((chance(number, decimals) - 0.2) * 10 ** (1 + (number % 14)))
        const value = Number(`${digits}e-${decimals}`)
        if (formatNumber(value, decimals, language) !== exact.format(value)) differing.push(`${value}`)
        // Numbers below 10,000 have no suffix; of four digits, those that end in 5 are ties.
        const small = Number(`${digits % 10_000}e-${decimals}`)
        if (formatShort(small, language) !== short.format(small)) differing.push(`short ${small}`)
      }
    }
    t.same(differing, [], language)
  }
})

t.test('numbers as their readers write them', async (t) => {
  t.equal(formatNumber(1234567.5, 2, 'pt'), '1.234.567,50')
  t.equal(formatNumber(1234567.5, 2, 'en'), '1,234,567.50')
  t.equal(formatShort(1_500_000, 'pt'), '1,5 mi')
  t.equal(formatMonth('2026-05', 'pt'), 'mai 2026')
  t.equal(formatDay('2026-05-03', 'pt'), '3 mai 2026')
  t.equal(formatDay('2026-05-13', 'en'), '13 May 2026')
  t.equal(formatDay('2026-05', 'pt'), '2026-05', 'no day')
  t.equal(formatMonth('2026-05', 'en'), 'May 2026')
  t.equal(unitText('beds per 100,000 inhabitants', 'pt'), 'leitos por 100 mil habitantes')
  t.equal(unitText('beds per 100,000 inhabitants', 'en'), 'beds per 100,000 inhabitants')
  t.equal(unitText('deaths per 1,000 live births', 'pt'), 'óbitos por mil nascidos vivos')
  t.equal(
    unitText('deaths per 100,000 inhabitants of 30 to 69 years', 'pt'),
    'óbitos por 100 mil habitantes de 30 a 69 anos',
  )
  t.equal(unitText('births per 1,000 inhabitants', 'pt'), 'nascimentos por mil habitantes')
})

t.test('classes of a map are quantiles, fewer where values repeat', async (t) => {
  t.same(classBounds([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), [2, 4, 6, 8, 10])
  t.same(classBounds([5, 5, 5, 5]), [5])
  t.same(classBounds([0, 0, 0, 0, 9]), [0, 9])
  t.same(
    classBounds([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
    [0, 2, 4, 6, 8],
    'zero is a class alone, the others are quantiles of what is above it',
  )
  t.same(classBounds([]), [])
  t.equal(classOf(2, [2, 4]), 0)
  t.equal(classOf(2.01, [2, 4]), 1)
})

/** Four squares around a point, and an island far out at sea. */
const square = (west: number, south: number, code: string) => ({
  type: 'Feature' as const,
  properties: { code, name: `place ${code}` },
  geometry: {
    type: 'Polygon' as const,
    coordinates: [
      [
        [west, south],
        [west + 1, south],
        [west + 1, south + 1],
        [west, south + 1],
        [west, south],
      ],
    ],
  },
})
const squares = [
  square(-50, -10, 'NW'),
  square(-49, -10, 'NE'),
  square(-50, -11, 'SW'),
  square(-49, -11, 'SE'),
]
const codesOf = (features: typeof squares) => new Set(features.map(({ properties }) => properties.code))
const outlinesFrom = (features: typeof squares) =>
  outlinesOf(topology({ places: { type: 'FeatureCollection', features } as FeatureCollection }))

t.test('a map: what is under a point, who is beside whom, what is outside', async (t) => {
  const map = layShapes(outlinesFrom(squares), codesOf(squares), 400)
  t.equal(map.places.length, 4)
  t.equal(map.isClipped, false)
  const indexOf = (code: string): number => map.places.findIndex((place) => place.code === code)
  for (const { code, centre } of map.places) t.equal(map.find(...centre), indexOf(code), code)
  t.equal(map.find(-5, -5), -1)
  t.equal(map.places[neighbourOf(map.places, indexOf('NW'), 'ArrowRight')]?.code, 'NE')
  t.equal(map.places[neighbourOf(map.places, indexOf('NW'), 'ArrowDown')]?.code, 'SW')
  t.equal(neighbourOf(map.places, indexOf('NW'), 'ArrowLeft'), indexOf('NW'), 'nothing there')
  for (const { path } of map.places) t.match(path, /^M[\d.,LMZ-]+Z$/, 'a ring, not the globe without one')
  const withIsland = [...squares, square(-29, -20, 'island')]
  const wider = layShapes(outlinesFrom(withIsland), codesOf(withIsland), 400)
  t.equal(wider.isClipped, true)
  t.ok(wider.places.find(({ code }) => code === 'NW'))
})

t.test('the border runs around the areas that are shown, not between them', async (t) => {
  const outlines = outlinesFrom(squares)
  const { borderOf } = outlines
  const lengthOf = (codes: readonly string[]): number => {
    let length = 0
    for (const line of borderOf(new Set(codes)).coordinates)
      for (let index = 1; index < line.length; index += 1)
        length += Math.hypot(
          (line[index]?.[0] ?? 0) - (line[index - 1]?.[0] ?? 0),
          (line[index]?.[1] ?? 0) - (line[index - 1]?.[1] ?? 0),
        )
    return length
  }
  t.equal(lengthOf(['NW', 'NE', 'SW', 'SE']), 8)
  t.equal(lengthOf(['NW', 'NE']), 6)
  t.equal(lengthOf(['NW', 'SE']), 8, 'they meet in one point only')
  t.equal(lengthOf([]), 0)
  const part = layShapes(outlines, new Set(['NW']), 400)
  t.same(
    part.places.map(({ code }) => code),
    ['NW'],
  )
  t.match(part.border, /^M[\d.,LMZ-]+$/)
})

t.test('outlines of a topology', async (t) => {
  const places = {
    type: 'Topology' as const,
    objects: {
      places: {
        type: 'GeometryCollection' as const,
        geometries: [{ type: 'Polygon' as const, properties: { code: '29001', name: 'A' }, arcs: [[0]] }],
      },
    },
    arcs: [
      [
        [-40, -10],
        [-39, -10],
        [-39, -9],
        [-40, -10],
      ],
    ],
  }
  t.same(
    outlinesOf(places).shapes.map(({ properties }) => properties),
    [{ code: '29001', name: 'A' }],
  )
})
