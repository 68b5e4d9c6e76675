/**
 * The explorer in a real browser: whole journeys by pointer and by keyboard, each with its workbook verified; with the pages'
 * own key, with a visitor's and with none; refusals in words; without a script; on paper; and what axe-core finds in every view
 * and both themes. One browser and one release for all. Needs Chromium (SUS_CHROMIUM, or where Debian puts it).
 */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease, type SmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const chromiumPath = [process.env.SUS_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
)
if (chromiumPath === undefined) {
  t.pass('skipped: Chromium is not installed (apt-get install chromium, or SUS_CHROMIUM)')
  process.exit(0)
}
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Two months a year apart, and deaths and births, in service; beside it the release with gaps, which lacks states of the newer one. */
async function makeYear(): Promise<SmallRelease & { readonly other: string }> {
  const folder = temporaryFolder('explorer-year')
  const releasesDir = join(folder, 'releases')
  const snapshots = join(folder, 'data')
  await writeDemonstration({ out: snapshots, scale: 'small', seed: 1, periods: 13, vitalRecords: true })
  const result = await importPaths(
    ['ibge', 'datasus', 'territory', 'cnes/2025-05', 'cnes/2026-05', 'SIM', 'SINASC'].map((path) =>
      join(snapshots, path),
    ),
    { releasesDir, maxRejected: 0.001, makesRows: false },
  )
  const gaps = await makeSmallRelease('gaps')
  cpSync(gaps.releasesDir, releasesDir, { recursive: true, force: false })
  writePointer(releasesDir, result.analytics)
  return { folder, snapshots, releasesDir, result, other: gaps.result.analytics }
}

const release = await makeYear()
const server = await startExplorer({ release })
const admissions = await startExplorer({ release: await makeSmallRelease('admissions') })
const browser: Browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
t.teardown(async () => {
  await browser.close()
  await server.close()
  await admissions.close()
})

/** Waits until a page that loads something has shown it, maps that it draws once they come near the view included. */
async function settle(page: Page): Promise<void> {
  const awaitLoading = (): Promise<unknown> =>
    page.waitForFunction(
      () =>
        document.querySelector('[aria-busy=true]') === null &&
        !/Carregando…|Loading…/.test(document.getElementById('content')?.innerText ?? ''),
    )
  await awaitLoading()
  const top = await page.evaluate(() => scrollY)
  await page.waitForFunction(() => {
    const later = document.querySelector('.later')
    later?.scrollIntoView()
    return later === null
  })
  await awaitLoading()
  await page.evaluate((y) => scrollTo(0, y), top)
}

interface Opened {
  readonly page: Page
  /** Errors of scripts, and of the policy. */
  readonly problems: string[]
}
async function open(
  path: string,
  options: { scheme?: 'light' | 'dark'; width?: number; hasScript?: boolean; at?: string } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.scheme ?? 'light',
    javaScriptEnabled: options.hasScript ?? true,
    acceptDownloads: true,
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (4|5)\d\d/.test(message.text()))
      problems.push(message.text())
  })
  await page.goto((options.at ?? server.address) + path)
  // What charts and maps draw is loaded whole by the browser itself.
  if (options.hasScript !== false) await settle(page)
  return { page, problems }
}

function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => {
    child.on('error', () => resolve({ code: null, output: `${command} is not installed` }))
    child.on('close', (code) => resolve({ code, output }))
  })
}

// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
async function ask(body: unknown): Promise<any> {
  const response = await fetch(`${server.address}/v1/analytics/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

/** All that an answer shows but what the pointer or the arrows are on, which is in no address. */
const answerOf = (page: Page): Promise<string> =>
  page.locator('.answer').evaluate((answer) => {
    const copy = answer.cloneNode(true) as HTMLElement
    copy.querySelector('.reading')?.remove()
    return copy.textContent ?? ''
  })
const numberOf = (text: string): number =>
  Number(text.replaceAll('.', '').replace(',', '.').replace('+', '').replace('−', '-'))
const shown = (value: number, decimals = 0): string =>
  new Intl.NumberFormat('pt-BR', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    value,
  )

/** The workbook of the page verifies, and a browser that never was here sees the page by its address. */
async function prove(t: Test, page: Page): Promise<void> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Baixar XLSX').click()])
  const file = join(temporaryFolder('download'), 'report.xlsx')
  await download.saveAs(file)
  const tool = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const verified = await run(process.execPath, [tool, 'verify-report', file], {
    SUS_RELEASES_DIR: release.releasesDir,
  })
  t.equal(verified.code, 0, verified.output)
  t.match(verified.output, /reproduced/)
  await page.getByText('Fixar nesta versão').click()
  await settle(page)
  t.match(page.url(), /release=demo-analytics-/, 'the address holds the release')
  const { pathname, search } = new URL(page.url())
  const other = await open(pathname + search)
  t.equal(await answerOf(other.page), await answerOf(page), 'a new browser shows the same')
  t.same(other.problems, [])
  await other.page.context().close()
}

/** Presses Tab until what is wanted has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let count = 0; count < 150; count += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${wanted}`)
}

const choose = (page: Page, title: string): Locator =>
  page.locator('.picker summary', { hasText: title }).first()

