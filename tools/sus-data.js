#!/usr/bin/env node
// The `sus-data` command: tools/cli.ts, as the build (tools/build.js) has put it into dist/.
import { existsSync } from 'node:fs'

const built = new URL('../dist/cli.js', import.meta.url)
if (existsSync(built)) {
  process.setSourceMapsEnabled(true)
  const { main } = await import(built.href)
  process.exitCode = await main(process.argv.slice(2))
} else {
  process.stderr.write('sus-data: dist/ is missing; run "npm ci" or "npm run build" first\n')
  process.exitCode = 1
}
