/** The form of a note's declaration: its parameters by kind, and its sentence in both languages. Types, and one typed identity. */

interface Kinds {
  /** Code of a metric, dataset, dimension or state, or the name of an edition. */
  readonly code: string
  readonly codes: readonly string[]
  /** YYYY-MM */
  readonly month: string
  readonly months: readonly string[]
  readonly year: number
  readonly count: number
  /** Metric → its month, or null when it has none. */
  readonly month_by_metric: Readonly<Record<string, string | null>>
}
export type Kind = keyof Kinds | readonly string[]
type ValueOf<KindName extends Kind> = KindName extends keyof Kinds
  ? Kinds[KindName]
  : KindName extends readonly (infer Each)[]
    ? Each
    : never
export type ParamsOf<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Kind ? ValueOf<Declared[Name]> : never
}
export type Namer = (code: string) => string

interface Declaration<Declared extends Readonly<Record<string, Kind>>> {
  /** Documentation of when a response has the note. */
  readonly when: string
  readonly params: Declared
  readonly pt: (params: ParamsOf<Declared>, name: Namer) => string
  readonly en: (params: ParamsOf<Declared>, name: Namer) => string
}
export const declare = <const Declared extends Readonly<Record<string, Kind>>>(
  declaration: Declaration<Declared>,
): Declaration<Declared> => declaration