const VIEWS = {
  home: '/',
  start: '/explorer',
  table: '/explorer?m=beds_existing_per_100k,bed_capacity_sus&by=state&order=-bed_capacity_sus',
  cell: '/explorer?m=beds_existing_per_100k&by=state&cell=beds_existing_per_100k;state:RR',
  totals: '/explorer?m=bed_capacity_sus&by=state&in.state=AC,RR&totals=yes&change=-12&period=2026-05',
  bars: '/explorer?m=bed_capacity_existing&by=state&view=bars',
  lines:
    '/explorer?m=bed_capacity_existing&by=state,reference_period&in.state=RR,AC,AP&view=lines&from=2025-05',
  multiples:
    '/explorer?m=bed_capacity_existing&by=state,reference_period&in.state=RR,AC,AP&view=multiples&from=2025-05',
  heat: '/explorer?m=bed_capacity_existing&by=state,reference_period&in.state=RR,AC,AP&view=heat&from=2025-05',
  scatter: '/explorer?m=bed_capacity_existing,facilities_count,population_census&by=state&view=scatter',
  map: '/explorer?m=bed_capacity_existing&by=municipality&in.state=RR&view=map',
  regions: '/explorer?m=icu_beds_existing_per_100k&by=health_region&in.state=AC&view=map',
  changes: `/explorer?m=equipment_in_use&by=state&in.state=AC&since=${release.other}`,
  healthRegion: '/explorer/places/health_region/12002',
  search: '/explorer/search?text=boa+vista',
  indicator: '/explorer/indicators/beds_sus_share',
  compare: '/explorer/compare?place=municipality:1400100&place=state:RR',
  group: '/explorer?m=bed_capacity_sus&group.name=Norte&group.in=1400100,1400175&group.paste=Bom+Jesus',
  place: '/explorer/places/municipality/1400100',
  state: '/explorer/places/state/RR',
  country: '/explorer/places/country/BR?lang=en',
  facility: '/explorer/facilities/CNES',
  releases: '/explorer/releases',
  problem: '/explorer?m=no_such_metric',
  picture:
    '/explorer?m=bed_capacity_existing,beds_existing_per_100k&by=municipality&in.state=RR&order=-bed_capacity_existing&cell=bed_capacity_existing;municipality:1400175',
  english: '/explorer?m=bed_capacity_existing&by=state&lang=en',
}
/** Views of the release with admissions. */
const ADMISSION_VIEWS = {
  flows: '/explorer/places/municipality/1400100/flows',
  flowsByRegion: '/explorer/places/state/RR/flows?by=health_region&from=2026-03&to=2026-05&lang=en',
  residents: '/explorer/places/municipality/1400175',
  funnel:
    '/explorer?m=hospital_mortality_share&by=facility&in.state=AC,RR&from=2026-03&to=2026-05&view=funnel',
}
const [, cnes = ''] =
  /\/explorer\/facilities\/(\d{7})/.exec(
    await (
      await fetch(
        `${server.address}/explorer?m=bed_capacity_existing&by=state&in.state=RR&cell=bed_capacity_existing;state:RR`,
      )
    ).text(),
  ) ?? []

t.test(
  'axe-core finds nothing, in either theme; nothing is wider than a phone or cut on paper',
  async (t) => {
    for (const [name, path] of Object.entries({ ...VIEWS, ...ADMISSION_VIEWS })) {
      const at = (name in ADMISSION_VIEWS ? admissions : server).address
      const { page, problems } = await open(path.replace('CNES', cnes), { at })
      if (name === 'table')
        // Everything that opens is open, too.
        for (const title of ['Métricas', 'Linhas', 'Filtros', 'Período', 'Totais'])
          await choose(page, title).click()
      const session = await page.context().newCDPSession(page)
      // Through the debugger, beside the page's policy.
      await session.send('Runtime.evaluate', { expression: AXE })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const found = await page.evaluate(async () => {
          // biome-ignore lint/suspicious/noExplicitAny: axe-core is a global of the page here.
          const { violations } = await (globalThis as any).axe.run(document, { resultTypes: ['violations'] })
          return violations.map(
            // biome-ignore lint/suspicious/noExplicitAny: as above.
            (violation: any) =>
              `${violation.id}: ${violation.nodes[0].html} ${violation.nodes[0].failureSummary}`,
          )
        })
        t.same(found, [], `${name}, ${colorScheme}`)
      }
      t.same(problems, [], `${name}: no errors`)
      const widthOf = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)
      for (const width of [390, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        t.ok((await widthOf()) <= width, `${name} fits into ${width} pixels`)
      }
      await page.emulateMedia({ media: 'print', colorScheme: 'light' })
      t.notOk(await page.locator('header nav').isVisible(), `${name}: no menus on paper`)
      if (name === 'place' || name === 'residents') {
        const paper = (await page.pdf({ format: 'A4', printBackground: true })).toString('latin1')
        const pages = paper.match(/\/Type *\/Page\b/g)?.length ?? 0
        // A release without admissions has too few blocks for two.
        t.ok(pages === 2 || (pages === 1 && name === 'place'), `${name}: a bulletin of ${pages} pages`)
      }
      if (name === 'table') t.notOk(await page.locator('form.question').isVisible(), 'nor forms')
      await page.context().close()
    }
  },
)

