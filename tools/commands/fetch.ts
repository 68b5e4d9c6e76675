/** `sus-data fetch`: downloads what the publishers have into the folder of snapshots, and says what is there, new and missing. */
import { resolve } from 'node:path'
import { type FetchOptions, type FetchReport, fetchSources } from '../../src/acquire/fetch.ts'
import { ALL_STATES } from '../../src/acquire/plan.ts'
import { FETCH_AREAS, type FetchArea, FetchError } from '../../src/acquire/types.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, type ParsedArgs, textOption, UsageError } from '../command.ts'
import { reportFetch } from '../fetch-lines.ts'
import { createProgress } from '../progress.ts'
import { thisMonth } from '../this-month.ts'

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

export const command: Command = {
  name: 'fetch',
  summary: `Download what the publishers have into the folder of snapshots. Areas: ${FETCH_AREAS.join(', ')}.`,
  usage: ['fetch AREA… [--states UF,…] [--from YYYY-MM] [--to YYYY-MM] [--into DIR] [--dry-run] [--json]'],
  options: {
    states: { type: 'string', value: 'UF,…', help: 'States whose files are wanted. Default all.' },
    from: {
      type: 'string',
      value: 'YYYY-MM',
      help: 'First month. Default: only the newest whole month. Deaths (sim) and births (sinasc) are by year.',
    },
    to: { type: 'string', value: 'YYYY-MM', help: 'Last month. Default the newest.' },
    into: { type: 'string', value: 'DIR', help: 'Folder of snapshots. Default SUS_SNAPSHOTS_DIR.' },
    'dry-run': { type: 'boolean', help: 'Say what would be fetched and what is missing; write nothing.' },
    json: { type: 'boolean', help: 'Print JSON, without progress.' },
  },
  async run(args) {
    const settings = readSettings()
    const areas = parseAreas(args.positionals)
    const isJson = args.values.json === true
    const isDry = args.values['dry-run'] === true
    const report = await fetchWithProgress(
      {
        settings,
        areas,
        states: parseStates(args),
        from: monthOption(args, 'from'),
        to: monthOption(args, 'to'),
        into: resolve(textOption(args, 'into') ?? settings.snapshotsDir),
        isDry,
        now: thisMonth(),
      },
      isJson,
    )
    process.stdout.write(
      isJson ? `${JSON.stringify(report)}\n` : `${reportFetch(report, isDry).join('\n')}\n`,
    )
    return hasFailed(report) ? 1 : 0
  },
}

export const hasFailed = ({ files, failures }: FetchReport): boolean =>
  failures.length > 0 || files.some(({ status }) => status === 'failed')

/** Runs a fetch with a progress bar. SIGINT and SIGTERM end it; parts stay, and the next run continues them. */
export async function fetchWithProgress(
  options: Omit<FetchOptions, 'signal' | 'onStep' | 'onBytes'>,
  isSilent: boolean,
): Promise<FetchReport> {
  const progress = createProgress({ silent: isSilent })
  const controller = new AbortController()
  const stop = (): void =>
    controller.abort(new FetchError('the fetch was ended; the next run continues it', true))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  try {
    return await fetchSources({
      ...options,
      signal: controller.signal,
      onStep: (step, bytes) => progress.step(step, bytes, 'bytes'),
      onBytes: (bytes) => progress.advance(bytes),
    })
  } finally {
    progress.stop()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop)
  }
}

export function parseAreas(names: readonly string[]): FetchArea[] {
  if (names.length === 0) throw new UsageError(`fetch needs an area: ${FETCH_AREAS.join(', ')}`)
  return [...new Set(names)].map((name) => {
    const area = FETCH_AREAS.find((each) => each === name)
    if (area === undefined)
      throw new UsageError(`unknown area ${JSON.stringify(name)}; areas: ${FETCH_AREAS.join(', ')}`)
    return area
  })
}

export function parseStates(args: ParsedArgs): FetchOptions['states'] {
  const text = textOption(args, 'states')
  if (text === undefined) return ALL_STATES
  return [...new Set(text.toUpperCase().split(','))].map((uf) => {
    const state = ALL_STATES.find((each) => each.uf === uf)
    if (state === undefined)
      throw new UsageError(
        `--states names ${JSON.stringify(uf)}, but takes abbreviations of states: ${ALL_STATES.map((each) => each.uf).join(', ')}`,
      )
    return state
  })
}

function monthOption(args: ParsedArgs, name: string): number | null {
  const text = textOption(args, name)
  if (text === undefined) return null
  if (!MONTH.test(text))
    throw new UsageError(`--${name} is ${JSON.stringify(text)}, but must be a month, YYYY-MM`)
  return Number(text.replace('-', ''))
}
