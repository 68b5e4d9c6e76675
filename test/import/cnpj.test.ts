/** CNPJ with letters, issued since July 2026: kept where a number is kept, counted where it is malformed, and no way in for a CPF. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { promoteRelease } from '../../src/release/promote.ts'
import { inventCpf } from '../../tools/demo/random.ts'
import { changeBase, importChanged } from '../fixtures/changed-base.ts'
import { openClient } from '../fixtures/client.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

/** Check digits by hand: ASCII − 48, weights 2 to 9 from the right, again and again. */
function withChecks(base: string): string {
  const digit = (text: string): string => {
    const sum = [...text]
      .reverse()
      .reduce((total, character, index) => total + (character.charCodeAt(0) - 48) * (2 + (index % 8)), 0)
    return String(sum % 11 < 2 ? 0 : 11 - (sum % 11))
  }
  const first = digit(base)
  return `${base}${first}${digit(`${base}${first}`)}`
}

t.equal(withChecks('12ABC34501DE'), '12ABC34501DE35', 'the example of the Receita Federal')
t.equal(withChecks('112223330001'), '11222333000181', 'a number of today')

/** Three characters in front of a CPF whose check digits, read as those of a CNPJ, are right too. */
function lettersBeforeCpf(): string {
  const cpf = inventCpf(321_000_123)
  // Whether both digits agree depends on these three and the first digit of the CPF alone.
  for (let number = 0; ; number += 1) {
    const front = `C${number.toString(36).padStart(2, '0').toUpperCase()}`
    if (withChecks(`${front}${cpf.slice(0, 9)}`).endsWith(cpf.slice(9))) return `${front}${cpf}`
  }
}

const LETTERED = '12ABC34501DE35'
const LETTERS_ONLY = withChecks('QZXWVUTSRKLM')
const MALFORMED = '12ABC34501DE36'
const disguised = lettersBeforeCpf()

t.test('national base', secondRing, async (t) => {
  const units: string[] = []
  const cnes: string[] = []
  const folder = changeBase({
    tbEstabelecimento(table) {
      const cells = [LETTERED, LETTERS_ONLY, LETTERED.toLowerCase(), MALFORMED, disguised, '11222333000182']
      cells.forEach((cell, index) => {
        table.set(10 + index, { NU_CNPJ: cell, TP_PFPJ: '3', NU_CNPJ_MANTENEDORA: '', CO_MOTIVO_DESAB: '' })
        units.push(table.cell(10 + index, 'CO_UNIDADE'))
        cnes.push(table.cell(10 + index, 'CO_CNES'))
      })
      table.set(10, { NU_CNPJ_MANTENEDORA: LETTERS_ONLY })
      table.set(11, { NU_CNPJ_MANTENEDORA: withChecks('12ABC34501DE').replace('35', '53') })
    },
    tbMantenedora(table) {
      table.add(2, { NU_CNPJ_MANTENEDORA: LETTERS_ONLY, NO_RAZAO_SOCIAL: 'Mantenedora de Letras' })
    },
    rlEstabServClass(table) {
      const cells = [LETTERED, ` ${LETTERS_ONLY}`, MALFORMED, disguised]
      cells.forEach((cell, index) => {
        table.add(2, {
          CO_UNIDADE: units[0] ?? '',
          CO_SERVICO: '145',
          CO_CLASSIFICACAO: `00${index + 1}`,
          TP_CARACTERISTICA: '2',
          CO_CNPJCPF: cell,
          CO_END_COMPL: '0',
        })
      })
    },
  })
  const { select, cnes: manifest, releasesDir, result } = await importChanged([folder])
  const codes = cnes.map((code) => `'${code}'`).join(', ')
  t.same(
    (await select('cnes_code, cnpj', 'facilities', `WHERE cnes_code IN (${codes})`)).sort(
      (left, right) => cnes.indexOf(String(left.cnes_code)) - cnes.indexOf(String(right.cnes_code)),
    ),
    [LETTERED, LETTERS_ONLY, LETTERED, null, null, '11222333000182'].map((cnpj, index) => ({
      cnes_code: cnes[index],
      cnpj,
    })),
    'kept in upper case; the malformed and the disguised are not; a number is kept as published',
  )
  t.same(await select('maintainer_cnpj, maintainer_name', 'facilities', `WHERE cnes_code = '${cnes[0]}'`), [
    { maintainer_cnpj: LETTERS_ONLY, maintainer_name: 'Mantenedora de Letras' },
  ])
  t.equal(manifest.counts.cnpj_malformed_202605, 3, 'one with letters, one that hides a CPF, one number')
  t.equal(manifest.counts.maintainer_cnpj_malformed_202605, 1)
  t.equal(manifest.counts.provider_cnpj_malformed_202605, 2)
  t.same(
    await select(
      'classification_code, provider_kind, declarations[1].provider_code AS provider_code',
      'specialized_services',
      `WHERE cnes_code = '${cnes[0]}' AND service_code = '145' AND len(declarations) = 1 AND declarations[1].characteristic_code = '2' ORDER BY 1`,
    ),
    [
      { classification_code: '001', provider_kind: 'CNPJ', provider_code: LETTERED },
      { classification_code: '002', provider_kind: 'CNPJ', provider_code: LETTERS_ONLY },
      { classification_code: '003', provider_kind: 'OTHER_SENTINEL', provider_code: null },
      { classification_code: '004', provider_kind: 'OTHER_SENTINEL', provider_code: null },
    ],
  )
  const cells = await select('DISTINCT "CO_CNPJCPF" AS cell', 'specialized_services_provenance')
  t.ok(
    cells.some(({ cell }) => cell === LETTERED),
    'the published cell is provenance',
  )
  t.notOk(
    cells.some(({ cell }) => String(cell).includes(disguised.slice(3))),
    'the CPF is not',
  )

  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const { body } = await client.get(`/v1/facilities/${cnes[0]}`)
  t.equal(body.data.cnpj, LETTERED)
  const provenance = (await client.get(`/v1/facilities/${cnes[0]}/provenance`)).body.data.entries
  const entry = provenance.find(({ attribute }: { attribute: string }) => attribute === 'cnpj')
  t.equal(entry.raw_value, LETTERED)
  t.match(entry.rule, /letras/)
})

t.test('files by state', async (t) => {
  const row = (index: number, owner: string, kind = '3'): Record<string, string> => ({
    ...EQ_ROW,
    CNES: String(2_000_000 + index),
    CPF_CNPJ: owner,
    PF_PJ: kind,
    NIV_DEP: '1',
    CNPJ_MAN: '00000000000000',
    COMPETEN: '202609',
  })
  const folder = join(temporaryFolder('lettered'), 'state')
  mkdirSync(folder)
  const rows = [row(1, LETTERED), row(2, MALFORMED), row(3, `000${inventCpf(77)}`, '1'), row(4, disguised)]
  writeFileSync(join(folder, 'EQRR2609.dbc'), makeDbc(makeDbf({ columns: EQ_COLUMNS, rows })))
  const { select, cnes } = await importChanged([folder])
  t.same(
    (await select('cnpj', 'facilities', 'ORDER BY cnes_code')).map(({ cnpj }) => cnpj),
    [LETTERED, null, null, null],
  )
  t.equal(cnes.counts.cnpj_malformed_202609, 2, 'a CPF of a natural person is no malformed CNPJ')
})