t.test('equipment in use by municipality with totals, from an empty page by pointer', async (t) => {
  const { page, problems } = await open('/explorer')
  await page.getByLabel('Equipamentos em uso', { exact: true }).check()
  await settle(page)
  await choose(page, 'Linhas da tabela').click()
  await page.getByLabel('Município', { exact: true }).check()
  await settle(page)
  await choose(page, 'Filtros').click()
  // They are many: named when they are wanted.
  await page.locator('.dimensions .unavailable summary').click()
  t.match(
    await page.locator('.dimensions .unavailable').innerText(),
    /Não existe para Equipamentos em uso[\s\S]*Tipo de leito/,
    'what does not go together is disabled and says why',
  )
  t.equal(await page.locator('.dimensions .unavailable input:enabled').count(), 0)
  await page.getByLabel('Buscar lugar, tipo, equipamento, serviço…').fill('acre')
  await page.locator('.found').getByLabel('Acre', { exact: true }).check()
  await settle(page)
  await choose(page, 'Totais').click()
  await page.getByLabel('Mostrar totais').check()
  await settle(page)
  t.match(page.url(), /m=equipment_in_use&by=municipality&in\.state=AC&totals=yes$/)
  const { data, totals } = await ask({
    metrics: ['equipment_in_use'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'AC' }],
    totals: true,
  })
  const rows = page.locator('table.results tbody').first().locator('tr')
  t.equal(await rows.count(), data.length)
  const numbers = (await rows.locator('td.number').allInnerTexts()).map(numberOf)
  const total = numberOf(await page.locator('tbody.totals td.number').last().innerText())
  t.equal(total, totals.at(-1).data[0].metrics.equipment_in_use)
  t.equal(
    total,
    numbers.reduce((sum, value) => sum + value, 0),
    'rows add up to the total',
  )
  await prove(t, page)

  await rows.first().locator('a.cell').click()
  await settle(page)
  await page.getByRole('heading', { name: 'De onde vem este número' }).waitFor()
  t.match(await page.locator('#lineage').innerText(), /rlEstabEquipamento202605\.csv[\s\S]*linha \d+, coluna/)
  await page.goBack()
  await settle(page)
  t.equal(await page.locator('#lineage').count(), 0, 'back is back')
  await page.getByText('Retirar: Unidade da Federação: Acre').locator('..').click()
  await settle(page)
  t.notMatch(page.url(), /in\.state/, 'a mark is taken away')
  t.same(problems, [])
  await page.context().close()
})

t.test('the change of SUS beds in a year, from an empty page by pointer', async (t) => {
  const { page, problems } = await open('/explorer')
  await page.getByLabel('Filtrar a lista: Métricas').fill('sus leitos')
  await page.getByLabel('Leitos SUS', { exact: true }).check()
  await settle(page)
  await choose(page, 'Linhas da tabela').click()
  await page.getByLabel('Unidade da Federação', { exact: true }).check()
  await settle(page)
  await choose(page, 'Período').click()
  await page.getByLabel('Comparar com').selectOption('-12')
  await settle(page)
  await choose(page, 'Totais').click()
  await page.getByLabel('Mostrar totais').check()
  await settle(page)
  const { data } = await ask({ metrics: ['bed_capacity_sus'], group_by: ['state'], change: { to: '-12' } })
  const numbersOf = async (row: string): Promise<number[]> =>
    (await page.locator('tr', { hasText: row }).last().locator('td.number').allInnerTexts()).map(numberOf)
  const sums = [0, 0, 0]
  for (const { label, metrics } of data) {
    const own = [
      metrics.bed_capacity_sus,
      metrics.bed_capacity_sus__base,
      metrics.bed_capacity_sus__change,
    ] as number[]
    if ((own[0] ?? 0) > 0) t.same((await numbersOf(label)).slice(0, 3), own, label)
    for (const [index, value] of own.entries()) sums[index] = (sums[index] ?? 0) + value
  }
  const total = await numbersOf('Total')
  t.equal(total.length, 4, 'now, before, difference, percent')
  t.same(total.slice(0, 3), sums)
  t.not(sums[2], 0, 'something has changed')
  await prove(t, page)
  for (const [place, month] of [
    [0, '202605'],
    [1, '202505'],
  ] as const) {
    await page.locator('tbody.totals a.cell').nth(place).click()
    await settle(page)
    const text = await page.locator('#lineage').innerText()
    t.match(text, new RegExp(`Soma dos registros: ${shown(total[place] ?? 0)}`))
    t.match(text, new RegExp(`rlEstabComplementar${month}\\.csv`), 'the rows of its month')
  }
  const before = await page.locator('#lineage tbody tr').count()
  await page.getByText('Mais registros').click()
  await settle(page)
  t.ok((await page.locator('#lineage tbody tr').count()) > before, 'more of the records')
  t.same(problems, [])
  await page.context().close()
})

