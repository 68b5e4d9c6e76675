/**
 * The explorer in a real browser: journeys by pointer and by keyboard, with the pages' own key, with a visitor's and with none,
 * without a script, and what axe-core finds in every view and both themes. Needs Chromium (SUS_CHROMIUM, or where Debian puts it).
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import t from 'tap'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const chromiumPath = [process.env.SUS_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
)
if (chromiumPath === undefined) {
  t.pass('skipped: Chromium is not installed (apt-get install chromium, or SUS_CHROMIUM)')
  process.exit(0)
}
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const release = await makeSmallRelease(2)
const server = await startExplorer({ release })
const browser: Browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
t.teardown(async () => {
  await browser.close()
  await server.close()
})

/** Waits until a page that loads something has shown it. */
const settle = async (page: Page): Promise<void> => {
  await page.waitForLoadState('networkidle')
  await page.waitForFunction(() => document.getElementById('content')?.getAttribute('aria-busy') !== 'true')
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
  await page.goto((options.at ?? server.address) + path, { waitUntil: 'networkidle' })
  // What charts and maps draw is loaded whole by the browser itself.
  if (options.hasScript !== false) await settle(page)
  return { page, problems }
}
/** The command line, beside the server that runs in this process. */
function runTool(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const tool = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const child = spawn(process.execPath, [tool, ...args], {
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: release.releasesDir },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

const VIEWS = {
  start: '/',
  table: '/explorer?m=beds_existing_per_100k,bed_capacity_sus&by=state&order=-bed_capacity_sus',
  cell: '/explorer?m=beds_existing_per_100k&by=state&cell=beds_existing_per_100k;state:RR',
  totals: '/explorer?m=bed_capacity_sus&by=state&in.state=AC,RR&totals=yes&change=previous&period=2026-05',
  bars: '/explorer?m=bed_capacity_existing&by=state&view=bars',
  lines:
    '/explorer?m=bed_capacity_existing&by=state,reference_period&in.state=RR,AC,AP&view=lines&from=2026-04',
  map: '/explorer?m=bed_capacity_existing&by=municipality&in.state=RR&view=map',
  regions: '/explorer?m=icu_beds_existing_per_100k&by=health_region&in.state=AC&view=map',
  healthRegion: '/explorer/places/health_region/12002',
  search: '/explorer/search?text=boa+vista',
  place: '/explorer/places/municipality/1400100',
  state: '/explorer/places/state/RR',
  releases: `/explorer/releases/${release.result.cnes}`,
  problem: '/explorer?m=no_such_metric',
  picture:
    '/explorer?m=bed_capacity_existing,beds_existing_per_100k&by=municipality&in.state=RR&order=-bed_capacity_existing&cell=bed_capacity_existing;municipality:1400175',
  english: '/explorer?m=bed_capacity_existing&by=state&lang=en',
}

t.test('axe-core finds nothing, in either theme; nothing is wider than a phone', async (t) => {
  for (const scheme of ['light', 'dark'] as const)
    for (const [name, path] of Object.entries(VIEWS)) {
      const { page, problems } = await open(path, { scheme })
      const session = await page.context().newCDPSession(page)
      // Through the debugger, beside the page's policy.
      await session.send('Runtime.evaluate', { expression: AXE })
      const found = await page.evaluate(async () => {
        // biome-ignore lint/suspicious/noExplicitAny: axe-core is a global of the page here.
        const { violations } = await (globalThis as any).axe.run(document)
        return violations.map(
          // biome-ignore lint/suspicious/noExplicitAny: as above.
          (violation: any) =>
            `${violation.id}: ${violation.nodes[0].html} ${violation.nodes[0].failureSummary}`,
        )
      })
      t.same(found, [], `${name}, ${scheme}`)
      t.same(problems, [], `${name}: no errors`)
      await page.context().close()
    }
  for (const [name, path] of Object.entries(VIEWS)) {
    const { page } = await open(path, { width: 390 })
    t.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth)) <= 390,
      `${name} fits into 390 pixels`,
    )
    await page.context().close()
  }
})

