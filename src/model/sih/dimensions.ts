/** Dimensions of admissions, and the facts that have them. */
import { ICSAP_NAMES } from '../classifications/icsap.ts'
import { closed, listed } from '../declare.ts'
import { COARSE_PERIODS } from '../periods.ts'
import { DIMENSIONS as TERRITORIES } from '../territory/dimensions.ts'
import type { DimensionDeclaration, Fact } from '../types.ts'
import { CARE_CHARACTERS, COMPLEXITIES, FINANCING_KINDS, NOT_INFORMED } from './code-lists.ts'
import type { AdmissionTable } from './datasets.ts'

const extended = (declared: DimensionDeclaration): DimensionDeclaration => ({ ...declared, tier: 'extended' })
/** A closed list with a code for missing values. */
const informed = (declared: DimensionDeclaration): DimensionDeclaration =>
  extended({ ...declared, unknown: NOT_INFORMED })

export const DIMENSIONS = {
  procedure_group: extended(
    listed('Grupo de procedimento', 'Procedure group', 'procedure_groups', 'procedure_group'),
  ),
  procedure_subgroup: extended(
    listed('Subgrupo de procedimento', 'Procedure subgroup', 'procedure_subgroups', 'procedure_subgroup'),
  ),
  procedure_form: extended(
    listed(
      'Forma de organização do procedimento',
      'Form of organisation of the procedure',
      'procedure_forms',
      'procedure_form',
    ),
  ),
  procedure: extended(listed('Procedimento', 'Procedure', 'procedures', 'procedure')),
  care_character: informed(
    closed('Caráter da internação', 'Character of the admission', 'care_character_code', CARE_CHARACTERS),
  ),
  complexity: informed(closed('Complexidade', 'Complexity', 'complexity_code', COMPLEXITIES)),
  financing_kind: informed(
    closed('Tipo de financiamento', 'Kind of financing', 'financing_code', FINANCING_KINDS),
  ),
  diagnosis_chapter: extended(
    listed('Capítulo da CID-10', 'CID-10 chapter', 'diagnosis_chapters', 'diagnosis_chapter'),
  ),
  diagnosis_category: extended(
    listed('Categoria da CID-10', 'CID-10 category', 'diagnosis_categories', 'diagnosis_category'),
  ),
  icsap_group: extended(
    closed(
      'Grupo de condições sensíveis à atenção primária (ICSAP)',
      'Group of conditions sensitive to primary care (ICSAP)',
      'icsap_group_code',
      ICSAP_NAMES,
    ),
  ),
  residence_state: {
    label: 'Unidade da Federação de residência',
    label_en: 'State of residence',
    column: 'residence_uf',
    member: { dataset: 'states', key: 'uf', name: 'name' },
    order: 'name',
    tier: 'extended',
  },
  residence_municipality: {
    label: 'Município de residência',
    label_en: 'Municipality of residence',
    column: 'residence_municipality_code',
    integer: true,
    member: { dataset: 'municipalities', key: 'ibge_code', name: 'name' },
    order: 'name',
    tier: 'extended',
  },
  residence_health_region: {
    label: 'Região de saúde de residência',
    label_en: 'Health region of residence',
    column: 'residence_health_region_code',
    member: { dataset: 'health_regions', key: 'health_region_code', name: 'health_region_name' },
    order: 'name',
    derivedFrom: 'residence_municipality',
    tier: 'extended',
  },
  residence_region: {
    ...TERRITORIES.region,
    label: 'Grande região de residência',
    label_en: 'Major region of residence',
    column: 'residence_region_code',
    derivedFrom: 'residence_state',
  },
} as const satisfies Record<string, DimensionDeclaration>

const PROCEDURES = ['procedure_group', 'procedure_subgroup', 'procedure_form', 'procedure'] as const

export const FACTS = {
  // This dataset has the hospital. Its twins have the patient's residence, and both.
  hospital_admissions: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    twins: ['hospital_admissions_by_residence', 'hospital_admission_flows'],
    dimensions: [
      'state',
      'municipality',
      'region',
      'health_region',
      'health_macroregion',
      'facility',
      'reference_period',
      ...COARSE_PERIODS,
      ...PROCEDURES,
      'care_character',
      'complexity',
      'financing_kind',
    ],
  },
  hospital_admissions_by_residence: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: [
      'reference_period',
      ...COARSE_PERIODS,
      'diagnosis_chapter',
      'diagnosis_category',
      'icsap_group',
      'cause_group',
      'age_group',
      'sex',
      'race',
      'residence_state',
      'residence_municipality',
      'residence_health_region',
      'residence_region',
    ],
  },
  hospital_admission_flows: {
    capability: 'analytics.query.read',
    isFlow: true,
    isAggregated: true,
    dimensions: [
      'state',
      'municipality',
      'region',
      'health_region',
      'health_macroregion',
      'reference_period',
      ...COARSE_PERIODS,
      'diagnosis_chapter',
      'complexity',
      'financing_kind',
      'residence_state',
      'residence_municipality',
      'residence_health_region',
      'residence_region',
    ],
  },
} as const satisfies Record<AdmissionTable, Fact>
