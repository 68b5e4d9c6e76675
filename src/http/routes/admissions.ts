/** Monthly admissions and outpatient production. The specification has no capability for them, so analytics.query.read applies. */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const ADMISSIONS: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/sih/monthly',
    operation: 'listHospitalAdmissions',
    summary:
      'Approved hospital admissions by processing month, hospital, procedure, character, complexity and financing, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.hospital_admissions,
    filters: Object.keys(DATASETS.hospital_admissions.filters),
    limit: { default: 25, max: 100 },
    response: 'SihMonthlyListResponse',
  },
  {
    kind: 'list',
    path: '/v1/sih/flows',
    operation: 'listAdmissionFlows',
    summary:
      'Approved hospital admissions by processing month, municipality of residence, municipality of the hospital, chapter of the diagnosis, complexity and financing, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.hospital_admission_flows,
    filters: Object.keys(DATASETS.hospital_admission_flows.filters),
    limit: { default: 25, max: 100 },
    response: 'SihFlowListResponse',
  },
  {
    kind: 'list',
    path: '/v1/sia/monthly',
    operation: 'listOutpatientProduction',
    summary:
      'Outpatient production presented and approved by processing month, month of care, facility, procedure, financing, complexity and instrument, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.outpatient_production,
    filters: Object.keys(DATASETS.outpatient_production.filters),
    limit: { default: 25, max: 100 },
    response: 'SiaMonthlyListResponse',
  },
]
