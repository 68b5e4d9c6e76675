import { readFileSync } from 'node:fs'
import t from 'tap'
import { readCnv } from '../../../src/import/readers/cnv.ts'
import { decodeWindows1252 } from '../../../src/import/readers/windows-1252.ts'
import {
  CAUSE_GROUPS,
  causeGroupOf,
  OUTSIDE_CAUSE_GROUPS,
} from '../../../src/model/classifications/cause-groups.ts'
import {
  ICSAP_GROUPS,
  icsapGroupOf,
  isInIcsapUniverse,
  OUTSIDE_ICSAP,
} from '../../../src/model/classifications/icsap.ts'
import { sharedPath, skipWithoutShared } from '../../fixtures/shared-data.ts'

t.test('four characters decide at the edges of the list', async (t) => {
  const groups = {
    G000: '01',
    G00: '00',
    G001: '00',
    A170: '01',
    A17: '00',
    A179: '01',
    A33: '01',
    A379: '01',
    A38: '00',
    A50: '19',
    A51: '01',
    J153: '06',
    J152: '00',
    J154: '06',
    J155: '00',
    J157: '00',
    J158: '06',
    J159: '06',
    J15: '00',
    J180: '00',
    J181: '06',
    J189: '00',
    E10: '00',
    E100: '13',
    E149: '13',
    I20: '10',
    I21: '00',
    I64: '12',
    I679: '12',
    I68: '00',
    I69: '12',
    K920: '18',
    K922: '18',
    K929: '00',
    K289: '18',
    K29: '00',
    N390: '15',
    N39: '00',
    P350: '19',
    P351: '00',
    O23: '19',
    B508: '01',
    Z000: '00',
  }
  t.same(Object.fromEntries(Object.keys(groups).map((code) => [code, icsapGroupOf(code)])), groups)
  t.equal(ICSAP_GROUPS.length, 19)
})

t.test(
  'the common R package csapAIH deviates in three places, which the list here does not follow',
  async (t) => {
    // Its pattern ^B5[0-6] also takes leishmaniasis and trypanosomiasis.
    t.same([icsapGroupOf('B550'), icsapGroupOf('B569')], [OUTSIDE_ICSAP, OUTSIDE_ICSAP])
    // It leaves out measles and rubella.
    t.same([icsapGroupOf('B050'), icsapGroupOf('B069')], ['01', '01'])
    // Its pattern for ascariasis has a blank, so that it matches no code of four characters.
    t.same([icsapGroupOf('B770'), icsapGroupOf('B779')], ['01', '01'])
  },
)

t.test('deliveries are outside the admissions that are compared, by procedure or diagnosis', async (t) => {
  t.equal(isInIcsapUniverse('0303140151', 'J159'), true)
  t.equal(isInIcsapUniverse('0411010034', 'O234'), false)
  t.equal(isInIcsapUniverse('0303140151', 'O80'), false)
  t.equal(isInIcsapUniverse('0303140151', 'O849'), false)
  t.equal(isInIcsapUniverse('0303140151', 'O85'), true)
})

t.test('groups of causes: items before blocks, and O24.4 apart from the rest of O24', async (t) => {
  const groups = {
    I219: '068',
    O244: '089',
    O240: '090',
    O24: '090',
    N10: '085',
    A499: '007-015',
    B019: '016-023',
    S720: OUTSIDE_CAUSE_GROUPS,
    X599: '113',
    Y950: '104-113',
    U071: OUTSIDE_CAUSE_GROUPS,
    B342: '031',
  }
  t.same(Object.fromEntries(Object.keys(groups).map((code) => [code, causeGroupOf(code)])), groups)
  t.equal(new Set(CAUSE_GROUPS.map(({ code }) => code)).size, CAUSE_GROUPS.length)
})

t.test(
  'each full code of CID-10 has the group of the published table by code, but B50.8',
  { skip: skipWithoutShared },
  async (t) => {
    const { lines } = readCnv(readFileSync(sharedPath('icsap/SENSIVEISATB02.CNV')), 'SENSIVEISATB02.CNV')
    const published = new Map<string, string>()
    // The heading of a group has no codes, so each group is a run of lines with one parent.
    const parents = [...new Set(lines.map(({ subtotal }) => subtotal))]
    for (const { subtotal, codes } of lines)
      for (const { from } of codes)
        if (from !== '') published.set(from, String(parents.indexOf(subtotal) + 1).padStart(2, '0'))
    const subcategories = decodeWindows1252(readFileSync(sharedPath('cid10/CID-10-SUBCATEGORIAS.CSV')))
      .split(/\r?\n/)
      .slice(1)
      .map((line) => line.split(';').slice(0, 3).join(''))
      .filter((code) => /^[A-Z]\d{2}\d?$/.test(code))
    t.ok(subcategories.length > 10_000)
    const codes = [...new Set([...subcategories, ...published.keys()])]
    t.same(
      codes.filter((code) => icsapGroupOf(code) !== (published.get(code) ?? OUTSIDE_ICSAP)),
      ['B508'],
      'the tables 01 and 03 have it',
    )
    t.equal(published.size, 560)
  },
)
