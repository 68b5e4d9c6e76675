/**
 * Invents files of health financing in the publishers' formats: transfers of FNS (CSV in Latin-1, CSV in UTF-8, XLSX; formats
 * of numbers and dates change by year), reports of SICONFI (CSV and pages of JSON), and accounts and indicators of SIOPS.
 * Planted: a strategy in two bank accounts, renamed blocks, a municipality that a year lacks, a state without a report, an
 * indicator that is not approved, and confidential balances and account numbers.
 */
import { strToU8, zipSync } from 'fflate'
import { STATES } from '../../src/model/territory/states.ts'
import type { DemoMunicipality } from './geography.ts'
import type { Chance } from './random.ts'
import { inventCnpj } from './random.ts'

export interface FinancingContext {
  readonly all: readonly DemoMunicipality[]
  /** States that have funds; null: all. */
  readonly ufs: ReadonlySet<string> | null
  readonly chance: Chance
}
type Files = (readonly [name: string, bytes: Buffer])[]

const COLUMNS = [
  'BLOCO',
  'GRUPO',
  'ESTRATÉGIA',
  'UF',
  'MUNICIPIO',
  'CO_MUNICIPIO_IBGE',
  'QT_POPULACAO',
  'NU_ANO_REFERENCIA_IBGE',
  'CNPJ',
  'ENTIDADE',
  'BANCO',
  'AGENCIA',
  'CONTA',
  'TP_REPASSE',
  'TP_REPASSE_ESTADO',
  'ST_FAF',
  'ST_HU',
  'DT_ULTIMA_LIBERACAO',
  'VL_BRUTO',
  'VL_LIQUIDO',
  'VL_SALDO_CONTA',
  'DT_SALDO_CONTA',
] as const

/** Block, group and strategy, with usual reais per inhabitant; one is paid to two bank accounts. */
const STRATEGIES = [
  ['upkeep', 'ATENÇÃO PRIMÁRIA', 'INCENTIVO PARA AÇÕES ESTRATÉGICAS', 62, false],
  ['upkeep', 'ATENÇÃO PRIMÁRIA', 'AGENTE COMUNITÁRIO DE SAÚDE', 48, true],
  ['upkeep', 'ATENÇÃO ESPECIALIZADA', 'LIMITE FINANCEIRO DA MÉDIA E ALTA COMPLEXIDADE', 131, false],
  ['upkeep', 'ASSISTÊNCIA FARMACÊUTICA', 'COMPONENTE BÁSICO DA ASSISTÊNCIA FARMACÊUTICA', 7, false],
  ['works', 'ATENÇÃO PRIMÁRIA', 'ESTRUTURAÇÃO DA REDE DE SERVIÇOS', 11, false],
] as const

interface PublishedYear {
  readonly year: number
  readonly file: string
  readonly blocks: Readonly<Record<'upkeep' | 'works', string>>
  readonly decimals: 'comma' | 'double'
  readonly date: (day: number, month: number) => string
  readonly last: number
}
const two = (value: number): string => String(value).padStart(2, '0')
const YEARS: readonly PublishedYear[] = [
  {
    year: 2024,
    file: 'REPASSE_FAF_COM_POPULACAO-2024.csv',
    blocks: {
      upkeep: 'Manutenção das Ações e Serviços Públicos de Saúde (CUSTEIO)',
      works: 'Estruturação da Rede de Serviços Públicos de Saúde (INVESTIMENTO)',
    },
    decimals: 'comma',
    date: (day, month) => `2024-${two(month)}-${two(day)} 00:00:00.000000`,
    last: 12,
  },
  {
    year: 2025,
    file: 'REPASSE-FAF-COM-POPULACAO-2025.xlsx',
    blocks: {
      upkeep: 'Manutenção Das Ações E Serviços Públicos De Saúde',
      works: 'Estruturação Da Rede De Serviços Públicos De Saúde',
    },
    decimals: 'double',
    // Dates are days since the epoch of spreadsheets.
    date: (day, month) =>
      String(Math.round((Date.UTC(2025, month - 1, day) - Date.UTC(1899, 11, 30)) / 86_400_000)),
    last: 12,
  },
  {
    year: 2026,
    file: 'REPASSE-FAF-COM-POPULACAO-2026-acumulado-ate-marco.csv',
    blocks: {
      upkeep: 'Manutenção das Ações e Serviços Públicos de Saúde',
      works: 'Estruturação da Rede de Serviços Públicos de Saúde',
    },
    decimals: 'double',
    date: (day, month) => `${day}/${two(month)}/2026`,
    last: 3,
  },
]

