/** Measures the explorer in a real browser: bytes of the first view, time until pages are ready, and from a click to table and map. */
import { existsSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { type Bench, inMs, median, report, type Scenario } from './context.ts'

const STATES = '/explorer?m=beds_existing_per_100k,beds_sus_share&by=state'
const COUNTRY = '/explorer?m=bed_capacity_existing&by=municipality&view=map'
const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync)

/** Pages that visitors come to from elsewhere, and the longest time until each is ready. */
const PAGES = [
  { name: 'home', path: '/', goal: 500 },
  { name: 'profile of a municipality', path: '/explorer/places/municipality/3550308', goal: 400 },
  { name: 'indicator', path: '/explorer/indicators/beds_existing_per_100k', goal: 400 },
] as const

/** Milliseconds from a request to its last byte, and until the page's script has run. */
const TIME_PAGE = `(() => {
  const { requestStart, responseEnd, domContentLoadedEventEnd } = performance.getEntriesByType('navigation')[0]
  return [responseEnd - requestStart, domContentLoadedEventEnd]
})()`

/** Script for the page. It is a string, because the loader adds helper calls to functions that the page does not define. */
const TIME_CLICK = `new Promise((resolve) => {
  const startedAt = performance.now()
  const look = () => {
    const isBusy = document.getElementById('content').getAttribute('aria-busy') === 'true'
    if (!isBusy && document.querySelector(SHOWN) !== null)
      requestAnimationFrame(() => resolve(performance.now() - startedAt))
    else requestAnimationFrame(look)
  }
  document.querySelector(TARGET).click()
  requestAnimationFrame(look)
})`

/** Milliseconds from a click until the page shows the result, measured in the page. */
const timeClick = (page: Page, selector: string, shown: string): Promise<number> =>
  page.evaluate<number>(
    TIME_CLICK.replace('TARGET', JSON.stringify(selector)).replace('SHOWN', JSON.stringify(shown)),
  )

async function explore(bench: Bench): Promise<void> {
  if (chromiumPath === undefined)
    return bench.say('explorer: Chromium is not installed (apt-get install chromium)')
  const { chromium } = await import('playwright-core')
  const [, secret = ''] = ((await bench.ours()).headers.authorization ?? '').split(' ')
  const server = await bench.start('explorer', { SUS_EXPLORER_KEY: secret }, bench.fixture)
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    const view = async (path: string): Promise<number> => {
      bytes = 0
      await page.goto(server.address + path, { waitUntil: 'networkidle' })
      return bytes / 1000
    }
    const first = await view(STATES)
    report(
      bench,
      { scenario: 'explorer: first view, compressed', ours: `${first.toFixed(0)} kB`, value: first },
      { atMost: 150, unit: ' kB' },
      first,
    )
    for (const { name, path, goal } of PAGES) {
      const served: number[] = []
      const ready: number[] = []
      // The first request computes what all places of a release share.
      for (let run = 0; run < bench.runs + 2; run += 1) {
        await page.goto(server.address + path, { waitUntil: 'load' })
        const [byServer = 0, inAll = 0] = await page.evaluate<number[]>(TIME_PAGE)
        if (run === 0) continue
        served.push(byServer)
        ready.push(inAll)
      }
      report(
        bench,
        {
          scenario: `explorer: ${name}, ready`,
          ours: inMs(median(ready)),
          against: `server ${inMs(median(served))}`,
          value: median(ready),
        },
        { atMost: goal, unit: ' ms' },
        { served, ready },
      )
    }
    const clicks: number[] = []
    for (let run = 0; run < bench.runs + 2; run += 1) {
      await page.goto(server.address + STATES, { waitUntil: 'networkidle' })
      // Click the second column's head, then the first: this page has requested neither order.
      clicks.push(await timeClick(page, 'thead th.number:last-child a', 'th[aria-sort=descending]'))
    }
    report(
      bench,
      { scenario: 'explorer: from a click to its table', ours: inMs(median(clicks)), value: median(clicks) },
      { atMost: 300, unit: ' ms' },
      clicks,
    )
    const country = await view(COUNTRY)
    await page.waitForSelector('.map .place')
    report(
      bench,
      {
        scenario: 'explorer: first view with the country’s map',
        ours: `${country.toFixed(0)} kB`,
        value: country,
      },
      { atMost: 600, unit: ' kB' },
      country,
    )
    const maps: number[] = []
    for (let run = 0; run < bench.runs; run += 1) {
      await page.goto(`${server.address}${COUNTRY.replace('&view=map', '')}&ignored=no`, {
        waitUntil: 'networkidle',
      })
      maps.push(await timeClick(page, '.views a[href*="view=map"]', '.map .place'))
    }
    report(
      bench,
      {
        scenario: 'explorer: from a click to the country’s map',
        ours: inMs(median(maps)),
        value: median(maps),
      },
      { atMost: 600, unit: ' ms' },
      maps,
    )
    const zooms: number[] = []
    for (let run = 0; run < bench.runs + 2; run += 1)
      zooms.push(await timeClick(page, '.zoom button:first-child', '.map .place'))
    report(
      bench,
      {
        scenario: 'explorer: a map of 5,571 places drawn again',
        ours: inMs(median(zooms)),
        value: median(zooms),
      },
      { atMost: 100, unit: ' ms' },
      zooms,
    )
  } finally {
    await browser.close()
    await server.stop()
  }
}

export const EXPLORER: readonly Scenario[] = [
  {
    name: 'explorer',
    what: 'The explorer in Chromium: bytes of the first view, pages ready, from a click to table and map, a map drawn again.',
    run: explore,
  },
]
