/** Helpers with which the folders of model/ declare fields, filters, code lists, measures and metrics. Pure. */
import type { DatasetName } from './datasets.ts'
import type { FactDataset } from './dimensions.ts'
import type { FieldName } from './fields.ts'
import type {
  Condition,
  CountMetric,
  Dataset,
  DimensionDeclaration,
  Field,
  FilterValues,
  Measure,
  Metric,
  MetricPart,
  RatioMetric,
  Text,
} from './types.ts'

export const both = (pt: string, en: string): Text => ({ pt, en })

export const code = (description: string): Field => ({ type: 'string', description })
export const optionalCode = (description: string): Field => ({ type: 'string', nullable: true, description })
export const name = (description: string): Field => ({ type: 'string', nullable: true, description })
export const quantity = (unit: string, description: string): Field => ({ type: 'integer', unit, description })
/** Quantity in 64 bits, for sums that can exceed 32 bits. */
export const wideQuantity = (unit: string, description: string): Field => ({
  ...quantity(unit, description),
  isWide: true,
})
/** Integer cents in 64 bits: one month of a large facility can exceed 32 bits. */
export const cents = (description: string): Field => wideQuantity('cents of BRL', description)
export const flag = (description: string): Field => ({ type: 'boolean', description })

/** Columns of every dataset whose rows are rows of a published file. */
export const SOURCE = ['source_file', 'source_row'] as const

/** Filters by the territories that contain a row's state and municipality. @param column holds the municipality's code */
export const withinPlaces = (column: FieldName) =>
  ({
    region_code: { kind: 'within', place: 'region', column: 'uf' },
    health_region_code: { kind: 'within', place: 'health_region', column },
    health_macroregion_code: { kind: 'within', place: 'health_macroregion', column },
  }) as const

export const equals = (values: FilterValues) => ({ kind: 'equals', values }) as const

export function codeList<Name extends string>(
  datasetName: Name,
  key: readonly FieldName[],
  fields: readonly FieldName[],
  description: string,
  catalogSize?: number,
): Dataset & { readonly name: Name } {
  return {
    name: datasetName,
    area: 'cnes',
    periodic: false,
    key,
    fields: [...key, ...fields],
    internal: SOURCE,
    description,
    ...(catalogSize === undefined ? {} : { catalogSize }),
  }
}

/** The stems for which both `<stem>_code` and `<stem>_name` are fields. */
type Stem<Name = FieldName> = Name extends `${infer Part}_code`
  ? `${Part}_name` extends FieldName
    ? Part
    : never
  : never

/** A code list with only two columns: codes and names. */
export const namedCodes = <Name extends string>(
  datasetName: Name,
  stem: Stem,
  description: string,
  catalogSize?: number,
) => codeList(datasetName, [`${stem}_code`], [`${stem}_name`], description, catalogSize)

export const listed = (
  label: string,
  label_en: string,
  dataset: DatasetName,
  stem: Stem,
  column: FieldName = `${stem}_code`,
): DimensionDeclaration => ({
  label,
  label_en,
  column,
  member: { dataset, key: column, name: `${stem}_name` },
  order: 'code',
})

/** A dimension of a closed list. @param names by code: Portuguese, then English */
export const closed = (
  label: string,
  label_en: string,
  column: FieldName,
  names: Readonly<Record<string, readonly [pt: string, en: string]>>,
): DimensionDeclaration => ({
  label,
  label_en,
  column,
  member: null,
  labels: Object.fromEntries(Object.entries(names).map(([member, [pt, en]]) => [member, { pt, en }])),
  order: 'code',
})

/** @param minus field whose sum is subtracted */
export const sum = (
  dataset: FactDataset,
  field: string,
  where: readonly Condition[] = [],
  minus?: string,
): Measure => ({ dataset, kind: 'sum', field, where, ...(minus === undefined ? {} : { minus }) })
export const distinct = (dataset: FactDataset, field: string, where: readonly Condition[] = []): Measure => ({
  dataset,
  kind: 'distinct',
  field,
  where,
})
export const count = (dataset: FactDataset, where: readonly Condition[] = []): Measure => ({
  dataset,
  kind: 'count',
  where,
})

