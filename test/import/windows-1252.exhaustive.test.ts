/**
 * Bytes of Windows-1252 become literal characters, the same in every reader and with every version of Node.js. Nothing here decodes
 * with tables of the runtime.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readCodeTables } from '../../src/import/aggregated/code-tables.ts'
import { openStateFile } from '../../src/import/cnes/state-files.ts'
import { openTable } from '../../src/import/financing/records.ts'
import { importPaths } from '../../src/import/import.ts'
import { readCnv } from '../../src/import/readers/cnv.ts'
import { openDbf } from '../../src/import/readers/dbf.ts'
import { readFixedWidth } from '../../src/import/readers/fixed-width.ts'
import { createTranscoder } from '../../src/import/readers/transcode.ts'
import { decodeText, decodeWindows1252 } from '../../src/import/readers/windows-1252.ts'
import { openSession } from '../../src/import/session.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writeFacilityNames } from '../fixtures/code-tables.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { writeStateFile } from '../fixtures/state-month.ts'

/** Microsoft's code page 1252, bytes 0x80 to 0x9F; � where it has no character. */
const CHARACTERS = '€�‚ƒ„…†‡ˆ‰Š‹Œ�Ž��‘’“”•–—˜™š›œ�žŸ'
/** "A – B": a dash in the middle, an accent behind it. */
const CELL = Buffer.from([0x41, 0x20, 0x96, 0x20, 0x42, 0x20, 0xe7])
const TEXT = 'A – B ç'

t.test('every byte', async (t) => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const text = decodeWindows1252(all)
  t.equal(text.length, 256)
  for (let byte = 0; byte < 256; byte += 1)
    t.equal(
      text[byte],
      byte >= 0x80 && byte < 0xa0 ? CHARACTERS[byte - 0x80] : String.fromCharCode(byte),
      `0x${byte.toString(16)}`,
    )
  t.notMatch(text, /[\u0080-\u009f]/, 'no control character but those of ASCII')
  t.equal(decodeWindows1252(all.subarray(0x96, 0x97)), '–', 'a part of a buffer')
  t.equal(decodeText(Buffer.from('\uFEFFA – B ç', 'utf8')), TEXT, 'UTF-8, and its mark is left out')
  t.equal(decodeText(CELL), TEXT)
})

t.test('every reader', async (t) => {
  const folder = temporaryFolder('windows-1252')
  const at = (bytes: Buffer, place: number): Buffer =>
    Buffer.concat([bytes.subarray(0, place), CELL, bytes.subarray(place + CELL.length)])
  const dbf = makeDbf({ columns: [['NAME', 10]], rows: [{ NAME: 'here' }] })
  const table = openDbf(at(dbf, dbf.indexOf('here')), 'x.dbf')
  const [column] = table.columns
  t.equal(column && table.text(0, column), `${TEXT}   `, 'dBase')

  const stream = Readable.from([Buffer.concat([CELL, Buffer.from('\n')])]).pipe(createTranscoder().stream)
  t.equal((await buffer(stream)).toString('utf8'), `${TEXT}\n`, 'tables of the national base')

  const cnv = Buffer.from(`1 6\n${' '.repeat(6)}1  ${'x'.repeat(7).padEnd(50)} 140010\n`, 'latin1')
  t.equal(readCnv(at(cnv, cnv.indexOf('xxxxxxx')), 'x.cnv').lines[0]?.label, TEXT, 'conversion table')

  const fixed = readFixedWidth(CELL, 'x.txt', [{ name: 'NO', from: 1, to: 7 }], ['NO'])
  t.equal(fixed.lines[0]?.cells.NO, TEXT, 'fixed width')

  const cadger = Buffer.concat([
    Buffer.from('CNES;FANTASIA;RAZ_SOCI;CODUFMUN\n2000001;'),
    CELL,
    Buffer.from(';x;140010\n'),
  ])
  const names = await openStateFile('CADGERRR.csv', cadger)
  t.equal([...names.read(['FANTASIA'])][0]?.values[0], TEXT, 'names of facilities as text')

  const session = await openSession({ scratch: join(folder, 'scratch'), threads: 1 })
  const path = join(folder, 'x.csv')
  writeFileSync(path, Buffer.concat([Buffer.from('a;b\n'), CELL, Buffer.from(';1\n')]))
  const file = { name: 'x.csv', path, archive: null, shown: path }
  const { records } = await openTable(session, file, () => true)
  for await (const { cells } of records) t.same(cells, [TEXT, '1'], 'text of financing')
  session.close()
})

t.test('bytes that the encoding does not define are counted', async (t) => {
  const small = await makeSmallRelease()
  const folder = temporaryFolder('undefined-bytes')
  const files = join(folder, 'files')
  mkdirSync(files)
  writeStateFile(files, 'EQ', 202306, [{}])
  const counted = async (name: string): Promise<number | undefined> => {
    writeFacilityNames(join(files, 'TCNESBR.DBF'), { '2000001': name })
    const releasesDir = join(temporaryFolder('releases'), 'releases')
    const { cnes } = await importPaths([join(small.snapshots, 'ibge'), files], {
      releasesDir,
      maxRejected: 0,
    })
    return (await readManifest(releasesDir, cnes ?? '')).counts.cells_with_undefined_characters
  }
  t.equal(await counted('Hospital \u0096 A'), undefined, '0x96 is a dash')
  t.equal(
    await counted('Hospital \u0081\u008d A'),
    3,
    '0x81 and 0x8D are no characters: name, text for searches, name beside the equipment',
  )
})

t.test('SIGTAP 2025-10: twelve bytes of eleven procedures', { skip: skipWithoutShared }, async (t) => {
  const folder = sharedPath('sigtap/202510')
  const files = ['tb_procedimento.txt', 'tb_procedimento_layout.txt'].map((name) => {
    const path = join(folder, name)
    return { name, path, archive: null, shown: path }
  })
  const { codes } = await readCodeTables(files)
  const named = [...(codes.get('procedures')?.values() ?? [])]
  t.ok(named.length > 4000)
  t.equal(named.filter(({ name }) => /[\u0080-\u009f]/.test(name ?? '')).length, 0, 'no control character')
  const marks = named.filter(({ name }) => /[‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ€]/.test(name ?? ''))
  t.equal(marks.length, 11)
  t.equal(
    marks.reduce((sum, { name }) => sum + (name?.match(/[‚„…‘’“”•–—]/g)?.length ?? 0), 0),
    12,
  )
})

t.test('no other decoder, and no answer of the runtime that its version could change', async (t) => {
  const root = fileURLToPath(new URL('../../src', import.meta.url))
  const forbidden: readonly (readonly [what: string, pattern: RegExp])[] = [
    ['decodes other text than UTF-8', /new TextDecoder\((?!'utf-8')/],
    ['transcodes with ICU', /\btranscode\(/],
    ['sorts or writes as a locale does', /localeCompare|\bIntl\.|toLocale/],
    ["packs with the runtime's zlib", /\b(deflate|gzip|brotliCompress)(Raw)?(Sync)?\(/],
  ]
  const found: string[] = []
  for (const folder of ['import', 'release', 'rows', 'model'])
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      found.push(...forbidden.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path} ${what}`))
    }
  t.same(found, [])
})