/** The file of 2024 lacks a municipality of this state, whose fund's data came late. */
export const LATE_MUNICIPALITY = { uf: 'AP', year: 2024 } as const

/** Formats cents as the year publishes them: integer reais, a decimal comma, or the nearest double of a spreadsheet. */
function amountText(cents: number, { decimals }: PublishedYear, noisy: boolean): string {
  if (decimals === 'comma')
    return cents % 100 === 0
      ? String(cents / 100)
      : (cents / 100).toFixed(2).replace(/0$/, '').replace('.', ',')
  const plain = String(cents / 100)
  // Some doubles are written with seventeen digits.
  return noisy && plain.includes('.') ? (cents / 100).toPrecision(17).replace(/0+$/, '') : plain
}

function transferRows(published: PublishedYear, { all, ufs, chance }: FinancingContext): string[][] {
  const { year, blocks, last } = published
  const towns = all.filter(({ uf }) => ufs?.has(uf) ?? true)
  const lateTown = towns.find(({ uf }) => uf === LATE_MUNICIPALITY.uf)
  const rows: string[][] = []
  const add = (
    town: DemoMunicipality,
    kind: 'MUNICIPAL' | 'ESTADUAL',
    people: number,
    slot: number,
    strategies: typeof STRATEGIES | readonly (typeof STRATEGIES)[number][],
  ): void => {
    strategies.forEach(([block, group, strategy, usual, isSplit], index) => {
      const totalCents = Math.round(
        people * usual * (0.8 + chance(slot * 8 + index, 401) * 0.4) * 100 * (last / 12),
      )
      const payments = isSplit
        ? [Math.round(totalCents * 0.3), totalCents - Math.round(totalCents * 0.3)]
        : [totalCents]
      payments.forEach((cents, part) => {
        // Some amounts are integer reais.
        const gross = index === 3 ? Math.round(cents / 100) * 100 : cents
        const net = gross - (chance(slot * 8 + index, 402) < 0.05 ? Math.round(gross * 0.02) : 0)
        const month = index === 2 ? last : 1 + Math.floor(chance(slot * 8 + index, 403) * last)
        const day = 1 + Math.floor(chance(slot * 8 + index, 404) * 28)
        rows.push([
          blocks[block],
          group,
          strategy,
          town.uf,
          town.name.toUpperCase(),
          String(Math.floor(town.code / 10)),
          String(people),
          String(year - 1),
          inventCnpj(500_000 + slot),
          kind === 'MUNICIPAL'
            ? `FUNDO MUNICIPAL DE SAUDE DE ${town.name.toUpperCase()}`
            : 'FUNDO ESTADUAL DE SAUDE',
          '1',
          '4321',
          // Account number, which must never be published.
          `99887${slot % 10}${part}`,
          kind,
          'N',
          'S',
          'N',
          published.date(day, month),
          amountText(gross, published, chance(slot * 8 + index, 405) < 0.5),
          amountText(net, published, chance(slot * 8 + index, 406) < 0.5),
          amountText(7_777_777_77, published, false),
          published.date(28, last),
        ])
      })
    })
  }
  towns.forEach((town, index) => {
    if (town === lateTown && year === LATE_MUNICIPALITY.year) return
    add(town, 'MUNICIPAL', town.census ?? 1000, (year - 2000) * 100_000 + index, STRATEGIES)
  })
  for (const { uf, ibge_code } of STATES) {
    // The Federal District has one fund.
    if (uf === 'DF' || !(ufs?.has(uf) ?? true)) continue
    const stateTowns = towns.filter((town) => town.uf === uf)
    const [capital] = [...stateTowns].sort((left, right) => (right.census ?? 0) - (left.census ?? 0))
    const people = stateTowns.reduce((sum, { census }) => sum + (census ?? 0), 0)
    if (capital !== undefined)
      add(capital, 'ESTADUAL', people, (year - 2000) * 100_000 + 50_000 + ibge_code, STRATEGIES.slice(2, 4))
  }
  return rows
}

