/**
 * What a field, a dataset, a filter, a dimension, a metric and a line of lineage are. Types only.
 *
 * A folder of model/ declares one area (`territory`, `cnes`, `demography`) in these terms, and areas.ts joins them: a new area is
 * a new folder, named there.
 */
import type { Capability } from './capabilities.ts'
import type { DatasetName } from './datasets.ts'
import type { StandardName } from './demography/standard-populations.ts'
import type { DimensionCode, FactDataset } from './dimensions.ts'
import type { FieldName } from './fields.ts'
import type { RuleName } from './rules.ts'

/** What a release covers: months of the facility registry, places with their population, months of hospital admissions and of outpatient production, years of money. */
export type Area = 'cnes' | 'demography' | 'sih' | 'sia' | 'financing'

/** A text in both languages. */
export interface Text {
  readonly pt: string
  readonly en: string
}

export type FieldType =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'coordinate' // degrees, the only DOUBLE
  | 'date' // YYYY-MM-DD
  | 'period' // YYYYMM in Parquet paths, YYYY-MM in JSON
  | 'address' // struct of five strings
  | 'declarations' // list of structs, specialised services
  | 'cells' // list of structs: row of the published file, published cell
  | 'codes' // list of codes
  | 'percentage' // exact, two decimals

/** A column. It has the same name from Parquet to JSON, and in every dataset that carries it. */
export interface Field {
  readonly type: FieldType
  readonly nullable?: boolean
  /** Of an integer: 64 bits, not 32. */
  readonly isWide?: true
  readonly unit?: string
  readonly description: string
}

/** How a request parameter restricts rows. `column` defaults to the parameter's own name. */
export type Filter =
  | { readonly kind: 'equals'; readonly column?: FieldName; readonly values: FilterValues }
  | { readonly kind: 'municipality'; readonly column: FieldName }
  | WithinFilter
  /** Met by codes that begin with the digits asked for; @see digits the most there are */
  | { readonly kind: 'prefix'; readonly column: FieldName; readonly digits: number }
  | { readonly kind: 'positive'; readonly column: FieldName }
  | { readonly kind: 'flag'; readonly column: FieldName }
  | { readonly kind: 'search'; readonly codes: FieldName; readonly text: 'search_text' }
  | { readonly kind: 'status' }
  | DeclarationFilter

/**
 * Met by the rows of a place's municipalities (or states), which the release's list of municipalities names; `column` holds
 * their codes.
 */
export interface WithinFilter {
  readonly kind: 'within'
  readonly place: 'region' | 'health_region' | 'health_macroregion'
  readonly column: FieldName
}

/** Met by an offering when one of its declarations meets all filters of this kind at once. */
export interface DeclarationFilter {
  readonly kind: 'declaration'
  readonly column: 'characteristic_code' | 'provider_kind' | DeclarationFlag
  readonly values: FilterValues
}

export type DeclarationFlag =
  | 'has_ambulatory'
  | 'has_ambulatory_sus'
  | 'has_hospital'
  | 'has_hospital_sus'
  | 'offers_any_sus'

/** What a parameter accepts: digits of a length, a closed list, a state, a year, a month, a major region, free text, true/false. */
export type FilterValues =
  | { readonly digits: number }
  | { readonly list: readonly string[] }
  | { readonly uf: true }
  | { readonly year: true }
  | { readonly month: true }
  | { readonly region: true }
  | { readonly key: readonly [number, number] }
  | { readonly text: number }
  | { readonly boolean: true }

/** A table of a release. The importer writes its columns in this order; lists and schemas follow from it. */
export interface Dataset {
  readonly name: string
  readonly area: Area
  /** One Parquet folder per reference period. */
  readonly periodic: boolean
  /** Its list shows every period where none is asked for, not the newest alone. */
  readonly listsAllPeriods?: true
  /** Grain, without reference_period; also the total order of the rows in files and lists. */
  readonly key: readonly FieldName[]
  /** Shown by lists, in order. */
  readonly fields: readonly FieldName[]
  /** Shown by the record in addition. */
  readonly detail?: readonly FieldName[]
  /** Stored, never shown: for filters, joins, provenance. */
  readonly internal?: readonly FieldName[]
  readonly filters?: Readonly<Record<string, Filter>>
  /** Fields that its list may be sorted by, all of them shown. */
  readonly sorts?: readonly FieldName[]
  readonly description: string
  /** Code lists only: rows a complete national month holds (specification 8). */
  readonly catalogSize?: number
}

