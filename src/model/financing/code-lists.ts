/** Closed lists of health financing: sources and the meaning of their numbers, stages, spheres. Values only. */

type Names = Readonly<Record<string, readonly [pt: string, en: string]>>

export interface SourceText {
  readonly label: readonly [pt: string, en: string]
  readonly means: readonly [pt: string, en: string]
  readonly adds: readonly [pt: string, en: string]
}

export const SOURCES = {
  fns: {
    label: [
      'FNS: transferências fundo a fundo da União',
      'FNS: transfers of the Union to health funds of states and municipalities',
    ],
    means: [
      'O que o Fundo Nacional de Saúde transferiu no ano a cada fundo de saúde, bruto e líquido de descontos, por bloco, grupo e estratégia. É repasse, não é o que o município ou estado gastou. Do ano em curso vai até o último repasse publicado.',
      'Amounts that the national health fund transferred in the year to each health fund, gross and net of discounts, by block, group and strategy. They are transfers, not what the municipality or state spent. The current year reaches to the last transfer published.',
    ],
    adds: [
      'Somam-se blocos, grupos, estratégias, lugares e anos do mesmo estágio; as contas bancárias de uma estratégia já estão somadas. Não se somam bruto e líquido, nem esta fonte com as outras. Nomes de blocos e grupos mudam de um ano a outro: não compare anos por eles.',
      'Blocks, groups, strategies, places and years of one stage may be added; bank accounts of one strategy are added already. Gross and net may not be added, nor this source to the others. Names of blocks and groups change from year to year: do not compare years by them.',
    ],
  },
  siconfi_rreo_02: {
    label: [
      'SICONFI, RREO Anexo 02: despesa na função Saúde',
      'SICONFI, RREO annex 02: expense of the function health',
    ],
    means: [
      'O que um governo orçou, empenhou e liquidou na função Saúde e em suas subfunções, como declarou ao Tesouro Nacional no bimestre. Empenhado não é liquidado, e liquidado não é pago. Quem não entregou não aparece: isso não é zero.',
      'Amounts that a government budgeted, committed and liquidated in the function health and its subfunctions, as declared to the national treasury for the bimester. Committed is not liquidated, and liquidated is not paid. Who delivered nothing is not listed: that is not zero.',
    ],
    adds: [
      'Até o bimestre é acumulado no ano: nunca some bimestres. Saúde é o total de suas subfunções: não some os dois. Despesas intraorçamentárias são entre órgãos do mesmo governo: com elas o total conta duas vezes. Estágios não se somam.',
      'To the bimester is cumulative in the year: never add bimesters. Health is the total of its subfunctions: do not add both. Intra-budgetary expense is between bodies of one government: with it the total counts twice. Stages may not be added.',
    ],
  },
  siconfi_rreo_14: {
    label: [
      'SICONFI, RREO Anexo 14: aplicação mínima em saúde (LC 141/2012)',
      'SICONFI, RREO annex 14: minimum to be applied to health (LC 141/2012)',
    ],
    means: [
      'Quanto um governo aplicou de recursos próprios em ações e serviços públicos de saúde até o bimestre, o mínimo a aplicar no exercício (estados 12 %, municípios 15 %) e o percentual aplicado. Só o do sexto bimestre diz se o mínimo do ano foi cumprido.',
      'Amount of its own revenue that a government applied to public health actions and services up to the bimester, the minimum of the year (states 12 %, municipalities 15 %) and the percentage applied. Only the percentage of the sixth bimester says whether the minimum of the year was met.',
    ],
    adds: [
      'Nada se soma: valores são acumulados no ano e percentuais são razões.',
      'Nothing may be added: amounts are cumulative in the year and percentages are ratios.',
    ],
  },
  siops: {
    label: [
      'SIOPS: contas e indicadores de saúde declarados',
      'SIOPS: health accounts and indicators as declared',
    ],
    means: [
      'Receitas e despesas com saúde que estados e municípios declararam ao Ministério da Saúde, por conta e estágio, e os indicadores calculados delas. Quem não entregou ou ainda não foi aprovado não aparece: isso não é zero.',
      'Revenue and health expense that states and municipalities declared to the ministry of health, by account and stage, and the indicators computed of them. Who delivered nothing, or is not approved yet, is not listed: that is not zero.',
    ],
    adds: [
      'As contas são uma árvore: a conta total (3.0.00.00.00.00 …) já contém as que estão abaixo dela, nunca some as duas. Estágios e indicadores não se somam, nem períodos do mesmo ano.',
      'Accounts are a tree: a total account (3.0.00.00.00.00 …) contains those below it, never add both. Stages and indicators may not be added, nor periods of one year.',
    ],
  },
} as const satisfies Readonly<Record<string, SourceText>>
export type FinancingSource = keyof typeof SOURCES
export const SOURCE_CODES = Object.keys(SOURCES) as FinancingSource[]