t.test(
  'ICU beds per 100,000 by health region of a state on a map, from an empty page by keyboard',
  async (t) => {
    const { page, problems } = await open('/explorer')
    await page.keyboard.press('Tab')
    t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Ir para o conteúdo')
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByLabel('Filtrar a lista: Métricas'))
    await page.keyboard.type('uti existentes por 100')
    await page.keyboard.press('Enter')
    await settle(page)
    t.match(page.url(), /m=icu_beds_existing_per_100k$/, 'Enter takes the first that is found')
    await page.keyboard.press('Escape')
    t.match(await page.evaluate(() => document.activeElement?.textContent), /Escolher/, 'Escape closes')
    await tabTo(page, choose(page, 'Linhas da tabela'))
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByLabel('Filtrar a lista: Linhas da tabela'))
    await page.keyboard.type('saude regiao')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await settle(page)
    await tabTo(page, choose(page, 'Filtros'))
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByLabel('Buscar lugar, tipo, equipamento, serviço…'))
    await page.keyboard.type('acre')
    await page.locator('.found').getByLabel('Acre', { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await settle(page)
    t.match(page.url(), /m=icu_beds_existing_per_100k&by=health_region&in\.state=AC$/)
    await tabTo(page, page.locator('.views a', { hasText: 'Mapa' }))
    await page.keyboard.press('Enter')
    await page.locator('.map .place').first().waitFor()
    const map = page.locator('.map svg[role=application]')
    await tabTo(page, map)

    const { data } = await ask({
      metrics: ['icu_beds_existing_per_100k'],
      group_by: ['health_region'],
      filters: [{ dimension: 'state', operator: 'EQ', value: 'AC' }],
    })
    const values = new Map(
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      data.map(({ dimensions, metrics }: any) => [
        dimensions.health_region.name,
        metrics.icu_beds_existing_per_100k,
      ]),
    )
    const seen = new Set<string>()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowUp', 'ArrowLeft']) {
      await page.keyboard.press(key)
      const [name = '', value = ''] = (await page.locator('.reading').innerText()).split(': ')
      seen.add(name)
      t.equal(value.trim(), shown(Number(values.get(name)), 2), `${name} as the API says`)
      t.match(await page.locator('table.results tr', { hasText: name }).first().innerText(), value.trim())
    }
    t.ok(seen.size > 1, 'the arrows walk')
    const [name = ''] = (await page.locator('.reading').innerText()).split(':')
    await page.keyboard.press('+')
    t.notMatch(await map.locator('g').first().getAttribute('transform'), /scale\(1\)/)
    await page.keyboard.press('0')
    await page.keyboard.press('Enter')
    await settle(page)
    t.match(await page.locator('#lineage').innerText(), new RegExp(name), 'Enter shows the records')
    t.equal(await page.evaluate(() => document.activeElement?.id), 'lineage', 'the focus goes with the eye')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await settle(page)
    t.equal(await page.locator('#lineage').count(), 0, 'and closes')
    await prove(t, page)
    t.same(problems, [])
    await page.context().close()
  },
)

t.test('order, pages and the order of rows by keyboard', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_existing&by=municipality,state')
  t.match(await page.locator('.pages').innerText(), /1–100 de 5\.5\d\d linhas/)
  await page.getByText('Próxima página').focus()
  await page.keyboard.press('Enter')
  await settle(page)
  t.match(await page.locator('.pages').innerText(), /101–200/)
  await page.locator('th a', { hasText: 'Leitos existentes' }).focus()
  await page.keyboard.press('Enter')
  await settle(page)
  const values = (await page.locator('table.results td.number').allInnerTexts()).map(numberOf)
  t.same(
    values,
    [...values].sort((left, right) => right - left),
    'the largest first',
  )
  await page.locator('.mark a[title="Mover para antes"]').focus()
  await page.keyboard.press('Enter')
  await settle(page)
  t.match(
    page.url(),
    /by=state,municipality&order=-bed_capacity_existing/,
    'rows change places, the order stays',
  )
  await page.context().close()
})

t.test('a frame that scrolls shows that the keyboard is on it', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_existing&by=state')
  for (const frame of ['.scroll:has(table.results)', '.code .scroll']) {
    const scroll = page.locator(frame).first()
    await tabTo(page, scroll)
    t.match(await scroll.evaluate((element) => getComputedStyle(element).outline), / dashed 3px$/, frame)
  }
  await page.context().close()
})

t.test('a map of the country has outlines of fewer points until it is enlarged', async (t) => {
  const { page, problems } = await open('/explorer?m=bed_capacity_existing&by=state')
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/v1/geo/outlines/')) asked.push(new URL(request.url()).search)
  })
  await page.getByRole('link', { name: 'Mapa' }).click()
  await page.locator('.map path').first().waitFor()
  const map = page.locator('.map svg[role=application]')
  await map.press('+')
  await map.press('+')
  await settle(page)
  t.equal(asked.length, 1)
  t.match(asked[0], /detail=overview/)
  const more = page.waitForRequest(/geo.outlines/)
  await map.press('+')
  t.ok(await map.locator('path').count(), 'what is drawn stays until there is more')
  await more
  t.equal(asked.length, 2)
  t.notMatch(asked[1], /overview/)
  t.same(problems, [])
  await page.context().close()
})

