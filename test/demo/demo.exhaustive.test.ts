/**
 * The demonstration as files: the same bytes for the same seed, the publishers' layouts, the sizes it promises, and every
 * trap of real months. Read by plain code that shares nothing with the generator or the importer.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { monthBefore, writeDemonstration } from '../../tools/demo/demonstration.ts'
import { FACILITY_HEADER, facilityRow, planFacilities } from '../../tools/demo/facilities.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import { columnOf, type RawTable, readZip, splitTable } from '../fixtures/raw-base.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const SEED = 1
/** Back to the last month that was published without QT_SUS of equipment. */
const PERIODS = 6
const MONTHS = [202512, 202601, 202602, 202603, 202604, 202605]
const out = temporaryFolder('demo')
const written = await writeDemonstration({ out, scale: 'small', periods: PERIODS, seed: SEED })

const zipPath = (root: string, period: number): string =>
  join(
    root,
    'cnes',
    `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`,
    `BASE_DE_DADOS_CNES_${period}.ZIP`,
  )
const months = new Map<number, Map<string, Buffer>>()
for (const period of MONTHS) months.set(period, await readZip(zipPath(out, period)))
const bytesOf = (name: string, period = 202605): Buffer =>
  months.get(period)?.get(`${name}${period}.csv`) ?? Buffer.alloc(0)
const table = (name: string, period = 202605): RawTable => splitTable(bytesOf(name, period))

/** A table with its cells by column name, trimmed or as published. */
const readRows = (name: string, period = 202605): ((column: string) => string)[] => {
  const of = table(name, period)
  const places = new Map<string, number>()
  return of.rows.map((row) => (column) => {
    const place = places.get(column) ?? columnOf(of, column)
    places.set(column, place)
    return row[place] ?? ''
  })
}

const facilities = readRows('tbEstabelecimento')
const beds = readRows('rlEstabComplementar')
const equipment = readRows('rlEstabEquipamento')
const services = readRows('rlEstabServClass')
const byUnit = new Map(facilities.map((cell) => [cell('CO_UNIDADE'), cell]))
const isClosed = (unit: string, units = byUnit): boolean =>
  (units.get(unit)?.('CO_MOTIVO_DESAB') ?? '') !== ''

type Row = (column: string) => string
const count = (rows: readonly Row[], test: (cell: Row) => boolean): number => rows.filter(test).length
const share = (rows: readonly Row[], test: (cell: Row) => boolean): number => count(rows, test) / rows.length
const repeats = (keys: readonly string[]): number => keys.length - new Set(keys).size

/** Files below a folder with their digests, in a stable order. */
const digests = (root: string): [string, string][] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [
      relative(root, path).replaceAll('\\', '/'),
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ])

/** Check digits as the tax office defines them, counted from the right: weights 2 to `top` in turn. */
function hasCheckDigits(text: string, top: number): boolean {
  const digits = [...text].map(Number)
  return [2, 1].every((left) => {
    const base = digits.slice(0, -left).reverse()
    const sum = base.reduce((total, digit, place) => total + digit * (2 + (place % (top - 1))), 0)
    return digits.at(-left) === (sum % 11 < 2 ? 0 : 11 - (sum % 11))
  })
}
const isCpf = (text: string): boolean => /^\d{11}$/.test(text) && hasCheckDigits(text, 11)
const isCnpj = (text: string): boolean => /^\d{14}$/.test(text) && hasCheckDigits(text, 9)

t.test('one seed, one set of bytes', secondRing, async (t) => {
  const first = digests(out)
  const again = temporaryFolder('demo-again')
  await writeDemonstration({ out: again, scale: 'small', periods: PERIODS, seed: SEED })
  t.same(digests(again), first, 'two runs are identical, zips included')

  // An archive's times are local: another zone must not move them.
  const elsewhere = temporaryFolder('demo-zone')
  const module = new URL('../../tools/demo/demonstration.ts', import.meta.url).href
  const script = `const { writeDemonstration } = await import(${JSON.stringify(module)})
    await writeDemonstration({ out: ${JSON.stringify(elsewhere)}, scale: 'small', periods: 1, seed: ${SEED} })`
  execFileSync(process.execPath, ['--import=tsx', '--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, TZ: 'Pacific/Auckland' },
  })
  const expected = first.filter(([path]) => !path.startsWith('cnes/') || path.includes('2026-05'))
  t.equal(expected.length, 13)
  t.same(digests(elsewhere), expected, 'a month alone, in another time zone, is that month')

  const other = temporaryFolder('demo-other')
  await writeDemonstration({ out: other, scale: 'small', periods: 1, seed: SEED + 1 })
  const changed = new Set(digests(other).map(([, digest]) => digest))
  t.same(
    expected.filter(([path, digest]) => changed.has(digest) && !/MUNICIPIO\.csv$|malha/.test(path)),
    [],
    'another seed gives other bytes',
  )
})

t.test('files written are those reported', async (t) => {
  t.same(
    written.map(({ path }) => path).sort(),
    digests(out).map(([path]) => join(out, path)),
  )
  t.same(
    written.filter(({ path, bytes }) => statSync(path).size !== bytes),
    [],
  )
  t.same(
    readdirSync(join(out, 'cnes')).sort(),
    ['2025-12', '2026-01', '2026-02', '2026-03', '2026-04', '2026-05'],
    'months up to the newest',
  )
  t.same(
    [0, 4, 5, 16, 17].map((age) => monthBefore(202605, age)),
    [202605, 202601, 202512, 202501, 202412],
  )
})