function transferFiles(context: FinancingContext): Files {
  return YEARS.map((published) => {
    const rows = transferRows(published, context)
    if (published.file.endsWith('.xlsx')) return [published.file, workbook([[...COLUMNS], ...rows])]
    // The header of the year with commas has no accent.
    const header = COLUMNS.map((name) => (published.decimals === 'comma' ? name.replace('É', 'E') : name))
    const separator = published.decimals === 'comma' ? ';' : ','
    const text = [header, ...rows].map((cells) =>
      cells.map((cell) => quoted(cell, separator)).join(separator),
    )
    return [
      published.file,
      Buffer.from(`${text.join('\r\n')}\r\n`, published.decimals === 'comma' ? 'latin1' : 'utf8'),
    ]
  })
}

const quoted = (cell: string, separator: string): string =>
  cell.includes(separator) || cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell

const CONTENT_TYPES =
  '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
const RELATIONS =
  '<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>'
const WORKBOOK =
  '<?xml version="1.0" encoding="UTF-8"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Planilha1" sheetId="1" r:id="rId1"/></sheets></workbook>'
const WORKBOOK_RELATIONS =
  '<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
const FIRST_STAMP = new Date(1980, 0, 1)

/** Writes the smallest workbook that spreadsheets open: numbers with the given digits, and inline strings. */
function workbook(rows: readonly (readonly string[])[]): Buffer {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const cellXml = (cell: string): string =>
    /^-?\d+(\.\d+)?$/.test(cell)
      ? `<c><v>${cell}</v></c>`
      : `<c t="inlineStr"><is><t>${escaped(cell)}</t></is></c>`
  const sheet = `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${rows
    .map((cells) => `<row>${cells.map(cellXml).join('')}</row>`)
    .join('')}</sheetData></worksheet>`
  const parts: Record<string, string> = {
    '[Content_Types].xml': CONTENT_TYPES,
    '_rels/.rels': RELATIONS,
    'xl/workbook.xml': WORKBOOK,
    'xl/_rels/workbook.xml.rels': WORKBOOK_RELATIONS,
    'xl/worksheets/sheet1.xml': sheet,
  }
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])), {
      mtime: FIRST_STAMP,
      level: 1,
    }),
  )
}

const REPORT_COLUMNS = [
  'exercicio',
  'demonstrativo',
  'periodo',
  'periodicidade',
  'instituicao',
  'cod_ibge',
  'uf',
  'populacao',
  'anexo',
  'esfera',
  'rotulo',
  'coluna',
  'cod_conta',
  'conta',
  'valor',
] as const
type ReportItem = Readonly<Record<(typeof REPORT_COLUMNS)[number], string | number>>

/** Accounts with shares of the spending. In this order a function precedes its subfunctions. */
const ACCOUNTS = [
  ['Educação', 1.4],
  ['Ensino Fundamental', 1.1],
  ['FU12 - Demais Subfunções', 0.3],
  ['Saúde', 1],
  ['Atenção Básica', 0.35],
  ['Assistência Hospitalar e Ambulatorial', 0.5],
  ['Vigilância Epidemiológica', 0.1],
  ['FU10 - Demais Subfunções', 0.05],
  ['Trabalho', 0.1],
  ['FU11 - Administração Geral', 0.1],
] as const
/** Column → share of the budget. */
const STAGE_COLUMNS = [
  ['DOTAÇÃO INICIAL', 1],
  ['DOTAÇÃO ATUALIZADA (a)', 1.05],
  ['DESPESAS EMPENHADAS NO BIMESTRE', 0.2],
  ['DESPESAS EMPENHADAS ATÉ O BIMESTRE (b)', 0.4],
  ['% (b/total b)', 0],
  ['SALDO (c) = (a-b)', 0.65],
  ['DESPESAS LIQUIDADAS NO BIMESTRE', 0.15],
  ['DESPESAS LIQUIDADAS ATÉ O BIMESTRE (d)', 0.3],
  ['% (d/total d)', 0],
  ['SALDO (e) = (a-d)', 0.75],
] as const

