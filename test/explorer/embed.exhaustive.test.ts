/** Answers in the frame of another page: only for origins that the operator names, in a real browser. Needs Chromium. */
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import t from 'tap'
import { startExplorer } from '../fixtures/explorer-server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const chromiumPath = [process.env.SUS_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
)
if (chromiumPath === undefined) {
  t.pass('skipped: Chromium is not installed (apt-get install chromium, or SUS_CHROMIUM)')
  process.exit(0)
}

const QUESTION = '?m=beds_existing_per_100k&by=state&view=map'
let html = ''
const host = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html))
await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
const release = await makeSmallRelease()
const server = await startExplorer({ release, embedOrigins: origin })
const closed = await startExplorer({ release })
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
t.teardown(async () => {
  await browser.close()
  host.close()
  await server.close()
  await closed.close()
})

t.test('the address is off until origins are named', async (t) => {
  t.equal((await fetch(`${closed.address}/explorer/embed${QUESTION}`)).status, 404)
  const keyless = await startExplorer({ release, embedOrigins: origin, hasKey: false })
  t.equal(
    (await fetch(`${keyless.address}/explorer/embed${QUESTION}`)).status,
    404,
    'a frame asks for no key',
  )
  await keyless.close()
  const page = await (await fetch(`${closed.address}/explorer${QUESTION}`)).text()
  t.notMatch(page, '&lt;iframe', 'and no code is offered')
  for (const path of ['/', `/explorer${QUESTION}`])
    t.match(
      (await fetch(server.address + path)).headers.get('content-security-policy'),
      /frame-ancestors 'none'/,
    )
  const framed = await fetch(`${server.address}/explorer/embed${QUESTION}`)
  t.equal(framed.status, 200)
  t.ok(framed.headers.get('content-security-policy')?.includes(`frame-ancestors ${origin}`))
})

t.test('the code of the page shows the answer in a frame of that origin', async (t) => {
  const page = await browser.newPage()
  await page.goto(`${server.address}/explorer${QUESTION}`)
  await page.getByText('Mostrar em outra página').click()
  const code = page.locator('code', { hasText: '<iframe' })
  html = (await code.textContent()) ?? ''
  await page.goto(origin)
  const frame = page.frameLocator('iframe')
  await frame.locator('svg path').first().waitFor()
  t.match(await frame.locator('h1').innerText(), /Leitos existentes por 100 mil/)
  t.match(await frame.locator('main').innerText(), new RegExp(release.result.analytics))
  t.equal(await frame.locator('header.site').count(), 0, 'without the frame of the site')
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    frame.getByText('Abrir no sus-data').click(),
  ])
  await tab.waitForLoadState()
  t.match(tab.url(), `${server.address}/explorer?`, 'links open in a tab of their own')
  t.match(page.frames()[1]?.url(), /\/explorer\/embed/)
  await page.close()
})

t.test('another origin sees nothing', async (t) => {
  const other = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(html),
  )
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const page = await browser.newPage()
  const refused = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()))
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}`)
  await refused
  t.equal(await page.frameLocator('iframe').getByText('Leitos existentes').count(), 0)
  await page.close()
})
