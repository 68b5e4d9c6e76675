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
import { type DatasetOutput, type NamedCheck, partOf } from './output.ts'
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
  const counts: Record<string, number> = {}
  const write = async (output: Promise<DatasetOutput>): Promise<void> => void outputs.push(await output)
  // Work that other work waits for: it is begun before it, by whichever lane.
  const made: Promise<void>[] = []
  let facilities: Promise<void> | undefined
  const begin = (work: Promise<void>, keep: (work: Promise<void>) => void): Promise<void> => {
    keep(work)
    return work
  }
  await session.all<void>([
    ...facts.map(
      (fact) => (own: Session) => begin(makeFact(own, input, fact), (making) => made.push(making)),
    ),
    (own) => write(writeFacilityProvenance(own, staging, input)),
    (own) =>
      begin(
        // What a facility has is known when its facts are made.
        Promise.all(made).then(() => write(writeFacilities(own, staging, input))),
        (writing) => {
          facilities = writing
        },
      ),
    ...facts.map((fact) => (own: Session) => write(writeFact(own, staging, input, fact))),
    ...facts.map((fact) => async (own: Session) => {
      checks.set(fact, await checkFact(own, input, fact, published.get(fact) ?? []))
      await write(writeFactProvenance(own, staging, input, fact))
    }),
    async (own) => {
      await facilities
      checks.set('facilities', await checkFacilities(own, input))
      Object.assign(counts, await countPeriod(own, input, join(staging, partOf('facilities', input.period))))
    },
  ])
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
