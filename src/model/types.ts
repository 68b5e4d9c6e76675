/**
 * Types of fields, datasets, filters, dimensions, metrics and lineage. Each folder of model/ declares one area (`territory`,
 * `cnes`, `demography` …) with these types, and declarations.ts joins them.
 */
import type { Area } from './areas.ts'
import type { Capability } from './capabilities.ts'
import type { DatasetName } from './datasets.ts'
import type { StandardName } from './demography/standard-populations.ts'
import type { DimensionCode, FactDataset } from './dimensions.ts'
import type { FieldName } from './fields.ts'
import type { RuleName } from './rules.ts'

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
  | 'index' // exact, 13 decimals

/** A column. It has the same name from Parquet to JSON, and in every dataset that has it. */
export interface Field {
  readonly type: FieldType
  readonly nullable?: boolean
  /** Integers only: 64 bits instead of 32. */
  readonly isWide?: true
  readonly unit?: string
  readonly description: string
}

/** How a request parameter restricts rows. `column` defaults to the parameter's name. */
export type Filter =
  | { readonly kind: 'equals'; readonly column?: FieldName; readonly values: FilterValues }
  | { readonly kind: 'municipality'; readonly column: FieldName }
  | WithinFilter
  /** Matches codes that begin with the requested digits; `digits` is the largest accepted number. Categories of CID may begin with a letter. */
  | {
      readonly kind: 'prefix'
      readonly column: FieldName
      readonly digits: number
      readonly isCategory?: boolean
    }
  | { readonly kind: 'positive'; readonly column: FieldName }
  | { readonly kind: 'flag'; readonly column: FieldName }
  | { readonly kind: 'search'; readonly codes: FieldName; readonly text: 'search_text' }
  | { readonly kind: 'status' }
  | DeclarationFilter

/** Matches rows whose municipality (or state) in `column` lies in the territory, by the release's municipality list. */
export interface WithinFilter {
  readonly kind: 'within'
  readonly place: 'region' | 'health_region' | 'health_macroregion'
  readonly column: FieldName
}

/** Matches an offering when one of its declarations meets all filters of this kind at once. */
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
  /** Whether there is one Parquet folder per reference period. */
  readonly periodic: boolean
  /** A list request without a period returns every period instead of the newest. */
  readonly listsAllPeriods?: true
  /** Unique key without reference_period. It is also the sort order of rows in files and lists. */
  readonly key: readonly FieldName[]
  /** Columns of list responses, in order. */
  readonly fields: readonly FieldName[]
  /** Columns that only the single-record response adds. */
  readonly detail?: readonly FieldName[]
  /** Stored columns that are never returned: for filters, joins and provenance. */
  readonly internal?: readonly FieldName[]
  /** Fields that are null in some rows of this dataset, though never in other datasets. */
  readonly nullable?: readonly FieldName[]
  readonly filters?: Readonly<Record<string, Filter>>
  /** Fields that a list can be sorted by. All of them are returned. */
  readonly sorts?: readonly FieldName[]
  readonly description: string
  /** Code lists only: number of rows in a complete national month (specification 8). */
  readonly catalogSize?: number
}

export interface Fact {
  /** Capability that a key needs to read it. */
  readonly capability: Capability
  readonly dimensions: readonly DimensionCode[]
  /** Rows are flows, which are summed over periods. Rows of other facts with months are stocks. */
  readonly isFlow?: true
  /** Each row aggregates rows of one published file, as in admissions and outpatient production. */
  readonly isAggregated?: true
  /** The facts are a population: they have a territory and a year, but no month and no facility. */
  readonly isPopulation?: true
  /** Files are by residence, but facts by occurrence: those of a place lie in the files of all states, and some have no place. */
  readonly isByOccurrence?: true
  /** Some rows have no amount, for territories that the published file does not mention. A sum over such a row is null. */
  readonly hasUnknowns?: true
  /** Datasets with the same records by other dimensions, so that their totals are equal. The first that suits a query is read. */
  readonly twins?: readonly DatasetName[]
}

