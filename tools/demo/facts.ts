/** Invents beds, equipment and services: published rows in file order, each a pure function of seed, facility and month. */
import type { DemoCatalogs } from './catalogs.ts'
import { cnesOf, type FacilityPlan, unitOf } from './facilities.ts'
import type { DemoMunicipality } from './geography.ts'
import { type Chance, inventCnpj, inventCpf } from './random.ts'
import { regionOf } from './regions.ts'

export interface FactContext {
  readonly plan: FacilityPlan
  readonly all: readonly DemoMunicipality[]
  readonly catalogs: DemoCatalogs
  readonly chance: Chance
  readonly age: number
  /** Rows of the month, including planted ones. */
  readonly rows: number
  /** Regions differ (regions.ts). */
  readonly hasRegions?: boolean
}

const MONTHLY_REVISIONS = 0.01

/** Distributes rows over facilities; cumulative rounding gives the exact total. */
function* spread(
  context: FactContext,
  purpose: number,
  has: (index: number) => boolean,
  rows: number,
  most: number,
): Generator<{ index: number; count: number }> {
  const { plan, chance } = context
  let total = 0
  for (let index = 0; index < plan.count; index += 1)
    if (has(index)) total += 0.3 + chance(index, purpose) ** 2
  let seen = 0
  let added = 0
  for (let index = 0; index < plan.count; index += 1) {
    if (!has(index)) continue
    seen += 0.3 + chance(index, purpose) ** 2
    const count = Math.min(Math.round((rows * seen) / total) - added, most)
    added += count
    if (count > 0) yield { index, count }
  }
}

function quantity(context: FactContext, slot: number, purpose: number, most: number, power: number): number {
  const { chance, age } = context
  const revised = chance(slot * 31 + age, purpose + 1) < MONTHLY_REVISIONS ? age + 1 : 0
  return 1 + Math.floor(chance(slot, purpose) ** power * most) + (revised % 3)
}

export const BED_HEADER = [
  'CO_UNIDADE',
  'CO_LEITO',
  'CO_TIPO_LEITO',
  'TP_ALTACOMP',
  'QT_EXIST',
  'QT_CONTR',
  'QT_SUS',
  'DT_ATUALIZACAO',
  'CO_USUARIO',
]

export function* bedRows(context: FactContext): Generator<string> {
  const { plan, all, catalogs, chance, hasRegions = false } = context
  const types = catalogs.bedTypes
  const hasBeds = (index: number): boolean =>
    plan.isHospital[index] === 1 && (index === plan.closingHospital || chance(index, 50) < 0.85)
  let row = 0
  for (const { index, count } of spread(context, 51, hasBeds, context.rows - 1, types.length)) {
    const unit = unitOf(plan, all, index)
    const start = Math.floor(chance(index, 52) * types.length)
    const factor = hasRegions ? regionOf(all[plan.place[index] ?? 0]?.uf ?? '').beds : 1
    for (let place = 0; place < count; place += 1) {
      // Consecutive positions from a random start give distinct types.
      const [type = '33', , category = '2'] = types[(start + place) % types.length] ?? []
      const slot = index * 70 + place
      const existing =
        index === plan.closingHospital
          ? 40
          : chance(slot, 53) < 0.004
            ? 0
            : Math.max(1, Math.round(quantity(context, slot, 54, 90, 5) * factor))
      const sus =
        chance(slot, 56) < 0.36 ? 0 : Math.min(existing, Math.ceil(existing * (0.4 + chance(slot, 57))))
      // Depends on the row, not the slot, so that even the smallest month has some.
      row += 1
      const published = row % 250 === 99 ? existing + 2 : sus
      yield `${unit}";"${type}";"${category} ";"";"${existing}";"";"${published}";"07/02/2025";"USUARIO.DEMO`
    }
  }
  // Planted: beds of a facility that is not in the registry.
  yield '3550309999999";"33";"2";"";"7";"";"7";"07/02/2025";"USUARIO.DEMO'
}

export const equipmentHeader = (withSus: boolean): string[] => [
  'CO_UNIDADE',
  'CO_EQUIPAMENTO',
  'CO_TIPO_EQUIPAMENTO',
  'QT_EXISTENTE',
  'QT_USO',
  'TP_SUS',
  ...(withSus ? ['QT_SUS'] : []),
  "TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')",
  'CO_USUARIO',
]

