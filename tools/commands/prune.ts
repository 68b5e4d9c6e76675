/** `sus-data prune`: lists releases that nothing needs with the bytes that their removal frees; --apply removes them. */
import { readSettings } from '../../src/settings.ts'
import { type Command, numberOption, textOption, UsageError } from '../command.ts'
import { KEEP_MIN, prune } from '../prune.ts'

const KEEP_MAX = 10_000

export const command: Command = {
  name: 'prune',
  summary: 'List the releases that nothing needs, and remove them with --apply.',
  usage: ['prune [--keep N] [--older-than DATE] [--apply] [--json]'],
  options: {
    keep: {
      type: 'string',
      value: 'N',
      help: `Number of releases to keep, counted back from the one in service; ${KEEP_MIN} without it.`,
    },
    'older-than': {
      type: 'string',
      value: 'DATE',
      help: 'Remove only releases that came here before this day (2026-11-30, UTC).',
    },
    apply: { type: 'boolean', help: 'Remove them. Without it, nothing changes.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    if (args.positionals.length > 0) throw new UsageError('prune takes options only')
    const keep = numberOption(args, 'keep', { min: KEEP_MIN, max: KEEP_MAX, integer: true })
    const date = textOption(args, 'older-than')
    const olderThan = date === undefined ? null : parseDay(date)
    const apply = args.values.apply === true
    const plan = await prune(readSettings(), { ...(keep === undefined ? {} : { keep }), olderThan, apply })
    if (args.values.json === true) {
      process.stdout.write(`${JSON.stringify({ applied: apply, ...plan })}\n`)
      return 0
    }
    const { kept, removable, freed_bytes } = plan
    const lines = [
      ...kept.map(({ release_id, reason }) => `stays      ${release_id}  ${reason}`),
      ...removable.map(
        ({ release_id, bytes }) => `${apply ? 'removed  ' : 'removable'}  ${release_id}  ${bytes} bytes`,
      ),
      removable.length === 0
        ? 'Nothing can be removed.'
        : apply
          ? `${removable.length} releases removed, ${freed_bytes} bytes freed.`
          : `${removable.length} releases could be removed, which would free ${freed_bytes} bytes; --apply removes them.`,
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  },
}

function parseDay(text: string): number {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text)
    throw new UsageError(`--older-than is ${JSON.stringify(text)}, but must be a day such as 2026-11-30`)
  return time
}