t.test('from an empty page to a workbook that verifies, and a link that shows the same', async (t) => {
  const { page, problems } = await open('/')
  await page.getByLabel('Equipamentos em uso', { exact: true }).check()
  await settle(page)
  await page.getByText('Linhas da tabela').click()
  await page.getByLabel('Município', { exact: true }).check()
  await settle(page)
  await page.locator('summary', { hasText: 'Filtros' }).click()
  await page.locator('details.filter summary', { hasText: 'Unidade da Federação' }).click()
  await page.getByLabel('Acre', { exact: true }).check()
  await settle(page)
  t.match(page.url(), /m=equipment_in_use&by=municipality&in\.state=AC/)
  const rows = page.locator('table.results tbody').first().locator('tr')
  t.equal(await rows.count(), 23, 'the municipalities of Acre, and the ignored one, which has facilities')

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Baixar XLSX').click()])
  const folder = temporaryFolder('download')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'report.xlsx')
  await download.saveAs(file)
  const verified = await runTool(['verify-report', file])
  t.equal(verified.code, 0, verified.output)
  t.match(verified.output, /reproduced/)

  await rows.first().locator('a.cell').click()
  await settle(page)
  await page.getByRole('heading', { name: 'De onde vem este número' }).waitFor()
  t.match(await page.locator('#lineage').innerText(), /rlEstabEquipamento\d{6}\.csv/)

  const other = await open(new URL(page.url()).pathname + new URL(page.url()).search)
  const text = (opened: Page): Promise<string> => opened.locator('.answer').innerText()
  t.equal(await text(other.page), await text(page), 'a new browser shows the same')
  await page.goBack()
  await settle(page)
  t.equal(await page.locator('#lineage').count(), 0, 'back is back')
  t.same([...problems, ...other.problems], [])
  await other.page.context().close()
  await page.context().close()
})

t.test('totals and a change, and the records of a total and of what was before', async (t) => {
  const { page, problems } = await open(
    '/explorer?m=bed_capacity_sus&by=state&in.state=AC,RR&totals=yes&change=previous&period=2026-05',
  )
  const numbersOf = async (row: string): Promise<number[]> =>
    (await page.locator('tr', { hasText: row }).locator('td.number').allInnerTexts()).map((text) =>
      Number(text.replaceAll('.', '').replace(',', '.').replace('+', '')),
    )
  const [acre, roraima, total] = [
    await numbersOf('Acre'),
    await numbersOf('Roraima'),
    await numbersOf('Total'),
  ]
  t.equal(total.length, 4, 'now, before, difference, percent')
  for (const place of [0, 1, 2]) t.equal(total[place], (acre[place] ?? 0) + (roraima[place] ?? 0))
  t.equal(total[2], (total[0] ?? 0) - (total[1] ?? 0))
  for (const [place, value] of [
    [0, total[0]],
    [1, total[1]],
  ]) {
    await page
      .locator('tbody.totals a.cell')
      .nth(place ?? 0)
      .click()
    await settle(page)
    const text = await page.locator('#lineage').innerText()
    t.match(text, new RegExp(`Soma dos registros: ${new Intl.NumberFormat('pt-BR').format(value ?? 0)}`))
  }
  t.same(problems, [])
  await page.context().close()
})

t.test('a map by keyboard, as its table says', async (t) => {
  const { page, problems } = await open(
    '/explorer?m=icu_beds_existing_per_100k&by=health_region&in.state=AC&view=map&totals=yes',
  )
  await page.locator('.map .place').first().waitFor()
  const map = page.locator('.map svg[role=application]')
  const names = (await page.locator('table.results tbody').first().locator('tr th').allInnerTexts()).map(
    (text) => text.trim(),
  )
  const seen = new Set<string>()
  await map.focus()
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowLeft']) {
    await page.keyboard.press(key)
    const [name = ''] = (await page.locator('.reading').innerText()).split(':')
    seen.add(name)
    t.ok(
      names.some((text) => text.startsWith(name)),
      name,
    )
  }
  t.ok(seen.size > 1, 'the arrows walk')
  const reading = await page.locator('.reading').innerText()
  const [name = '', value = ''] = reading.split(': ')
  t.match(
    await page.locator('tr', { hasText: name }).first().innerText(),
    value.trim(),
    'the table says the same',
  )
  await page.keyboard.press('+')
  t.notMatch(await map.locator('g').first().getAttribute('transform'), /scale\(1\)/)
  await page.keyboard.press('0')
  await page.keyboard.press('Enter')
  await settle(page)
  t.match(await page.locator('#lineage').innerText(), new RegExp(name), 'Enter shows the records')
  t.same(problems, [])
  await page.context().close()
})