t.test('everything says that it is synthetic', async (t) => {
  for (const folder of [
    join(out, 'ibge'),
    join(out, 'datasus'),
    join(out, 'territory'),
    ...MONTHS.map((period) => dirname(zipPath(out, period))),
  ]) {
    const notes = JSON.parse(readFileSync(join(folder, 'snapshot.json'), 'utf8')) as {
      publisher: string
      synthetic: boolean
      licence: string
      files: Record<string, { url: unknown; retrieved_at: unknown; bytes: number; sha256: string }>
    }
    t.equal(notes.publisher, 'sus-data demonstration')
    t.equal(notes.synthetic, true)
    t.equal(notes.licence, 'CC0-1.0')
    t.same(
      notes.files,
      Object.fromEntries(
        digests(folder)
          .filter(([name]) => name !== 'snapshot.json')
          .map(([name, sha256]) => [
            name,
            { url: null, retrieved_at: null, bytes: statSync(join(folder, name)).size, sha256 },
          ]),
      ),
      `${basename(folder)}: bytes and digests`,
    )
  }
  for (const [period, entries] of months) {
    const text = entries.get('sus-data-demonstration.txt')?.toString('utf8') ?? ''
    t.match(text, /fictícios[\s\S]*invented/, `${period}: in both languages`)
  }
})

t.test('tables of a month and their sizes', async (t) => {
  const SIZES = {
    tbEstabelecimento: 4001,
    rlEstabComplementar: 600,
    rlEstabEquipamento: 9000,
    rlEstabServClass: 10_000,
    tbLeito: 69,
    tbTipoLeito: 7,
    tbTipoEquipamento: 16,
    tbEquipamento: 224,
    tbServicoEspecializado: 73,
    tbClassificacaoServico: 459,
    tbMunicipio: 5607,
    tbMotivoDesativacao: 14,
    tbTurnoAtendimento: 7,
    tbMantenedora: 9908,
    tbEstado: 27,
    tbGestao: 4,
    tbAtividadeEnsino: 5,
    tbFluxoDadosClientela: 3,
    tbAtividade: 2,
    tbTipoAbrangencia: 3,
    tbSubTipo: 2,
  }
  for (const [period, entries] of months) {
    for (const [name, rows] of Object.entries(SIZES)) t.equal(table(name, period).rows.length, rows, name)
    t.ok(table('tbTipoUnidade', period).rows.length >= 39)
    t.ok(table('tbNaturezaJuridica', period).rows.length >= 85)
    const concepts = bytesOf('tbTipoEstabelecimento', period).toString('latin1')
    t.equal(concepts.split('\r\n').length, 5, 'three records')
    t.equal(concepts.split('\n').length, 8, 'of two lines each')
    t.equal(entries.size, Object.keys(SIZES).length + 4, 'and no other member but the note')
  }
  for (const name of [...Object.keys(SIZES), 'tbTipoUnidade', 'tbNaturezaJuridica']) {
    const { columns, rows } = table(name)
    t.same(
      rows.filter((row) => row.length !== columns.length),
      [],
      `${name}: every row has every column`,
    )
  }
  const key: Record<string, string[]> = {
    tbLeito: ['CO_LEITO'],
    tbTipoEquipamento: ['CO_TIPO_EQUIPAMENTO'],
    tbEquipamento: ['CO_TIPO_EQUIPAMENTO', 'CO_EQUIPAMENTO'],
    tbServicoEspecializado: ['CO_SERVICO_ESPECIALIZADO'],
    tbClassificacaoServico: ['CO_SERVICO_ESPECIALIZADO', 'CO_CLASSIFICACAO_SERVICO'],
    tbTipoUnidade: ['CO_TIPO_UNIDADE'],
    tbNaturezaJuridica: ['CO_NATUREZA_JUR'],
    tbMunicipio: ['CO_MUNICIPIO'],
  }
  for (const [name, columns] of Object.entries(key))
    t.equal(
      repeats(readRows(name).map((cell) => columns.map((column) => cell(column).trim()).join(':'))),
      0,
      name,
    )
  const services = new Set(readRows('tbServicoEspecializado').map((cell) => cell('CO_SERVICO_ESPECIALIZADO')))
  t.equal(
    count(
      readRows('tbClassificacaoServico'),
      (cell) => !services.has(cell('CO_SERVICO_ESPECIALIZADO')) || cell('DS_CLASSIFICACAO_SERVICO') === '',
    ),
    0,
    'classifications have a service and a name',
  )
})

t.test('the header of facilities is as published', async (t) => {
  const published =
    'CO_UNIDADE CO_CNES NU_CNPJ_MANTENEDORA TP_PFPJ NIVEL_DEP NO_RAZAO_SOCIAL NO_FANTASIA NO_LOGRADOURO NU_ENDERECO NO_COMPLEMENTO NO_BAIRRO CO_CEP CO_REGIAO_SAUDE CO_MICRO_REGIAO CO_DISTRITO_SANITARIO CO_DISTRITO_ADMINISTRATIVO NU_TELEFONE NU_FAX NO_EMAIL NU_CPF NU_CNPJ CO_ATIVIDADE CO_CLIENTELA NU_ALVARA DT_EXPEDICAO TP_ORGAO_EXPEDIDOR DT_VAL_LIC_SANI TP_LIC_SANI TP_UNIDADE CO_TURNO_ATENDIMENTO CO_ESTADO_GESTOR CO_MUNICIPIO_GESTOR DT_ATUALIZACAO CO_USUARIO CO_CPFDIRETORCLN REG_DIRETORCLN ST_ADESAO_FILANTROP CO_MOTIVO_DESAB NO_URL NU_LATITUDE NU_LONGITUDE DT_ATU_GEO NO_USUARIO_GEO CO_NATUREZA_JUR TP_ESTAB_SEMPRE_ABERTO ST_GERACREDITO_GERENTE_SGIF ST_CONEXAO_INTERNET CO_TIPO_UNIDADE NO_FANTASIA_ABREV TP_GESTAO DT_ATUALIZACAO_ORIGEM CO_TIPO_ESTABELECIMENTO CO_ATIVIDADE_PRINCIPAL ST_CONTRATO_FORMALIZADO CO_TIPO_ABRANGENCIA ST_COWORKING'.split(
      ' ',
    )
  t.equal(published.length, 56)
  t.same(table('tbEstabelecimento', 202512).columns, published, 'plain names of dates in old months')
  t.same(
    table('tbEstabelecimento').columns,
    published.map((name) => (name.startsWith('DT_ATU') ? `TO_CHAR(${name},'DD/MM/YYYY')` : name)),
    'SQL as names of dates in new months',
  )
})