interface Government {
  readonly code: number
  readonly uf: string
  readonly name: string
  readonly sphere: 'E' | 'M'
  readonly people: number
}

/** A bimester's report in integer cents. Totals are the sums of their subfunctions. */
function reportOf(
  government: Government,
  year: number,
  bimester: number,
  slot: number,
  chance: Chance,
): ReportItem[] {
  const { code, uf, name, sphere, people } = government
  const item = (
    annex: string,
    label: string,
    column: string,
    account: string,
    title: string,
    cents: number,
  ): ReportItem => ({
    exercicio: year,
    demonstrativo: 'RREO',
    periodo: bimester,
    periodicidade: 'B',
    instituicao: name,
    cod_ibge: code,
    uf,
    populacao: people,
    anexo: annex,
    esfera: sphere,
    rotulo: label,
    coluna: column,
    cod_conta: account,
    conta: title,
    valor: cents / 100,
  })
  const items: ReportItem[] = []
  const budget = Math.round(people * (900 + chance(slot, 411) * 400) * 100)
  for (const [label, account, share] of [
    ['Total das Despesas Exceto Intra-Orçamentárias', 'RREO2TotalDespesas', 1],
    ['Total das Despesas Intra-Orçamentárias', 'RREO2TotalDespesasIntra', 0.08],
  ] as const)
    for (const [column, part] of STAGE_COLUMNS) {
      const centsOf = (accountShare: number): number => Math.round(budget * share * part * accountShare)
      const parts = ACCOUNTS.slice(4, 8).map(
        ([title, accountShare]) => [title, centsOf(accountShare)] as const,
      )
      const total = parts.reduce((sum, [, cents]) => sum + cents, 0)
      for (const [title, accountShare] of ACCOUNTS)
        items.push(
          item(
            'RREO-Anexo 02',
            label,
            column,
            account,
            title,
            part === 0
              ? Math.round(accountShare * 1500)
              : title === 'Saúde'
                ? total
                : (parts.find(([other]) => other === title)?.[1] ?? centsOf(accountShare)),
          ),
        )
    }
  const applied = 'AplicacaoTotalDasDespesasComAcoesEServicosPublicosDeSaude'
  const title = 'Aplicação Total das Despesas com Ações e Serviços Públicos de Saúde'
  items.push(
    item(
      'RREO-Anexo 14',
      'Padrão',
      'Até o Bimestre',
      'ReceitaCorrenteLiquida',
      'Receita Corrente Líquida',
      budget * 7,
    ),
    item(
      'RREO-Anexo 14',
      'Padrão',
      'Valor Apurado Até o Bimestre',
      applied,
      title,
      Math.round(budget * 0.25),
    ),
    item(
      'RREO-Anexo 14',
      'Padrão',
      '% Mínimo a Aplicar no Exercício',
      applied,
      title,
      sphere === 'E' ? 1200 : 1500,
    ),
    item(
      'RREO-Anexo 14',
      'Padrão',
      '% Aplicado Até o Bimestre',
      applied,
      title,
      1300 + Math.floor(chance(slot, 412) * 900),
    ),
  )
  return items
}

const PAGE_ITEMS = 150

/** Reports of two states and two municipalities; Amapá delivered none. */
function reportFiles({ all, chance }: FinancingContext): Files {
  const files: [string, Buffer][] = []
  const stateOf = (uf: string): Government => {
    const state = STATES.find((candidate) => candidate.uf === uf)
    const people = all.filter((town) => town.uf === uf).reduce((sum, { census }) => sum + (census ?? 0), 0)
    return { code: state?.ibge_code ?? 0, uf, name: `Governo do Estado - ${uf}`, sphere: 'E', people }
  }
  const acre = stateOf('AC')
  for (const bimester of [1, 2]) {
    const items = reportOf(acre, 2026, bimester, 900 + bimester, chance)
    const lines = items.map((item) => REPORT_COLUMNS.map((name) => String(item[name])).join(';'))
    files.push([
      `rreo_2026_b${bimester}_uf12.csv`,
      Buffer.from(`${[REPORT_COLUMNS.join(';'), ...lines].join('\n')}\n`),
    ])
  }
  const towns = all.filter(({ uf }) => uf === 'RR').slice(0, 2)
  const governments: Government[] = [
    stateOf('RR'),
    ...towns.map(
      ({ code, uf, name, census }): Government => ({
        code,
        uf,
        name: `Prefeitura Municipal de ${name}`,
        sphere: 'M',
        people: census ?? 1000,
      }),
    ),
  ]
  for (const [index, government] of governments.entries()) {
    const items = reportOf(government, 2025, 6, 950 + index, chance)
    for (let offset = 0; offset < items.length; offset += PAGE_ITEMS) {
      const page = items.slice(offset, offset + PAGE_ITEMS)
      const answer = {
        items: page,
        hasMore: offset + PAGE_ITEMS < items.length,
        limit: PAGE_ITEMS,
        offset,
        count: page.length,
      }
      files.push([`rreo_2025_b6_${government.code}_${offset}.json`, Buffer.from(JSON.stringify(answer))])
    }
  }
  return files
}

