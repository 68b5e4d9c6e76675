// The program of the report worker: report-worker.ts.
import { load } from './load.js'

await load('report-worker')
