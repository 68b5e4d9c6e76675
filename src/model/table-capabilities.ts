/** Capabilities needed to download a table of a release: those of the routes that show its rows. Pure. */

import { areaOf } from './areas.ts'
import { CAPABILITIES, type Capability } from './capabilities.ts'
import { DATASETS, type DatasetName, datasetOf } from './datasets.ts'
import { FACTS } from './declarations.ts'
import { capabilityOf } from './dimensions.ts'
import { PRE_AGGREGATE_NAMES, type PreAggregateName, preAggregateOf } from './pre-aggregates.ts'

/** Lists that need another capability than the other lists of their area, because records with it use their codes. */
const OF_LISTS: Readonly<Partial<Record<DatasetName, Capability>>> = {
  bed_categories: 'bed_capacity.read',
  bed_types: 'bed_capacity.read',
  equipment_categories: 'equipment_inventory.read',
  equipment_types: 'equipment_inventory.read',
  specialized_service_types: 'specialized_services.read',
  specialized_service_classifications: 'specialized_services.read',
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
  if (hasOwn(FACTS, table)) return [capabilityOf(table)]
  if (hasOwn(DATASETS, table)) return [OF_LISTS[table] ?? areaOf(datasetOf(table).area).listCapability]
  if (PRE_AGGREGATES.has(table)) return [capabilityOf(preAggregateOf(table as PreAggregateName).dataset)]
  // Provenance of names of facilities, and of names of the codes in their rows.
  if (table === 'code_names_provenance' || table === 'facility_names_provenance') return ['facilities.read']
  if (PROVENANCE.test(table)) return capabilitiesOfTable(table.replace(PROVENANCE, ''))
  return CAPABILITIES
}