t.test('text is ISO-8859-1, quoted, with both line ends', async (t) => {
  const ends = new Set<string>()
  for (const [name, bytes] of months.get(202605) ?? []) {
    if (!name.endsWith('.csv')) continue
    const text = bytes.toString('latin1')
    t.notMatch(text, /[\u0080-\u009f\u00c2\u00c3][\u0080-\u00bf]/, `${name}: no UTF-8 read as Latin-1`)
    // Control characters where letters should be: text of another code page.
    t.notMatch(text.replaceAll(/[\r\n]/g, ''), /\p{Cc}/u, `${name}: no control character`)
    t.match(text, /^"[^\n]*"\r?\n/, name)
    // Concepts of establishment types are cells of two lines.
    const lines = text.replaceAll(/"[^"]*"/g, '""')
    const returns = lines.split('\r\n').length
    t.ok(returns === 1 || returns === lines.split('\n').length, `${name}: one kind of line end`)
    ends.add(returns === 1 ? 'LF' : 'CRLF')
  }
  t.same([...ends].sort(), ['CRLF', 'LF'])
  t.ok(bytesOf('tbEstabelecimento').includes(Buffer.from('Demonstração São Luís', 'latin1')))
  const names = new Map(readRows('tbMunicipio').map((cell) => [cell('CO_MUNICIPIO'), cell('NO_MUNICIPIO')]))
  t.equal(names.get('355030'), 'São Paulo')
  t.equal(names.get('211130'), 'São Luís')
  t.equal(names.get('510183'), 'Boa Esperança do Norte')
})

t.test('facilities are like those of real months', async (t) => {
  const codes = facilities.map((cell) => cell('CO_CNES'))
  t.ok(codes.every((code) => /^\d{7}$/.test(code)))
  t.ok(
    codes.some((code) => code.startsWith('0')),
    'leading zeros',
  )
  t.ok(
    facilities.every((cell) => new RegExp(`^\\d{6}${cell('CO_CNES')}$`).test(cell('CO_UNIDADE'))),
    'a unit is six digits of the place and the CNES code',
  )
  t.same([...new Set(facilities.map((cell) => cell('CO_ESTADO_GESTOR')))].sort(), ['12', '14', '16'])
  const near = (name: string, found: number, expected: number, tolerance: number): void => {
    t.ok(Math.abs(found - expected) <= tolerance, `${name}: ${found.toFixed(3)}`)
  }
  near(
    'legal persons',
    share(facilities, (cell) => cell('TP_PFPJ') === '3'),
    0.71,
    0.02,
  )
  near(
    'isolated consulting rooms',
    share(facilities, (cell) => cell('TP_UNIDADE').trim() === '22'),
    0.494,
    0.02,
  )
  near(
    'closed',
    share(facilities, (cell) => cell('CO_MOTIVO_DESAB') !== ''),
    0.245,
    0.02,
  )
  near(
    'TP_SUS 2',
    share(equipment, (cell) => cell('TP_SUS') === '2'),
    0.616,
    0.02,
  )
  near(
    'QT_SUS empty',
    share(equipment, (cell) => cell('QT_SUS') === ''),
    0.2,
    0.02,
  )
  near(
    'own services',
    share(services, (cell) => cell('TP_CARACTERISTICA') === '1'),
    0.859,
    0.02,
  )
  near(
    'NAO INFORMADO',
    share(services, (cell) => cell('CO_CNPJCPF') === 'NAO INFORMADO'),
    0.859,
    0.02,
  )
  near(
    'ambulatory not SUS',
    share(services, (cell) => cell('CO_AMBULATORIAL') === '2'),
    0.661,
    0.02,
  )
  near(
    'ambulatory SUS',
    share(services, (cell) => cell('CO_AMBULATORIAL_SUS') === '1'),
    0.73,
    0.02,
  )
  near(
    'hospital not SUS',
    share(services, (cell) => cell('CO_HOSPITALAR') === '2'),
    0.879,
    0.02,
  )
  near(
    'hospital SUS',
    share(services, (cell) => cell('CO_HOSPITALAR_SUS') === '2'),
    0.815,
    0.02,
  )
  near(
    'main address',
    share(services, (cell) => cell('CO_END_COMPL') === '0'),
    0.853,
    0.02,
  )
  const kinds = new Set(['02', '05', '07', '15', '20', '62', '73'])
  t.ok(
    beds
      .flatMap((cell) => byUnit.get(cell('CO_UNIDADE')) ?? [])
      .every((cell) => cell('TP_PFPJ') === '3' && kinds.has(cell('TP_UNIDADE').trim())),
    'beds are of legal persons, in hospitals and the like',
  )
})