export interface DimensionDeclaration {
  readonly label: string
  readonly label_en: string
  /** Key column. It has the same name in every dataset that has it. */
  readonly column: string
  /** Codes are integers (municipality) instead of strings. */
  readonly integer?: boolean
  readonly member: { readonly dataset: DatasetName; readonly key: string; readonly name: string } | null
  /** Names of the codes of a closed list, which has no dataset. */
  readonly labels?: Readonly<Record<string, { readonly pt: string; readonly en: string }>>
  /** Label of records without a code, in place of "Not informed". */
  readonly labelWithoutCode?: { readonly pt: string; readonly en: string }
  /** Sort order of members: territories and facilities by name, all others by code. */
  readonly order: 'name' | 'code'
  /** The dimension follows from the fact's state or municipality, by the release's list of municipalities. */
  readonly derivedFrom?: 'state' | 'municipality' | 'residence_state' | 'residence_municipality'
  /** Code for a missing value in the published file; without it, a missing value is null. */
  readonly unknown?: string
  /** Few rows have a code, so a file without any still carries the dimension. */
  readonly isOfFewRows?: true
  /** The default is 'core': one of the 15 dimensions of the specification. */
  readonly tier?: 'extended'
}

export interface Dimension extends Omit<DimensionDeclaration, 'tier' | 'derivedFrom'> {
  readonly tier: 'core' | 'extended'
  /** Column that pre-aggregates need for it: the state or municipality; of a grouping, also the dimension that it groups. */
  readonly derivedFrom?: DimensionCode
  readonly datasets: readonly FactDataset[]
}

export type Condition =
  | { readonly field: string; readonly above: number }
  | { readonly field: string; readonly equals: string }
  | { readonly field: string; readonly oneOf: readonly string[] }
  | { readonly flag: string }
  | { readonly anyFlag: readonly [string, string] }
  | { readonly outsourced: true }
  /** Both ends of a flow are known at a level of places; with `isOutside`, they also differ. */
  | { readonly ends: FlowLevel; readonly isOutside: boolean }
  /** The default year is the one that the release declares. */
  | { readonly populationType: 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION'; readonly year?: number }

export type FlowLevel = 'municipality' | 'health_region' | 'state'

export interface Measure {
  readonly dataset: FactDataset
  readonly kind: 'sum' | 'count' | 'distinct'
  /** Field to sum, or whose distinct values are counted. 'count' has none. */
  readonly field?: string
  /** This field's sum is subtracted from the sum of `field`. */
  readonly minus?: string
  /** Multiplies each month's sum of a stock by the days of the month, which makes it a flow. */
  readonly timesDays?: true
  /** Sums over age groups by the shares of a standard population. The summands are events per resident, or the residents. */
  readonly standardizedBy?: StandardName
  /** Standardized measures only: counts the events, or gives the variance of the weighted sum, for the limits. */
  readonly statistic?: 'events' | 'variance'
  readonly where?: readonly Condition[]
  /** Constant prices: month (YYYYMM) and the integer that its sum is multiplied by. Other months count for nothing. */
  readonly factors?: readonly (readonly [month: number, factor: string])[]
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
  /** Stored in cents, shown in reais with two decimals. */
  readonly isMoney?: true
}
/** The rows of a metric that meet a condition, as a side of a ratio. */
export interface MetricPart {
  readonly where: readonly Condition[]
  readonly label: Text
}
/** Computes both sides separately and divides last, at the level of the requested groups. */
export interface RatioMetric extends MetricBase {
  readonly kind: 'ratio'
  readonly numerator: string
  /** Dataset that the numerator is read from, when it is not that of the numerator metric. */
  readonly numeratorOf?: FactDataset
  /** Metric that is subtracted from the numerator. The API calls this side `less`, too. */
  readonly less?: string
  readonly denominator: string
  /** Restrict a side to some of its rows, so that no metric is needed for them. */
  readonly numeratorPart?: MetricPart
  readonly denominatorPart?: MetricPart
  /** Divides within each age group, then sums the quotients by the shares of a standard population. */
  readonly standardizedBy?: StandardName
  /** The value is the life expectancy at birth that deaths and residents by age give, not their quotient. */
  readonly isLifeExpectancy?: true
  readonly scale: number
  readonly decimals: 2
  /** Dimensions of the dataset that the quotient has no meaning by. */
  readonly without?: readonly string[]
}
export type Metric = CountMetric | RatioMetric

/** The published column that an attribute comes from, and the rule that converts it. */
export interface Lineage {
  /** Name of the record's field; `address.street` for a member of a struct. */
  readonly attribute: string
  readonly column: string
  readonly rule: RuleName
}