export function* equipmentRows(context: FactContext, withSus: boolean): Generator<string> {
  const { plan, all, catalogs, chance } = context
  const types = catalogs.equipmentTypes
  const hasEquipment = (index: number): boolean => chance(index, 60) < 0.45
  for (const { index, count } of spread(context, 61, hasEquipment, context.rows - 2, 100)) {
    const unit = unitOf(plan, all, index)
    const start = Math.floor(chance(index, 62) ** 2 * types.length)
    for (let place = 0; place < count; place += 1) {
      const [category = '07', code = '80'] = types[(start + place) % types.length] ?? []
      const slot = index * 101 + place
      const existing = chance(slot, 63) < 0.003 ? 0 : quantity(context, slot, 64, 12, 6)
      const used = Math.max(0, existing - (chance(slot, 66) < 0.06 ? 1 : 0))
      const share = chance(slot, 67)
      const sus = share < 0.616 ? '2' : share < 0.993 ? '1' : share < 0.996 ? '0' : share < 0.998 ? '9' : ''
      const quantitySus = chance(slot, 68) < 0.2 ? '' : sus === '1' ? String(existing) : '0'
      // Newer exports widened the column: `1` became `1 `.
      const type = withSus ? `${Number(category)} `.slice(0, 2) : String(Number(category))
      yield `${unit}";"${code}";"${type}";"${existing}";"${used}";"${sus}";"${withSus ? `${quantitySus}";"` : ''}07/02/2025";"USUARIO.DEMO`
    }
  }
  const unit = unitOf(plan, all, 0)
  const tail = withSus ? '";"0";"07/02/2025";"USUARIO.DEMO' : '";"07/02/2025";"USUARIO.DEMO'
  // Planted: a quantity that is not a number, and a type that the catalog lacks.
  yield `${unit}";"97";"9";"X2";"1";"2${tail}`
  yield `${unit}";"98";"9";"3";"3";"2${tail}`
}

export const SERVICE_HEADER = [
  'CO_UNIDADE',
  'CO_SERVICO',
  'CO_CLASSIFICACAO',
  'TP_CARACTERISTICA',
  'CO_CNPJCPF',
  'CO_AMBULATORIAL',
  'CO_AMBULATORIAL_SUS',
  'CO_HOSPITALAR',
  'CO_HOSPITALAR_SUS',
  'CO_END_COMPL',
  'ST_ATIVO_SN',
  'DT_ATUALIZACAO',
  'CO_USUARIO',
]

export function* serviceRows(context: FactContext): Generator<string> {
  const { plan, all, catalogs, chance } = context
  const types = catalogs.classifications
  const hasServices = (index: number): boolean => chance(index, 70) < 0.41
  for (const { index, count } of spread(context, 71, hasServices, context.rows, 200)) {
    const unit = unitOf(plan, all, index)
    const start = Math.floor(chance(index, 72) ** 1.5 * types.length)
    for (let place = 0; place < count; place += 1) {
      const slot = index * 201 + place
      // Every 290th declaration repeats the previous one at another address, by a third party.
      const repeats = place > 0 && slot % 290 === 7
      const [service = '145', code = '001'] = types[(start + place - (repeats ? 1 : 0)) % types.length] ?? []
      const share = repeats ? 0.9 : chance(slot, 73)
      const isOwn = share < 0.859
      const provider = isOwn ? 'NAO INFORMADO' : providerOf(context, slot)
      const flag = (purpose: number, yes: number): string => (chance(slot, purpose) < yes ? '1' : '2')
      const address = repeats ? '9' : chance(slot, 78) < 0.85 ? '0' : String(1 + (slot % 8))
      yield `${unit}";"${service}";"${code}";"${isOwn ? '1' : share < 0.96 ? '2' : '3'}";"${provider}";"${flag(74, 0.34)}";"${flag(75, 0.73)}";"${flag(76, 0.12)}";"${flag(77, 0.185)}";"${address}";"";"07/02/2025";"USUARIO.DEMO`
    }
  }
}

/** Identifies third parties as real months do: by codes, numbers and fillers. */
function providerOf({ plan, chance }: FactContext, slot: number): string {
  const share = chance(slot, 79)
  if (share < 0.8) return cnesOf(plan, slot % plan.count)
  if (share < 0.9) return inventCnpj(slot % 5000)
  if (share < 0.94) return 'NAO SE APLICA'
  if (share < 0.97) return '0000000'
  return share < 0.985 ? '' : inventCpf(slot)
}