t.test('exactly three bad rows a month', async (t) => {
  const serviceKey = [
    'CO_UNIDADE',
    'CO_SERVICO',
    'CO_CLASSIFICACAO',
    'TP_CARACTERISTICA',
    'CO_CNPJCPF',
    'CO_END_COMPL',
  ]
  const isCount = (text: string): boolean => /^\d+$/.test(text)
  for (const period of MONTHS) {
    const [units, bedRows, equipmentRows, serviceRows] = [
      readRows('tbEstabelecimento', period),
      readRows('rlEstabComplementar', period),
      readRows('rlEstabEquipamento', period),
      readRows('rlEstabServClass', period),
    ]
    const known = new Set(units.map((cell) => cell('CO_UNIDADE')))
    t.equal(repeats(units.map((cell) => cell('CO_CNES'))), 1, `${period}: one facility twice`)
    t.equal(units.at(-1)?.('CO_CNES'), units[1]?.('CO_CNES'))
    t.not(units.at(-1)?.('NO_FANTASIA'), units[1]?.('NO_FANTASIA'))
    t.same(
      [bedRows, equipmentRows, serviceRows].map((rows) =>
        count(rows, (cell) => !known.has(cell('CO_UNIDADE'))),
      ),
      [1, 0, 0],
      `${period}: one bed of an unknown facility`,
    )
    t.notOk(known.has(bedRows.at(-1)?.('CO_UNIDADE') ?? ''))
    t.equal(
      count(equipmentRows, (cell) => !isCount(cell('QT_EXISTENTE')) || !isCount(cell('QT_USO'))),
      1,
      `${period}: one quantity that is no number`,
    )
    t.equal(equipmentRows.at(-2)?.('QT_EXISTENTE'), 'X2')
    t.equal(
      count(bedRows, (cell) => !isCount(cell('QT_EXIST')) || !isCount(cell('QT_SUS'))),
      0,
    )
    t.equal(repeats(bedRows.map((cell) => `${cell('CO_UNIDADE')}:${cell('CO_LEITO')}`)), 0)
    t.equal(
      repeats(
        equipmentRows.map((cell) =>
          [cell('CO_UNIDADE'), cell('CO_EQUIPAMENTO'), cell('CO_TIPO_EQUIPAMENTO').trim()].join(':'),
        ),
      ),
      0,
    )
    t.equal(repeats(serviceRows.map((cell) => serviceKey.map(cell).join(':'))), 0)
  }
})

t.test('traps of facilities', async (t) => {
  const has = (name: string, test: (cell: Row) => boolean): void => {
    t.ok(count(facilities, test) > 0, name)
  }
  has('trailing blanks on a code', (cell) => /^\d\d +$/.test(cell('TP_UNIDADE')))
  has('a code without them', (cell) => /^\d\d$/.test(cell('TP_UNIDADE')))
  has('coordinates that are none', (cell) => cell('NU_LATITUDE') === 'undefined')
  has('empty coordinates', (cell) => cell('NU_LATITUDE') === '')
  has('decimal commas', (cell) => /^-?\d+,\d+$/.test(cell('NU_LATITUDE')))
  has('exchanged signs', (cell) => Number(cell('NU_LONGITUDE')) > 28)
  has('a place abroad', (cell) => cell('NU_LATITUDE') === '48.8566')
  has('an empty telephone in brackets', (cell) => cell('NU_TELEFONE') === '( )')
  has('no telephone', (cell) => cell('NU_TELEFONE') === '')
  has('a house without a number', (cell) => cell('NU_ENDERECO') === 'S/N')
  has('a date before 1900', (cell) => /\/1[0-8]\d\d$/.test(cell('DT_ATUALIZACAO')))
  has('an ignored municipality', (cell) => /^(12|14|16)0000$/.test(cell('CO_MUNICIPIO_GESTOR')))
  has('a separator in a cell', (cell) => cell('NO_FANTASIA').includes(';'))
  has('quotes in a cell', (cell) => cell('NO_FANTASIA').includes('"Anexo"'))
  t.ok(bytesOf('tbEstabelecimento').includes('""Anexo""'), 'quotes are doubled')
  has('a name like a formula', (cell) => cell('NO_FANTASIA').startsWith('='))
  has('an e-mail', (cell) => cell('NO_EMAIL') !== '')
  t.equal(
    count(facilities, (cell) => !/^$|@example\.invalid$/.test(cell('NO_EMAIL'))),
    0,
  )
  const ignored = new Set(readRows('tbMunicipio').map((cell) => cell('CO_MUNICIPIO')))
  t.equal(
    count(facilities, (cell) => !ignored.has(cell('CO_MUNICIPIO_GESTOR'))),
    0,
    'places are in the list',
  )
  for (const [column, list, code] of [
    ['TP_UNIDADE', 'tbTipoUnidade', 'CO_TIPO_UNIDADE'],
    ['CO_NATUREZA_JUR', 'tbNaturezaJuridica', 'CO_NATUREZA_JUR'],
    ['CO_TURNO_ATENDIMENTO', 'tbTurnoAtendimento', 'CO_TURNO_ATENDIMENTO'],
    ['CO_MOTIVO_DESAB', 'tbMotivoDesativacao', 'CD_MOTIVO_DESAB'],
  ] as const) {
    const known = new Set(['', ...readRows(list).map((cell) => cell(code).trim())])
    t.equal(
      count(facilities, (cell) => !known.has(cell(column).trim())),
      0,
      `${column} is in ${list}`,
    )
  }
})

t.test('invented people and companies', async (t) => {
  const persons = facilities.filter((cell) => cell('TP_PFPJ') === '1')
  t.ok(
    persons.every((cell) => isCpf(cell('NU_CPF')) && cell('NU_CNPJ') === ''),
    'persons have a CPF',
  )
  t.ok(facilities.every((cell) => isCpf(cell('CO_CPFDIRETORCLN'))))
  const companies = facilities.filter((cell) => cell('TP_PFPJ') === '3')
  t.ok(
    companies.every((cell) => cell('NU_CPF') === '' && isCnpj(cell('NU_CNPJ'))),
    'companies have a CNPJ',
  )
  t.ok(
    count(companies, (cell) => isCpf(cell('NO_RAZAO_SOCIAL').slice(-11))) > 0,
    'the legal name of some ends in a CPF',
  )
  const maintained = facilities.filter((cell) => cell('NU_CNPJ_MANTENEDORA') !== '')
  const maintainers = readRows('tbMantenedora').map((cell) => cell('NU_CNPJ_MANTENEDORA'))
  t.ok(maintained.length > 0)
  t.ok(maintained.every((cell) => maintainers.includes(cell('NU_CNPJ_MANTENEDORA'))))
  t.ok(
    [...maintainers, ...companies.map((cell) => cell('NU_CNPJ'))].every(
      (text) => /^99/.test(text) && isCnpj(text),
    ),
  )
  t.ok(
    facilities.every((cell) => /Demonstra(ção|tiva)/.test(cell('NO_RAZAO_SOCIAL') + cell('NO_FANTASIA'))),
    'names say so',
  )
})

