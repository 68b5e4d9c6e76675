// The program of a trial of a release: release-trial.ts.
import { load } from './load.js'

await load('release-trial')
