/**
 * What a key needs to read a table of a release as a file: the capability of the routes that show its rows. Values and a pure
 * function.
 */
import { FACTS } from './areas.ts'
import { CAPABILITIES, type Capability } from './capabilities.ts'
import type { DatasetName } from './datasets.ts'
import { capabilityOf, type FactDataset } from './dimensions.ts'
import { PRE_AGGREGATE_NAMES, type PreAggregateName, preAggregateOf } from './pre-aggregates.ts'

/** A code list has the capability of the records that it names codes of. */
const OF_LISTS: Readonly<Record<Exclude<DatasetName, FactDataset>, Capability>> = {
  states: 'geo.read',
  municipalities: 'geo.read',
  health_regions: 'geo.read',
  health_macroregions: 'geo.read',
  municipality_outlines: 'geo.read',
  outline_arcs: 'geo.read',
  facility_types: 'facilities.read',
  legal_natures: 'facilities.read',
  deactivation_reasons: 'facilities.read',
  opening_hours: 'facilities.read',
  management_types: 'facilities.read',
  activities: 'facilities.read',
  client_flows: 'facilities.read',
  establishment_types: 'facilities.read',
  main_activities: 'facilities.read',
  coverage_types: 'facilities.read',
  facility_subtypes: 'facilities.read',
  administrative_regions: 'facilities.read',
  registry_states: 'facilities.read',
  bed_categories: 'bed_capacity.read',
  bed_types: 'bed_capacity.read',
  equipment_categories: 'equipment_inventory.read',
  equipment_types: 'equipment_inventory.read',
  specialized_service_types: 'specialized_services.read',
  specialized_service_classifications: 'specialized_services.read',
  procedures: 'analytics.query.read',
  procedure_groups: 'analytics.query.read',
  procedure_subgroups: 'analytics.query.read',
  procedure_forms: 'analytics.query.read',
  diagnosis_chapters: 'analytics.query.read',
  diagnosis_categories: 'analytics.query.read',
  care_periods: 'analytics.query.read',
  health_financing: 'analytics.query.read',
}
const hasOwn = <Key extends string>(table: Readonly<Record<Key, unknown>>, name: string): name is Key =>
  Object.hasOwn(table, name)
const PRE_AGGREGATES: ReadonlySet<string> = new Set(PRE_AGGREGATE_NAMES)
const PROVENANCE = /_provenance$/

/**
 * @param table name of a dataset, a pre-aggregate or a table of provenance
 * @returns every capability that is needed; all there are for a table that holds rows of several datasets, or is unknown
 */
export function capabilitiesOfTable(table: string): readonly Capability[] {
  if (hasOwn(OF_LISTS, table)) return [OF_LISTS[table]]
  if (PRE_AGGREGATES.has(table)) return [capabilityOf(preAggregateOf(table as PreAggregateName).dataset)]
  // Names of facilities, and of the codes that their published rows carry.
  if (table === 'code_names_provenance' || table === 'facility_names_provenance') return ['facilities.read']
  if (PROVENANCE.test(table)) return capabilitiesOfTable(table.replace(PROVENANCE, ''))
  return hasOwn(FACTS, table) ? [capabilityOf(table)] : CAPABILITIES
}