type Untiered<Declared> = Declared extends Metric ? Omit<Declared, 'tier'> : never

export const counted = (
  measure: Measure,
  unit: string,
  label: string,
  label_en: string,
  description: Text,
): Untiered<CountMetric> => ({ kind: measure.kind, measure, unit, label, label_en, description })

/** `scale` × (`numerator` − `less`) ÷ `denominator`. The sides are codes of metrics that are not ratios. */
export const ratio = (
  numerator: string,
  denominator: string,
  scale: number,
  unit: string,
  label: string,
  label_en: string,
  less?: string,
): Untiered<RatioMetric> => {
  const dividend = less === undefined ? numerator : `(${numerator} − ${less})`
  const quotient = `${scale === 1 ? '' : `${scale} × `}${dividend} ÷ ${denominator}`
  return {
    kind: 'ratio',
    numerator,
    denominator,
    scale,
    decimals: 2,
    unit,
    label,
    label_en,
    description: both(
      `${label}: ${quotient}, dividido uma única vez, no nível pedido.`,
      `${label_en}: ${quotient}, divided once at the level asked for.`,
    ),
    ...(less === undefined ? {} : { less }),
  }
}
type Side = string | (MetricPart & { readonly metric: string })
const metricOfSide = (side: Side): string => (typeof side === 'string' ? side : side.metric)
const partOfSide = (side: Side): MetricPart | null =>
  typeof side === 'string' ? null : { where: side.where, label: side.label }

/** Rows of a metric that meet a condition, as a side of ratioOfParts. */
export const part = (
  metric: string,
  where: Condition,
  pt: string,
  en: string,
): MetricPart & { readonly metric: string } => ({
  metric,
  where: [where],
  label: both(pt, en),
})

/** `scale` × `top` ÷ `bottom`. The sides are metrics that are not ratios, or parts of them. */
export function ratioOfParts(
  top: Side,
  bottom: Side,
  scale: number,
  unit: string,
  label: string,
  label_en: string,
): Untiered<RatioMetric> {
  const [numeratorPart, denominatorPart] = [partOfSide(top), partOfSide(bottom)]
  const above = numeratorPart?.label ?? both(metricOfSide(top), metricOfSide(top))
  const below = denominatorPart?.label ?? both(metricOfSide(bottom), metricOfSide(bottom))
  return {
    ...ratio(metricOfSide(top), metricOfSide(bottom), scale, unit, label, label_en),
    ...(numeratorPart === null ? {} : { numeratorPart }),
    ...(denominatorPart === null ? {} : { denominatorPart }),
    description: both(
      `${label}: ${scale} × ${above.pt} ÷ ${below.pt}, dividido uma única vez, no nível pedido.`,
      `${label_en}: ${scale} × ${above.en} ÷ ${below.en}, divided once at the level asked for.`,
    ),
  }
}

/** @param counted unit and labels of the counted things, usually those of the numerator */
export const perCapita = (
  numerator: string,
  { unit, label, label_en }: Pick<Metric, 'unit' | 'label' | 'label_en'>,
): Untiered<RatioMetric> =>
  ratio(
    numerator,
    'population_census',
    100_000,
    `${unit} per 100,000 inhabitants`,
    `${label} por 100 mil habitantes`,
    `${label_en} per 100,000 inhabitants`,
  )
export const share = (
  numerator: string,
  denominator: string,
  label: string,
  label_en: string,
): Untiered<RatioMetric> => ratio(numerator, denominator, 100, '%', label, label_en)

/** Adds the tier that the catalog shows to each metric. */
export const metricsOf = <Code extends string>(
  tier: 'core' | 'extended',
  metrics: Readonly<Record<Code, Untiered<Metric>>>,
): Readonly<Record<Code, Metric>> =>
  Object.fromEntries(
    Object.entries<Untiered<Metric>>(metrics).map(([metric, declared]) => [metric, { ...declared, tier }]),
  ) as Record<Code, Metric>
