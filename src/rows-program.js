// The program that writes rows out: rows-program.ts.
import { load } from './load.js'

await load('rows-program')
