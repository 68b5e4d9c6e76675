/** Writes in words what a promotion changed. Pure; the home page, the page of releases and the feed use it. */
import type { AreaChange } from '../api.ts'
import { formatMonth, formatNumber, type Language } from '../numbers.ts'
import { change, EMPTY_QUESTION, type Question } from '../question.ts'
import { TEXTS } from '../texts.ts'

/** @returns a sentence for each area and kind of change @param areas null when a release is no longer here */
export function changeLines(areas: readonly AreaChange[] | null, language: Language): string[] {
  const t = TEXTS[language]
  if (areas === null || areas.length === 0)
    return [areas === null ? t.whatChanged.gone : t.whatChanged.nothing]
  return areas.flatMap(({ area, release_id, previous_release_id, datasets }) => {
    const name = t.areas[area] ?? area
    if (release_id === null) return [t.whatChanged.areaRemoved(name)]
    const periodsOf = (select: (dataset: AreaChange['datasets'][number]) => readonly string[]): string[] => [
      ...new Set(datasets.flatMap(select)),
    ]
    const added = periodsOf((dataset) => dataset.added)
    const revised = periodsOf((dataset) => dataset.revised).filter((period) => !added.includes(period))
    const final = periodsOf((dataset) => dataset.became_final.map(({ period }) => period))
    const preliminary = periodsOf((dataset) => dataset.preliminary.map(({ period }) => period))
    const [rows, before] = [sum(datasets, 'rows'), sum(datasets, 'previous_rows')]
    const say = (
      periods: readonly string[],
      sentence: (name: string, periods: string) => string,
    ): string[] => (periods.length === 0 ? [] : [sentence(name, periodRanges(periods, language))])
    const lines = [
      ...(previous_release_id === null ? [t.whatChanged.areaAdded(name)] : []),
      ...say(added, t.whatChanged.added),
      ...say(
        periodsOf((dataset) => dataset.removed),
        t.whatChanged.removed,
      ),
      ...say(revised, t.whatChanged.revised),
      ...say(final, t.whatChanged.becameFinal),
      ...say(preliminary, t.whatChanged.preliminary),
      ...(rows === before
        ? []
        : [t.whatChanged.rows(name, formatNumber(before, 0, language), formatNumber(rows, 0, language))]),
    ]
    return lines.length === 0 ? [t.whatChanged.undated(name)] : lines
  })
}

/** @returns the question that compares the release in service with another one, row by row */
export const questionOfChanges = (before: string): Question =>
  change(EMPTY_QUESTION, { metrics: ['bed_capacity_sus'], groupBy: ['state'], since: before })

const sum = (datasets: AreaChange['datasets'], member: 'rows' | 'previous_rows'): number =>
  datasets.reduce((total, dataset) => total + (dataset[member] ?? 0), 0)

/** @param periods months (2026-05) and years @returns e.g. "jan 2025 – mai 2026, 2024" */
export function periodRanges(periods: readonly string[], language: Language): string {
  const runs: [string, string][] = []
  for (const period of [...periods].sort()) {
    const last = runs.at(-1)
    if (last !== undefined && indexOf(period) === indexOf(last[1]) + 1) last[1] = period
    else runs.push([period, period])
  }
  return runs
    .map(([first, last]) => (first === last ? [first] : [first, last]))
    .map((ends) => ends.map((period) => formatMonth(period, language)).join(' – '))
    .join(', ')
}

/** Numbers months one after another; years, which have no month, never follow each other. */
const indexOf = (period: string): number => {
  const [year = '', month] = period.split('-')
  return month === undefined ? Number(year) * -100 : Number(year) * 12 + Number(month)
}
