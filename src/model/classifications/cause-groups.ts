/**
 * Groups of causes: the items of the Brazilian mortality list CID-BR, which DATASUS publishes with ranges of CID-10. Values and
 * pure functions only. A diagnosis belongs to the item that names it; where no item does, to the block of the list around it.
 * Sub-items (068.1 …) are not told apart. The published range N00-N016 of item 085 is a misprint of N00-N16. Source: DATASUS,
 * page obtcid10br.
 */

/** Group of diagnoses that CID-BR leaves out, such as injuries by their nature (S, T) and reasons for contact (Z). */
export const OUTSIDE_CAUSE_GROUPS = '000'

export interface CauseGroup {
  readonly code: string
  readonly name: readonly [pt: string, en: string]
  /** First and last category or four-character code, both included. */
  readonly ranges: readonly (readonly [from: string, to: string])[]
}

/** Code, ranges, name in Portuguese, name in English. The more specific entry comes first. */
const ITEMS: readonly (readonly [code: string, ranges: string, pt: string, en: string])[] = [
  ['002', 'A00', 'Cólera', 'Cholera'],
  [
    '003',
    'A09',
    'Diarréia e gastroenterite de origem infecciosa presumível',
    'Diarrhoea and gastroenteritis of presumed infectious origin',
  ],
  ['004', 'A01-A08', 'Outras doenças infecciosas intestinais', 'Other intestinal infectious diseases'],
  ['005', 'A15-A16', 'Tuberculose respiratória', 'Respiratory tuberculosis'],
  ['006', 'A17-A19', 'Outras tuberculoses', 'Other tuberculosis'],
  ['007', 'A20', 'Peste', 'Plague'],
  ['008', 'A27', 'Leptospirose', 'Leptospirosis'],
  ['009', 'A30', 'Hanseníase', 'Leprosy'],
  ['010', 'A33-A35', 'Tétano', 'Tetanus'],
  ['011', 'A36', 'Difteria', 'Diphtheria'],
  ['012', 'A37', 'Coqueluche', 'Whooping cough'],
  ['013', 'A39', 'Infecção meningocócica', 'Meningococcal infection'],
  ['014', 'A40-A41', 'Septicemia', 'Septicaemia'],
  [
    '015',
    'A50-A64',
    'Infecções com transmissão predominantemente sexual',
    'Infections with a predominantly sexual mode of transmission',
  ],
  ['016', 'A80', 'Poliomielite aguda', 'Acute poliomyelitis'],
  ['017', 'A82', 'Raiva', 'Rabies'],
  ['018', 'A90', 'Dengue', 'Dengue'],
  ['019', 'A95', 'Febre amarela', 'Yellow fever'],
  [
    '020',
    'A91-A94 A96-A99',
    'Outras febres por arbovírus e febres hemorrágicas virais',
    'Other arthropod-borne viral fevers and viral haemorrhagic fevers',
  ],
  ['021', 'B05', 'Sarampo', 'Measles'],
  ['022', 'B15-B19', 'Hepatite viral', 'Viral hepatitis'],
  [
    '023',
    'B20-B24',
    'Doenças por vírus da imunodeficiência humana (HIV)',
    'Human immunodeficiency virus (HIV) disease',
  ],
  ['024', 'B50-B54', 'Malária', 'Malaria'],
  ['025', 'B55', 'Leishmaniose', 'Leishmaniasis'],
  ['026', 'B57', 'Doença de Chagas', 'Chagas disease'],
  ['027', 'B58', 'Toxoplasmose', 'Toxoplasmosis'],
  ['028', 'B65', 'Esquistossomose', 'Schistosomiasis'],
  ['029', 'B69', 'Cisticercose', 'Cysticercosis'],
  ['030', 'B66-B68 B70-B83', 'Restante de helmintíases', 'Other helminthiases'],
  [
    '031',
    'A65-A79 B25-B49 B84-B99',
    'Restante de algumas doenças infecciosas e parasitárias',
    'Other infectious and parasitic diseases',
  ],
  [
    '032',
    'C00-C14',
    'Neoplasia maligna do lábio, da cavidade oral e da faringe',
    'Malignant neoplasm of lip, oral cavity and pharynx',
  ],
  ['033', 'C15', 'Neoplasia maligna do esôfago', 'Malignant neoplasm of oesophagus'],
  ['034', 'C16', 'Neoplasia maligna do estômago', 'Malignant neoplasm of stomach'],
  [
    '035',
    'C18-C21',
    'Neoplasia maligna do cólon, do reto e do ânus',
    'Malignant neoplasm of colon, rectum and anus',
  ],
  [
    '036',
    'C22',
    'Neoplasia maligna do fígado e das vias biliares intrahepáticas',
    'Malignant neoplasm of liver and intrahepatic bile ducts',
  ],
  ['037', 'C25', 'Neoplasia maligna do pâncreas', 'Malignant neoplasm of pancreas'],
  ['038', 'C32', 'Neoplasia maligna da laringe', 'Malignant neoplasm of larynx'],
  [
    '039',
    'C33-C34',
    'Neoplasia maligna da traquéia, dos brônquios e dos pulmões',
    'Malignant neoplasm of trachea, bronchus and lung',
  ],
  ['040', 'C43', 'Neoplasia maligna da pele', 'Malignant neoplasm of skin'],
  ['041', 'C50', 'Neoplasia maligna da mama', 'Malignant neoplasm of breast'],
  ['042', 'C53', 'Neoplasia maligna do colo do útero', 'Malignant neoplasm of cervix uteri'],
  [
    '043',
    'C54-C55',
    'Neoplasia maligna do corpo e de partes não especificadas do útero',
    'Malignant neoplasm of other and unspecified parts of uterus',
  ],
  ['044', 'C56', 'Neoplasia maligna do ovário', 'Malignant neoplasm of ovary'],
  ['045', 'C61', 'Neoplasia maligna da próstata', 'Malignant neoplasm of prostate'],
  ['046', 'C67', 'Neoplasia maligna da bexiga', 'Malignant neoplasm of bladder'],
  [
    '047',
    'C70-C72',
    'Neoplasia maligna das meninges, do encéfalo e de outras partes do sistema nervoso central',
    'Malignant neoplasm of meninges, brain and other parts of central nervous system',
  ],
  ['048', 'C82-C85', 'Linfoma não-Hodgkin', 'Non-Hodgkin lymphoma'],
  [
    '049',
    'C90',
    'Mieloma múltiplo e neoplasias malignas de plasmócitos',
    'Multiple myeloma and malignant plasma cell neoplasms',
  ],
  ['050', 'C91-C95', 'Leucemia', 'Leukaemia'],
  [
    '051',
    'D00-D48',
    'Neoplasias in-situ, benignas e de comportamento incerto ou desconhecido',
    'In situ and benign neoplasms, and neoplasms of uncertain or unknown behaviour',
  ],
  [
    '052',
    'C17 C23-C24 C26-C31 C37-C41 C44-C49 C51-C52 C57-C60 C62-C66 C68-C69 C73-C81 C88-C89 C96-C97',
    'Restante de neoplasias malignas',
    'Other malignant neoplasms',
  ],
  ['053', 'D50-D64', 'Anemias', 'Anaemias'],
  [
    '054',
    'D65-D89',
    'Restante de doenças do sangue e dos órgãos hematopoéticos e alguns transtornos imunitários',
    'Other diseases of the blood and blood-forming organs and certain immune disorders',
  ],
  ['055', 'E10-E14', 'Diabetes mellitus', 'Diabetes mellitus'],
  ['056', 'E40-E46', 'Desnutrição', 'Malnutrition'],
  [
    '057',
    'E00-E07 E15-E34 E50-E90',
    'Restante de doenças endócrinas, nutricionais e metabólicas',
    'Other endocrine, nutritional and metabolic diseases',
  ],
  [
    '058',
    'F10-F19',
    'Transtornos mentais e comportamentais devidos ao uso de substância psicoativa',
    'Mental and behavioural disorders due to psychoactive substance use',
  ],
  [
    '059',
    'F00-F09 F20-F99',
    'Restante de transtornos mentais e comportamentais',
    'Other mental and behavioural disorders',
  ],
  ['060', 'G00 G03', 'Meningite', 'Meningitis'],
  ['061', 'G30', 'Doença de Alzheimer', 'Alzheimer disease'],
  ['062', 'G40-G41', 'Epilepsia', 'Epilepsy'],
  [
    '063',
    'G04-G25 G31-G39 G43-G98',
    'Restante de doenças do sistema nervoso',
    'Other diseases of the nervous system',
  ],
  ['064', 'H00-H59', 'Doenças do olho e anexos', 'Diseases of the eye and adnexa'],
  ['065', 'H60-H95', 'Doenças do ouvido e da apófise mastóide', 'Diseases of the ear and mastoid process'],
  [
    '066',
    'I00-I09',
    'Febre reumática aguda e doenças reumáticas crônicas do coração',
    'Acute rheumatic fever and chronic rheumatic heart diseases',
  ],
  ['067', 'I10-I15', 'Doenças hipertensivas', 'Hypertensive diseases'],
  ['068', 'I20-I25', 'Doenças isquêmicas do coração', 'Ischaemic heart diseases'],
  ['069', 'I26-I52', 'Outras doenças cardíacas', 'Other heart diseases'],
  ['070', 'I60-I69', 'Doenças cerebrovasculares', 'Cerebrovascular diseases'],
  ['071', 'I70', 'Aterosclerose', 'Atherosclerosis'],
  [
    '072',
    'I71-I99',
    'Restante do doenças do aparelho circulatório',
    'Other diseases of the circulatory system',
  ],
  ['073', 'J09-J11', 'Influenza (gripe)', 'Influenza'],
  ['074', 'J12-J18', 'Pneumonia', 'Pneumonia'],
  [
    '075',
    'J20-J22',
    'Outras infecções agudas das vias aéreas inferiores',
    'Other acute lower respiratory infections',
  ],
  ['076', 'J40-J47', 'Doenças crônicas das vias aéreas inferiores', 'Chronic lower respiratory diseases'],
  [
    '077',
    'J00-J06 J30-J39 J60-J99',
    'Restante de doenças do aparelho respiratório',
    'Other diseases of the respiratory system',
  ],
  ['078', 'K25-K27', 'Úlcera gástrica, duodenal e péptica', 'Gastric, duodenal and peptic ulcer'],
  ['079', 'K65', 'Peritonite', 'Peritonitis'],
  ['080', 'K70-K77', 'Doenças do fígado', 'Diseases of the liver'],
  ['081', 'K81', 'Colecistite', 'Cholecystitis'],
  [
    '082',
    'K00-K22 K28-K64 K66 K80 K82-K93',
    'Restante de doenças do aparelho digestivo',
    'Other diseases of the digestive system',
  ],
  [
    '083',
    'L00-L99',
    'Doenças da pele e do tecido subcutâneo',
    'Diseases of the skin and subcutaneous tissue',
  ],
  [
    '084',
    'M00-M99',
    'Doenças do sistema osteomuscular e do tecido conjuntivo',
    'Diseases of the musculoskeletal system and connective tissue',
  ],
  [
    '085',
    'N00-N16',
    'Doenças glomerulares e doenças renais túbulo-intersticiais',
    'Glomerular and renal tubulo-interstitial diseases',
  ],
  ['086', 'N17-N19', 'Insuficiência renal', 'Renal failure'],
  [
    '087',
    'N20-N99',
    'Restante do doenças do aparelho geniturinário',
    'Other diseases of the genitourinary system',
  ],
  ['088', 'O00-O08', 'Gravidez que termina em aborto', 'Pregnancy with abortive outcome'],
  // O24.4 is direct; the rest of O24 is indirect.
  ['089', 'O11-O23 O244 O26-O92', 'Outras mortes obstétricas diretas', 'Other direct obstetric causes'],
  ['090', 'O10 O24 O25 O98-O99', 'Mortes obstétricas indiretas', 'Indirect obstetric causes'],
  [
    '091',
    'O95',
    'Causa obstétrica não especificada se direta ou indireta',
    'Obstetric cause, not specified whether direct or indirect',
  ],
  [
    '092',
    'O96-O97',
    'Causas maternas tardias e sequelas de causas maternas',
    'Late maternal causes and sequelae',
  ],
  [
    '093',
    'P00-P04',
    'Feto e recém-nascido afetados por fatores maternos e por complicações da gravidez, do trabalho de parto e do parto',
    'Fetus and newborn affected by maternal factors and complications of pregnancy, labour and delivery',
  ],
  [
    '094',
    'P05-P08',
    'Transtornos relacionados com a duração da gestação e com o crescimento fetal',
    'Disorders related to length of gestation and fetal growth',
  ],
  ['095', 'P10-P15', 'Traumatismo de parto', 'Birth trauma'],
  [
    '096',
    'P20-P29',
    'Transtornos respiratórios e cardiovasculares específicos do período perinatal',
    'Respiratory and cardiovascular disorders specific to the perinatal period',
  ],
  [
    '097',
    'P35-P96',
    'Restante de algumas afecções originadas no período perinatal',
    'Other conditions originating in the perinatal period',
  ],
  [
    '098',
    'Q00-Q07',
    'Malformações congênitas do sistema nervoso',
    'Congenital malformations of the nervous system',
  ],
  [
    '099',
    'Q20-Q28',
    'Malformações congênitas do aparelho circulatório',
    'Congenital malformations of the circulatory system',
  ],
  [
    '100',
    'Q10-Q18 Q30-Q99',
    'Restante de malformações congênitas, deformidades e anomalias cromossômicas',
    'Other congenital malformations, deformations and chromosomal abnormalities',
  ],
  ['101', 'R54', 'Senilidade', 'Senility'],
  ['102', 'R98', 'Morte sem assistência médica', 'Unattended death'],
  [
    '103',
    'R00-R53 R55-R96 R99',
    'Restante de sintomas, sinais e achados anormais de exames clínicos e de laboratório não classificados em outra parte',
    'Other symptoms, signs and abnormal clinical and laboratory findings',
  ],
  ['104', 'V01-V99', 'Acidentes de transporte', 'Transport accidents'],
  ['105', 'W00-W19', 'Quedas', 'Falls'],
  ['106', 'W65-W74', 'Afogamentos e submersões acidentais', 'Accidental drowning and submersion'],
  ['107', 'X00-X09', 'Exposição à fumaça, ao fogo e às chamas', 'Exposure to smoke, fire and flames'],
  [
    '108',
    'X40-X49',
    'Envenenamento acidental por e exposição a substâncias nocivas',
    'Accidental poisoning by and exposure to noxious substances',
  ],
  ['109', 'X60-X84', 'Lesões autoprovocadas voluntariamente', 'Intentional self-harm'],
  ['110', 'X85-Y09', 'Agressões', 'Assault'],
  ['111', 'Y10-Y34', 'Eventos [fatos] cuja intenção é indeterminada', 'Events of undetermined intent'],
  ['112', 'Y35-Y36', 'Intervenções legais e operações de guerra', 'Legal intervention and operations of war'],
  [
    '113',
    'W20-W64 W75-W99 X10-X39 X50-X59 Y40-Y89',
    'Todas as outras causas externas',
    'All other external causes',
  ],
  // Blocks whose items do not cover all of their categories.
  ['007-015', 'A20-A64', 'Outras doenças bacterianas (restante)', 'Other bacterial diseases (rest)'],
  ['016-023', 'A80-B24', 'Doenças virais (restante)', 'Viral diseases (rest)'],
  ['024-027', 'B50-B64', 'Doenças transmitidas por protozoários (restante)', 'Protozoal diseases (rest)'],
  [
    '055-057',
    'E00-E90',
    'Doenças endócrinas, nutricionais e metabólicas (restante)',
    'Endocrine, nutritional and metabolic diseases (rest)',
  ],
  ['060-063', 'G00-G99', 'Doenças do sistema nervoso (restante)', 'Diseases of the nervous system (rest)'],
  [
    '078-082',
    'K00-K93',
    'Doenças do aparelho digestivo (restante)',
    'Diseases of the digestive system (rest)',
  ],
  [
    '088-092',
    'O00-O99',
    'Gravidez, parto e puerpério (restante)',
    'Pregnancy, childbirth and the puerperium (rest)',
  ],
  [
    '104-113',
    'V01-Y98',
    'Causas externas de morbidade e de mortalidade (restante)',
    'External causes of morbidity and mortality (rest)',
  ],
]