t.test('traps of beds', async (t) => {
  t.ok(count(beds, (cell) => isClosed(cell('CO_UNIDADE'))) > 0, 'beds of closed facilities')
  t.ok(
    beds.slice(0, -1).every((cell) => /^\d $/.test(cell('CO_TIPO_LEITO'))),
    'a padded category',
  )
  t.ok(
    count(beds, (cell) => Number(cell('QT_SUS')) > Number(cell('QT_EXIST'))) > 0,
    'more for SUS than exist',
  )
  t.ok(share(beds, (cell) => Number(cell('QT_SUS')) > Number(cell('QT_EXIST'))) < 0.02)
  t.ok(count(beds, (cell) => cell('QT_EXIST') === '0') > 0, 'none at all')
  const types = new Map(
    table('tbLeito').rows.map(([code = '', , category = '']) => [code.trim(), category.trim()]),
  )
  t.ok(
    beds.every((cell) => types.get(cell('CO_LEITO')) === cell('CO_TIPO_LEITO').trim()),
    'type and category are in the catalog',
  )
  t.not(
    table('tbLeito').columns.join(),
    table('tbLeito', 202604).columns.join(),
    'the name of the category column changes with the month',
  )
})

t.test('traps of equipment', async (t) => {
  const old = readRows('rlEstabEquipamento', 202512)
  t.notOk(table('rlEstabEquipamento', 202512).columns.includes('QT_SUS'), 'no QT_SUS before 2026')
  t.ok(table('rlEstabEquipamento', 202601).columns.includes('QT_SUS'))
  t.ok(count(old, (cell) => cell('CO_TIPO_EQUIPAMENTO') === '1') > 0, 'one character in old months')
  t.ok(count(equipment, (cell) => cell('CO_TIPO_EQUIPAMENTO') === '1 ') > 0, 'two in new ones')
  t.same(
    [...new Set(equipment.map((cell) => cell('TP_SUS')))].sort(),
    ['', '0', '1', '2', '9'],
    'every value of TP_SUS',
  )
  t.ok(count(equipment, (cell) => isClosed(cell('CO_UNIDADE'))) > 0, 'equipment of closed facilities')
  t.ok(count(equipment, (cell) => cell('QT_EXISTENTE') === '0') > 0, 'none at all')
  t.equal(
    count(equipment, (cell) => Number(cell('QT_USO')) > Number(cell('QT_EXISTENTE'))),
    0,
  )
  const pad = (text: string): string => text.trim().padStart(2, '0')
  const known = new Set(
    readRows('tbEquipamento').map(
      (cell) => `${pad(cell('CO_TIPO_EQUIPAMENTO'))}:${pad(cell('CO_EQUIPAMENTO'))}`,
    ),
  )
  const unknown = equipment.filter(
    (cell) => !known.has(`${pad(cell('CO_TIPO_EQUIPAMENTO'))}:${pad(cell('CO_EQUIPAMENTO'))}`),
  )
  t.ok(unknown.length >= 1 && unknown.length <= 2, `${unknown.length} rows of types the catalog lacks`)
  const dates = (name: string): string | undefined =>
    table(name).columns.find((column) => column.includes('DT_ATUALIZACAO'))
  t.same(
    [dates('rlEstabEquipamento'), dates('rlEstabServClass')],
    ["TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')", 'DT_ATUALIZACAO'],
    'both spellings of dates in one month',
  )
})

t.test('traps of services', async (t) => {
  t.ok(count(services, (cell) => isClosed(cell('CO_UNIDADE'))) > 0, 'services of closed facilities')
  const provider = (name: string, test: (text: string) => boolean): void => {
    t.ok(count(services, (cell) => test(cell('CO_CNPJCPF'))) > 0, `a provider as ${name}`)
  }
  const codes = new Set(facilities.map((cell) => cell('CO_CNES')))
  provider('a CNES code', (text) => codes.has(text))
  provider('a CNPJ', isCnpj)
  provider('a CPF', isCpf)
  provider('zeros', (text) => /^0+$/.test(text))
  provider('not informed', (text) => text === 'NAO INFORMADO')
  provider('not applicable', (text) => text === 'NAO SE APLICA')
  provider('nothing', (text) => text === '')
  t.same([...new Set(services.map((cell) => cell('TP_CARACTERISTICA')))].sort(), ['1', '2', '3'])
  for (const flag of ['CO_AMBULATORIAL', 'CO_AMBULATORIAL_SUS', 'CO_HOSPITALAR', 'CO_HOSPITALAR_SUS'])
    t.same([...new Set(services.map((cell) => cell(flag)))].sort(), ['1', '2'], flag)
  const known = new Set(
    readRows('tbClassificacaoServico').map(
      (cell) => `${cell('CO_SERVICO_ESPECIALIZADO')}:${cell('CO_CLASSIFICACAO_SERVICO')}`,
    ),
  )
  t.equal(
    count(services, (cell) => !known.has(`${cell('CO_SERVICO')}:${cell('CO_CLASSIFICACAO')}`)),
    0,
  )
  const declared = new Map<string, Row[]>()
  for (const cell of services) {
    const key = `${cell('CO_UNIDADE')}:${cell('CO_SERVICO')}:${cell('CO_CLASSIFICACAO')}`
    declared.set(key, [...(declared.get(key) ?? []), cell])
  }
  const several = [...declared.values()].filter((cells) => cells.length > 1)
  const differ = (column: string): number =>
    several.filter((cells) => new Set(cells.map((cell) => cell(column))).size > 1).length
  t.ok(several.length > 0, `${several.length} services declared more than once`)
  t.equal(differ('CO_END_COMPL'), several.length, 'at different addresses')
  t.ok(differ('TP_CARACTERISTICA') > 0, 'by different providers')
})

