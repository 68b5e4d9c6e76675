/** Tables that are not read, tables under the name of another one, and names that go on: the columns say what a file is. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openStateFile } from '../../src/import/cnes/state-files.ts'
import { importPaths } from '../../src/import/import.ts'
import { readDbfColumns } from '../../src/import/readers/dbf.ts'
import { kindOfColumns } from '../../src/import/readers/table-kinds.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('other-tables')
const releasesDir = join(folder, 'releases')
const refused = (t: Test, paths: readonly string[], message: RegExp) =>
  t.rejects(importPaths(paths, { releasesDir, maxRejected: 0.001 }), { name: 'ImportError', message })

/** Columns of a facility, which every CNES table repeats, and those that only some tables have. */
const FACILITY = ['CNES', 'CODUFMUN', 'TPGESTAO', 'PF_PJ', 'TP_UNID', 'VINC_SUS', 'COMPETEN']
const QUALIFICATION = ['SGRUPHAB', 'CMPT_INI', 'CMPT_FIM', 'DTPORTAR', 'PORTARIA', 'MAPORTAR']
const UNREAD: Readonly<Record<string, readonly [columns: readonly string[], what: RegExp]>> = {
  EP: [['IDEQUIPE', 'TIPO_EQP', 'NOME_EQP', 'ID_AREA'], /a CNES file of health teams by state \(EP\)/],
  HB: [[...QUALIFICATION, 'NULEITOS'], /a CNES file of qualifications by state \(HB\)/],
  IN: [QUALIFICATION, /incentives.*\(HB, IN, RC, GM, EE, EF\)/],
  RC: [QUALIFICATION, /contract rules/],
  GM: [QUALIFICATION, /management and goals/],
  EE: [QUALIFICATION, /teaching/],
  DC: [['S_HBSAGP', 'S_HBSAGN', 'MAQ_PROP'], /a CNES file of complementary data by state \(DC/],
  PF: [['CPF_PROF', 'CNS_PROF', 'CBO', 'HORAHOSP'], /a CNES file of health professionals by state \(PF\)/],
}
const tableOf = (more: readonly string[]): Buffer =>
  makeDbf({
    columns: [...FACILITY, ...more].map((name) => [name, 7] as const),
    rows: [{ CNES: '2000001', CODUFMUN: '530010', COMPETEN: '200707', VINC_SUS: '1' }],
  })

t.test('CNES tables that are not read', async (t) => {
  for (const [kind, [columns, what]] of Object.entries(UNREAD)) {
    const path = join(folder, `${kind}DF0707.dbc`)
    writeFileSync(path, makeDbc(tableOf(columns)))
    await refused(t, [path], what)
    await refused(t, [path], /Leave it out: such files are not read\.$/)
    const renamed = join(folder, 'STDF0707.dbc')
    copyFileSync(path, renamed)
    await t.rejects(openStateFile('STDF0707.dbc', readFileSync(renamed)), {
      name: 'ImportError',
      message: /is named as ST, and its columns are those of a CNES file.*Leave it out/,
    })
  }
  t.ok(await openStateFile('STDF0707.dbf', tableOf([])), 'with the columns of the facility alone it is one')
})

t.test('a name that goes on behind the month', async (t) => {
  const equipment = makeDbf({ columns: EQ_COLUMNS, rows: [EQ_ROW] })
  for (const [name, bytes] of [
    ['EQRR2309_retificado.dbf', equipment],
    ['EQRR2309 novo.dbc', makeDbc(equipment)],
    ['eqrr2309-v2.dbf.gz', gzipSync(equipment)],
  ] as const) {
    const inside = join(folder, name.replaceAll(/\W/g, '_'))
    mkdirSync(inside)
    writeFileSync(join(inside, name), bytes)
    await refused(
      t,
      [inside],
      /has the columns of a CNES file of equipment by state and a name that goes on behind eqrr2309.*Name it eqrr2309\.db[cf] if it is the month's file, or take it out\.$/i,
    )
  }
  const notes = join(folder, 'notes')
  mkdirSync(notes)
  writeFileSync(join(notes, 'EQRR2309_notes.dbf'), tableOf(['NOTE']))
  await refused(t, [notes], /not known: EQRR2309_notes\.dbf/)
})

t.test('a file that is named twice is one file', async (t) => {
  const inside = join(folder, 'twice')
  mkdirSync(inside)
  const file = join(inside, 'EQRR2309.dbf')
  writeFileSync(file, makeDbf({ columns: EQ_COLUMNS, rows: [EQ_ROW] }))
  symlinkSync(file, join(folder, 'EQRR2309.dbf'))
  const small = await makeSmallRelease()
  const importFiles = (paths: readonly string[]) =>
    importPaths([join(small.snapshots, 'ibge'), ...paths], { releasesDir, maxRejected: 0 })
  const { cnes } = await importFiles([file, file])
  for (const paths of [
    [inside, file],
    [inside, join(folder, 'EQRR2309.dbf')],
  ])
    t.equal((await importFiles(paths)).cnes, cnes, paths.join(' '))
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  copyFileSync(file, join(copy, 'EQRR2309.dbf'))
  await refused(t, [file, copy], /is the same month and state as/)
})

t.test('a pipe or a device is refused, named or in a folder', async (t) => {
  await refused(t, ['/dev/zero'], /\/dev\/zero: is no plain file/)
  const inside = join(folder, 'pipes')
  mkdirSync(inside)
  execFileSync('mkfifo', [join(inside, 'EQRR2309.dbf')])
  await refused(t, [inside], /EQRR2309\.dbf: is no plain file \(a pipe, a device or a socket\)/)
})

t.test(
  'published files: what their columns say is what their names say',
  { skip: skipWithoutShared },
  async (t) => {
    for (const path of ['cnes/dbc', 'sih', 'sia'])
      for (const name of readdirSync(sharedPath(path)).filter((file) => /^[A-Z]{4}\d{4}\.dbc$/i.test(file)))
        t.ok(
          kindOfColumns(
            readDbfColumns(readFileSync(sharedPath(`${path}/${name}`))).map((column) => column.name),
          )?.kinds.includes(name.slice(0, 2).toUpperCase()),
          name,
        )
    const copied = (from: string, to: string): string => {
      copyFileSync(sharedPath(from), join(folder, to))
      return join(folder, to)
    }
    const ibge = ['ibge/RELATORIO_DTB_BRASIL_MUNICIPIO_2022.csv', 'ibge/tabela9514.csv'].map(sharedPath)
    for (const [from, to, what] of [
      ['cnes/dbc/LTRR0610.dbc', 'EQRR0610.dbc', /as EQ, and its columns are those of a CNES file of beds/],
      [
        'cnes/dbc/STAP0510.dbc',
        'LTAP0510.dbc',
        /as LT, and its columns are those of a CNES file of facilities/,
      ],
      [
        'sih/RDAC2203.dbc',
        'PAAC2203.dbc',
        /as PA, and its columns are those of a file of hospital admissions/,
      ],
      [
        'sia/PAAC2310.dbc',
        'RDAC2310.dbc',
        /as RD, and its columns are those of a file of outpatient production/,
      ],
    ] as const)
      await refused(t, [...ibge, copied(from, to)], what)
    const retified = join(folder, 'retified')
    mkdirSync(retified)
    copyFileSync(sharedPath('cnes/dbc/LTSP2105.dbc'), join(retified, 'LTSP2105_retificado.dbc'))
    await refused(
      t,
      [...ibge, retified],
      /LTSP2105_retificado\.dbc: has the columns of a CNES file of beds by state/,
    )
  },
)
