/** Checks a release in a child process (release-check.ts) with limits on time and output, before the server opens it. */
import { spawn } from 'node:child_process'
import { ReleaseRefused } from '../release/verify.ts'
import { workerEntry } from './entry.ts'

const CHECK_MS = 60_000
const OUTPUT_MAX = 2000

/** @throws ReleaseRefused if the child fails or is killed */
export function checkReleaseInChild(releasesDir: string, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Pass no environment, because the child needs neither settings nor secrets.
    const { file, execArgv } = workerEntry('release-check')
    const child = spawn(process.execPath, [...execArgv, file, releasesDir, id], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {},
      timeout: CHECK_MS,
      killSignal: 'SIGKILL',
    })
    let reported = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (reported.length < OUTPUT_MAX) reported += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve()
      const [line = ''] = reported
        .split('\n')
        .filter((text) => text.startsWith('demo-') || /^\w+-\w+-\d+/.test(text))
      const [, release = id, path = '', reason = ''] = /^([^/]+)\/([^:]+): (.*)$/.exec(line) ?? []
      reject(
        new ReleaseRefused(
          release,
          path,
          reason === '' ? `its check ended with ${signal ?? `code ${code}`}` : `cannot be read: ${reason}`,
        ),
      )
    })
  })
}