const STATE_STAGES = [
  'Dotação Inicial',
  'Dotação Atualizada',
  'Despesas Empenhadas',
  'Despesas Liquidadas',
  'Despesas Pagas',
  'Inscritas em Restos a Pagar não Processados',
  'Despesas Orçadas',
] as const

/** Accounts of the states for one year, and indicators of three municipalities, one of them not approved. */
function siopsFiles({ all, ufs, chance }: FinancingContext): Files {
  const states = STATES.filter(({ uf }) => ufs?.has(uf) ?? true)
  const header = [
    'Categoria',
    'Categoria_num',
    'COD. ESTADO',
    'UF',
    'ESTADO',
    'c3.0.00.00.00.00',
    'c3.1.00.00.00.00',
    'c3.3.00.00.00.00',
    'c3.3.90.30.00.00',
  ]
  const rows = STATE_STAGES.flatMap((stage, index) =>
    states.map(({ ibge_code, uf, name }, stateIndex) => {
      const staff = Math.round((1 + chance(stateIndex * 10 + index, 421)) * 10 ** 9)
      const other = Math.round((1 + chance(stateIndex * 10 + index, 422)) * 10 ** 9)
      const text = (cents: number): string => (cents % 100 === 0 ? `${cents / 100}.0` : String(cents / 100))
      // One state did not declare it.
      const isLate = uf === LATE_MUNICIPALITY.uf && index > 3
      return [stage, String(index + 1), String(ibge_code), uf, name].concat(
        isLate
          ? ['', '', '', '']
          : [text(staff + other), text(staff), text(other), text(Math.round(other / 3))],
      )
    }),
  )
  const accounts = Buffer.from(`${[header, ...rows].map((cells) => cells.join(',')).join('\n')}\n`, 'latin1')
  const towns = all.filter(({ uf }) => uf === 'AC').slice(0, 3)
  const indicators = towns.map(({ code }, index): [string, Buffer] => [
    `siops-indicador-municipal-${Math.floor(code / 10)}-2025-2.json`,
    Buffer.from(
      JSON.stringify(
        index === 2
          ? [{ error: 'Not Found', message: 'Dados não homologados para o período' }]
          : [
              {
                numero_indicador: '2.1',
                ds_indicador: 'Despesa total com saúde por habitante, em R$',
                numerador: '1',
                denominador: '1',
                indicador_calculado: `R$ 1.${100 + Math.floor(chance(index, 431) * 800)},25`,
              },
              {
                numero_indicador: '3.2',
                ds_indicador: 'Participação da receita própria aplicada em saúde conforme a LC 141/2012',
                numerador: '1',
                denominador: '1',
                indicador_calculado: `${15 + Math.floor(chance(index, 432) * 9)},23 %`,
              },
            ],
      ),
    ),
  ])
  return [
    ['despesa_estadual_2025_fonte2_subfuncao302.csv', accounts],
    [
      'siops-ano-periodo.json',
      Buffer.from(JSON.stringify([{ ds_ano: '2025', nu_periodo: '2', ds_periodo: '6º Bimestre' }])),
    ],
    ...indicators,
  ]
}

export const financingFiles = (context: FinancingContext): Readonly<Record<string, Files>> => ({
  fns: transferFiles(context),
  siconfi: reportFiles(context),
  siops: siopsFiles(context),
})
