/** `sus-data update`: brings the release in service up to date, for cron or a systemd timer. Prints one line of JSON. */
import { FETCH_AREAS, FetchError } from '../../src/acquire/types.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, numberOption, textOption, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'
import { KEEP_MIN } from '../prune.ts'
import { thisMonth } from '../this-month.ts'
import { update } from '../update.ts'
import { parseAreas, parseStates } from './fetch.ts'

export const command: Command = {
  name: 'update',
  summary: 'Fetch, import, check and promote what is new for the release in service; print one line of JSON.',
  usage: ['update [--areas AREA,…] [--states UF,…] [--keep N] [--dry-run]'],
  options: {
    areas: {
      type: 'string',
      value: 'AREA,…',
      help: `Areas to update: ${FETCH_AREAS.join(', ')}. Default those of the release in service that have months.`,
    },
    states: { type: 'string', value: 'UF,…', help: 'States. Default those of the release in service.' },
    keep: {
      type: 'string',
      value: 'N',
      help: `Then prune releases and keep this many, at least ${KEEP_MIN}. Default: remove none.`,
    },
    'dry-run': { type: 'boolean', help: 'Say what would be fetched; change nothing.' },
  },
  async run(args) {
    if (args.positionals.length > 0) throw new UsageError('update takes options only')
    const areas = textOption(args, 'areas')
    const progress = createProgress({ silent: !process.stderr.isTTY })
    const controller = new AbortController()
    const stop = (): void =>
      controller.abort(new FetchError('the update was ended; nothing was promoted', true))
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
    try {
      const result = await update({
        settings: readSettings(),
        areas: areas === undefined ? null : parseAreas(areas.split(',')),
        states: textOption(args, 'states') === undefined ? null : parseStates(args),
        keep: numberOption(args, 'keep', { min: KEEP_MIN, max: 10_000, integer: true }) ?? null,
        isDry: args.values['dry-run'] === true,
        now: thisMonth(),
        signal: controller.signal,
        onStep: (step, bytes) => progress.step(step, bytes, 'bytes'),
        onBytes: (bytes) => progress.advance(bytes),
      })
      progress.stop()
      process.stdout.write(`${JSON.stringify(result)}\n`)
      return result.result === 'stopped' ? 1 : 0
    } finally {
      progress.stop()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop)
    }
  },
}
