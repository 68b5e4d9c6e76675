/** `sus-data rows`: makes, checks or removes the row files of a release. */
import { setPriority } from 'node:os'
import { checkRowFiles } from '../../src/rows/derived.ts'
import { componentsOf, makeRows, removeRows } from '../../src/rows/make.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, UsageError } from '../command.ts'
import { rowLines } from '../row-lines.ts'

const LOW_PRIORITY = 10

export const command: Command = {
  name: 'rows',
  summary:
    'Make the row files of a release: rows encoded for lists, records and searches, outside its digest. Without them the database answers, more slowly.',
  usage: ['rows ID [--again] [--json]', 'rows ID --verify [--json]', 'rows ID --remove [--json]'],
  options: {
    again: {
      type: 'boolean',
      help: 'Make those that are good, too. Otherwise only what is missing or damaged.',
    },
    verify: {
      type: 'boolean',
      help: 'Check the SHA-256 of each row file; exit code 1 where one is no good.',
    },
    remove: { type: 'boolean', help: 'Remove the row files; they can be made again at any time.' },
    json: { type: 'boolean', help: 'Print JSON.' },
  },
  async run(args) {
    // A server may run on this machine. Threads started from here on inherit this priority.
    setPriority(LOW_PRIORITY)
    const [id, ...rest] = args.positionals
    if (id === undefined || rest.length > 0) throw new UsageError('rows takes the id of one release')
    const { releasesDir } = readSettings()
    const { again, verify, remove, json } = args.values
    if ([again, verify, remove].filter(Boolean).length > 1)
      throw new UsageError('rows takes one of --again, --verify and --remove')
    const print = (value: unknown, lines: readonly string[]): void => {
      process.stdout.write(
        json === true ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(''),
      )
    }
    if (remove === true) {
      const removed = await removeRows(releasesDir, id)
      print(
        { removed },
        removed.length === 0 ? [`${id}: has no row files`] : removed.map((one) => `${one}: removed`),
      )
      return 0
    }
    if (verify === true) {
      const checked = await Promise.all(
        (await componentsOf(releasesDir, id)).map(async (manifest) => {
          const { good, problems } = await checkRowFiles(releasesDir, manifest, true)
          return { release_id: manifest.release_id, files: good.length, problems }
        }),
      )
      const lines = checked.flatMap(({ release_id, files, problems }) => [
        `${release_id}: ${files} row files verified`,
        ...problems.map(({ dataset, reason }) => `${release_id}: ${dataset} ${reason}`),
      ])
      print(checked, lines)
      return checked.every(({ problems }) => problems.length === 0) ? 0 : 1
    }
    const made = await makeRows(releasesDir, id, { again: again === true })
    const lines = rowLines(made)
    print(made, lines.length === 0 ? [`${id}: has all row files`] : lines)
    return Object.values(made).every(({ problems }) => problems.length === 0) ? 0 : 1
  },
}
