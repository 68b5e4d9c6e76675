/**
 * A trial of a release before the server opens it: the release-trial program in a child process, with time and output
 * bounded. In: releases folder and id. Out: nothing, or ReleaseRefused with what the child said of it.
 */
import { spawn } from 'node:child_process'
import { ReleaseRefused } from '../release/verify.ts'
import { workerEntry } from './entry.ts'

const TRIAL_MS = 60_000
const OUTPUT_MAX = 2000

/** @throws ReleaseRefused when the child ends otherwise than well */
export function tryRelease(releasesDir: string, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // No environment: settings and secrets of the server are not the child's.
    const { file, execArgv } = workerEntry('release-check')
    const child = spawn(process.execPath, [...execArgv, file, releasesDir, id], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {},
      timeout: TRIAL_MS,
      killSignal: 'SIGKILL',
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.length < OUTPUT_MAX) said += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve()
      const [line = ''] = said
        .split('\n')
        .filter((text) => text.startsWith('demo-') || /^\w+-\w+-\d+/.test(text))
      const [, release = id, path = '', reason = ''] = /^([^/]+)\/([^:]+): (.*)$/.exec(line) ?? []
      reject(
        new ReleaseRefused(
          release,
          path,
          reason === ''
            ? `a trial of it ended with ${signal ?? `code ${code}`}`
            : `cannot be read: ${reason}`,
        ),
      )
    })
  })
}
