/**
 * First in every file of a translation (see load.js): what packages written for `require` expect to find, and stacks of
 * errors that name files and lines of the sources.
 */
import { readFileSync } from 'node:fs'
import { createRequire, SourceMap } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const require = createRequire(import.meta.url)
export const __filename = fileURLToPath(import.meta.url)
export const __dirname = dirname(__filename)

const HERE = new URL('.', import.meta.url).href
const maps = new Map()

/** Where a place of a translation comes from. A map is read when the first stack needs it: most processes need none. */
function sourceOf(file, line, column) {
  let map = maps.get(file)
  if (map === undefined) {
    map = new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')))
    maps.set(file, map)
  }
  const { originalSource, originalLine, originalColumn } = map.findEntry(line - 1, column - 1)
  if (originalSource === undefined) return null
  return `${new URL(originalSource, file).href}:${originalLine + 1}:${originalColumn + 1}`
}

Error.prepareStackTrace = (error, sites) => {
  const lines = sites.map((site) => {
    const [file, line, column] = [site.getFileName() ?? '', site.getLineNumber(), site.getColumnNumber()]
    if (!file.startsWith(HERE)) return `\n    at ${site}`
    try {
      return `\n    at ${String(site).replace(`${file}:${line}:${column}`, (place) => sourceOf(file, line, column) ?? place)}`
    } catch {
      return `\n    at ${site}`
    }
  })
  return `${Error.prototype.toString.call(error)}${lines.join('')}`
}