t.test('charts and a map saved as images say what they are of', async (t) => {
  for (const view of ['bars', 'lines', 'multiples', 'heat', 'scatter', 'map'] as const) {
    const { page, problems } = await open(VIEWS[view])
    await page.locator('figure svg').first().waitFor()
    const saved = async (format: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator(`[data-picture=${format}]`).click(),
      ])
      t.match(download.suggestedFilename(), new RegExp(`^sus-data-[0-9a-f]{12}\\.${format}$`))
      return readFileSync(await download.path())
    }
    const svg = (await saved('svg')).toString()
    const title = await page.locator('h1').innerText()
    t.match(svg, title.split('\n')[0]?.trim(), view)
    t.match(svg, release.result.analytics, `${view}: release`)
    t.match(svg, /Impressão digital da resposta: [0-9a-f]{64}/, `${view}: fingerprint`)
    t.match(svg, 'dados inventados', `${view}: synthetic`)
    if (view === 'bars')
      for (const value of await page.locator('.bars .value').allInnerTexts()) t.match(svg, `>${value}<`)
    else t.ok((svg.match(/<path/g)?.length ?? 0) >= (await page.locator('figure svg:visible path').count()))
    const png = await saved('png')
    t.equal(png.subarray(1, 4).toString(), 'PNG')
    t.equal(png.readUInt32BE(16), 1920, `${view}: width`)
    t.same(problems, [])
    await page.context().close()
  }
})

t.test('what changed since another release, on the same table', async (t) => {
  const { page } = await open(VIEWS.changes)
  const table = page.locator('.changes table')
  t.match(await table.innerText(), /Acre[\s\S]*Equipamentos em uso/)
  t.match(await table.innerText(), /\d+ valores revistos, \d+ reclassificados/)
  await page.context().close()
})

t.test('the citation names release and fingerprint; the query runs as it is shown', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_sus,beds_sus_share&by=state')
  const { meta, data } = await ask({ metrics: ['bed_capacity_sus', 'beds_sus_share'], group_by: ['state'] })
  const codeOf = async (label: string): Promise<string> =>
    (await page.locator(`button[aria-label="Copiar: ${label}"]`).getAttribute('data-copy')) ?? ''
  const abnt = await codeOf('Citação (ABNT)')
  for (const part of [meta.release_id, meta.fingerprint, `release=${meta.release_id}`, 'Leitos SUS'])
    t.ok(abnt.includes(part), part)
  t.match(abnt, /^SUS-DATA\..*\[dados fictícios.*Disponível em: http\S+\. Acesso em: \d+ \S+ \d{4}\.$/)
  const bibtex = await codeOf('BibTeX')
  t.match(bibtex, /^@misc\{susdata_[0-9a-f]{12},[\s\S]*\n\}$/)
  t.equal(bibtex.split('{').length, bibtex.split('}').length, 'braces are closed')

  const env = { SUS_KEY: server.key }
  const curl = await run('sh', ['-c', await codeOf('curl')], env)
  t.same(JSON.parse(curl.output).data, data, 'curl')
  const python = await run('python3', ['-c', `${await codeOf('Python')}\nprint(json.dumps(rows))`], env)
  if (python.code === null) t.comment(python.output)
  else t.same(JSON.parse(python.output), data, 'Python')
  const script = join(temporaryFolder('snippet'), 'query.mts')
  writeFileSync(
    script,
    `${(await codeOf('TypeScript')).replace('…', server.key)}\nconsole.log(JSON.stringify(rows))`,
  )
  const loader = createRequire(import.meta.url).resolve('tsx')
  const typed = await run(process.execPath, ['--import', pathToFileURL(loader).href, script], env)
  t.same(JSON.parse(typed.output), data, 'TypeScript')
  t.match(await codeOf('R'), /req_body_raw\(r"\(\{/)
  await page.context().close()
})

t.test('without a script: form, filters, order, records, charts, places, search', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_existing&by=state', { hasScript: false })
  t.equal(await page.locator('table.results tbody tr').count(), 27)
  await choose(page, 'Métricas').click()
  await page.locator('input[name="m"][value="bed_capacity_sus"]').check()
  await choose(page, 'Filtros').click()
  await page.locator('details.filter summary', { hasText: 'Unidade da Federação' }).click()
  await page.locator('input[name="in.state"][value="RR"]').check()
  await choose(page, 'Totais').click()
  await page.getByLabel('Mostrar totais').check()
  await page.getByRole('button', { name: 'Atualizar' }).click()
  t.match(page.url(), /bed_capacity_sus/)
  t.equal(await page.locator('table.results thead th').count(), 3)
  t.equal(await page.locator('table.results tbody tr').count(), 2, 'Roraima and the total')
  await page.locator('a.cell').first().click()
  t.match(await page.locator('#lineage').innerText(), /rlEstabComplementar202605\.csv/)
  await page.locator('.views a', { hasText: 'Barras' }).click()
  t.ok(await page.locator('.bars rect').first().isVisible())
  await page.locator('.views a', { hasText: 'Mapa' }).click()
  t.match(await page.locator('.answer').innerText(), /O mapa precisa de JavaScript/)
  await page.locator('#search-text').fill('vista boa')
  await page.getByRole('button', { name: 'Buscar' }).click()
  await page.locator('.results-list a', { hasText: 'Boa Vista' }).first().click()
  t.match(await page.locator('h1').innerText(), /Boa Vista/)
  const [workbook] = await Promise.all([
    page.waitForEvent('download'),
    page.goto(`${server.address}/explorer?m=bed_capacity_existing&by=state&format=xlsx`).catch(() => null),
  ])
  t.match(workbook.suggestedFilename(), /\.xlsx$/)
  await page.context().close()
})

t.test('a visitor’s key: asked for, used in this tab alone, forgotten', async (t) => {
  const closed = await startExplorer({ release, hasKey: false })
  t.teardown(() => closed.close())
  const { page } = await open('/explorer?m=bed_capacity_existing&by=state', { at: closed.address })
  t.match(await page.locator('#content').innerText(), /cole uma chave/)
  await page.locator('#content #key').fill(closed.key)
  await page.locator('#content').getByRole('button', { name: 'Usar a chave' }).click()
  await settle(page)
  await page.locator('table.results').waitFor()
  t.equal(await page.locator('table.results tbody tr').count(), 27)
  t.notMatch(page.url(), /sus_/)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Baixar CSV').click()])
  t.match(download.suggestedFilename(), /\.csv$/)
  await page.reload()
  await page.locator('table.results').waitFor()
  t.equal(await page.locator('table.results tbody tr').count(), 27, 'a reload keeps it')
  const beside = await page.context().newPage()
  await beside.goto(`${closed.address}/explorer?m=bed_capacity_existing&by=state`)
  await settle(beside)
  t.match(await beside.locator('#content').innerText(), /cole uma chave/, 'another tab has none')
  await page.getByRole('button', { name: 'Esquecer a chave' }).click()
  await settle(page)
  t.match(await page.locator('#content').innerText(), /cole uma chave/)
  await page.locator('#content #key').fill('sus_wrong')
  await page.locator('#content').getByRole('button', { name: 'Usar a chave' }).click()
  await page.locator('[role=alert]').waitFor()
  t.match(await page.locator('[role=alert]').innerText(), /A chave não é válida/)
  await page.context().close()
})

t.test('a group whose name is one long word fits into 320 pixels', async (t) => {
  const group = `group.name=${'Consorcio'.repeat(6)}&group.in=1400100,1400175`
  for (const search of [
    '',
    '&view=bars',
    '&by=group,reference_period&view=lines',
    '&cell=bed_capacity_sus;group:1',
  ]) {
    const { page } = await open(`/explorer?m=bed_capacity_sus&${group}${search}`, { width: 320 })
    const width = await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true
      return document.documentElement.scrollWidth
    })
    t.equal(width, 320, search)
    await page.context().close()
  }
})