t.test('by keyboard alone', async (t) => {
  const { page } = await open(VIEWS.table)
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Ir para o conteúdo')
  await page.keyboard.press('Enter')
  const cell = page.locator('a.cell').first()
  for (let count = 0; count < 80; count += 1) {
    if (await cell.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await settle(page)
  await page.locator('#lineage').waitFor()
  t.equal(await page.evaluate(() => document.activeElement?.id), 'lineage', 'the focus goes with the eye')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await settle(page)
  t.equal(await page.locator('#lineage').count(), 0, 'and closes')
  await page.context().close()
})

t.test('a question by keyboard: boxes, order, pages', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_existing&by=municipality')
  t.match(await page.locator('.pages').innerText(), /1–100 de 5\.5\d\d linhas/)
  await page.getByText('Próxima página').focus()
  await page.keyboard.press('Enter')
  await settle(page)
  t.match(await page.locator('.pages').innerText(), /101–200/)
  await page.locator('th a', { hasText: 'Leitos existentes' }).focus()
  await page.keyboard.press('Enter')
  await settle(page)
  const numbers = await page.locator('table.results td.number').allInnerTexts()
  const values = numbers.map((text) => Number(text.replaceAll('.', '')))
  t.same(
    values,
    [...values].sort((left, right) => right - left),
    'the largest first',
  )
  await page.context().close()
})

t.test('without a script the form works all the same', async (t) => {
  const { page } = await open('/explorer?m=bed_capacity_existing&by=state', { hasScript: false })
  t.equal(await page.locator('table.results tbody tr').count(), 27)
  await page.locator('summary', { hasText: 'Métricas' }).click()
  await page.locator('input[name="m"][value="bed_capacity_sus"]').check()
  await page.getByRole('button', { name: 'Atualizar' }).click()
  t.match(page.url(), /bed_capacity_sus/)
  t.equal(await page.locator('table.results thead th').count(), 3)
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
  t.equal(await page.locator('table.results tbody tr').count(), 27)
  t.notMatch(page.url(), /sus_/)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Baixar CSV').click()])
  t.match(download.suggestedFilename(), /\.csv$/)
  await page.reload({ waitUntil: 'networkidle' })
  await settle(page)
  t.equal(await page.locator('table.results tbody tr').count(), 27, 'a reload keeps it')
  await page.getByRole('button', { name: 'Esquecer a chave' }).click()
  await settle(page)
  t.match(await page.locator('#content').innerText(), /cole uma chave/)
  await page.locator('#content #key').fill('sus_wrong')
  await page.locator('#content').getByRole('button', { name: 'Usar a chave' }).click()
  await settle(page)
  t.match(await page.locator('[role=alert]').innerText(), /A chave não é válida/)
  await page.context().close()
})

t.test('what cannot be answered is said in words', async (t) => {
  const gone = await open(
    `/explorer?m=bed_capacity_existing&release=${release.result.analytics.replace(/.$/, 'x')}`,
  )
  t.match(await gone.page.locator('[role=alert]').innerText(), /versão/)
  const { page } = await open(VIEWS.table)
  await page.context().setOffline(true)
  await page.locator('th a', { hasText: 'Leitos SUS' }).click()
  await settle(page)
  t.match(await page.locator('[role=alert]').innerText(), /não respondeu/)
  await page.context().setOffline(false)
  await page.getByText('Tentar de novo').click()
  await settle(page)
  t.equal(await page.locator('table.results tbody tr').count(), 27)
  for (const { page: opened } of [gone, { page }]) await opened.context().close()
})

t.test('the picture of the README', async (t) => {
  const file = fileURLToPath(new URL('../../docs/explorer.png', import.meta.url))
  const { page } = await open(VIEWS.picture)
  const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 1280, height: 800 } })
  if (process.argv.includes('--update-picture')) writeFileSync(file, picture)
  t.ok(
    existsSync(file),
    'node --import tsx test/explorer/browser.exhaustive.test.ts --update-picture makes it anew',
  )
  await page.context().close()
})
