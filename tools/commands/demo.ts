/** `sus-data demo`: writes synthetic snapshots in the publishers' raw formats. Equal seeds give equal bytes. */
import { resolve } from 'node:path'
import { STATES } from '../../src/model/territory/states.ts'
import { type Command, numberOption, type ParsedArgs, textOption, UsageError } from '../command.ts'
import { writeDemonstration } from '../demo/demonstration.ts'
import { createProgress } from '../progress.ts'

export const command: Command = {
  name: 'demo',
  summary: 'Write synthetic snapshots in the publishers’ raw formats.',
  usage: [
    'demo [--scale small|national] [--states UF,UF] [--periods N] [--without-admissions] [--vital-records] [--production] [--financing] [--seed N] [--out DIR]',
    'demo --gaps [--without-admissions] [--seed N] [--out DIR]',
  ],
  options: {
    scale: {
      type: 'string',
      value: 'SCALE',
      help: 'small: facilities of RR, AC and AP; national: everything. Default small.',
    },
    states: {
      type: 'string',
      value: 'UF,UF',
      help: 'States that have the facilities of the small scale, instead of RR, AC and AP.',
    },
    periods: { type: 'string', value: 'N', help: 'Months, the newest 2026-05. Default 1.' },
    gaps: {
      type: 'boolean',
      help: 'Months from 2009-12 to 2026-05 of which states, tables and whole months are missing, as files by state; small.',
    },
    'without-admissions': { type: 'boolean', help: 'Leave hospital admissions out.' },
    'vital-records': {
      type: 'boolean',
      help: 'Deaths and births at the national scale, too: a year; the small scale has those of two years without it.',
    },
    production: {
      type: 'boolean',
      help: 'Outpatient production of every month, too; at the national scale 13 GB a month.',
    },
    financing: { type: 'boolean', help: 'Health financing, too: FNS, SICONFI and SIOPS.' },
    seed: { type: 'string', value: 'N', help: 'Other seed, other numbers. Default 1.' },
    out: { type: 'string', value: 'DIR', help: 'Folder to write to. Default data/demo.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    const scale = textOption(args, 'scale') ?? 'small'
    if (scale !== 'small' && scale !== 'national')
      throw new UsageError(`--scale is "${scale}", but must be small or national`)
    const gaps = args.values.gaps === true
    if (
      gaps &&
      (scale !== 'small' || ['periods', 'states'].some((name) => textOption(args, name) !== undefined))
    )
      throw new UsageError(
        '--gaps has its own months and states and is small: leave out --periods, --states and --scale national',
      )
    const states = statesOption(args, scale)
    const out = resolve(textOption(args, 'out') ?? 'data/demo')
    const progress = createProgress({ silent: args.values.json === true })
    try {
      const files = await writeDemonstration({
        out,
        scale,
        periods: numberOption(args, 'periods', { min: 1, max: 60, integer: true }) ?? 1,
        seed: numberOption(args, 'seed', { min: 0, max: 2_000_000_000, integer: true }) ?? 1,
        gaps,
        ...(states === undefined ? {} : { states }),
        admissions: args.values['without-admissions'] !== true,
        vitalRecords: args.values['vital-records'] === true || (scale === 'small' && !gaps),
        production: args.values.production === true,
        financing: args.values.financing === true,
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

/** @returns abbreviations as in the table of states; @throws UsageError for an unknown state or the national scale */
function statesOption(args: ParsedArgs, scale: string): string[] | undefined {
  const text = textOption(args, 'states')
  if (text === undefined) return undefined
  if (scale !== 'small')
    throw new UsageError('--states goes with the small scale: leave out --scale national')
  const states = text.split(',').map((state) => state.trim().toUpperCase())
  const unknown = states.find((state) => !STATES.some(({ uf }) => uf === state))
  if (unknown !== undefined)
    throw new UsageError(
      `--states names "${unknown}", but takes abbreviations of states: ${STATES.map(({ uf }) => uf).join(', ')}`,
    )
  return states
}