t.test('what cannot be answered is said in words, with a way on', async (t) => {
  const gone = await open(
    `/explorer?m=bed_capacity_existing&release=${release.result.analytics.replace(/.$/, 'x')}`,
  )
  t.match(await gone.page.locator('[role=alert]').innerText(), /não está mais neste servidor/, '409')
  await gone.page.getByText('Seguir a versão em uso').first().click()
  await settle(gone.page)
  t.equal(await gone.page.locator('table.results').count(), 1, 'the release in service answers')

  const slow = await startExplorer({ release, rate: 60 })
  t.teardown(() => slow.close())
  const limited = await open('/explorer?m=bed_capacity_existing&by=state', { at: slow.address })
  for (let turn = 0; turn < 20; turn += 1) {
    if ((await limited.page.locator('[role=alert]').count()) > 0) break
    // Another order each time: what the page has already asked for it does not ask for again.
    await limited.page.evaluate(() =>
      document.querySelector<HTMLElement>('table.results thead th a')?.click(),
    )
    await settle(limited.page)
  }
  t.match(
    await limited.page.locator('[role=alert]').innerText(),
    /Muitos pedidos[\s\S]*Tentar de novo/,
    '429',
  )

  const empty = await startExplorer({ release: { ...release, releasesDir: temporaryFolder('no-release') } })
  t.teardown(() => empty.close())
  const closed = await open('/explorer?m=bed_capacity_existing&by=state', { at: empty.address })
  t.match(
    await closed.page.locator('[role=alert]').innerText(),
    /ainda está abrindo[\s\S]*Tentar de novo/,
    '503',
  )

  const proxied = await open(VIEWS.table)
  for (const reply of [
    { contentType: 'text/html', body: '<h1>Service Unavailable</h1>' },
    { contentType: 'application/json', body: '{"error":"no upstream"}' },
  ]) {
    await proxied.page.route('**/v1/analytics/query', (route) => route.fulfill({ status: 503, ...reply }))
    await proxied.page.locator('table.results thead th a').first().click()
    await settle(proxied.page)
    t.match(
      await proxied.page.locator('[role=alert]').innerText(),
      /não disse a razão \(HTTP 503\)[\s\S]*Tentar de novo/,
      `503 of a proxy as ${reply.contentType}`,
    )
    await proxied.page.unroute('**/v1/analytics/query')
    await proxied.page.getByText('Tentar de novo').click()
    await settle(proxied.page)
  }

  const { page } = await open(VIEWS.table)
  await page.context().setOffline(true)
  await page.locator('th a', { hasText: 'Leitos SUS' }).click()
  await settle(page)
  t.match(await page.locator('[role=alert]').innerText(), /não respondeu/, 'offline')
  await page.context().setOffline(false)
  await page.getByText('Tentar de novo').click()
  await settle(page)
  t.equal(await page.locator('table.results tbody tr').count(), 27)

  const defect = await open('/explorer/releases')
  await defect.page.route('**/v1/releases/*', (route) =>
    route.fulfill({ json: { data: { components: {}, files: [] }, meta: {} } }),
  )
  await defect.page.locator('table.data a').first().click()
  const alert = defect.page.locator('#content:not([aria-busy]) [role=alert]')
  t.match(await alert.innerText(), /Não foi possível responder[\s\S]*Tentar de novo/, 'a failed drawing')
  await defect.page.unroute('**/v1/releases/*')
  await defect.page.locator('header nav').getByText('Versões dos dados').click()
  await defect.page.locator('dl.pairs').waitFor()
  for (const opened of [gone, limited, closed, proxied, { page }, defect]) await opened.page.context().close()
})

