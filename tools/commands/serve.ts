/** `sus-data serve`: runs the server, without a demonstration. */
import { serveUntilStopped } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'serve',
  summary: 'Serve the promoted release.',
  usage: ['serve'],
  options: {},
  async run() {
    await serveUntilStopped(readSettings())
    return 0
  },
}
