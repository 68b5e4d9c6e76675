/** The explorer's pages as the server draws them: whole without a script, closed to what comes from elsewhere. */
import { cpSync } from 'node:fs'
import t from 'tap'
import { type Api, findMember } from '../../src/explorer/api.ts'
import { loadVisit } from '../../src/explorer/app.tsx'
import { formatMonth } from '../../src/explorer/numbers.ts'
import type { ExploreData } from '../../src/explorer/pages/explore-load.ts'
import { searchDimensions } from '../../src/explorer/parts/filters.tsx'
import { keptOrder, readQuestion } from '../../src/explorer/question.ts'
import { CAPABILITIES, type Capability } from '../../src/model/capabilities.ts'
import { writePointer } from '../../src/release/writer.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const server = await startExplorer({ release: await makeSmallRelease('admissions') })
t.teardown(() => server.close())

interface Answered {
  readonly dimensions: { readonly municipality: { readonly code: number } }
}
interface Answer {
  readonly status: number
  readonly html: string
  readonly headers: Headers
}
async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(server.address + path, { redirect: 'manual', headers })
  return { status: response.status, html: await response.text(), headers: response.headers }
}
const ask = async (body: unknown, path = '/v1/analytics/query') => {
  const response = await fetch(server.address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
  return (await response.json()) as any
}
/** Text of a page as it is read: without marks. */
const textOf = (html: string): string =>
  html
    .replace(/<script.*?<\/script>/gs, '')
    .replaceAll(/<wbr\/?>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ')
const shown = (value: number, decimals: number): string =>
  new Intl.NumberFormat('pt-BR', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    value,
  )

/** @returns an API over HTTP, and the paths that it is asked for */
function listeningApi(): { readonly api: Api; readonly paths: string[] } {
  const paths: string[] = []
  const api: Api = {
    async get(path) {
      paths.push(path)
      const response = await fetch(server.address + path, {
        headers: { authorization: `Bearer ${server.key}` },
      })
      return await response.json()
    },
    async post<Found>(path: string, body: unknown) {
      paths.push(path)
      return (await ask(body, path)) as Found
    },
  }
  return { api, paths }
}

t.test('members are found by their exact code, and nothing is asked for without a dimension', async (t) => {
  const { api, paths } = listeningApi()
  t.equal((await findMember(api, 'state', 'PA'))?.name, 'Pará', 'the first member that matches is Amapá')
  t.equal(await findMember(api, 'state', 'P'), undefined)
  const isMembers = (path: string): boolean => path.startsWith('/v1/analytics/dimensions/')
  t.ok(paths.every(isMembers), 'nothing is sent')
  paths.length = 0
  t.same(await searchDimensions(api, '', 'para'), {})
  t.same(paths, [], 'every dimension has its members at hand')
  const { state = [] } = await searchDimensions(api, 'state,none', 'para')
  t.ok(state.some(({ code }) => code === 'PB'))
  t.ok(paths.every(isMembers), 'nothing is sent')
})

t.test('the next question keeps the lists of its form while the release is the same', async (t) => {
  const { api, paths } = listeningApi()
  const load = async (search: string, shown: unknown = null): Promise<ExploreData> => {
    paths.length = 0
    const loaded = await loadVisit({ path: '/explorer', search }, api, { isLive: true, shown })
    if (loaded.kind !== 'data') throw new Error(`${search}: ${loaded.kind}`)
    return loaded.data as ExploreData
  }
  const isList = (path: string): boolean => /catalog|values/.test(path)
  const before = await load('?m=bed_capacity_existing&by=state&in.municipality=1200401')
  t.ok(paths.filter(isList).length > 10)
  const next = '?m=bed_capacity_sus&by=health_region&in.state=AC&in.municipality=1200203'
  const anew = await load(next)
  t.same(await load(next, before), anew)
  t.same(paths.filter(isList), ['/v1/analytics/dimensions/municipality/values?search=1200203&limit=250'])
  const { answer } = before
  if (answer === null) throw new Error('no answer')
  const other = { ...before, answer: { ...answer, meta: { ...answer.meta, release_id: 'another' } } }
  t.same(await load(next, other), anew)
  t.ok(paths.filter(isList).length > 10, 'lists of another release are not kept')
  const group = '&group.name=G&group.in=1200401,1200203'
  const grouped = await load(`${next}${group}`, before)
  t.same(grouped, await load(`${next}${group}`))
  t.same(await load(next, grouped), anew, 'the next question has no group')
})

t.test('a question’s page has every number of its answer, without a script', async (t) => {
  const { status, html } = await get(
    '/explorer?m=beds_existing_per_100k,bed_capacity_sus&by=municipality&in.state=RR',
  )
  t.equal(status, 200)
  const { data } = await ask({
    metrics: ['beds_existing_per_100k', 'bed_capacity_sus'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
  })
  t.equal(data.length, 15)
  const text = textOf(html)
  for (const { label, metrics } of data) {
    t.ok(text.includes(label.split(' (')[0]), label)
    if (metrics.beds_existing_per_100k !== null)
      t.ok(text.includes(shown(metrics.beds_existing_per_100k, 2)), `${metrics.beds_existing_per_100k}`)
    t.ok(text.includes(shown(metrics.bed_capacity_sus, 0)))
  }
  const young = textOf(
    (await get('/explorer?m=beds_existing_per_100k&by=municipality&in.municipality=5101837')).html,
  )
  t.match(
    young,
    /Boa Esperança do Norte MT sem dado/,
    'younger than the census: no denominator, which is not 0',
  )
  t.match(text, /Demonstração: dados inventados/)
})

t.test('nothing is loaded from elsewhere or run in place', async (t) => {
  const { html, headers } = await get('/explorer?m=bed_capacity_existing&by=state')
  const policy = headers.get('content-security-policy') ?? ''
  t.match(policy, /default-src 'none'/)
  t.notMatch(policy, /unsafe/)
  t.notMatch(html, /<[^>]+ (style|on\w+)=/, 'no styles or handlers in place')
  for (const [, address = ''] of html.matchAll(/(?:src|href)="([^"]*)"/g))
    t.match(address, /^(\/|#|data:,)/, address)
  for (const [, address = ''] of html.matchAll(/(?:src|href)="(\/explorer\/assets\/[^"]*)"/g)) {
    const asset = await get(address, { 'accept-encoding': 'identity' })
    t.equal(asset.status, 200)
    t.match(asset.headers.get('cache-control'), /immutable/)
    const compressed = await get(address, { 'accept-encoding': 'gzip' })
    t.equal(compressed.headers.get('content-encoding'), 'gzip')
    t.ok(Number(compressed.headers.get('content-length')) < asset.html.length / 2)
    t.equal(compressed.html, asset.html)
  }
  t.equal((await get('/explorer/assets/browser-00000000.js')).status, 404)
})

t.test('what comes from an address is shown as text', async (t) => {
  const { html } = await get(`/explorer/search?text=${encodeURIComponent('<script>alert(1)</script>')}`)
  t.notMatch(html, /<script>alert/)
  for (const name of ['order', 'change', 'basis', 'period']) {
    const odd = textOf((await get(`/explorer?m=bed_capacity_sus&by=state&${name}=__proto__`)).html)
    t.notMatch(odd, /\[object|NaN/, name)
    t.match(odd, /__proto__/, name)
  }
  const unknown = await get('/explorer?m=no_such_metric')
  t.equal(unknown.status, 200, 'the page is there; the question has no answer')
  t.match(textOf(unknown.html), /Não foi possível responder/)
})

t.test(
  'options that do not exist are named as in the form, with a link to the question without them',
  async (t) => {
    const { html } = await get('/explorer?m=bed_capacity_sus&by=state&limits=yes&compare=soon&totals=yes')
    const text = textOf(html)
    t.match(text, /Limites de confiança : “yes” não é uma opção\. Possíveis: 95 %, 99,8 %/)
    t.match(text, /Comparar lugares com : “soon” não é uma opção/)
    t.notMatch(text, '/limits')
    t.ok(html.includes('href="/explorer?m=bed_capacity_sus&amp;by=state&amp;totals=yes"'))
    t.ok(html.indexOf('class="problem"') < html.indexOf('class="question"'), 'before the form')
    const row = await get('/explorer?m=bed_capacity_sus&by=st%C3%A1te,sex')
    t.match(textOf(row.html), 'Linhas da tabela : “státe” não é uma dimensão do catálogo')
    const cell = '/explorer?m=bed_capacity_sus&by=state&cell='
    const wrong = await get(`${cell}bed_capacity_sus;state:XX`)
    t.match(textOf(wrong.html), 'Unidade da Federação : “XX” não é um estado')
    t.notMatch(textOf(wrong.html), '/key')
    t.ok(wrong.html.includes('<a class="button" href="/explorer?m=bed_capacity_sus&amp;by=state">'))
    const other = textOf((await get(`${cell}admissions;state:AC`)).html)
    t.match(other, 'De onde vem este número : “Internações” não é uma métrica da consulta')
    const textAt = async (search: string): Promise<string> =>
      textOf((await get(`/explorer?m=admissions&by=${search}`)).html)
    t.match(
      await textAt('facility,sex,age_group,residence_state'),
      'A métrica Internações não tem juntas as dimensões Estabelecimento, Sexo, Faixa etária',
    )
    t.match(
      await textAt('state,reference_period&from=2026-04&totals=yes&change=-1'),
      'no nível “Mostrar totais” [Unidade da Federação], porque “Comparar com” compara um período com outro',
    )
  },
)

t.test('a change is headed by the month that it compares with', async (t) => {
  const { html } = await get('/explorer?m=bed_capacity_sus&by=state&period=2026-05&change=-1')
  const text = textOf(html)
  t.match(text, 'mai 2026 comparado com abr 2026')
  t.match(text, 'Comparar com: um período antes')
  t.match(text, /Leitos SUS, abr 2026 Leitos SUS, variação/)
  t.match(text, /[+−]\d+,\d\d %/, 'percentages have their sign')
})

t.test('options that decide what the numbers mean are in the title, in a frame as on the page', async (t) => {
  const framed = await startExplorer({ release: server.release, embedOrigins: 'http://localhost' })
  t.teardown(() => framed.close())
  const textAt = async (path: string): Promise<string> =>
    textOf(await (await fetch(framed.address + path)).text())
  for (const path of ['/explorer', '/explorer/embed']) {
    const money = await textAt(`${path}?m=admissions_value&by=state&prices=2025`)
    t.match(money, /mai 2026 · reais de 2025 \(IPCA\)/, path)
    t.match(money, /Valor das internações (▼ )?reais de 2025 Acre/, 'the unit')
    t.match(money, /Notas .*Valor das internações: em reais de 2025/, 'the note')
    const drawn = await textAt(`${path}?m=admissions_value&by=state&prices=2025&view=bars`)
    t.match(drawn, 'Valor das internações (reais de 2025)', 'the caption of a drawing')
    const windows = await textAt(`${path}?m=admissions&by=reference_period&window=6&lang=en`)
    t.match(windows, '· each month covers 6 months up to it', path)
    const rate = await textAt(
      `${path}?m=beds_sus_per_100k&by=state&basis=estimate&limits=0.95&compare=region`,
    )
    t.match(rate, /população das taxas: estimativa mais nova · limites de confiança: 95 %/, path)
    t.match(rate, 'comparador: a grande região')
  }
  t.match(await textAt('/explorer/embed?m=bed_capacity_sus&by=municipality'), '1–100 de 5.572 linhas')
  t.match(await textAt('/explorer/embed?m=bed_capacity_sus&by=state&since=gone'), 'A versão gone, com que')
  t.match(
    await textAt('/explorer?m=bed_capacity_sus&by=municipality&in.municipality=2201903,2502201'),
    /Leitos SUS por Município · Bom Jesus \(PI\), Bom Jesus \(PB\)/,
  )
})

t.test('the query as code is whole whatever it contains', async (t) => {
  const name = `Norte ''' "- (RR)`
  const { html } = await get(
    `/explorer?m=bed_capacity_sus&group.in=1400100&group.name=${encodeURIComponent(name)}`,
  )
  const code = html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
  const [, literal = '""'] = /data=(".*")\.encode\(\)/.exec(code) ?? []
  const body = JSON.parse(literal)
  t.equal(JSON.parse(body).groupings.group.groups[0].name, name, 'Python')
  t.ok(code.includes(`r"-(${body})-"`), 'R')
  t.notOk(body.includes(')--"'))
})

t.test('a choice of the form that does not go with the question is refused with the reason', async (t) => {
  const textAt = async (search: string): Promise<string> => textOf((await get(`/explorer?${search}`)).html)
  const months = await textAt('m=admissions&by=state&from=2026-03&to=2026-05&change=2025-01')
  t.match(months, /Comparar com : “jan 2025” compara um período com outro/)
  t.match(months, 'use “Vários meses como um só valor” (o último mês ou o primeiro mês)')
  t.notMatch(months, 'não é uma opção')
  const order = await textAt('m=bed_capacity_sus&by=state&from=2026-05&to=2026-03')
  t.match(order, /Período : “mai 2026 – mar 2026” deve ser dois períodos, o mais antigo primeiro/)
  t.match(await textAt('m=bed_capacity_sus&by=state&order=-nope'), 'Ordem : “nope” não é uma opção')
  t.match(await textAt('m=beds_sus_per_100k&basis=x'), /“x” não é uma opção\. Possíveis: censo, /)
  const group = await get('/explorer?m=bed_capacity_sus&group.in=abc')
  t.match(textOf(group.html), 'Grupo de municípios : “abc” deve ser um código do IBGE')
  t.ok(group.html.includes('href="/explorer?m=bed_capacity_sus"'), 'a link to the question without the group')
  const flows = await get('/explorer/places/state/AC/flows?from=2026-05&to=2026-03')
  t.equal(flows.status, 200)
  t.match(textOf(flows.html), 'O primeiro mês vem depois do último')
  t.match(flows.html, /<select name="from"/, 'the form stays')
})

t.test('an order by a change has its label, and goes with the change', async (t) => {
  const question = '?m=bed_capacity_sus&by=state&period=2026-05&change=-1&order=-bed_capacity_sus__change'
  const { html } = await get(`/explorer${question}`)
  t.match(textOf(html), 'Ordem: Leitos SUS, variação: maior primeiro')
  t.match(html, /<option value="-bed_capacity_sus__change" selected/)
  const read = readQuestion(question)
  t.equal(keptOrder(read), '-bed_capacity_sus__change')
  t.equal(keptOrder({ ...read, change: '' }), '')
  t.equal(keptOrder({ ...read, metrics: ['admissions'] }), '')
  for (const [, address = ''] of html.matchAll(/href="([^"]*order=-bed_capacity_sus__change[^"]*)"/g))
    t.match(address, 'change=-1', 'no link keeps the order without the change')
})

t.test('places of one name are told apart, and each is there once', async (t) => {
  const heads = async (search: string): Promise<string[]> => {
    const { html } = await get(`/explorer/compare/?${search}`)
    const [, head = ''] = /<thead>(.*?)<\/thead>/s.exec(html) ?? []
    return [...head.matchAll(/<th scope="col" class="number">(.*?)<\/th>/g)].map(([, name = '']) => name)
  }
  t.same(await heads('place=municipality:3550308&place=state:SP&place=state:sp'), [
    'São Paulo (município)',
    'São Paulo (estado)',
  ])
  t.same(await heads('place=municipality:2201903&place=municipality:2502201'), [
    'Bom Jesus (PI)',
    'Bom Jesus (PB)',
  ])
})

t.test('what is not there is said in the words of the pages', async (t) => {
  for (const path of ['/explorer/places/state/12', '/explorer/indicators/nope', '/explorer/facilities/1'])
    t.notMatch(textOf((await get(path)).html), /nível state|GET \/v1|no caminho/, path)
  t.match(textOf((await get('/explorer/search?text=a')).html), 'Digite duas letras ou mais')
})

t.test('a page beyond the last one is the last one', async (t) => {
  const textAt = async (search: string): Promise<string> => textOf((await get(`/explorer?${search}`)).html)
  t.match(await textAt('m=bed_capacity_sus&by=state&page=99'), /Acre 0? ?[\d.]+ .* 27 linhas/)
  t.match(await textAt('m=bed_capacity_sus&by=municipality&page=1e9'), '5.501–5.572 de 5.572 linhas')
  t.match(await textAt('m=bed_capacity_sus&by=state&view=bars&page=1e9'), /27 linhas/)
})

t.test('what changed since another release is compared on the question of the page', async (t) => {
  const [release, gaps] = [await makeSmallRelease('admissions'), await makeSmallRelease('gaps')]
  cpSync(gaps.releasesDir, release.releasesDir, { recursive: true, force: false })
  writePointer(release.releasesDir, release.result.analytics)
  const two = await startExplorer({ release })
  t.teardown(() => two.close())
  const textAt = async (search: string): Promise<string> =>
    textOf(await (await fetch(`${two.address}/explorer?${search}&since=${gaps.result.analytics}`)).text())
  t.match(
    await textAt('m=equipment_in_use&by=municipality,equipment_type'),
    /O que mudou desde .* Motivo .* 100 de \d[\d.]* linhas/,
  )
  const grouped = await textAt('m=bed_capacity_sus&group.in=1400100&group.name=Capital')
  t.match(grouped, /O que mudou desde .* (Nada mudou|Capital Leitos SUS)/)
  t.notMatch(grouped, 'Não foi possível responder')
  const mean = await textAt('m=bed_capacity_sus&by=state&from=2026-04&to=2026-05&over=avg')
  t.match(mean, 'as versões não são comparadas')
  t.notMatch(mean, 'Não foi possível responder')
  const pinned = `m=bed_capacity_sus&by=state&release=${server.release.result.analytics}`
  const missing = await get(`/explorer?${pinned}&since=gone`)
  t.match(textOf(missing.html), 'A versão gone, com que esta pergunta é comparada, não está neste servidor.')
  t.match(textOf(missing.html), /Acre \d/, 'the answer is there')
  t.ok(missing.html.includes(`<a class="button" href="/explorer?${pinned.replaceAll('&', '&amp;')}">`))
  t.notMatch(textOf(missing.html), 'Não foi possível responder')
})

t.test('a cell leads to its published rows', async (t) => {
  const { html } = await get(
    '/explorer?m=beds_existing_per_100k&by=state&cell=beds_existing_per_100k;state:RR',
  )
  const lineage = await ask(
    {
      metrics: ['beds_existing_per_100k'],
      group_by: ['state'],
      key: { state: 'RR' },
      metric: 'beds_existing_per_100k',
      limit: 20,
    },
    '/v1/analytics/lineage',
  )
  const text = textOf(html)
  t.match(text, /De onde vem este número/)
  for (const { sources } of lineage.data)
    for (const { file, row, column, sha256 } of sources)
      for (const part of [file, `linha ${row}`, column, sha256]) t.ok(text.includes(part), part)
  t.ok(text.includes(`Numerador: ${shown(lineage.meta.total, 0)}`))
  t.match(text, /Denominador: /)
})

t.test('the records of a flow come with what its number says', async (t) => {
  const { html } = await get('/explorer?m=admissions&by=state&cell=admissions;state:RR')
  t.match(textOf(html), /De onde vem este número.*O que o número diz/)
  // A record that adds up many published rows names its column, and no row.
  t.notMatch(textOf(html), /linha ,/)
  const facilities = await get('/explorer?m=facilities_count&by=state&cell=facilities_count;state:RR')
  // A record that counts once names its row, and no column.
  t.match(textOf(facilities.html), /tbEstabelecimento\d{6}\. ?csv .{0,60}linha \d+ SHA-256/)
  t.notMatch(facilities.html, '<code></code>')
})

t.test('sums and contributions of money have their cents, also below a ratio', async (t) => {
  const cell = { group_by: ['state'], key: { state: 'RR' }, limit: 20 }
  const panelOf = async (search: string): Promise<string> =>
    textOf((await get(`/explorer?by=state&${search}`)).html).split('De onde vem este número')[1] ?? ''
  const money = { ...cell, metrics: ['admissions_value'], metric: 'admissions_value' }
  for (const [search, body, title] of [
    ['m=admissions_value&cell=admissions_value;state:RR', money, 'Soma dos registros'],
    [
      'm=admissions_value&cell=admissions_value;state:RR&prices=2026-03',
      { ...money, prices: '2026-03' },
      'Soma dos registros',
    ],
    [
      'm=average_admission_value&cell=average_admission_value;state:RR',
      { ...cell, metrics: ['average_admission_value'], metric: 'average_admission_value', side: 'numerator' },
      'Numerador',
    ],
  ] as const) {
    const { data, meta } = await ask(body, '/v1/analytics/lineage')
    const panel = await panelOf(search)
    t.ok(panel.includes(`${title}: ${shown(meta.total, 2)} `), `${search}: ${meta.total}`)
    for (const { contribution } of data)
      t.ok(panel.includes(` ${shown(contribution, 2)} `), `${contribution}`)
    t.equal(panel.includes('Valores arredondados'), 'prices' in body, 'constant prices have more decimals')
  }
  t.match(
    await panelOf('m=average_admission_value&cell=average_admission_value;state:RR'),
    /Denominador: [\d.]+ /,
    'counts have no cents',
  )
})

t.test('a place, a facility, a search, the releases', async (t) => {
  const place = textOf((await get('/explorer/places/municipality/1400100')).html)
  t.match(place, /Boa Vista/)
  t.match(place, /Roraima/)
  t.match(place, /Brasil/)
  const [, cnes = ''] =
    /\/explorer\/facilities\/(\d{7})/.exec((await get('/explorer/places/municipality/1400100')).html) ?? []
  const facility = textOf((await get(`/explorer/facilities/${cnes}`)).html)
  t.ok(facility.includes(`CNES ${cnes}`))
  t.match(facility, /tbEstabelecimento\d{6}\.csv/, 'each value with its file')
  const offerings = JSON.parse((await get('/explorer/api/v1/specialized-service-offerings?limit=1')).html)
  const offering = textOf((await get(`/explorer/facilities/${offerings.data[0].cnes_code}`)).html)
  t.match(offering, /Própria|Terceirizada/, 'codes of services as words')
  t.notMatch(offering, /NOT_INFORMED|NOT_APPLICABLE/)
  const found = await get('/explorer/search?text=vista%20boa')
  const count = '(nenhum|\\d+|os primeiros \\d+, há mais)'
  t.match(textOf(found.html), new RegExp(`Lugares: ${count} · Estabelecimentos: ${count}`))
  const places = textOf((await get('/explorer/search?text=1400175')).html)
  t.match(places, 'Lugares: 1 · Estabelecimentos: nenhum')
  t.equal(found.status, 200)
  const releases = textOf((await get(`/explorer/releases/${server.release.result.cnes}`)).html)
  t.match(releases, /Cobertura: o que foi coletado/)
  t.match(releases, /tbEstabelecimento\d{6}\.csv/)
  t.equal((await get('/explorer/places/planet/1')).status, 404)
  t.equal((await get('/explorer/facilities/0000000')).status, 404)
})

t.test('each release of a joined release has its page', async (t) => {
  const { html } = await get('/explorer/releases')
  const { data } = JSON.parse((await get('/explorer/api/v1/releases')).html)
  t.same(
    new Set(data.map(({ area }: { area: string }) => area)),
    new Set(['analytics', 'cnes', 'demography', 'sih']),
  )
  for (const { release_id } of data) {
    t.ok(html.includes(`href="/explorer/releases/${release_id}"`), release_id)
    const page = await get(`/explorer/releases/${release_id}`)
    t.equal(page.status, 200, release_id)
    t.match(textOf(page.html), /Feita com sus-data/, release_id)
    t.notMatch(textOf(page.html), /undefined|\(null\)/, release_id)
  }
})

/** Limits have two decimals, also those of counts. */
const limitsText = ({ lower, upper }: { lower: number; upper: number }): string =>
  `IC 95 % ${shown(lower, 2)} – ${shown(upper, 2)}`

/** From the nearer end: the percentile is the part of the other places that are smaller. */
function rankText(peers: { rank: number; places: number; percentile: number }): string {
  const fromSmallest = Math.round((peers.percentile * (peers.places - 1)) / 100) + 1
  const end =
    fromSmallest < peers.rank ? `${shown(fromSmallest, 0)}º menor` : `${shown(peers.rank, 0)}º maior`
  return `${end} de ${shown(peers.places, 0)}`
}

t.test('the page of a place has every number of its profile, and finds its facilities', async (t) => {
  for (const path of ['municipality/1400100', 'country/BR']) {
    const response = await fetch(`${server.address}/v1/profiles/${path}`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    const { data } = (await response.json()) as any
    const { html } = await get(`/explorer/places/${path}`)
    const text = textOf(html)
    let count = 0
    for (const { label, indicators } of data.blocks) {
      t.ok(text.includes(label), label)
      for (const indicator of indicators) {
        count += 1
        for (const name of ['value', 'comparator'])
          if (typeof indicator[name] === 'number')
            t.ok(text.includes(shown(indicator[name], indicator.decimals)), `${indicator.metric} ${name}`)
        if (indicator.lower !== null)
          t.ok(text.includes(limitsText(indicator)), `${indicator.metric}: ${limitsText(indicator)}`)
        if (indicator.peers !== null)
          t.ok(text.includes(rankText(indicator.peers)), `${indicator.metric} rank`)
        if (indicator.period?.months > 1)
          t.ok(text.includes(`, ${indicator.period.months} meses`), `${indicator.metric} months`)
      }
    }
    t.ok(count >= 12, `${path}: ${count} indicators`)
    for (const { population } of data.population_by_age.groups) t.ok(text.includes(shown(population, 0)))
  }
  const state = textOf((await get('/explorer/places/state/RR')).html)
  t.match(state, 'incompleto', 'a comparator that was not collected in full says so')
  t.match(state, '“Incompleto”: Brasil não tem valor nesse período')
  const country = textOf((await get('/explorer/places/country/BR')).html)
  t.notMatch(country, 'Entre todos', 'no column without a value')
  t.match(country, /80\+ .* 5–9 .* 0–4 /, 'ages')
  const all = await get('/explorer/places/municipality/1400100')
  t.match(textOf(all.html), 'Roraima (estado)', 'the comparator with its level')
  const [, name = ''] = /facilities\/\d{7}">([^<]+)</.exec(all.html) ?? []
  const one = await get(`/explorer/places/municipality/1400100?facility=${encodeURIComponent(name)}`)
  t.ok(one.html.includes(name))
  t.ok(one.html.split('/explorer/facilities/').length < all.html.split('/explorer/facilities/').length)
  const none = await get('/explorer/places/municipality/1400100?facility=zzzz')
  t.match(textOf(none.html), /Nada encontrado/)
})

t.test(
  'home: national figures as the API answers them, states by the chosen indicator, what is here',
  async (t) => {
    const response = await fetch(`${server.address}/v1/profiles/country/BR`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    const { data } = (await response.json()) as any
    const { html } = await get('/?map=facilities_per_100k')
    const text = textOf(html)
    t.match(text, /Qual é o seu município\?/)
    t.match(html, /<form[^>]* action="\/explorer\/search"/)
    t.equal(html.match(/<li><span class="name">/g)?.length, 6, 'six figures')
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const indicators = data.blocks.flatMap((block: any) => block.indicators)
    for (const metric of ['population_estimated', 'beds_sus_per_100k', 'facilities_count']) {
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const { value, decimals } = indicators.find((indicator: any) => indicator.metric === metric)
      t.ok(text.includes(shown(value, decimals)), metric)
    }
    const states = await ask({ metrics: ['facilities_per_100k'], group_by: ['state'] })
    for (const { label, metrics } of states.data)
      t.ok(text.includes(`${label} ${shown(metrics.facilities_per_100k, 2)}`), label)
    t.match(text, /Cadastro \(CNES\) mar–mai 2026, 3 meses /, 'first and newest month, and number of months')
    t.match(text, /É a primeira versão em uso aqui/)
  },
)

t.test(
  'rows per month, quarter, four months or year; lines over each, with limits as whiskers',
  async (t) => {
    const months = await get('/explorer?m=hospital_mortality_share&by=reference_period&in.state=RR')
    for (const time of ['reference_quarter', 'reference_quadrimester', 'reference_year'])
      t.match(months.html, `href="/explorer?m=hospital_mortality_share&amp;by=${time}&amp;in.state=RR"`, time)
    const question =
      '?m=hospital_mortality_share&by=state,reference_period&in.state=AC,RR&from=2026-03&to=2026-05&limits=0.95&view=lines'
    const { html } = await get(`/explorer${question}`)
    const { data } = await ask({
      metrics: ['hospital_mortality_share'],
      group_by: ['state', 'reference_period'],
      filters: [
        { dimension: 'state', operator: 'IN', value: ['AC', 'RR'] },
        { dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-03', '2026-05'] },
      ],
      limits: 0.95,
    })
    const limited = data.filter(
      (row: { metrics: Record<string, number | null> }) =>
        row.metrics.hospital_mortality_share__lower !== null,
    )
    t.ok(limited.length > 2)
    t.equal(
      html.match(/<line class="whisker"/g)?.length,
      2 * limited.length,
      'for wide and for narrow screens',
    )
    for (const { dimensions, metrics } of limited)
      t.match(
        html,
        `${dimensions.state.name}, ${formatMonth(dimensions.reference_period.code, 'pt')}: ${shown(metrics.hospital_mortality_share, 2)}, limites ${shown(metrics.hospital_mortality_share__lower, 2)} a ${shown(metrics.hospital_mortality_share__upper, 2)}`,
      )
  },
)

t.test(
  'a pasted group of municipalities is a row; names of several municipalities are asked back',
  async (t) => {
    const paste = encodeURIComponent('Boa Vista - RR\n140017\nBom Jesus\nXanadu')
    const { html } = await get(`/explorer?m=bed_capacity_sus&group.name=Norte&group.paste=${paste}`)
    const { data } = await ask({
      metrics: ['bed_capacity_sus'],
      group_by: ['pair'],
      groupings: {
        pair: {
          dimension: 'municipality',
          others: 'group',
          groups: [{ code: '1', name: 'Norte', members: [1400100, 1400175] }],
        },
      },
    })
    const text = textOf(html)
    t.match(text, `Norte ${shown(data[0].metrics.bed_capacity_sus, 0)}`)
    t.match(text, `Outros ${shown(data[1].metrics.bed_capacity_sus, 0)}`)
    t.match(text, 'Norte: 2 municípios')
    t.match(text, /Bom Jesus : qual deles\?.*Bom Jesus \(PB\)/)
    t.match(text, 'Xanadu : nenhum município')
    const [, chosen = ''] = /href="([^"]*)"[^>]*>Bom Jesus \(PB\)/.exec(html.replaceAll('<!-- -->', '')) ?? []
    t.match(textOf((await get(chosen.replaceAll('&amp;', '&'))).html), 'Norte: 3 municípios')
  },
)

t.test('a group that is too large is refused, and nothing of it is left out', async (t) => {
  const { data } = await ask({ metrics: ['facilities_count'], group_by: ['municipality'], limit: 501 })
  const codes: number[] = data.map((row: Answered) => row.dimensions.municipality.code)
  const at = async (group: string): Promise<string> =>
    (await get(`/explorer?m=facilities_count&group.name=G&${group}`)).html
  const pasted = await at(`group.paste=${codes.join('%0A')}`)
  t.match(textOf(pasted), 'O grupo tem 501 municípios; cabem 500.')
  t.notMatch(pasted, '<table', 'no answer')
  t.match(pasted, new RegExp(`<textarea[^>]*>${codes.join('\\n')}</textarea>`), 'the text stays')
  t.match(
    textOf(await at(`group.in=${codes.join(',')}&lang=en`)),
    'The group has 501 municipalities; 500 fit.',
  )
  t.match(textOf(await at(`group.in=${codes.slice(1).join(',')}`)), 'G: 500 municípios')
  t.match(
    textOf(await at('group.in=1200401%201600303,1400100')),
    'Grupo de municípios : “1200401 1600303” deve ser um código do IBGE',
  )
  const { api } = listeningApi()
  const paste = 'Boa Vista, RR\n'.repeat(1500)
  const search = `?m=facilities_count&group.paste=${encodeURIComponent(paste)}`
  const loaded = await loadVisit({ path: '/explorer', search }, api, { isLive: true })
  const long = (loaded.kind === 'data' ? loaded.data : null) as ExploreData | null
  t.equal(long?.problem?.detail, 'O texto colado tem 20.999 caracteres; cabem 20.000.')
  t.equal(long?.question.group?.paste, paste.trim())
})

t.test('names of a pinned question are those of its release', async (t) => {
  const { api, paths } = listeningApi()
  const release = server.release.result.analytics
  const search = `?m=facilities_count&group.paste=140010&release=${release}`
  await loadVisit({ path: '/explorer', search }, api, { isLive: true })
  const lists = paths.filter((path) => path.includes('/municipality/values'))
  t.ok(lists.length > 0 && lists.every((path) => path.includes(`expected_release_id=${release}`)))
})

t.test('places side by side have the numbers of their profiles, and one scale a row', async (t) => {
  const profileOf = async (path: string) => {
    const response = await fetch(`${server.address}/v1/profiles/${path}`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    return ((await response.json()) as any).data
  }
  const profiles = [await profileOf('municipality/1400100'), await profileOf('state/RR')]
  const address = '/explorer/compare?place=municipality:1400100&place=state:RR'
  const { status, html } = await get(address)
  t.equal(status, 200)
  const rows = html.split('<tr>')
  let compared = 0
  for (const block of profiles[0].blocks)
    for (const { metric, label, decimals, value, ...limits } of block.indicators) {
      const other = profiles[1].blocks
        .flatMap(({ indicators }: { indicators: unknown[] }) => indicators)
        .find((indicator: { metric: string }) => indicator.metric === metric)
      if (value === null || other?.value == null) continue
      const row = textOf(rows.find((text) => text.includes(`/explorer/indicators/${metric}"`)) ?? '')
      t.ok(row.startsWith(` ${label} `), label)
      t.match(row, shown(value, decimals), `${metric} of the municipality`)
      t.match(row, shown(other.value, decimals), `${metric} of the state`)
      if (limits.lower !== null) t.match(row, limitsText(limits), `${metric}: limits`)
      compared += 1
    }
  t.ok(compared > 15)
  const searched = await get(`${address}&text=canta`)
  const link = `href="/explorer/compare?place=municipality:1400100&amp;place=state:RR&amp;place=municipality:1400175"`
  t.match(searched.html, link, 'a place that was found can be added')
  t.match(html, 'href="/explorer/compare?place=state:RR"', 'and each taken away')
  t.match(textOf((await get('/explorer/compare?place=municipality:9999999')).html), 'municipality:9999999')
  t.match((await get('/explorer/places/state/RR')).html, 'href="/explorer/compare?place=state:RR"')
  t.equal((await get('/explorer/compare')).status, 200)

  const late = (await get('/explorer/compare?place=state:AP&place=state:RR&place=state:AC')).html
  const row = late.split('<tr>').find((text) => text.includes('/explorer/indicators/icsap_share"')) ?? ''
  t.match(textOf(row), /^ Proporção [^,]+ %, mar–mai 2026 /, 'the months of most places')
  t.equal(row.split('outro período: mar–abr 2026').length, 2, 'Amapá came late')
  t.match(textOf(row), /IC 95 % \d+,\d\d – \d+,\d\d/)
  t.equal(row.split('class="strip"').length, 3, 'values of other months are not drawn on the common scale')
})

t.test('an indicator without values has no chart of them, and its sheet is in sentences', async (t) => {
  const [without, withValues] = [
    await get('/explorer/indicators/fetal_deaths'),
    await get('/explorer/indicators/bed_capacity_sus'),
  ]
  t.notMatch(textOf(without.html), 'Ao longo do tempo', 'the release has no deaths')
  t.match(textOf(withValues.html), 'Ao longo do tempo')
  t.match(textOf(without.html), /SIM, DOFET\. O ano final [^.]+\. Um ano final [^.]+\./)
})

t.test('an indicator: its sheet, the states as the API answers them, the answer to take along', async (t) => {
  const code = 'beds_sus_share'
  const response = await fetch(`${server.address}/v1/analytics/metrics/${code}`, {
    headers: { authorization: `Bearer ${server.key}` },
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
  const { data } = (await response.json()) as any
  const text = textOf((await get(`/explorer/indicators/${code}`)).html)
  for (const part of [data.label, data.sheet.method, ...data.sheet.limitations])
    t.ok(text.includes(part), part)
  const states = await ask({ metrics: [code], group_by: ['state'] })
  for (const { label, metrics } of states.data)
    if (metrics[code] !== null) t.ok(text.includes(`${label} ${shown(metrics[code], 2)}`), label)
  t.match(text, /Baixar XLSX/)
  t.notMatch(text, /bed_capacity_sus ÷|over_period/, 'the formula is in words')
  t.match(text, /Estados, do maior ao menor mai 2026 .*Tabela mai 2026/)
  t.match(text, /Ao longo do tempo Brasil/)
  t.equal((await get('/explorer/indicators/no_such_metric')).status, 400)
})

t.test(
  'an indicator of flows ranks the months that profiles add up, and no member without a code',
  async (t) => {
    const code = 'icsap_share'
    const { html } = await get(`/explorer/indicators/${code}`)
    t.match(html, /by=residence_region/)
    const text = textOf(html)
    t.match(text, /Estados, do maior ao menor mar–mai 2026 .*Tabela mar–mai 2026/)
    t.match(text, /Óbitos|internações/i, 'its meaning leads')
    const months = { dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-03', '2026-05'] }
    const { data } = await ask({ metrics: [code], group_by: ['residence_state'], filters: [months] })
    const listed = data.filter(
      (row: { metrics: Record<string, number | null> }) => row.metrics[code] !== null,
    )
    t.ok(
      listed.some(
        ({ dimensions }: { dimensions: Record<string, { code: string | null }> }) =>
          dimensions.residence_state?.code === 'RR',
      ),
    )
    for (const { label, metrics, dimensions } of listed)
      t.equal(
        text.includes(`${label} ${shown(metrics[code], 2)}`),
        dimensions.residence_state?.code != null,
        label,
      )
    t.notMatch(text, /Não informado/)
    const profile = await (
      await fetch(`${server.address}/v1/profiles/state/RR`, {
        headers: { authorization: `Bearer ${server.key}` },
      })
    ).json()
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    const indicators = (profile as any).data.blocks.flatMap((block: any) => block.indicators)
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    const { value } = indicators.find(({ metric }: any) => metric === code)
    t.ok(text.includes(`Roraima ${shown(value, 2)}`), 'as in the profile')
  },
)

/** Cells of the table rows below a heading, as they are read. */
const rowsBelow = (html: string, id: string): string[][] =>
  [...(html.split(` id="${id}"`)[1]?.split('<h2')[0] ?? '').matchAll(/<tr>(.*?)<\/tr>/gs)].map(
    ([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell).trim()),
  )

t.test(
  'flows of a place: who comes from where and where residents go, each number as the API answers it',
  async (t) => {
    const code = 1400175
    const { html, status } = await get(`/explorer/places/municipality/${code}/flows`)
    t.equal(status, 200)
    t.match(html, / id="residence-partners">Onde são internados/)
    for (const [end, filter, dimension] of [
      ['residence', 'residence_municipality', 'municipality'],
      ['hospital', 'municipality', 'residence_municipality'],
    ] as const) {
      const filters = [{ dimension: filter, operator: 'EQ', value: code }]
      const { data } = await ask({
        metrics: ['admissions', 'average_distance_km'],
        group_by: [dimension],
        filters,
        share_of: [],
        having: [{ metric: 'admissions', operator: 'GT', value: 0 }],
        order_by: [{ field: 'admissions', direction: 'desc' }],
      })
      const rows = rowsBelow(html, end)
        .filter((cells) => cells.length === 4)
        .slice(1)
      t.ok(data.length > 1)
      t.same(
        rows.map((cells) => cells.slice(1)),
        data.map(({ metrics }: { metrics: Record<string, number | null> }) => [
          shown(metrics.admissions ?? 0, 0),
          shown(metrics.admissions__share ?? 0, 2),
          metrics.average_distance_km === null ? 'sem dado' : shown(metrics.average_distance_km ?? 0, 0),
        ]),
        end,
      )
      t.match(rows.find(([name]) => name?.startsWith('Cantá'))?.[0], /este lugar/)
      const total = await ask({ metrics: ['admissions', 'average_distance_km'], group_by: [], filters })
      const sum = data.reduce(
        (all: number, row: { metrics: { admissions: number } }) => all + row.metrics.admissions,
        0,
      )
      t.equal(total.data[0].metrics.admissions, sum, 'partners add up')
      t.ok(rowsBelow(html, end).some((cells) => cells.length === 2 && cells[1] === shown(sum, 0)))
    }
    const pairs = rowsBelow(html, 'directions').slice(1)
    t.same(pairs[0], ['Boa Vista RR', '6', '0'], 'largest sum first, without the place itself')
    t.ok(pairs.every(([name]) => !name?.startsWith('Cantá')))
    const capital = rowsBelow((await get('/explorer/places/municipality/1400100/flows')).html, 'directions')
    t.ok(
      capital.some(([name = '', sent]) => !name.endsWith('RR') && sent === 'sem dado'),
      'other states were not collected, which is not 0',
    )

    const months = textOf(
      (await get('/explorer/places/state/RR/flows?by=health_region&from=2026-03&to=2026-05&lang=en')).html,
    )
    t.match(months, /Where patients come from and go: Roraima state RR · Mar 2026, Apr 2026, May 2026/)
    t.match(months, /Health region of residence/)
    for (const [path, expected] of [
      ['municipality/9999999', 404],
      ['health_macroregion/1401', 404],
      ['state/XX', 404],
      ['state/RR', 200],
    ] as const)
      t.equal((await get(`/explorer/places/${path}/flows`)).status, expected, path)
    const flowsOf = async (path: string): Promise<readonly string[][]> =>
      rowsBelow((await get(`/explorer/places/${path}/flows`)).html, 'directions')
    t.same(await flowsOf('municipality/140010'), capital, 'six digits name the same municipality')
    t.same(await flowsOf('state/rr'), await flowsOf('state/RR'))
  },
)

t.test(
  'flows of a place are of one month: totals are the sums of their tables, and home is the same in both',
  async (t) => {
    const total = async (period: string[]): Promise<number> => {
      const months = period.map((value) => ({ dimension: 'reference_period', operator: 'EQ', value }))
      const filters = [{ dimension: 'residence_state', operator: 'EQ', value: 'AP' }, ...months]
      const { data } = await ask({ metrics: ['admissions'], group_by: [], filters })
      return data[0].metrics.admissions
    }
    t.not(await total(['2026-04']), await total(['2026-03']), 'months differ')
    for (const path of ['state/AP', 'state/RR', 'municipality/1600303', 'municipality/1400100']) {
      const isLate = path.endsWith('AP') || path.includes('/16')
      const { html } = await get(`/explorer/places/${path}/flows`)
      t.match(
        textOf(html),
        isLate ? /· abr 2026 ·.*comum a todos os números desta página é abr 2026/ : /· mai 2026 ·/,
      )
      const homes = ['residence', 'hospital'].map((end) => {
        const rows = rowsBelow(html, end)
        const numberOf = (text = ''): number => Number(text.replaceAll('.', ''))
        const partners = rows.filter((cells) => cells.length === 4).slice(1)
        const sum = partners.reduce((all, [, admissions]) => all + numberOf(admissions), 0)
        t.ok(partners.length <= 25 && sum > 0, path)
        t.equal(numberOf(rows.find((cells) => cells.length === 2)?.[1]), sum, `${path} ${end}`)
        return partners.find(([name]) => name?.includes('este lugar'))?.[1]
      })
      t.ok(homes[0] !== undefined && homes[0] === homes[1], `${path}: ${homes}`)
      const addresses = [...html.matchAll(/href="\/explorer\?([^"]*in\.[^"]*)"/g)].map(([, search]) => search)
      t.ok(
        addresses.length > 4 && addresses.every((search) => search?.includes('period=2026-')),
        'links keep it',
      )
    }
    t.match(
      textOf((await get('/explorer/places/state/AP/flows?from=2026-03&to=2026-05')).html),
      /não coletado em AP/,
      'chosen months stay',
    )
    const regions = rowsBelow(
      (await get('/explorer/places/state/RR/flows?by=health_region')).html,
      'directions',
    )
    t.ok(
      regions.slice(1).every(([name]) => !name?.endsWith('RR')),
      'its own regions are no other places',
    )
    const states = rowsBelow(
      (await get('/explorer/places/municipality/1400100/flows?by=state')).html,
      'directions',
    )
    t.ok(
      states.slice(1).every(([name]) => name !== 'Roraima'),
      'nor is its state',
    )
  },
)

t.test('a place has the avoidable admissions of its residents beside those of the state', async (t) => {
  const { html } = await get('/explorer/places/municipality/1400100')
  const metrics = ['admissions', 'icsap_share', 'icsap_per_10k']
  const valuesOf = async (dimension: string, value: unknown): Promise<Record<string, number>> =>
    (await ask({ metrics, group_by: [], filters: [{ dimension, operator: 'EQ', value }] })).data[0].metrics
  const [city, state] = [
    await valuesOf('residence_municipality', 1400100),
    await valuesOf('residence_state', 'RR'),
  ]
  const rows = rowsBelow(html, 'residents')
  for (const [index, metric] of metrics.entries()) {
    const decimals = metric === 'admissions' ? 0 : 2
    const cells = rows[index + 1] ?? []
    t.equal(cells[1], shown(city[metric] ?? 0, decimals), metric)
    t.equal(cells[3], shown(state[metric] ?? 0, decimals), metric)
    t.equal(cells[4], 'sem dado', 'other states were not collected')
  }
  const { data: groups } = await ask({
    metrics: ['icsap_admissions'],
    group_by: ['icsap_group'],
    filters: [
      { dimension: 'residence_municipality', operator: 'EQ', value: 1400100 },
      { dimension: 'icsap_group', operator: 'EQ', value: '11' },
    ],
  })
  t.ok(textOf(html).includes(`Insuficiência cardíaca ${groups[0].metrics.icsap_admissions}`))
  t.match(html, /href="\/explorer\/places\/municipality\/1400100\/flows"/)
  const region = textOf((await get('/explorer/places/region/1')).html)
  t.notMatch(region, /Internações de quem mora aqui/, 'residence has no such level')
})

t.test('a release without admissions: no section of them, and flows say why', async (t) => {
  const plain = await startExplorer({ periods: 1 })
  t.teardown(() => plain.close())
  const place = await (await fetch(`${plain.address}/explorer/places/municipality/1400100`)).text()
  t.match(textOf(place), /Boa Vista/)
  t.notMatch(place, / id="residents"/)
  const flows = textOf(await (await fetch(`${plain.address}/explorer/places/state/RR/flows`)).text())
  t.match(flows, /estado RR · página do lugar/)
  t.match(flows, /não coletado em RR/)
  const cell = await fetch(`${plain.address}/explorer?m=admissions&by=state&cell=admissions;state:RR`)
  t.match(textOf(await cell.text()), /Soma dos registros: sem dado/, 'not 0')
})

t.test('both languages', async (t) => {
  t.match((await get('/explorer/places/country/BR?lang=en')).html, /<title>Brazil · sus-data<\/title>/)
  const { html } = await get('/explorer?m=bed_capacity_existing&by=state&lang=en')
  t.match(html, /<html lang="en">/)
  t.match(textOf(html), /Existing beds/)
  t.match(html, /lang=en/, 'links keep it')
  t.match((await get('/')).html, /<html lang="pt-BR">/)
})

t.test('the same address in another format', async (t) => {
  const page = await get('/explorer?m=bed_capacity_existing&by=state&format=csv')
  t.equal(page.status, 307)
  const file = await fetch(server.address + page.headers.get('location'))
  t.equal(file.status, 200)
  const lines = (await file.text()).trim().split(/\r?\n/)
  t.equal(lines.length, 1 + 1 + 27, 'its manifest, a header and 27 states')
  const workbook = await fetch(`${server.address}/explorer?m=bed_capacity_existing&by=state&format=xlsx`)
  t.match(workbook.headers.get('content-type'), /spreadsheetml/)
  t.match(workbook.headers.get('x-report-fingerprint'), /^[0-9a-f]{64}$/)
  const pasted = await get('/explorer?m=bed_capacity_existing&group.paste=Boa+Vista&format=csv')
  t.equal(pasted.status, 200, 'pasted names are looked up before anything is exported')
  t.match(pasted.html, '<html')

  const firstLineOf = async (path: string, browser: string): Promise<string> => {
    const file = await fetch(server.address + path, { headers: { 'accept-language': browser } })
    return (
      (await file.text()).split(/\r?\n/).find((line) => line.includes('eds') || line.includes('eitos')) ?? ''
    )
  }
  const csv = 'm=bed_capacity_existing&by=state&format=csv'
  t.match(await firstLineOf(`/explorer?${csv}`, 'en'), /Leitos existentes/, 'the language of the page')
  t.match(await firstLineOf(`/explorer?${csv}&lang=en`, 'pt-BR'), /Existing beds/)
  const { html } = await get('/explorer?m=bed_capacity_existing&by=state&lang=en')
  const [, link = ''] = /href="(\/explorer\/api\/v1\/analytics\/export\?format=csv[^"]*)"/.exec(html) ?? []
  t.match(await firstLineOf(link.replaceAll('&amp;', '&'), 'pt-BR'), /Existing beds/, 'links say it, too')
})

t.test('the operator’s key stays on the server’s side, and a visitor’s key wins', async (t) => {
  const { status } = await get('/explorer/api/v1/states')
  t.equal(status, 200)
  t.equal((await get('/v1/states')).status, 401, 'the API itself is as closed as before')
  t.equal((await get('/explorer/api/v1/states', { authorization: 'Bearer wrong' })).status, 401)
  t.equal((await get('/explorer/api/ready')).status, 404, 'the API alone')
})

t.test('without a key pages say what to do', async (t) => {
  const closed = await startExplorer({ release: server.release, hasKey: false })
  t.teardown(() => closed.close())
  const response = await fetch(`${closed.address}/explorer?m=bed_capacity_existing`)
  t.equal(response.status, 200)
  t.match(textOf(await response.text()), /SUS_EXPLORER_KEY/)
  t.equal((await fetch(`${closed.address}/explorer/api/v1/states`)).status, 401)
})

t.test('what a key may not read is neither nothing found nor none', async (t) => {
  const pagesOf = async (...capabilities: Capability[]) => {
    const limited = await startExplorer({ release: server.release, capabilities })
    t.teardown(() => limited.close())
    return async (path: string): Promise<string> => textOf(await (await fetch(limited.address + path)).text())
  }
  const search = '/explorer/search?text=boa+vista'
  const registry = await pagesOf('geo.read', 'facilities.read')
  t.match(
    await registry(search),
    /inventados.* Lugares: fora do alcance desta chave · Estabelecimentos: (\d|os)/,
  )
  const none = await registry('/explorer/search?text=zzzz')
  t.match(none, 'Lugares: fora do alcance desta chave · Estabelecimentos: nenhum')
  t.notMatch(none, 'Nada encontrado')
  t.match(await registry('/explorer/search?text=b'), /inventados.* Digite duas letras ou mais/)

  const analytics = await pagesOf('analytics.catalog.read', 'analytics.query.read', 'geo.read')
  t.match(
    await analytics(search),
    /inventados.* Lugares: os primeiros 10, há mais · Estabelecimentos: fora do alcance desta chave/,
  )
  t.match(await analytics('/explorer/search?text=b'), 'inventados')
  const sought = await analytics('/explorer/places/municipality/1400100?facility=zzzz')
  t.match(sought, 'Esta chave não dá acesso a estes dados')
  t.notMatch(sought, 'Nada encontrado')

  const withoutPopulation = CAPABILITIES.filter((capability) => capability !== 'demography.read')
  const cell = await (await pagesOf(...withoutPopulation))(
    '/explorer?m=beds_existing_per_100k&by=state&cell=beds_existing_per_100k;state:RR',
  )
  t.match(
    cell,
    /De onde vem este número .* Numerador: \d.* Denominador Esta chave não dá acesso a estes dados/,
  )
  t.notMatch(cell, 'Não foi possível responder')

  const query = await pagesOf('analytics.query.read')
  const compared = await query('/explorer/compare?place=state:SP&place=state:RJ&text=boa')
  t.equal(compared.split('Esta chave não dá acesso a estes dados').length, 3, 'of the table, of the search')
  t.notMatch(compared, 'Nada encontrado')
  t.notMatch((await get('/explorer/compare?place=state:SP&place=state:RJ')).html, 'Esta chave não dá acesso')
})

t.test('a rate that is used up is said in words', async (t) => {
  const slow = await startExplorer({ release: server.release, rate: 3 })
  t.teardown(() => slow.close())
  const response = await fetch(`${slow.address}/explorer?m=bed_capacity_existing`)
  t.match(textOf(await response.text()), /Muitos pedidos/)
})

t.test('limits, comparator and status stand beside the values, as text and symbol', async (t) => {
  const question = 'm=hospital_mortality_share&by=state&from=2026-03&limits=0.95&compare=region&status=yes'
  const [{ status, html }, answer] = await Promise.all([
    get(`/explorer?${question}`),
    ask({
      metrics: ['hospital_mortality_share'],
      group_by: ['state'],
      filters: [{ dimension: 'reference_period', operator: 'GTE', value: '2026-03' }],
      limits: 0.95,
      compare_to: { with: 'region' },
      status: true,
    }),
  ])
  t.equal(status, 200)
  const acre = answer.data.find(({ label }: { label: string }) => label === 'Acre').metrics
  const text = textOf(html)
  t.ok(
    text.includes(
      `(${shown(acre.hospital_mortality_share__lower, 2)} – ${shown(acre.hospital_mortality_share__upper, 2)})`,
    ),
    'limits of Acre',
  )
  t.match(html, /<abbr class="status" title="preliminar: a fonte ainda costuma rever esses meses">†<\/abbr>/)
  t.match(html, /title="não coletado: faltam os arquivos da fonte"/)
  t.match(text, /comparador: não comparado/, 'the North was not collected in full')
  t.match(html, /<option value="0.95" selected[^>]*>95 %/)
  const bars = await get(`/explorer?${question}&view=bars&lang=en`)
  t.match(bars.html, /class="whisker"><title>limits \d/)
  for (const view of ['bars', 'lines']) {
    const counts = await get(
      `/explorer?m=admissions&by=reference_period&in.state=RR&limits=0.95&view=${view}`,
    )
    t.match(counts.html, /limites \d[\d.]*,\d\d a \d[\d.]*,\d\d</, `${view}: limits of counts`)
    t.notMatch(counts.html, /limites \d[\d.]* a/, view)
  }
  const peers = await get(
    '/explorer?m=beds_existing_per_100k&by=municipality&in.state=RR&compare=peers&prices=2026',
  )
  t.equal(peers.status, 200)
  const form = async (by: string) => (await get(`/explorer?m=beds_existing_per_100k&by=${by}`)).html
  t.notMatch(await form('region'), /<select name="compare"[^>]* disabled/, 'regions have a country')
  t.match(await form('management_type'), /<select name="compare"[^>]* disabled/)
  const compared = await ask({
    metrics: ['beds_existing_per_100k'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
    compare_to: { with: 'peers' },
  })
  for (const { label, peers: count, metrics } of compared.data)
    t.ok(
      textOf(peers.html).includes(
        `${shown(metrics.beds_existing_per_100k__comparator, 2)} comparador: não comparado; ${shown(count, 0)} municípios semelhantes`,
      ),
      label,
    )
})
