#!/usr/bin/env node
// The `sus-data` command: tools/cli.ts.
import { load } from '../src/load.js'

const { main } = await load('cli')
process.exitCode = await main(process.argv.slice(2))
