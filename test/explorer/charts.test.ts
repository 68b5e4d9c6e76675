/** Small multiples, heat tables, scatter plots and funnel plots of the explorer: each number drawn is that of the API. */
import t from 'tap'
import { leftMarginOf } from '../../src/explorer/drawings/chart-parts.tsx'
import { funnelLimits } from '../../src/explorer/drawings/funnel-limits.ts'
import { periodsOf, zeroPeriodsOf } from '../../src/explorer/drawings/periods.ts'
import { formatMonth, formatShort } from '../../src/explorer/numbers.ts'
import { LEVEL_CONSTANTS, LIMIT_LEVELS } from '../../src/model/limits/levels.ts'
import { createDraws } from '../fixtures/draws.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { poisson, wilson } from '../fixtures/limits-twin.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const server = await startExplorer({ release: await makeSmallRelease('admissions') })
t.teardown(() => server.close())

const draw = async (search: string): Promise<string> =>
  (await (await fetch(`${server.address}/explorer${search}`)).text()).replaceAll('&amp;', '&')
const ask = async (body: unknown) => {
  const response = await fetch(`${server.address}/v1/analytics/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
  return (await response.json()) as any
}
const shown = (value: number, decimals = 2): string =>
  new Intl.NumberFormat('pt-BR', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    value,
  )
const figureOf = (html: string): string => /<figure.*?<\/figure>/s.exec(html)?.[0] ?? ''
const titlesOf = (html: string): string[] =>
  [...figureOf(html).matchAll(/<title>(.*?)<\/title>/gs)].map(([, title = '']) => title)
/** Each chart is drawn for wide and for narrow screens. */
const SIZES = 2

const MONTHS = ['2026-03', '2026-04', '2026-05']
// biome-ignore lint/suspicious/noExplicitAny: as above
const codeOfMonth = ({ dimensions }: any): string => dimensions.reference_period.code
const COURSE =
  '?m=hospital_mortality_share&by=state,reference_period&in.state=AC,AP,RR&from=2026-03&to=2026-05'
const courseBody = {
  metrics: ['hospital_mortality_share'],
  group_by: ['state', 'reference_period'],
  filters: [
    { dimension: 'state', operator: 'IN', value: ['AC', 'AP', 'RR'] },
    { dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-03', '2026-05'] },
  ],
}

t.test('a heat table has a cell with its value for each place and month, stripes without data', async (t) => {
  const [html, { data }] = await Promise.all([draw(`${COURSE}&view=heat`), ask(courseBody)])
  const titles = titlesOf(html)
  t.equal(data.length, 9)
  for (const { dimensions, metrics } of data) {
    const value = metrics.hospital_mortality_share
    const title = `${dimensions.state.name}, ${formatMonth(dimensions.reference_period.code, 'pt')}: ${value === null ? 'sem dado' : shown(value)}`
    t.equal(titles.filter((found) => found === title).length, SIZES, title)
  }
  const missing = data.filter(
    (row: { metrics: Record<string, unknown> }) => row.metrics.hospital_mortality_share === null,
  )
  t.ok(missing.length > 0)
  t.equal(
    figureOf(html).match(/<rect[^>]*fill="url\(#(heat-wide-screen|heat-narrow|legend-hatch)\)"/g)?.length,
    SIZES * missing.length + 1,
    'stripes, also in the legend',
  )
  t.match(figureOf(html), /<li>.*class-0 of-5.*<\/li>/s, 'five classes')
  t.equal(
    figureOf(html).match(/class="on-class/g)?.length,
    SIZES * (data.length - missing.length),
    'cells that are wide enough have their values',
  )
})

t.test('a collected month without a row is 0 in heat tables, small multiples and lines', async (t) => {
  const place = { dimension: 'residence_municipality', operator: 'EQ', value: '1400050' }
  const { data } = await ask({
    metrics: ['admissions'],
    group_by: ['diagnosis_category', 'reference_period'],
    filters: [place],
  })
  const codesIn = (month: string): string[] =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    data.flatMap(({ dimensions, metrics }: any) =>
      dimensions.reference_period.code === month && metrics.admissions > 0
        ? [dimensions.diagnosis_category.code]
        : [],
    )
  const [first = '', ...later] = MONTHS
  const code = codesIn(first).find((found) => later.every((month) => !codesIn(month).includes(found))) ?? ''
  const { data: byMonth } = await ask({
    metrics: ['admissions'],
    group_by: ['reference_period'],
    filters: [place, { dimension: 'diagnosis_category', operator: 'EQ', value: code }],
  })
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const [count, ...zeros] = byMonth.map(({ metrics }: any) => metrics.admissions)
  t.ok(count > 0)
  t.same(zeros, [0, 0], code)
  const course = (residence: string): string =>
    `?m=admissions&by=diagnosis_category,reference_period&in.diagnosis_category=${code}&${residence}`
  for (const view of ['heat', 'lines']) {
    const titles = titlesOf(await draw(`${course('in.residence_municipality=1400050')}&view=${view}`))
    for (const month of later)
      t.equal(
        titles.filter((title) => title.endsWith(`, ${formatMonth(month, 'pt')}: 0`)).length,
        SIZES,
        `${view} ${month}`,
      )
  }
  const multiples = titlesOf(await draw(`${course('in.residence_municipality=1400050')}&view=multiples`))
  t.equal(multiples.filter((title) => title.endsWith(`De ${count} (mar 2026) a 0 (mai 2026)`)).length, SIZES)
  const partly = titlesOf(
    await draw(
      '?m=admissions&by=diagnosis_category,reference_period&in.residence_state=AP&from=2026-03&to=2026-05&view=heat',
    ),
  )
  t.match(partly.join(), 'abr 2026')
  t.notMatch(partly.join(), 'mai 2026', 'not collected')
  const answer = await ask({
    metrics: ['hospital_deaths'],
    group_by: ['reference_period'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
  })
  const [{ dimensions }, , newest] = answer.data
  const note = { code: 'not_collected', periods: ['2026-02', '2026-04'], metrics: ['hospital_deaths'] }
  const gap = {
    ...answer,
    data: [answer.data[0], newest],
    meta: { ...answer.meta, reference_period: '2026-03, 2026-05', notes: [note] },
  }
  t.equal(dimensions.reference_period.code, '2026-03')
  t.same(periodsOf(gap, 'reference_period', 'hospital_deaths'), MONTHS, 'a gap between others is a place')
  t.same([...zeroPeriodsOf(gap, 'reference_period', 'hospital_deaths')], ['2026-03', '2026-05'])
  const windowed = titlesOf(
    await draw(
      '?m=admissions&by=reference_period&in.residence_state=RR&from=2026-05&to=2026-05&window=2&view=lines',
    ),
  )
  t.match(windowed.join(), 'mai 2026')
  t.notMatch(windowed.join(), 'abr 2026', 'a month that only the window reads is no period of the question')
  for (const [dimension, operator, value] of [
    ['reference_period', 'BETWEEN', ['2026-04', '2026-05']],
    ['reference_period', 'GTE', '2026-04'],
    ['reference_quarter', 'IN', ['2026-Q2']],
    ['reference_quadrimester', 'IN', ['2026-C1']],
    ['reference_year', 'IN', ['2026']],
  ] as const) {
    const found = await ask({
      metrics: ['hospital_deaths'],
      group_by: ['reference_period'],
      filters: [
        { dimension: 'state', operator: 'EQ', value: 'RR' },
        { dimension, operator, value },
      ],
      window: { months: 2 },
    })
    const requested = found.data.map(codeOfMonth)
    const first = requested.find((month: string) => MONTHS.includes(month))
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const data = found.data.filter((row: any) => codeOfMonth(row) !== first)
    const withoutFirst = { ...found, data, meta: { ...found.meta, notes: [] } }
    t.match(found.meta.reference_period, '2026-03', 'the window reads a month before')
    t.same(
      periodsOf(withoutFirst, 'reference_period', 'hospital_deaths'),
      requested,
      `${dimension}: a first month that was requested is a period without a row, too`,
    )
  }
})

t.test(
  'an axis of time has its periods at their distance, and a running year is a point of its own',
  async (t) => {
    const financing = await startExplorer({ release: await makeSmallRelease('financing') })
    t.teardown(() => financing.close())
    const search = '?m=federal_health_transfers&by=state,reference_period&in.state=AC&view=lines'
    const page = await (await fetch(`${financing.address}/explorer${search}`)).text()
    const [wide = ''] = figureOf(page).split('</svg>')
    const [first = 0, second = 0, third = 0, ...more] = [...wide.matchAll(/<circle cx="([\d.]+)"/g)].map(
      ([, x]) => Number(x),
    )
    t.same(more, [])
    t.match(titlesOf(page).join(), /dez 2024.*dez 2025.*mar 2026/)
    t.ok(Math.abs((second - first) / 12 - (third - second) / 3) < 0.01, `${first}, ${second}, ${third}`)
    const [, path = ''] = /<path d="([^"]*)"/.exec(wide) ?? []
    t.equal(path.match(/M/g)?.length, 2, 'the running year is not joined')
  },
)

t.test(
  'small multiples say first and last value; limits are a band, the comparator a dashed line',
  async (t) => {
    const [html, { data }] = await Promise.all([
      draw(`${COURSE}&view=multiples&limits=0.95&compare=country`),
      ask(courseBody),
    ])
    for (const code of ['AC', 'AP', 'RR']) {
      const rows = data.filter(
        // biome-ignore lint/suspicious/noExplicitAny: as above
        ({ dimensions, metrics }: any) =>
          dimensions.state.code === code && metrics.hospital_mortality_share !== null,
      )
      const [first, last] = [rows[0], rows.at(-1)]
      const textOf = (row: typeof first): string =>
        `${shown(row.metrics.hospital_mortality_share)} (${formatMonth(row.dimensions.reference_period.code, 'pt')})`
      const title = `${first.dimensions.state.name}: De ${textOf(first)} a ${textOf(last)}`
      t.equal(titlesOf(html).filter((found) => found.startsWith(title)).length, SIZES, title)
    }
    t.equal(figureOf(html).match(/class="band"/g)?.length, SIZES * 3)
    const compared = await draw(
      '?m=hospital_mortality_share&by=residence_municipality,reference_period&in.residence_state=RR&from=2026-03&to=2026-05&compare=state&view=multiples',
    )
    t.match(figureOf(compared), /class="comparator"/)
    t.match(figureOf(compared), 'tracejado: comparador')
  },
)

t.test('lines fill their height, and say that the largest are drawn', async (t) => {
  const many = figureOf(await draw('?m=facilities_count&by=state,reference_period&view=lines'))
  t.match(many, 'Os 8 maiores.')
  const few =
    '?m=admissions_per_10k&by=reference_period&in.residence_state=RR&in.diagnosis_category=F31&view=lines'
  const ticks = [...figureOf(await draw(few)).matchAll(/text-anchor="end">([\d.,]+)</g)].map(
    ([, text = '']) => Number(text.replace(',', '.')),
  )
  t.ok(ticks.length > SIZES, 'it has an axis')
  t.ok(Math.max(...ticks) < 1, `${ticks}`)
})

t.test('lines of a question without a value say so instead of showing an empty axis', async (t) => {
  const body = { ...courseBody, group_by: ['municipality', 'reference_period'], limit: 1000 }
  const { data } = await ask(body)
  const rows = data as {
    dimensions: { municipality: { code: number } }
    metrics: { hospital_mortality_share: number | null }
  }[]
  const valued = new Set(
    rows
      .filter(({ metrics }) => metrics.hospital_mortality_share !== null)
      .map((row) => row.dimensions.municipality.code),
  )
  const code = rows.map((row) => row.dimensions.municipality.code).find((place) => !valued.has(place))
  t.ok(code !== undefined)
  const search = `?m=hospital_mortality_share&by=municipality,reference_period&in.municipality=${code}&from=2026-03&to=2026-05&view=lines`
  const figure = figureOf(await draw(search))
  t.match(figure, 'Sem dado: não foi coletado ou não tem denominador')
  t.notMatch(figure, '<svg')
})

t.test('the legend of classes names the time of constant prices', async (t) => {
  const search = '?m=admissions_value&by=state,reference_period&from=2026-03&to=2026-05&prices=2025&view=heat'
  t.match(await draw(search), /unit-of-legend">reais de 2025</)
  t.match(await draw(search.replace('&prices=2025', '')), /unit-of-legend">reais</)
})

t.test('short numbers have steps of thousands, millions and billions', (t) => {
  for (const [value, pt, en] of [
    [9999, '10.000', '10,000'],
    [12_300, '12,3 mil', '12.3k'],
    [1.5e6, '1,5 mi', '1.5M'],
    [8e10, '80 bi', '80B'],
    [-8e10, '-80 bi', '-80B'],
  ] as const) {
    t.equal(formatShort(value, 'pt'), pt)
    t.equal(formatShort(value, 'en'), en)
  }
  t.ok(leftMarginOf(['0', '100.000 bi'], 64) > leftMarginOf(['0', '80 bi'], 64), 'long labels have room')
  t.equal(leftMarginOf([], 64), 64)
  t.end()
})

t.test('places of the same name are two rows', async (t) => {
  const { data } = await ask({
    metrics: ['population_census'],
    group_by: ['municipality'],
    limit: 10_000,
  })
  const codes = new Map<string, number[]>()
  for (const { dimensions } of data)
    codes.set(dimensions.municipality.name, [
      ...(codes.get(dimensions.municipality.name) ?? []),
      dimensions.municipality.code,
    ])
  const [name = '', twins = []] = [...codes].find(([, found]) => found.length > 1) ?? []
  t.equal(twins.length > 1, true, `${name}: ${twins.join(', ')}`)
  const html = await draw(
    `?m=facilities_count&by=municipality,reference_period&in.municipality=${twins.join()}&from=2026-03&to=2026-05&view=heat`,
  )
  const rows = titlesOf(html).filter((title) => title.startsWith(`${name} (`) && title.endsWith(')'))
  t.equal(rows.length, SIZES * twins.length, 'each has its row')
  t.equal(new Set(rows).size, twins.length, 'and says its state')
})

t.test('a scatter plot shows two metrics of each row, and a third as its size', async (t) => {
  const metrics = ['beds_existing_per_100k', 'facilities_per_100k', 'population_census']
  const [html, { data }] = await Promise.all([
    draw(`?m=${metrics.join()}&by=state&view=scatter`),
    ask({ metrics, group_by: ['state'] }),
  ])
  const titles = titlesOf(html)
  for (const { dimensions, metrics: values } of data) {
    const title = titles.filter((found) => found.startsWith(`${dimensions.state.name}. `))
    t.equal(title.length, SIZES, dimensions.state.name)
    for (const [metric, decimals] of [
      ['beds_existing_per_100k', 2],
      ['facilities_per_100k', 2],
      ['population_census', 0],
    ] as const)
      t.match(title[0], `: ${shown(values[metric], decimals)}`)
  }
  t.match(figureOf(html), `${data.length} pontos.`)
  t.match(figureOf(html), 'Tamanho dos pontos: População do censo')
  for (const drawing of figureOf(html).split('</svg>').slice(0, SIZES)) {
    t.ok((drawing.match(/text-anchor="middle">[\d.,]+</g)?.length ?? 0) >= 3, 'ticks of the first axis')
    t.ok(drawing.match(/class="code"/g), 'codes of states')
  }
  t.notMatch(figureOf(html), 'escala log', 'zeros have no logarithm')
  const skewed = await draw(
    '?m=population_census,population_growth_since_census&by=municipality&view=scatter',
  )
  t.equal(
    figureOf(skewed).match(/class="axis-title">População do censo \(habitantes\), escala log</g)?.length,
    SIZES,
    'populations differ by more than 100 times',
  )
  t.match(await draw('?m=facilities_count&by=state&view=scatter'), 'acrescente outra à pergunta')
  t.notMatch(await draw('?m=facilities_count&by=state'), 'view=scatter', 'one metric has no such view')
})

for (const [metric, denominator, place, filter] of [
  ['icsap_share', 'icsap_universe_admissions', 'residence_municipality', 'residence_state'],
  ['admissions_per_10k', 'population_census', 'residence_municipality', 'residence_state'],
  ['hospital_mortality_share', 'admissions', 'facility', 'state'],
] as const)
  t.test(
    `a funnel plot of ${metric}: outside are places whose limits leave out the value of all`,
    denominator === 'admissions' ? {} : secondRing,
    async (t) => {
      const states = ['AC', 'RR']
      const filters = [
        { dimension: filter, operator: 'IN', value: states },
        {
          dimension: 'reference_period',
          operator: 'BETWEEN',
          value: MONTHS.filter((_, index) => index !== 1),
        },
      ]
      const html = await draw(
        `?m=${metric}&by=${place}&in.${filter}=${states.join()}&from=2026-03&to=2026-05&view=funnel`,
      )
      const [{ data }, { data: together }, { data: counted }] = await Promise.all([
        ask({ metrics: [metric], group_by: [place], filters, limits: 0.998, limit: 10_000 }),
        ask({ metrics: [metric], filters, group_by: [] }),
        denominator === 'population_census'
          ? ask({
              metrics: [denominator],
              group_by: ['municipality'],
              filters: [{ dimension: 'state', operator: 'IN', value: states }],
              limit: 10_000,
            })
          : ask({ metrics: [denominator], group_by: [place], filters, limit: 10_000 }),
      ])
      const centre = together[0].metrics[metric]
      const titles = titlesOf(html)
      const count = { above: 0, below: 0, points: 0 }
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const codeOf = ({ dimensions }: any): string => String((Object.values(dimensions)[0] as any).code)
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const among = new Map(counted.map((row: any) => [codeOf(row), row.metrics[denominator]]))
      for (const row of data) {
        const value = row.metrics[metric]
        const people = (among.get(codeOf(row)) ?? 0) as number
        if (value === null || people <= 0) continue
        count.points += 1
        const isAbove = row.metrics[`${metric}__lower`] > centre
        const isBelow = row.metrics[`${metric}__upper`] < centre
        if (isAbove) count.above += 1
        if (isBelow) count.below += 1
        const text = isAbove
          ? 'acima dos limites de 99,8 %'
          : isBelow
            ? 'abaixo dos limites de 99,8 %'
            : 'dentro dos limites'
        const { name, uf } = row.dimensions[place]
        const found = titles.filter(
          (title) =>
            title.startsWith(`${uf === undefined ? name : `${name} (${uf})`}: ${shown(value)}, ${text}`) &&
            title.endsWith(`: ${shown(people, 0)}`),
        )
        if (found.length < SIZES) t.fail(`${row.dimensions[place].name}: ${shown(value)}, ${text}, ${people}`)
      }
      t.ok(count.points > 10, `${count.points} points`)
      t.match(figureOf(html), `Todos juntos: ${shown(centre)}`)
      t.match(
        figureOf(html),
        count.above + count.below === 0
          ? `Nenhum dos ${count.points} pontos passa dos limites de 99,8 %.`
          : `De ${count.points} pontos, acima dos limites de 99,8 %: ${count.above}; abaixo: ${count.below}.`,
      )
    },
  )

t.test('a funnel plot of places that were not all collected is around those that were', async (t) => {
  const html = await draw('?m=hospital_mortality_share&by=state&period=2026-05&view=funnel')
  const { data } = await ask({
    metrics: ['hospital_mortality_share'],
    group_by: ['state'],
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2026-05' }],
  })
  const collected = data.filter(
    (row: { metrics: Record<string, unknown> }) => row.metrics.hospital_mortality_share !== null,
  )
  t.ok(collected.length > 0 && collected.length < data.length)
  const together = await ask({
    metrics: ['hospital_mortality_share'],
    group_by: [],
    filters: [
      { dimension: 'reference_period', operator: 'EQ', value: '2026-05' },
      // biome-ignore lint/suspicious/noExplicitAny: as above
      { dimension: 'state', operator: 'IN', value: collected.map((row: any) => row.dimensions.state.code) },
    ],
  })
  t.match(figureOf(html), `Todos juntos: ${shown(together.data[0].metrics.hospital_mortality_share)}`)
  const ofYear =
    '?m=admissions_per_10k&by=residence_municipality&in.residence_state=RR&in.reference_year=2026&partial=yes'
  const funnel = await draw(`${ofYear}&view=funnel`)
  t.match(figureOf(funnel), 'Todos juntos: ', 'a filter of time limits the events alone')
  t.match(await draw(ofYear), 'view=funnel', 'and the view is offered')
  for (const search of [
    '?m=admissions_per_10k&by=residence_municipality&in.sex=F&view=funnel',
    '?m=bed_capacity_sus&by=state&view=funnel',
    '?m=hospital_mortality_share&by=state,reference_period&view=funnel',
  ])
    t.match(await draw(search), 'O funil compara proporções e taxas', search)
})

t.test('a value lies beyond a curve exactly when its limits leave out the centre', async (t) => {
  const { draw: drawBelow } = createDraws(31)
  const between = (from: number, to: number): number => from + drawBelow(to - from + 1)
  let outside = 0
  for (let count = 0; count < 4000; count += 1) {
    const level = LIMIT_LEVELS[count % 2] ?? 0.95
    const { z } = LEVEL_CONSTANTS[level]
    const isWilson = count % 4 < 2
    const denominator = between(10, 20_000)
    // Below 10 events the exact limits of Poisson decide, which Byar's curve comes near to.
    const events = isWilson ? between(0, denominator) : between(10, Math.max(10, Math.floor(denominator / 5)))
    const share = (events / denominator) * (between(50, 150) / 100)
    if (share <= 0 || (isWilson && share >= 1)) continue
    const kind = { method: isWilson ? 'wilson' : 'poisson', scale: 1000 } as const
    const [low, high] = funnelLimits(kind, share * 1000, denominator, z)
    const value = (events / denominator) * 1000
    const [lower, upper] = isWilson
      ? (wilson(events, denominator, level) ?? [0, 0])
      : poisson(events, level).map((limit) => limit / denominator)
    const [isAbove, isBelow] = [(lower ?? 0) > share, (upper ?? 0) < share]
    const near = 1e-6 * value
    if (isAbove || isBelow) outside += 1
    if (isAbove !== value > high && Math.abs(value - high) > near)
      t.fail(`${events} of ${denominator}, ${share}`)
    if (isBelow !== value < low && Math.abs(value - low) > near)
      t.fail(`${events} of ${denominator}, ${share}`)
  }
  t.ok(outside > 500 && outside < 3500, `${outside} outside`)
})
