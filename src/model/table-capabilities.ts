/** Capabilities needed to download a table of a release: those of the routes that show its rows. Pure. */
import { FACTS } from './areas.ts'
import { CAPABILITIES, type Capability } from './capabilities.ts'
import type { DatasetName } from './datasets.ts'
import { capabilityOf, type FactDataset } from './dimensions.ts'
import { PRE_AGGREGATE_NAMES, type PreAggregateName, preAggregateOf } from './pre-aggregates.ts'

/** A code list needs the capability of the records that use its codes. */
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
 * @param table name of a dataset, a pre-aggregate or a provenance table
 * @returns all needed capabilities; every capability for an unknown table or one with rows of several datasets
 */
export function capabilitiesOfTable(table: string): readonly Capability[] {
  if (hasOwn(OF_LISTS, table)) return [OF_LISTS[table]]
  if (PRE_AGGREGATES.has(table)) return [capabilityOf(preAggregateOf(table as PreAggregateName).dataset)]
  // Provenance of names of facilities, and of names of the codes in their rows.
  if (table === 'code_names_provenance' || table === 'facility_names_provenance') return ['facilities.read']
  if (PROVENANCE.test(table)) return capabilitiesOfTable(table.replace(PROVENANCE, ''))
  return hasOwn(FACTS, table) ? [capabilityOf(table)] : CAPABILITIES
}
