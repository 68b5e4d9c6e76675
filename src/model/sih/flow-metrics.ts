/**
 * Metrics of admissions by both ends: of the residents of a place elsewhere, and of a place's hospitals for others. A share
 * divides by the admissions whose two ends are known at its level, so that it and the share at home are 100 percent. Values only.
 */
import { both, counted, ratio, share, sum } from '../declare.ts'
import type { FlowLevel, Measure, Text } from '../types.ts'

const FLOWS = 'hospital_admission_flows'
const flows = (level: FlowLevel, isOutside: boolean): Measure =>
  sum(FLOWS, 'admissions', [{ ends: level, isOutside }])

const outside = (level: FlowLevel, place: Text) =>
  counted(
    flows(level, true),
    'admissions',
    `Internações fora ${place.pt} de residência`,
    `Admissions outside the ${place.en} of residence`,
    both(
      `Internações em hospital fora ${place.pt} onde o paciente mora, onde os dois lugares são conhecidos.`,
      `Admissions in a hospital outside the ${place.en} where the patient lives, where both places are known.`,
    ),
  )
const placed = (level: FlowLevel, place: Text) =>
  counted(
    flows(level, false),
    'admissions',
    `Internações com os lugares conhecidos (${place.pt})`,
    `Admissions whose places are known (${place.en})`,
    both(
      `Internações em que se conhecem os lugares do paciente e do hospital (${place.pt}).`,
      `Admissions of which the places of the patient and of the hospital are known (${place.en}).`,
    ),
  )
const OF_MUNICIPALITY = both('do município', 'municipality')
const OF_HEALTH_REGION = both('da região de saúde', 'health region')
const OF_STATE = both('do estado', 'state')

export const FLOW_METRICS = {
  admissions_outside_municipality: outside('municipality', OF_MUNICIPALITY),
  admissions_of_known_municipality: placed('municipality', both('município', 'municipality')),
  admissions_outside_municipality_share: share(
    'admissions_outside_municipality',
    'admissions_of_known_municipality',
    'Proporção de internações fora do município de residência',
    'Admissions outside the municipality of residence as a share',
  ),
  admissions_outside_health_region: outside('health_region', OF_HEALTH_REGION),
  admissions_of_known_health_region: placed('health_region', both('região de saúde', 'health region')),
  admissions_outside_health_region_share: share(
    'admissions_outside_health_region',
    'admissions_of_known_health_region',
    'Proporção de internações fora da região de saúde de residência',
    'Admissions outside the health region of residence as a share',
  ),
  admissions_outside_state: outside('state', OF_STATE),
  admissions_of_known_state: placed('state', both('estado', 'state')),
  admissions_outside_state_share: share(
    'admissions_outside_state',
    'admissions_of_known_state',
    'Proporção de internações fora do estado de residência',
    'Admissions outside the state of residence as a share',
  ),
  admissions_received_share: {
    ...share(
      'admissions_outside_municipality',
      'admissions_of_known_municipality',
      'Proporção de internações de quem mora em outro município (hospital)',
      'Admissions of those who live in another municipality as a share, by hospital',
    ),
    // By residence it would be admissions_outside_municipality_share under another name.
    without: ['residence_state', 'residence_municipality', 'residence_health_region', 'residence_region'],
  },
  admissions_with_distance: counted(
    sum(FLOWS, 'admissions_with_distance'),
    'admissions',
    'Internações com distância conhecida',
    'Admissions with a known distance',
    both(
      'Internações em que se conhece a distância entre os municípios do paciente e do hospital.',
      'Admissions of which the distance between the municipalities of the patient and of the hospital is known.',
    ),
  ),
  distance_km_total: counted(
    sum(FLOWS, 'distance_km_total'),
    'km',
    'Soma das distâncias até o hospital',
    'Distances to the hospital, added up',
    both(
      'Soma, sobre as internações, das distâncias em linha reta entre os centroides dos contornos dos municípios, em km inteiros.',
      'Sum over admissions of the great-circle distances between the centroids of the outlines of the municipalities, in whole km.',
    ),
  ),
  average_distance_km: ratio(
    'distance_km_total',
    'admissions_with_distance',
    1,
    'km',
    'Distância média até o hospital (aproximada)',
    'Average distance to the hospital (approximate)',
  ),
} as const