t.test('months change a little', async (t) => {
  for (const [place, period] of MONTHS.entries()) {
    const before = MONTHS[place - 1]
    if (before === undefined) continue
    for (const name of ['tbEstabelecimento', 'rlEstabComplementar', 'rlEstabEquipamento']) {
      // QT_SUS and the padding came with 202601: the months around it differ in every row of equipment.
      if (name === 'rlEstabEquipamento' && before < 202601) continue
      const older = table(name, before).rows.map((row) => row.join(';'))
      const newer = table(name, period).rows.map((row) => row.join(';'))
      const known = new Set(older)
      const changed = newer.filter((row) => !known.has(row)).length
      t.ok(changed > 0 || name === 'tbEstabelecimento', `${name} ${period}: ${changed} rows changed`)
      t.ok(changed < newer.length * 0.05, `${name} ${period}: most did not`)
    }
  }
  const unitsBefore = new Map(readRows('tbEstabelecimento', 202604).map((cell) => [cell('CO_UNIDADE'), cell]))
  const reopened = [...unitsBefore.keys()].filter((unit) => isClosed(unit, unitsBefore) && !isClosed(unit))
  t.same(reopened, [])
})

t.test('a hospital with many beds closes in the newest month, whatever the seed', secondRing, async (t) => {
  for (const seed of [1, 2, 3, 12]) {
    const root = seed === SEED ? out : temporaryFolder(`demo-${seed}`)
    if (seed !== SEED) await writeDemonstration({ out: root, scale: 'small', periods: 2, seed })
    const read = async (period: number): Promise<(name: string) => RawTable> => {
      const entries = await readZip(zipPath(root, period))
      return (name) => splitTable(entries.get(`${name}${period}.csv`) ?? Buffer.alloc(0))
    }
    const [before, after] = [await read(202604), await read(202605)]
    const closedIn = (of: RawTable): Set<string> =>
      new Set(of.rows.filter((row) => row[columnOf(of, 'CO_MOTIVO_DESAB')] !== '').map((row) => row[0] ?? ''))
    const already = closedIn(before('tbEstabelecimento'))
    const closing = [...closedIn(after('tbEstabelecimento'))].filter((unit) => !already.has(unit))
    const bedTable = after('rlEstabComplementar')
    const most = closing.map((unit) =>
      bedTable.rows
        .filter(([of]) => of === unit)
        .reduce((sum, row) => sum + Number(row[columnOf(bedTable, 'QT_EXIST')]), 0),
    )
    t.ok(Math.max(...most) >= 40, `seed ${seed}: ${Math.max(...most)} beds`)
    t.ok(
      bedTable.rows.some(
        (row) => Number(row[columnOf(bedTable, 'QT_SUS')]) > Number(row[columnOf(bedTable, 'QT_EXIST')]),
      ),
      `seed ${seed}: more for SUS than exist`,
    )
  }
})

t.test('the Federal District is published by administrative region', async (t) => {
  // The small scale has no facility there: its rows are made here as the national scale makes them.
  const chance = createChance(SEED)
  const all = listMunicipalities(chance)
  const plan = planFacilities(all, new Set(['DF']), 500, chance)
  const place = FACILITY_HEADER('plain').indexOf('CO_MUNICIPIO_GESTOR')
  const codes = Array.from(
    { length: plan.count },
    (_, index) => facilityRow(plan, all, index, 0, chance).split('";"')[place] ?? '',
  )
  t.ok(codes.includes('530010'))
  t.ok(new Set(codes).size > 3)
  const known = new Set(readRows('tbMunicipio').map((cell) => cell('CO_MUNICIPIO')))
  t.same(
    codes.filter((code) => !/^5300\d\d$/.test(code) || code === '530000' || !known.has(code)),
    [],
  )
})

t.test('coordinates: most inside of their municipality, some elsewhere, some none', async (t) => {
  const mesh = JSON.parse(
    readFileSync(join(out, 'ibge', 'malha_municipios_demonstracao.json'), 'utf8'),
  ) as Topology<{ BRMU: GeometryCollection<{ codarea: string }> }>
  const boxes = new Map(
    feature(mesh, mesh.objects.BRMU).features.map(({ properties, geometry }) => {
      const ring = geometry.type === 'MultiPolygon' ? geometry.coordinates.flat(2) : []
      const [xs, ys] = [ring.map(([x = 0]) => x), ring.map(([, y = 0]) => y)]
      return [
        properties.codarea.slice(0, 6),
        [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)],
      ]
    }),
  )
  const placeOf = (municipality: string, latitude: string, longitude: string): string => {
    const [x, y] = [Number(longitude.replace(',', '.')), Number(latitude.replace(',', '.'))]
    const [west = 0, south = 0, east = 0, north = 0] = boxes.get(municipality) ?? []
    if (latitude === '' || Number.isNaN(x)) return 'none'
    return x >= west && x <= east && y >= south && y <= north ? 'inside' : 'elsewhere'
  }
  const isPlace = (code: string): boolean => boxes.has(code)
  const known = facilities.filter((cell) => isPlace(cell('CO_MUNICIPIO_GESTOR')))
  const kind = (cell: Row): string =>
    placeOf(cell('CO_MUNICIPIO_GESTOR'), cell('NU_LATITUDE'), cell('NU_LONGITUDE'))
  t.ok(share(known, (cell) => kind(cell) === 'inside') > 0.85)
  t.ok(share(known, (cell) => kind(cell) === 'elsewhere') > 0.02)
  t.ok(share(known, (cell) => kind(cell) === 'none') > 0.05)
  // The national scale has the same everywhere but in the municipality that the mesh lacks.
  const chance = createChance(SEED)
  const all = listMunicipalities(chance)
  const plan = planFacilities(all, null, 623_207, chance)
  const header = FACILITY_HEADER('sql')
  const [municipality, latitude, longitude] = ['CO_MUNICIPIO_GESTOR', 'NU_LATITUDE', 'NU_LONGITUDE'].map(
    (name) => header.indexOf(name),
  ) as [number, number, number]
  const states = new Map<string, number[]>()
  for (let index = 0; index < plan.count; index += 37) {
    const cells = facilityRow(plan, all, index, 0, chance).split('";"')
    const code = cells[municipality] ?? ''
    if (!isPlace(code)) continue
    const found = states.get(code.slice(0, 2)) ?? [0, 0]
    const isInside = placeOf(code, cells[latitude] ?? '', cells[longitude] ?? '') === 'inside'
    states.set(code.slice(0, 2), [(found[0] ?? 0) + Number(isInside), (found[1] ?? 0) + 1])
  }
  t.equal(states.size, 27)
  for (const [state, [inside = 0, both = 0]] of states)
    t.ok(inside / both > 0.7, `${state}: ${inside} of ${both}`)
})

