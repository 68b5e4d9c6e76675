/** `sus-data demo`: synthetic snapshots in the publishers' raw formats, the same bytes for the same seed. */
import { resolve } from 'node:path'
import { type Command, numberOption, textOption, UsageError } from '../command.ts'
import { writeDemonstration } from '../demo/demonstration.ts'
import { createProgress } from '../progress.ts'

export const command: Command = {
  name: 'demo',
  summary: 'Write synthetic snapshots in the publishers’ raw formats.',
  usage: [
    'demo [--scale small|national] [--periods N] [--seed N] [--out DIR]',
    'demo --gaps [--seed N] [--out DIR]',
  ],
  options: {
    scale: {
      type: 'string',
      value: 'SCALE',
      help: 'small: facilities of RR, AC and AP; national: everything. Default small.',
    },
    periods: { type: 'string', value: 'N', help: 'Months, the newest 2026-05. Default 1.' },
    gaps: {
      type: 'boolean',
      help: 'Months from 2009-12 to 2026-05 of which states, tables and whole months are missing, as files by state; small.',
    },
    seed: { type: 'string', value: 'N', help: 'Other seed, other numbers. Default 1.' },
    out: { type: 'string', value: 'DIR', help: 'Folder to write to. Default data/demo.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const scale = textOption(args, 'scale') ?? 'small'
    if (scale !== 'small' && scale !== 'national')
      throw new UsageError(`--scale is "${scale}", but must be small or national`)
    const gaps = args.values.gaps === true
    if (gaps && (scale !== 'small' || textOption(args, 'periods') !== undefined))
      throw new UsageError('--gaps has its own months and is small: leave out --periods and --scale national')
    const out = resolve(textOption(args, 'out') ?? 'data/demo')
    const progress = createProgress({ silent: args.values.json === true })
    try {
      const files = await writeDemonstration({
        out,
        scale,
        periods: numberOption(args, 'periods', { min: 1, max: 60, whole: true }) ?? 1,
        seed: numberOption(args, 'seed', { min: 0, max: 2_000_000_000, whole: true }) ?? 1,
        gaps,
        onProgress: (step) => progress.step(step),
      })
      progress.stop()
      process.stdout.write(
        args.values.json === true
          ? `${JSON.stringify({ out, files })}\n`
          : `${files.map(({ path, bytes }) => `${path}  ${bytes} bytes`).join('\n')}\n`,
      )
      return 0
    } finally {
      progress.stop()
    }
  },
}
