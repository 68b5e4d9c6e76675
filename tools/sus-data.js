#!/usr/bin/env node
// The `sus-data` command: lets Node.js read TypeScript, then runs tools/cli.ts. There is no build step.
import { register } from 'tsx/esm/api'

register()
const { main } = await import('./cli.ts')
process.exitCode = await main(process.argv.slice(2))