t.test('places as CNES lists them: 36 more than IBGE', async (t) => {
  const places = readRows('tbMunicipio')
  t.equal(
    count(places, (cell) => cell('CO_MUNICIPIO').endsWith('0000')),
    26,
    'one ignored a state',
  )
  t.equal(
    count(places, (cell) => /^53(?!0010)/.test(cell('CO_MUNICIPIO'))),
    10,
  )
  t.equal(new Set(places.map((cell) => cell('CO_SIGLA_ESTADO'))).size, 27)
})

interface SidraElement {
  readonly V: string
  readonly D1C: string
  readonly D1N: string
  readonly D2C: string
  readonly D3C: string
}
const readSidra = (name: string): SidraElement[] =>
  JSON.parse(readFileSync(join(out, 'ibge', name), 'utf8')) as SidraElement[]

t.test('5,571 municipalities with their names', async (t) => {
  const text = readFileSync(join(out, 'ibge', 'RELATORIO_DTB_BRASIL_MUNICIPIO.csv'), 'utf8')
  const [header = [], ...rows] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(1, -1).split('","'))
  t.equal(header.length, 13)
  t.same(
    [header[0], header[1], header[10], header[11], header[12]],
    ['UF', 'Nome_UF', 'Município', 'Código Município Completo', 'Nome_Município'],
  )
  t.equal(rows.length, 5571)
  t.ok(rows.every((row) => row.length === 13 && row[11] === `${row[0]}${row[10]}` && row[12] !== ''))
  t.equal(repeats(rows.map((row) => row[11] ?? '')), 0)
  t.equal(repeats(rows.map((row) => (row[11] ?? '').slice(0, 6))), 0)
  t.equal(new Set(rows.map((row) => row[1])).size, 27)
  const names = new Map(rows.map((row) => [row[11], row[12]]))
  t.equal(names.get('1100015'), "Alta Floresta D'Oeste")
  t.equal(names.get('5101837'), 'Boa Esperança do Norte')
  t.equal(names.get('5300108'), 'Brasília')
  t.notMatch(text, /[\ufffd\u0080-\u009f]/)
  const six = new Set(readRows('tbMunicipio').map((cell) => cell('CO_MUNICIPIO')))
  t.ok(
    [...names.keys()].every((code) => six.has((code ?? '').slice(0, 6))),
    'CNES knows them all',
  )
})

t.test('population, with its label and its gaps', async (t) => {
  const files: [string, string, string][] = [
    ['sidra_values_93_2022.json', '93', '2022'],
    ['sidra_values_9324_2024.json', '9324', '2024'],
    ['sidra_values_9324_2025.json', '9324', '2025'],
  ]
  const young = '5101837'
  const values = new Map<string, Map<string, string>>()
  for (const [name, variable, year] of files) {
    const [labels, ...towns] = readSidra(name)
    t.equal(labels?.V, 'Valor (sus-data demonstration)', name)
    t.ok(towns.every(({ D2C, D3C }) => D2C === variable && D3C === year))
    t.ok(
      towns.every(({ V, D1C }) => /^[1-9]\d*$/.test(V) || D1C === young),
      `${name}: whole numbers as text`,
    )
    t.equal(repeats(towns.map(({ D1C }) => D1C)), 0)
    values.set(year, new Map(towns.map(({ D1C, V }) => [D1C, V])))
  }
  t.same(
    [...values.values()].map(({ size }) => size),
    [5570, 5571, 5571],
  )
  t.same(
    [...values.values()].map((year) => year.get(young)),
    [undefined, '...', '6000'],
    'the youngest municipality',
  )
  const census = [...(values.get('2022') ?? [])].map(([code, value]) => ({ code, people: Number(value) }))
  const sorted = census.map(({ people }) => people).sort((left, right) => left - right)
  const sum = sorted.reduce((total, people) => total + people, 0)
  t.ok(sum > 100e6 && sum < 300e6, `${sum} people`)
  t.ok((sorted[2785] ?? 0) < sum / 5570, 'most places are smaller than the mean')
})

/** Cells of a dBase file by column name, read with offsets of the header alone. */
function readTable(path: string): { columns: string[]; rows: ((column: string) => string)[] } {
  const bytes = readFileSync(path)
  const [start, size] = [bytes.readUInt16LE(8), bytes.readUInt16LE(10)]
  const places = new Map<string, readonly [from: number, to: number]>()
  let offset = 1
  for (let at = 32; at < start - 1; at += 32) {
    const width = bytes[at + 16] ?? 0
    places.set(bytes.toString('latin1', at, at + 11).replace(/\0.*$/, ''), [offset, offset + width])
    offset += width
  }
  const rows = Array.from({ length: bytes.readUInt32LE(4) }, (_, index) => (column: string) => {
    const [from = 0, to = 0] = places.get(column) ?? []
    return bytes.toString('latin1', start + index * size + from, start + index * size + to).trim()
  })
  return { columns: [...places.keys()], rows }
}

