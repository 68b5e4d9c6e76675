/** Builds what invented deaths and births share: the rows of a year by town, their dates, and columns of text. */
import type { DbfColumn } from './dbf.ts'
import type { DemoMunicipality } from './geography.ts'
import type { Chance } from './random.ts'

export interface VitalContext {
  readonly all: readonly DemoMunicipality[]
  readonly states: readonly string[]
  readonly chance: Chance
}

export interface VitalFile {
  readonly name: string
  readonly chunks: Iterable<Buffer>
}

type Cells = Readonly<Record<string, string>>
type MakeRow = (
  slot: number,
  number: number,
  year: number,
  town: DemoMunicipality,
  place: { readonly capital: DemoMunicipality; readonly chance: Chance },
) => Cells

/** @param list names and widths, `NAME:8` */
export const textColumns = (list: string): DbfColumn[] =>
  list.split(' ').map((entry) => {
    const [name = '', width = '1'] = entry.split(':')
    return { name, type: 'C', width: Number(width) }
  })

/** Rates of towns differ by up to this part. */
const SPREAD = 0.3

/**
 * @param rate rows per inhabitant and year
 * @param purpose of the chance that spreads the rates of towns
 * @returns rows of a state's year by town, and their number
 */
export function vitalRows(
  uf: string,
  year: number,
  rate: number,
  purpose: number,
  { all, chance }: VitalContext,
  makeRow: MakeRow,
): { readonly count: number; readonly rows: Iterable<Cells> } {
  const towns = all.filter((town) => town.uf === uf)
  const counts = towns.map(({ code, census }) =>
    Math.round((census ?? 0) * rate * (1 - SPREAD / 2 + SPREAD * chance(code + year, purpose))),
  )
  const [capital] = [...towns].sort((left, right) => (right.census ?? 0) - (left.census ?? 0))
  function* rows(): Generator<Cells> {
    if (capital === undefined) return
    // Slots are distinct per state and year for fewer than a million rows.
    let number = 0
    const first = (capital.stateCode * 40 + (year % 40)) * 1_000_003
    for (const [index, town] of towns.entries())
      for (let row = 0; row < (counts[index] ?? 0); row += 1) {
        yield makeRow(first + number, number, year, town, { capital, chance })
        number += 1
      }
  }
  return { count: counts.reduce((sum, count) => sum + count, 0), rows: { [Symbol.iterator]: rows } }
}

const DAY_MS = 86_400_000
const DAYS = 365
/** Texts by day, because formatting a date takes a tenth of the time of a row. */
const TEXTS = new Map<number, string>()

/** @param share below 1: how much of the year has passed @returns a day of the year as DDMMAAAA, and its time */
export function dateOf(year: number, share: number): { readonly text: string; readonly time: number } {
  const time = Date.UTC(year, 0, 1) + Math.floor(share * DAYS) * DAY_MS
  return { text: dayText(time), time }
}

/** @returns DDMMAAAA */
export function dayText(time: number): string {
  const day = Math.floor(time / DAY_MS)
  const cached = TEXTS.get(day)
  if (cached !== undefined) return cached
  const iso = new Date(day * DAY_MS).toISOString()
  const text = `${iso.slice(8, 10)}${iso.slice(5, 7)}${iso.slice(0, 4)}`
  TEXTS.set(day, text)
  return text
}
