/**
 * Writes one staged CNES month, of either family, to the four datasets and their provenance.
 * In: st_fac and st_<fact> (published rows with source_file and source_row), mun (municipalities), now_<catalog>.
 * Out: Parquet files. Staged rows keep the order of their files.
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

/** Facts with most rows come first, so that the longest work begins first. */
const FACTS: readonly FactName[] = ['specialized_services', 'equipment_inventory', 'bed_capacity']

const ORDER_OF_CHECKS = ['bed_capacity', 'equipment_inventory', 'specialized_services', 'facilities'] as const

export async function buildPeriod(
  session: Session,
  staging: string,
  input: PeriodInput,
): Promise<PeriodOutput> {
  const facts = FACTS.filter((fact) => input.facts.has(fact))
  const published = new Map<FactName, readonly number[]>()
  const types = await session.all([
    (lane) => makeLinks(lane, input),
    ...facts.map((fact) => async (lane: Session) => {
      published.set(fact, await publishedTotals(lane, input, fact))
      return makeCodes(lane, input, fact)
    }),
  ])
  const checks = new Map<string, readonly NamedCheck[]>()
  const outputs: DatasetOutput[] = []
  const counts: Record<string, number> = {}
  const write = async (output: Promise<DatasetOutput>): Promise<void> => void outputs.push(await output)
  // Other tasks wait for these promises. Tasks begin in the listed order, so no lane waits for a task that has not begun.
  const madeFacts = new Map<FactName, Promise<void>>()
  let facilities: Promise<void> | undefined
  await session.all<void>([
    ...facts.map((fact) => (lane: Session) => {
      const making = makeFact(lane, input, fact)
      madeFacts.set(fact, making)
      return making
    }),
    (lane) => write(writeFacilityProvenance(lane, staging, input)),
    (lane) => {
      // Wait for the facts, because a facility's flags (has_beds …) come from them.
      facilities = Promise.all(madeFacts.values()).then(() => write(writeFacilities(lane, staging, input)))
      return facilities
    },
    ...facts.map((fact) => async (lane: Session) => {
      await madeFacts.get(fact)
      await write(writeFact(lane, staging, input, fact))
    }),
    ...facts.map((fact) => async (lane: Session) => {
      await madeFacts.get(fact)
      checks.set(fact, await checkFact(lane, input, fact, published.get(fact) ?? []))
      await write(writeFactProvenance(lane, staging, input, fact))
    }),
    async (lane) => void Object.assign(counts, await countMalformed(lane, input)),
    async (lane) => {
      await facilities
      checks.set('facilities', await checkFacilities(lane, input))
      Object.assign(counts, await countPeriod(lane, input, join(staging, partOf('facilities', input.period))))
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