t.test('deaths and births in the published layouts, with their traps', async (t) => {
  const folders = [temporaryFolder('vital'), temporaryFolder('vital')]
  for (const folder of folders)
    await writeDemonstration({ out: folder, scale: 'small', periods: 1, seed: SEED, vitalRecords: true })
  const [vital = '', again = ''] = folders
  const readAll = (folder: string, kind: string, year = 2024) => {
    const tables = ['AC', 'AP', 'RR'].map((uf) => readTable(join(vital, folder, `${kind}${uf}${year}.dbf`)))
    return { columns: tables[0]?.columns ?? [], rows: tables.flatMap(({ rows }) => rows) }
  }
  const deaths = readAll('SIM/CID10/DORES', 'DO')
  const births = readAll('SINASC/1996_/Dados/DNRES', 'DN')
  t.same([deaths.columns.length, births.columns.length], [87, 61])
  t.same([deaths.columns.at(-1), births.columns.at(-1)], ['CONTADOR', 'CONTADOR'], 'the counter is the last')
  for (const name of ['SIM/PRELIM/DORES/DORR2025.dbf', 'SINASC/PRELIM/DNRES/DNEX2025.dbf'])
    t.ok(readFileSync(join(vital, name)).equals(readFileSync(join(again, name))), `${name}: the same bytes`)

  const part = (
    { rows }: typeof deaths,
    isMeant: (cell: (column: string) => string) => boolean,
    of: (cell: (column: string) => string) => boolean = () => true,
  ): number => rows.filter((cell) => of(cell) && isMeant(cell)).length / rows.filter(of).length
  const isInfant = (cell: (column: string) => string): boolean =>
    /^([0-3]\d\d|400)$/.test(cell('IDADE')) && cell('IDADE') !== '000'
  for (const [name, value, low, high] of [
    ['infants', part(deaths, isInfant), 0.015, 0.04],
    [
      'first week of infants',
      part(deaths, (cell) => /^[01]|^20[0-6]/.test(cell('IDADE')), isInfant),
      0.4,
      0.65,
    ],
    ['60 years and more', part(deaths, (cell) => /^(4[6-9]|5)/.test(cell('IDADE'))), 0.55, 0.8],
    ['ill-defined', part(deaths, (cell) => cell('CAUSABAS').startsWith('R')), 0.02, 0.1],
    [
      'men at 15 to 39',
      part(
        deaths,
        (cell) => cell('SEXO') === '1',
        (cell) => /^4(1[5-9]|[23])/.test(cell('IDADE')),
      ),
      0.7,
      0.9,
    ],
    [
      'low weight',
      part(
        births,
        (cell) => Number(cell('PESO')) < 2500,
        (cell) => /^\d+$/.test(cell('PESO')),
      ),
      0.06,
      0.13,
    ],
    [
      'preterm',
      part(
        births,
        (cell) => /[1-4]/.test(cell('GESTACAO')),
        (cell) => cell('GESTACAO') !== '',
      ),
      0.09,
      0.15,
    ],
    ['caesarean', part(births, (cell) => cell('PARTO') === '2'), 0.5, 0.65],
    ['adolescent', part(births, (cell) => /^1/.test(cell('IDADEMAE'))), 0.1, 0.17],
  ] as const)
    t.ok(value > low && value < high, `${name}: ${value.toFixed(4)}`)
  const infants = deaths.rows.filter(isInfant).length
  t.ok(infants / births.rows.length > 0.008 && infants / births.rows.length < 0.02, 'infant deaths per birth')
  t.notOk(deaths.rows.some((cell) => cell('SEXO') === '1' && /^(O|C5[36]|F53)/.test(cell('CAUSABAS'))))
  t.notOk(deaths.rows.some((cell) => cell('SEXO') === '2' && cell('CAUSABAS') === 'C61'))

  for (const [column, cells] of [
    ['IDADE', ['400', '999', '000', '207', '228']],
    ['SEXO', ['0']],
    ['CODMUNRES', ['160000']],
    ['DTOBITO', ['01002024']],
    ['CODMUNOCOR', ['530010']],
    ['CAUSABAS', ['I64', 'B342']],
    ['RACACOR', ['', '9']],
  ] as const)
    for (const cell of cells)
      t.ok(
        deaths.rows.some((row) => row(column) === cell),
        `deaths, ${column}: ${cell}`,
      )
  const later = readAll('SIM/PRELIM/DORES', 'DO', 2025)
  t.ok(
    [...deaths.rows, ...later.rows].some((row) => row('CAUSABAS') === 'O960'),
    'a late maternal death, which is rare, in one of both years',
  )
  for (const [column, cells] of [
    ['PESO', ['9999', '']],
    ['IDADEMAE', ['99']],
    ['APGAR1', ['00']],
    ['GESTACAO', ['', '1', '6']],
    ['CONSULTAS', ['9']],
    ['CODMUNRES', ['160000']],
    ['DTNASC', ['01002024']],
  ] as const)
    for (const cell of cells)
      t.ok(
        births.rows.some((row) => row(column) === cell),
        `births, ${column}: ${cell}`,
      )
  for (const column of ['DTNASC', 'HORAOBITO', 'CODESTAB'])
    t.ok(part(deaths, (cell) => cell(column) !== '') > 0.5)
  for (const column of ['DTNASCMAE', 'HORANASC', 'CODESTAB'])
    t.ok(part(births, (cell) => cell(column) !== '') > 0.5)
})
