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
  readonly name_en: string
  /** First and last category of the chapter. */
  readonly from: string
  readonly to: string
}

export const DIAGNOSIS_CHAPTERS: readonly DiagnosisChapter[] = (
  [
    [
      'A00',
      'B99',
      'I. Algumas doenças infecciosas e parasitárias',
      'I. Certain infectious and parasitic diseases',
    ],
    ['C00', 'D48', 'II. Neoplasias (tumores)', 'II. Neoplasms'],
    [
      'D50',
      'D89',
      'III. Doenças do sangue e dos órgãos hematopoéticos e alguns transtornos imunitários',
      'III. Diseases of the blood and blood-forming organs and certain disorders involving the immune mechanism',
    ],
    [
      'E00',
      'E90',
      'IV. Doenças endócrinas, nutricionais e metabólicas',
      'IV. Endocrine, nutritional and metabolic diseases',
    ],
    ['F00', 'F99', 'V. Transtornos mentais e comportamentais', 'V. Mental and behavioural disorders'],
    ['G00', 'G99', 'VI. Doenças do sistema nervoso', 'VI. Diseases of the nervous system'],
    ['H00', 'H59', 'VII. Doenças do olho e anexos', 'VII. Diseases of the eye and adnexa'],
    [
      'H60',
      'H95',
      'VIII. Doenças do ouvido e da apófise mastóide',
      'VIII. Diseases of the ear and mastoid process',
    ],
    ['I00', 'I99', 'IX. Doenças do aparelho circulatório', 'IX. Diseases of the circulatory system'],
    ['J00', 'J99', 'X. Doenças do aparelho respiratório', 'X. Diseases of the respiratory system'],
    ['K00', 'K93', 'XI. Doenças do aparelho digestivo', 'XI. Diseases of the digestive system'],
    [
      'L00',
      'L99',
      'XII. Doenças da pele e do tecido subcutâneo',
      'XII. Diseases of the skin and subcutaneous tissue',
    ],
    [
      'M00',
      'M99',
      'XIII. Doenças do sistema osteomuscular e do tecido conjuntivo',
      'XIII. Diseases of the musculoskeletal system and connective tissue',
    ],
    ['N00', 'N99', 'XIV. Doenças do aparelho geniturinário', 'XIV. Diseases of the genitourinary system'],
    ['O00', 'O99', 'XV. Gravidez, parto e puerpério', 'XV. Pregnancy, childbirth and the puerperium'],
    [
      'P00',
      'P96',
      'XVI. Algumas afecções originadas no período perinatal',
      'XVI. Certain conditions originating in the perinatal period',
    ],
    [
      'Q00',
      'Q99',
      'XVII. Malformações congênitas, deformidades e anomalias cromossômicas',
      'XVII. Congenital malformations, deformations and chromosomal abnormalities',
    ],
    [
      'R00',
      'R99',
      'XVIII. Sintomas, sinais e achados anormais de exames clínicos e de laboratório',
      'XVIII. Symptoms, signs and abnormal clinical and laboratory findings, not elsewhere classified',
    ],
    [
      'S00',
      'T98',
      'XIX. Lesões, envenenamento e algumas outras consequências de causas externas',
      'XIX. Injury, poisoning and certain other consequences of external causes',
    ],
    [
      'V01',
      'Y98',
      'XX. Causas externas de morbidade e de mortalidade',
      'XX. External causes of morbidity and mortality',
    ],
    [
      'Z00',
      'Z99',
      'XXI. Fatores que influenciam o estado de saúde e o contato com os serviços de saúde',
      'XXI. Factors influencing health status and contact with health services',
    ],
    ['U00', 'U99', 'XXII. Códigos para propósitos especiais', 'XXII. Codes for special purposes'],
  ] as const
).map(([from, to, name, name_en], index) => ({
  code: String(index + 1).padStart(2, '0'),
  name,
  name_en,
  from,
  to,
}))

/** @param category letter and two digits @returns code of its chapter, or null when no chapter contains it */
export const chapterOf = (category: string): string | null =>
  DIAGNOSIS_CHAPTERS.find(({ from, to }) => from <= category && category <= to)?.code ?? null