t.test(
  'flows of a place: another month and level by the form, and a number leads to its question',
  async (t) => {
    const { page, problems } = await open(ADMISSION_VIEWS.flows, { at: admissions.address })
    await page.getByLabel('Outro lugar por').selectOption('health_region')
    await page.locator('select[name=from]').selectOption('2026-04')
    await page.locator('select[name=to]').selectOption('2026-04')
    await page.getByRole('button', { name: 'Atualizar' }).click()
    await settle(page)
    t.match(page.url(), /by=health_region&from=2026-04&to=2026-04$/)
    t.match(await page.locator('h1').innerText(), /abr 2026/)
    const first = page.locator('section[aria-labelledby=hospital] table.partners tbody tr').first()
    const value = await first.locator('a.cell').innerText()
    await first.locator('a.cell').click()
    await settle(page)
    t.match(await page.locator('#lineage').innerText(), new RegExp(`Soma dos registros: ${value}`))
    t.same(problems, [])
    await page.context().close()
  },
)

/** Acts as a visitor and counts the steps: each click, and each text that is typed and sent with Enter. */
function createSteps(page: Page) {
  let count = 0
  return {
    count: () => count,
    async click(wanted: Locator): Promise<void> {
      count += 1
      await wanted.click()
      await settle(page)
    },
    /** By keyboard alone. */
    async press(wanted: Locator): Promise<void> {
      count += 1
      await tabTo(page, wanted)
      await page.keyboard.press('Enter')
      await settle(page)
    },
    async search(text: string, field = page.getByRole('searchbox').first()): Promise<void> {
      count += 1
      await tabTo(page, field)
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      await settle(page)
    },
  }
}
type Steps = ReturnType<typeof createSteps>

const BOA_VISTA = 'municipality/1400100'
/** Searches for the town on the home page and opens its profile: two steps. */
async function openBoaVista(page: Page, steps: Steps, way: 'click' | 'press' = 'click'): Promise<void> {
  await steps.search('Boa Vista')
  await steps[way](page.locator(`.results-list a[href="/explorer/places/${BOA_VISTA}"]`).first())
}
const rowOf = (page: Page, metric: string): Promise<string> =>
  page
    .locator('tr', { has: page.locator(`a[href="/explorer/indicators/${metric}"]`) })
    .first()
    .innerText()
// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
const indicatorOf = async (place: string, metric: string): Promise<any> => {
  const headers = { authorization: `Bearer ${server.key}` }
  const { data } = await (await fetch(`${server.address}/v1/profiles/${place}`, { headers })).json()
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return data.blocks.flatMap((block: any) => block.indicators).find((found: any) => found.metric === metric)
}

