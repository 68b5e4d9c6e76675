// The `sus-data` command from the sources, for development: `npm run dev -- COMMAND`. Needs no build.
import { main } from './cli.ts'

process.exitCode = await main(process.argv.slice(2))
