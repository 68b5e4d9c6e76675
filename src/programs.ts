/**
 * The programs that run beside the server, each in a process of its own. They stand beside this file, and in a
 * translation (see load.js) beside the file that this has gone into.
 */
export const REPORT_WORKER = new URL('report-worker.js', import.meta.url)
export const ROWS_PROGRAM = new URL('rows-program.js', import.meta.url)
export const RELEASE_TRIAL = new URL('release-trial.js', import.meta.url)