interface Task {
  readonly name: string
  readonly of: 'year' | 'admissions'
  /** Most steps from the home page. */
  readonly most: number
  run(t: Test, page: Page, steps: Steps): Promise<void>
}
const TASKS: readonly Task[] = [
  {
    name: 'a manager: is infant mortality of my town higher than its state’s? (keyboard)',
    of: 'year',
    most: 2,
    async run(t, page, steps) {
      await openBoaVista(page, steps, 'press')
      const indicator = await indicatorOf(BOA_VISTA, 'infant_mortality_rate')
      const text = await rowOf(page, 'infant_mortality_rate')
      t.match(text, shown(indicator.value, 2))
      t.match(text, shown(indicator.comparator, 2), 'the state beside it')
      const words = { lower: 'menor que no estado', similar: 'parecido', higher: 'maior que no estado' }
      t.match(text, words[indicator.significance as keyof typeof words])
    },
  },
  {
    name: 'a manager: who has more beds per inhabitant than my town?',
    of: 'admissions',
    most: 3,
    async run(t, page, steps) {
      await openBoaVista(page, steps)
      const rank = page.locator('a[href^="/explorer?m=beds_existing_per_100k&by=municipality"]').first()
      const place = Number(/\d+/.exec(await rank.innerText())?.[0])
      await steps.click(rank)
      const row = page.locator('table.results tbody tr').nth(place - 1)
      t.match(await row.innerText(), 'Boa Vista', `it is number ${place} of the table`)
    },
  },
  {
    name: 'a manager: which regions lost ICU beds in a year?',
    of: 'year',
    most: 1,
    async run(t, page, steps) {
      await steps.click(page.getByRole('link', { name: 'Que regiões de saúde perderam leitos de UTI' }))
      const { data } = await ask({
        metrics: ['icu_beds_existing'],
        group_by: ['health_region'],
        filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2026-05' }],
        change: { to: '-12' },
        order_by: [{ field: 'icu_beds_existing__change', direction: 'asc' }],
        limit: 5,
      })
      const rows = await page.locator('table.results tbody tr').allInnerTexts()
      for (const [index, { label, metrics }] of data.entries()) {
        t.match(rows[index], label)
        t.match(rows[index]?.replace('−', '-'), shown(metrics.icu_beds_existing__change))
      }
    },
  },
  {
    name: 'a manager: which regions have more avoidable admissions than chance explains? (keyboard)',
    of: 'admissions',
    most: 1,
    async run(t, page, steps) {
      await steps.press(page.getByRole('link', { name: 'Internações evitáveis' }))
      t.match(
        await page.locator('figure').innerText(),
        /acima dos limites de 99,8 %: \d+; abaixo: \d+|Nenhum dos \d+ pontos passa dos limites/,
      )
    },
  },
  {
    name: 'a manager: where do the people of my town go to hospital?',
    of: 'admissions',
    most: 3,
    async run(t, page, steps) {
      await openBoaVista(page, steps)
      await steps.click(page.locator(`a[href="/explorer/places/${BOA_VISTA}/flows"]`))
      t.match(await page.locator('#content').innerText(), 'Onde são internados os que moram aqui')
    },
  },
  {
    name: 'a manager: how does my town compare with another one?',
    of: 'year',
    most: 5,
    async run(t, page, steps) {
      await openBoaVista(page, steps)
      await steps.click(page.getByRole('link', { name: 'Comparar com outros lugares' }))
      await steps.search('Rio Branco', page.locator('#add-place'))
      await steps.click(page.locator('.add-place a', { hasText: 'Rio Branco' }).first())
      t.match(page.url(), 'place=municipality:1400100&place=municipality:1200401')
      const text = await rowOf(page, 'beds_sus_per_100k')
      for (const place of [BOA_VISTA, 'municipality/1200401'])
        t.match(text, shown((await indicatorOf(place, 'beds_sus_per_100k')).value, 2), place)
    },
  },
  {
    name: 'an auditor: prove this number, to the row of the published file and without this server',
    of: 'year',
    most: 3,
    async run(t, page, steps) {
      await steps.click(page.getByRole('link', { name: 'Leitos por 100 mil habitantes, por estado' }))
      await steps.click(
        page.locator('table.results tbody tr', { hasText: 'Roraima' }).locator('a.cell').first(),
      )
      await steps.click(page.locator('#lineage summary', { hasText: 'SHA-256' }).first())
      const panel = await page.locator('#lineage').innerText()
      t.match(panel, /[0-9a-f]{64}/, 'SHA-256 of the file')
      t.match(panel, /tbLeito|rlEstabComplementar|LT/, 'name of the file')
      await prove(t, page)
    },
  },
  {
    name: 'a journalist: an image of a map that says where it is from',
    of: 'year',
    most: 2,
    async run(t, page, steps) {
      await steps.click(page.getByRole('link', { name: 'no mapa' }))
      await page.locator('figure.map path').first().waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        steps.click(page.locator('[data-picture=svg]')),
      ])
      t.match(readFileSync(await download.path(), 'utf8'), release.result.analytics)
    },
  },
  {
    name: 'a journalist: quote a number with its source (keyboard)',
    of: 'year',
    most: 2,
    async run(t, page, steps) {
      await steps.press(page.getByRole('link', { name: 'Leitos por 100 mil habitantes, por estado' }))
      await steps.press(page.locator('summary', { hasText: 'Citação' }))
      const citation = await page.locator('details', { hasText: 'Citação' }).innerText()
      t.match(citation, release.result.analytics)
      t.match(citation, /[0-9a-f]{64}/)
    },
  },
  {
    name: 'a journalist: the course of a number of my town as a chart',
    of: 'year',
    most: 3,
    async run(t, page, steps) {
      await openBoaVista(page, steps)
      await steps.click(
        page.locator('a[href^="/explorer?m=bed_capacity_existing&by=reference_period"]').first(),
      )
      t.ok(await page.locator('figure.chart .lines:visible').isVisible())
      t.ok((await page.locator('table.results tbody tr').count()) >= 2, 'both months')
    },
  },
]

for (const { name, of, most, run: runTask } of TASKS)
  t.test(`${name}: ${most} steps from home`, async (t) => {
    const { page, problems } = await open('/', { at: (of === 'year' ? server : admissions).address })
    const steps = createSteps(page)
    await runTask(t, page, steps)
    t.equal(steps.count(), most, 'steps')
    t.ok(most <= 5)
    t.same(problems, [])
    await page.context().close()
  })

t.test('the picture of the README', async (t) => {
  const file = fileURLToPath(new URL('../../docs/explorer.png', import.meta.url))
  const { page } = await open(VIEWS.picture, { width: 1680 })
  const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 1680, height: 880 } })
  if (process.argv.includes('--update-picture')) writeFileSync(file, picture)
  t.ok(
    existsSync(file),
    'node --import tsx test/explorer/browser.exhaustive.test.ts --update-picture makes it anew',
  )
  await page.context().close()
})
