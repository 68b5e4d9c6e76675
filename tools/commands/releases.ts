/** `sus-data releases`: lists releases with area, periods, rows, size, row files and promotion. */
import { readdir } from 'node:fs/promises'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { readManifest } from '../../src/release/verify.ts'
import { formatPeriod } from '../../src/release/view.ts'
import { checkRowFiles } from '../../src/rows/derived.ts'
import { readSettings } from '../../src/settings.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'releases',
  summary: 'List the releases that are here.',
  usage: ['releases [--json]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const { releasesDir } = readSettings()
    const current = await readPointer(releasesDir)
    const ids = (await readdir(releasesDir).catch(() => [])).filter((name) => RELEASE_ID.test(name)).sort()
    const promoted =
      current === null
        ? []
        : [current, ...Object.values((await readManifest(releasesDir, current)).components)]
    const list = await Promise.all(
      ids.map(async (id) => {
        const manifest = await readManifest(releasesDir, id)
        const { area, datasets, files } = manifest
        const rowFiles = await checkRowFiles(releasesDir, manifest)
        const periods = [...new Set(Object.values(datasets).flatMap((dataset) => dataset.periods))]
          .sort((left, right) => left - right)
          .map(formatPeriod)
        return {
          release_id: id,
          area,
          periods,
          rows: files.reduce((sum, { rows }) => sum + rows, 0),
          bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
          row_files: {
            files: rowFiles.good.length,
            bytes: rowFiles.good.reduce((sum, { entry }) => sum + entry.bytes, 0),
            problems: rowFiles.problems,
          },
          promoted: promoted.includes(id),
        }
      }),
    )
    const lines = list.map(
      ({ release_id, area, periods, rows, bytes, row_files, promoted }) =>
        `${promoted ? '*' : ' '} ${release_id}  ${area}  ${periods.join(' ') || '-'}  ${rows} rows  ${bytes} bytes  ${describeRows(row_files)}`,
    )
    process.stdout.write(
      args.values.json === true
        ? `${JSON.stringify(list)}\n`
        : `${lines.join('\n')}${lines.length > 0 ? '\n' : ''}`,
    )
    return 0
  },
}

function describeRows({
  files,
  bytes,
  problems,
}: {
  files: number
  bytes: number
  problems: readonly unknown[]
}): string {
  if (problems.length > 0) return 'row files missing: sus-data rows makes them'
  return files === 0 ? '-' : `${bytes} bytes of row files`
}