/** A dataset that metrics add up or count, with the dimensions its rows carry. */
export interface Fact {
  /** What a key needs to read it. */
  readonly capability: Capability
  readonly dimensions: readonly DimensionCode[]
}

/** What metrics are grouped and filtered by, as its area declares it. */
export interface DimensionDeclaration {
  readonly label: string
  readonly label_en: string
  /** The conformed key: the same name in every dataset that carries it. */
  readonly column: string
  /** Codes are integers (municipality) or text. */
  readonly integer?: boolean
  /** The dataset that names the codes. */
  readonly member: { readonly dataset: DatasetName; readonly key: string; readonly name: string } | null
  /** Names of the codes of a closed list, which no dataset holds. */
  readonly labels?: Readonly<Record<string, { readonly pt: string; readonly en: string }>>
  /** Places and facilities are listed by name, everything else by code. */
  readonly order: 'name' | 'code'
  /** Facts do not carry it: it follows from their state or municipality, by the release's list of municipalities. */
  readonly derivedFrom?: 'state' | 'municipality' | 'residence_municipality'
  /** The code that stands where a published file says none; absent: null stands there. */
  readonly unknown?: string
  /** 'core', where it says nothing else: one of the 15 of the specification. */
  readonly tier?: 'extended'
}

/** A dimension of the catalog, with the facts that carry it. */
export interface Dimension extends Omit<DimensionDeclaration, 'tier'> {
  readonly tier: 'core' | 'extended'
  readonly datasets: readonly FactDataset[]
}

/** Restricts the rows a measure counts. */
export type Condition =
  | { readonly field: string; readonly above: number }
  | { readonly field: string; readonly equals: string }
  | { readonly field: string; readonly oneOf: readonly string[] }
  | { readonly flag: string }
  | { readonly anyFlag: readonly [string, string] }
  | { readonly outsourced: true }
  /** Of a year, or of the one the release declares. */
  | { readonly populationType: 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION'; readonly year?: number }

/** What is added up or counted over the rows of one dataset. */
export interface Measure {
  readonly dataset: FactDataset
  readonly kind: 'sum' | 'count' | 'distinct'
  /** Field summed, or whose values are counted once; of 'count', none. */
  readonly field?: string
  /** Its sum is subtracted from the sum of `field`. */
  readonly minus?: string
  /** Of a stock: each month's sum is multiplied by its days, which makes it a flow. */
  readonly timesDays?: true
  /** Events by age group, each over its residents, or those residents: added up by the shares of a standard population. */
  readonly standardizedBy?: StandardName
  readonly where?: readonly Condition[]
}

interface MetricBase {
  readonly label: string
  readonly label_en: string
  readonly description: Text
  readonly unit: string
  readonly tier: 'core' | 'extended'
}
export interface CountMetric extends MetricBase {
  readonly kind: 'sum' | 'count' | 'distinct'
  readonly measure: Measure
  /** Cents, shown in reais with two decimals. */
  readonly isMoney?: true
}
/** Keeps its sides apart and divides last, at the level of the groups a request names. */
export interface RatioMetric extends MetricBase {
  readonly kind: 'ratio'
  readonly numerator: string
  /** Dataset that the numerator is read from, where it is another than its own. */
  readonly numeratorOf?: FactDataset
  /** Subtracted from the numerator; `less` is also what the API calls this side. */
  readonly less?: string
  readonly denominator: string
  /** Divides within each age group, and adds the quotients up by the shares of a standard population. */
  readonly standardizedBy?: StandardName
  readonly scale: number
  readonly decimals: 2
}
export type Metric = CountMetric | RatioMetric

/** Which published column an attribute comes from, and by which rule. */
export interface Lineage {
  /** Name of the record's field; `address.street` for a member of a struct. */
  readonly attribute: string
  readonly column: string
  readonly rule: RuleName
}
