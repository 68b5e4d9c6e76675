/**
 * Closed lists of hospital admissions: character, complexity and financing of an admission, and the chapters of CID-10 with
 * their ranges of categories. Values and pure functions only. Sources: SIHSUS layout of the reduced AIH and its TabWin
 * tables; tb_financiamento of SIGTAP; CID-10 of DATASUS. The published table of chapters assigns one chapter per letter,
 * which is wrong for D, H, W, X and Y. The ranges here are those of the classification.
 */

/** Code for a missing column or an empty cell. */
export const NOT_INFORMED = '00'
/** Facility code in files before 2008, which name no facility. */
export const NO_FACILITY = '0000000'

type Names = Readonly<Record<string, readonly [pt: string, en: string]>>
const NONE: Names = { [NOT_INFORMED]: ['Não informado', 'Not informed'] }

/** Published column: CAR_INT. */
export const CARE_CHARACTERS: Names = {
  ...NONE,
  '01': ['Eletivo', 'Elective'],
  '02': ['Urgência', 'Urgent'],
  '03': ['Acidente no local de trabalho ou a serviço da empresa', 'Accident at work'],
  '04': ['Acidente no trajeto para o trabalho', 'Accident on the way to work'],
  '05': ['Outros tipos de acidente de trânsito', 'Other traffic accidents'],
  '06': [
    'Outros tipos de lesões e envenenamentos por agentes químicos ou físicos',
    'Other injuries and poisonings by chemical or physical agents',
  ],
}

/** Published columns: COMPLEX, and PA_NIVCPL, which is the last digit. */
export const COMPLEXITIES: Names = {
  // In outpatient rows, 0 means that complexity does not apply.
  [NOT_INFORMED]: ['Não se aplica ou não informado', 'Not applicable or not informed'],
  '01': ['Atenção básica', 'Primary care'],
  '02': ['Média complexidade', 'Medium complexity'],
  '03': ['Alta complexidade', 'High complexity'],
}

/** Published columns: FINANC, PA_TPFIN. */
export const FINANCING_KINDS: Names = {
  ...NONE,
  '01': ['Atenção Básica (PAB)', 'Primary care (PAB)'],
  '02': ['Assistência Farmacêutica', 'Pharmaceutical assistance'],
  '04': ['Fundo de Ações Estratégicas e Compensações (FAEC)', 'Strategic actions and compensation (FAEC)'],
  '05': ['Incentivo - MAC', 'Incentive - MAC'],
  '06': ['Média e Alta Complexidade (MAC)', 'Medium and high complexity (MAC)'],
  '07': ['Vigilância em Saúde', 'Health surveillance'],
  '08': ['Gestão do SUS', 'Management of SUS'],
}

export interface DiagnosisChapter {
  /** Number of the chapter, two digits. */
  readonly code: string
  readonly name: string
  /** First and last category of the chapter. */
  readonly from: string
  readonly to: string
}

export const DIAGNOSIS_CHAPTERS: readonly DiagnosisChapter[] = (
  [
    ['A00', 'B99', 'I. Algumas doenças infecciosas e parasitárias'],
    ['C00', 'D48', 'II. Neoplasias (tumores)'],
    ['D50', 'D89', 'III. Doenças do sangue e dos órgãos hematopoéticos e alguns transtornos imunitários'],
    ['E00', 'E90', 'IV. Doenças endócrinas, nutricionais e metabólicas'],
    ['F00', 'F99', 'V. Transtornos mentais e comportamentais'],
    ['G00', 'G99', 'VI. Doenças do sistema nervoso'],
    ['H00', 'H59', 'VII. Doenças do olho e anexos'],
    ['H60', 'H95', 'VIII. Doenças do ouvido e da apófise mastóide'],
    ['I00', 'I99', 'IX. Doenças do aparelho circulatório'],
    ['J00', 'J99', 'X. Doenças do aparelho respiratório'],
    ['K00', 'K93', 'XI. Doenças do aparelho digestivo'],
    ['L00', 'L99', 'XII. Doenças da pele e do tecido subcutâneo'],
    ['M00', 'M99', 'XIII. Doenças do sistema osteomuscular e do tecido conjuntivo'],
    ['N00', 'N99', 'XIV. Doenças do aparelho geniturinário'],
    ['O00', 'O99', 'XV. Gravidez, parto e puerpério'],
    ['P00', 'P96', 'XVI. Algumas afecções originadas no período perinatal'],
    ['Q00', 'Q99', 'XVII. Malformações congênitas, deformidades e anomalias cromossômicas'],
    ['R00', 'R99', 'XVIII. Sintomas, sinais e achados anormais de exames clínicos e de laboratório'],
    ['S00', 'T98', 'XIX. Lesões, envenenamento e algumas outras consequências de causas externas'],
    ['V01', 'Y98', 'XX. Causas externas de morbidade e de mortalidade'],
    ['Z00', 'Z99', 'XXI. Fatores que influenciam o estado de saúde e o contato com os serviços de saúde'],
    ['U00', 'U99', 'XXII. Códigos para propósitos especiais'],
  ] as const
).map(([from, to, name], index) => ({ code: String(index + 1).padStart(2, '0'), name, from, to }))

/** @param category letter and two digits @returns code of its chapter, or null when no chapter contains it */
export const chapterOf = (category: string): string | null =>
  DIAGNOSIS_CHAPTERS.find(({ from, to }) => from <= category && category <= to)?.code ?? null
