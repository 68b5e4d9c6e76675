/** `sus-data import`: turns published files into releases and prints their ids. It does not promote. */
import { resolve } from 'node:path'
import { DEFAULT_MAX_REJECTED, importPaths } from '../../src/import/import.ts'
import { countsAsRejected } from '../../src/import/rejected-rows.ts'
import { RELEASE_AREAS } from '../../src/release/manifest.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, numberOption, textOption, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'
import { reportLines } from '../promotion/checks.ts'
import { checkPromotion } from '../promotion/run.ts'
import { openRecorder, withComponents } from '../recorder.ts'
import { rowLines } from '../row-lines.ts'

export const command: Command = {
  name: 'import',
  summary: 'Make releases of the files DATASUS and IBGE publish.',
  usage: [
    'import PATH… [--releases DIR] [--max-rejected SHARE] [--without-population] [--partial-population] [--threads N] [--json]',
  ],
  options: {
    releases: { type: 'string', value: 'DIR', help: 'Folder of releases. Default SUS_RELEASES_DIR.' },
    'max-rejected': {
      type: 'string',
      value: 'SHARE',
      help: `Largest share of rows that may be set aside; equal and deleted ones do not count. Default ${DEFAULT_MAX_REJECTED}.`,
    },
    'without-population': {
      type: 'boolean',
      help: 'Allow a release without any population: every rate per inhabitant is null.',
    },
    'partial-population': {
      type: 'boolean',
      help: 'Allow files of population that lack municipalities: theirs, and sums over them, are null.',
    },
    threads: { type: 'string', value: 'N', help: 'Threads of DuckDB. Default all cores.' },
    json: { type: 'boolean', help: 'Print JSON, without progress.' },
  },
  async run(args) {
    if (args.positionals.length === 0) throw new UsageError('import needs a file, folder or zip')
    const isJson = args.values.json === true
    const progress = createProgress({ silent: isJson })
    const threads = numberOption(args, 'threads', { min: 1, max: 256, integer: true })
    const settings = readSettings()
    const releasesDir = resolve(textOption(args, 'releases') ?? settings.releasesDir)
    // Open the recorder before reading files, so that no release is made that cannot be recorded.
    const recorder = await openRecorder(releasesDir, settings)
    try {
      const result = await importPaths(
        args.positionals.map((path) => resolve(path)),
        {
          releasesDir,
          maxRejected:
            numberOption(args, 'max-rejected', { min: 0, max: 1, integer: false }) ?? DEFAULT_MAX_REJECTED,
          ...(threads === undefined ? {} : { threads }),
          withoutPopulation: args.values['without-population'] === true,
          partialPopulation: args.values['partial-population'] === true,
          makesRows: true,
          ...(recorder === null ? {} : { sign: recorder.sign }),
          onProgress: (step) => progress.step(step),
        },
      )
      progress.stop()
      const { rowFiles, ...printed } = result
      const { analytics, rows, rejected, odd, unknown } = result
      recorder?.recordReleases(await withComponents(releasesDir, analytics))
      if (isJson) process.stdout.write(`${JSON.stringify({ ...printed, row_files: rowFiles })}\n`)
      else {
        const report = await checkPromotion(releasesDir, analytics)
        const lines = [
          ...Object.entries(rows).map(([name, count]) => `${name.padEnd(40)} ${count}`),
          ...Object.entries(rejected).map(
            ([reason, count]) =>
              `set aside: ${reason.padEnd(29)} ${count}${countsAsRejected(reason) ? '' : ' (does not count against --max-rejected)'}`,
          ),
          ...Object.entries(odd).map(([name, count]) => `odd: ${name.padEnd(35)} ${count}`),
          ...rowLines(rowFiles),
          ...unknown.map((name) => `not known: ${name}`),
          ...(rows.population === 0 ? ['without population: every rate per inhabitant is null'] : []),
          ...RELEASE_AREAS.map((area) => `${area.padEnd(11)} ${result[area] ?? '-'}`),
          ...reportLines(report),
          `To serve it: npx sus-data promote ${analytics}`,
        ]
        process.stdout.write(`${lines.join('\n')}\n`)
      }
      return 0
    } finally {
      progress.stop()
    }
  },
}