export const CAUSE_GROUPS: readonly CauseGroup[] = ITEMS.map(([code, ranges, pt, en]) => ({
  code,
  name: [pt, en],
  ranges: ranges.split(' ').map((range) => {
    const [from = '', to = from] = range.split('-')
    return [from, to]
  }),
}))

/** Names by code, in the order of the list, for a dimension. */
export const CAUSE_GROUP_NAMES: Readonly<Record<string, readonly [pt: string, en: string]>> = {
  [OUTSIDE_CAUSE_GROUPS]: ['Fora da lista CID-BR', 'Outside the list CID-BR'],
  ...Object.fromEntries(CAUSE_GROUPS.map(({ code, name }) => [code, name])),
}

/** @returns whether a code lies in a range of codes of one length, such as E10-E14 or O244 */
const isWithin = (diagnosis: string, [from, to]: readonly [string, string]): boolean => {
  const prefix = diagnosis.slice(0, from.length)
  return prefix.length === from.length && from <= prefix && prefix <= to
}

/**
 * @param diagnosis CID-10 code of 3 or 4 characters, without the dot
 * @returns code of its group; OUTSIDE_CAUSE_GROUPS for a diagnosis that the list leaves out
 */
export function causeGroupOf(diagnosis: string): string {
  const found = CAUSE_GROUPS.find(({ ranges }) => ranges.some((range) => isWithin(diagnosis, range)))
  return found?.code ?? OUTSIDE_CAUSE_GROUPS
}