/** Stages of an amount. They never add up, because the same money passes through several of them. */
export const STAGES = {
  transferred_gross: ['Transferido, bruto', 'Transferred, gross'],
  transferred_net: ['Transferido, líquido de descontos', 'Transferred, net of discounts'],
  budgeted_initial: ['Dotação inicial', 'Initial budget'],
  budgeted_updated: ['Dotação atualizada', 'Updated budget'],
  budgeted_law: ['Orçado', 'Budgeted'],
  committed: ['Empenhado', 'Committed'],
  liquidated: ['Liquidado', 'Liquidated'],
  paid: ['Pago', 'Paid'],
  carried_over: [
    'Inscrito em restos a pagar não processados',
    'Committed and carried over to the next year, not processed',
  ],
  committed_share: ['Empenhado, % do total', 'Committed, % of the total'],
  liquidated_share: ['Liquidado, % do total', 'Liquidated, % of the total'],
  not_committed: ['Saldo a empenhar', 'Balance not committed'],
  not_liquidated: ['Saldo a liquidar', 'Balance not liquidated'],
  revenue_forecast_initial: ['Receita, previsão inicial bruta', 'Revenue, gross initial forecast'],
  revenue_forecast_initial_transferred: [
    'Dedução da previsão inicial: transferências a municípios',
    'Deduction of the initial forecast: transfers to municipalities',
  ],
  revenue_forecast_updated: ['Receita, previsão atualizada bruta', 'Revenue, gross updated forecast'],
  revenue_forecast_updated_transferred: [
    'Dedução da previsão atualizada: transferências a municípios',
    'Deduction of the updated forecast: transfers to municipalities',
  ],
  revenue_gross: ['Receita realizada bruta', 'Revenue, gross'],
  revenue_deductions: ['Deduções da receita', 'Deductions of revenue'],
  revenue_transferred: ['Dedução: transferências a municípios', 'Deduction: transfers to municipalities'],
  revenue_base: [
    'Receita que é base do percentual mínimo em saúde',
    'Revenue that the minimum percentage for health is of',
  ],
  revenue_fundeb: ['Dedução para o FUNDEB', 'Deduction for FUNDEB'],
  revenue_net: ['Receita realizada líquida', 'Revenue, net'],
  revenue_budgeted: ['Receita orçada', 'Revenue, budgeted'],
  applied: [
    'Aplicado em ações e serviços públicos de saúde',
    'Applied to public health actions and services',
  ],
  applied_share: ['Percentual aplicado', 'Percentage applied'],
  minimum_share: ['Percentual mínimo a aplicar', 'Minimum percentage to be applied'],
  indicator: ['Indicador', 'Indicator'],
} as const satisfies Names
export type Stage = keyof typeof STAGES
export const STAGE_CODES = Object.keys(STAGES) as Stage[]

/** Sphere of the government that owns the money, in the treasury's codes. */
export const SPHERES = {
  E: ['Estado', 'State'],
  M: ['Município', 'Municipality'],
} as const satisfies Names
export const SPHERE_CODES = Object.keys(SPHERES)
