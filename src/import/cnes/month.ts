/**
 * One month of CNES, of either family, staged → its partitions of the four datasets and of their provenance.
 *
 * In: st_fac and st_<fact> (rows as published, with source_file and source_row), mun (municipalities), now_<catalog>. Out:
 * Parquet. Staged rows are in the order of their files, and Parquet is written in that order.
 */
import { join } from 'node:path'
import type { FactName } from '../../model/cnes/lineage.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, type NamedCheck, partOf } from '../write-parquet.ts'
import { checkFacilities, checkFact, countMalformed, countPeriod, publishedTotals } from './checks.ts'
import { makeLinks, writeFacilities, writeFacilityProvenance } from './facilities.ts'
import { makeCodes, makeFact, writeFact, writeFactProvenance } from './facts.ts'
import type { PeriodInput } from './published-rows.ts'

export interface PeriodOutput {
  readonly outputs: readonly DatasetOutput[]
  readonly counts: Record<string, number>
  readonly checks: readonly NamedCheck[]
}

/** Those with most rows first, so that the longest work begins first. */
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
  // Promises that other work waits for. Work is begun in this order, so that no lane waits for work it has yet to begin.
  const made = new Map<FactName, Promise<void>>()
  let facilities: Promise<void> | undefined
  await session.all<void>([
    ...facts.map((fact) => (own: Session) => {
      const making = makeFact(own, input, fact)
      made.set(fact, making)
      return making
    }),
    (own) => write(writeFacilityProvenance(own, staging, input)),
    (own) => {
      // Flags of a facility (has_beds …) come from its facts, so these are made first.
      facilities = Promise.all(made.values()).then(() => write(writeFacilities(own, staging, input)))
      return facilities
    },
    ...facts.map((fact) => async (own: Session) => {
      await made.get(fact)
      await write(writeFact(own, staging, input, fact))
    }),
    ...facts.map((fact) => async (own: Session) => {
      await made.get(fact)
      checks.set(fact, await checkFact(own, input, fact, published.get(fact) ?? []))
      await write(writeFactProvenance(own, staging, input, fact))
    }),
    async (own) => void Object.assign(counts, await countMalformed(own, input)),
    async (own) => {
      await facilities
      checks.set('facilities', await checkFacilities(own, input))
      Object.assign(counts, await countPeriod(own, input, join(staging, partOf('facilities', input.period))))
    },
  ])
  const tables = [
    ...['link', 'repeated'],
    ...FACTS.flatMap((fact) => ['fact', 'added', 'code', 'key', 'flags'].map((kind) => `${kind}_${fact}`)),
  ]
  await session.run(
    [
      ...FACTS.map((fact) => `DROP VIEW IF EXISTS record_${fact}`),
      ...tables.map((table) => `DROP TABLE IF EXISTS ${table}`),
      ...types.flat().map((type) => `DROP TYPE ${type}`),
    ].join('; '),
  )
  return { outputs, counts, checks: ORDER_OF_CHECKS.flatMap((table) => checks.get(table) ?? []) }
}
