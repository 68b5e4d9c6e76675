/**
 * One month of CNES, of either family, staged → its partitions of the four datasets and of their provenance.
 *
 * In: st_fac and st_<fact> (rows as published, with source_file and source_row), mun (municipalities), now_<catalog>. Out:
 * Parquet. Tables are made in the order of their files, and files are written from them as they stand.
 */
import { join } from 'node:path'
import type { FactName } from '../model/lineage.ts'
import { checkFacilities, checkFact, countPeriod, publishedTotals } from './cnes-checks.ts'
import { makeLinks, writeFacilities, writeFacilityProvenance } from './cnes-facilities.ts'
import { makeCodes, makeFact, writeFact, writeFactProvenance } from './cnes-facts.ts'
import type { PeriodInput } from './cnes-rows.ts'
import type { DatasetOutput, NamedCheck } from './output.ts'
import type { Session } from './session.ts'

export interface PeriodOutput {
  readonly outputs: readonly DatasetOutput[]
  readonly counts: Record<string, number>
  readonly checks: readonly NamedCheck[]
}

/** Those with most rows first: what is long is begun early. */
const FACTS: readonly FactName[] = ['specialized_services', 'equipment_inventory', 'bed_capacity']

/** The manifest lists them so. */
const ORDER_OF_CHECKS = ['bed_capacity', 'equipment_inventory', 'specialized_services', 'facilities'] as const

export async function buildPeriod(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<PeriodOutput> {
  const facts = FACTS.filter((fact) => input.facts.has(fact))
  const published = new Map<FactName, readonly number[]>()
  const types = await session.all([
    (own) => makeLinks(own, input),
    ...facts.map((fact) => async (own: Session) => {
      published.set(fact, await publishedTotals(own, input, fact))
      return makeCodes(own, input, fact)
    }),
  ])
  const checks = new Map<string, readonly NamedCheck[]>()
  const outputs: DatasetOutput[] = []
  const write = async (output: Promise<DatasetOutput>): Promise<void> => void outputs.push(await output)
  const made: Promise<void>[] = []
  const make = (fact: FactName) => (own: Session) => {
    const making = makeFact(own, input, fact)
    made.push(making)
    return making
  }
  await session.all<void>([
    ...facts.map(make),
    (own) => write(writeFacilityProvenance(own, staging, input)),
    async (own) => {
      // Begun before this, by whichever lane; what a facility has is known when they end.
      await Promise.all(made)
      await write(writeFacilities(own, staging, input))
    },
    ...facts.map((fact) => (own: Session) => write(writeFact(own, staging, input, fact))),
    ...facts.map((fact) => async (own: Session) => {
      checks.set(fact, await checkFact(own, input, fact, published.get(fact) ?? []))
      await write(writeFactProvenance(own, staging, input, fact))
    }),
  ])
  const [facilities = ''] = outputs.find(({ name }) => name === 'facilities')?.files.keys() ?? []
  const counts = await countPeriod(session, input, join(staging, facilities))
  checks.set('facilities', await checkFacilities(session, input))
  const tables = [
    ...['link', 'repeated'],
    ...FACTS.flatMap((fact) => ['fact', 'code', 'key', 'flags'].map((kind) => `${kind}_${fact}`)),
  ]
  await session.run(
    [
      ...tables.map((table) => `DROP TABLE IF EXISTS ${table}`),
      ...types.flat().map((type) => `DROP TYPE ${type}`),
    ].join('; '),
  )
  return {
    outputs,
    counts,
    checks: ORDER_OF_CHECKS.flatMap((table) => checks.get(table) ?? []),
  }
}
