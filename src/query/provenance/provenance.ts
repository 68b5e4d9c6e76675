/**
 * Describes where a record's values come from. Pure. In: a dataset, a record, and the published rows that rows.ts selects. Out: one entry
 * for each published cell behind a value. An entry has the cell, the rule that turns it into the value, and file, SHA-256, row and column,
 * so that anyone with the file can check it. A derived value has one entry for each of its cells. A value without a published cell has one
 * entry without a source.
 */
import type { JsonValue, Row } from '../../engine/types.ts'
import {
  CADGER_LINEAGE,
  FACILITY_LINEAGE,
  FACILITY_NAME_LINEAGE,
  FACT_LINEAGE,
  FACT_NAMES,
  type Family,
  REPEATED_FACILITY_LINEAGE,
} from '../../model/cnes/lineage.ts'
import { both } from '../../model/declare.ts'
import { RULES } from '../../model/rules.ts'
import type { Lineage, Text } from '../../model/types.ts'
import { coverageOf, type ReleaseView } from '../../release/view.ts'
import { decidingCells, MONTH_COLUMN, ORIGINS, RULE_TEXTS } from './derived.ts'
import { describeMunicipality } from './municipality.ts'
import { hasColumn, type ProvenanceSource, sourceOf } from './published-sources.ts'
import { fieldsOf, NAMED_CODES, type TracedDataset } from './rows.ts'

export { acquisitionsOf, type ProvenanceSource, sourceOf } from './published-sources.ts'
export { type NamedStatement, planProvenance, type TracedDataset } from './rows.ts'

export interface ProvenanceEntry {
  readonly attribute: string
  readonly value: JsonValue
  readonly raw_value: string | null
  readonly rule: Text
  readonly source: ProvenanceSource | null
}

export type ProvenanceRows = ReadonlyMap<string, readonly Row[]>

const NOT_PUBLISHED = both('não está no arquivo publicado', 'not in the published file')

export function describeProvenance(
  dataset: TracedDataset,
  record: Row,
  rows: ProvenanceRows,
  period: number,
  view: ReleaseView,
): ProvenanceEntry[] {
  const family: Family = coverageOf(view, dataset, period)?.family === 'base' ? 'base' : 'state'
  const published = rows.get('published') ?? []
  const entries = describePublished(dataset, family, record, published, view)
  const facility =
    dataset === 'facilities'
      ? entries
      : describePublished('facilities', family, record, rows.get('facility') ?? [], view)
  facility.push(...describeNames(record, rows.get('names') ?? [], facility, view))
  /** Searches the entries of the record, then those of its facility, because a fact repeats attributes of its facility. */
  const findEntries = (attribute: string): readonly ProvenanceEntry[] => {
    const recordEntries = entries.filter((entry) => entry.attribute === attribute && entry.source !== null)
    return recordEntries.length > 0
      ? recordEntries
      : facility.filter((entry) => entry.attribute === attribute && entry.source !== null)
  }
  const covered = new Set(entries.map(({ attribute }) => attribute.split('.')[0]))
  for (const attribute of fieldsOf(dataset)) {
    if (covered.has(attribute)) continue
    const value = record[attribute] ?? null
    const described =
      describeName(attribute, value, rows, findEntries, view) ??
      describeMonth(attribute, value, period, family, published, view) ??
      (dataset === 'facilities' ? describeDecision(attribute, value, family, rows, view) : null) ??
      describeDerived(dataset, attribute, value, family, findEntries)
    entries.push(...(described ?? [{ attribute, value, raw_value: null, rule: NOT_PUBLISHED, source: null }]))
  }
  return entries
}

function describePublished(
  dataset: TracedDataset,
  family: Family,
  record: Row,
  published: readonly Row[],
  view: ReleaseView,
): ProvenanceEntry[] {
  const lines = lineageOf(dataset, family)
  const cellsOf = (attribute: string): Lineage[] => lines.filter((line) => line.attribute === attribute)
  return published.flatMap((row, index) => {
    const rowEntries =
      dataset === 'facilities'
        ? [...describeMunicipality(row, record.municipality_ibge_code ?? null, view)]
        : []
    for (const line of lines) {
      if (!(line.column in row) || line.rule === 'managing_state') continue
      if (!hasColumn(view, row.source_file, line.column)) continue
      const entry = (cell: Lineage, attribute: string, rule: Text): void =>
        void rowEntries.push({
          attribute,
          value: recordValue(line, record, row, index, published.length),
          raw_value: textOf(row[cell.column]),
          rule,
          source: sourceOf(view, row, cell.column),
        })
      const isFlagged =
        line.attribute === 'quantity_sus_published' && (textOf(row[line.column]) ?? '').trim() === ''
      if (isFlagged)
        for (const cell of [...cellsOf('quantity_existing'), ...cellsOf('tp_sus_code')])
          entry(cell, 'quantity_sus', RULE_TEXTS.quantity_sus ?? NOT_PUBLISHED)
      else entry(line, attributeOf(line), ruleText(dataset, line, published.length))
    }
    return rowEntries
  })
}

/** Describes facility attributes that files by state lack, from the tables that name facilities. */
function describeNames(
  record: Row,
  names: readonly Row[],
  facilityEntries: readonly ProvenanceEntry[],
  view: ReleaseView,
): ProvenanceEntry[] {
  const lines = [...CADGER_LINEAGE, ...FACILITY_NAME_LINEAGE].filter(
    ({ attribute }) => attribute !== 'cnes_code',
  )
  return names.flatMap((row) =>
    lines
      .filter(
        ({ attribute, column }) =>
          row[column] !== null &&
          row[column] !== undefined &&
          hasColumn(view, row.source_file, column) &&
          facilityEntries.every((entry) => entry.attribute !== attribute),
      )
      .map((line) => ({
        attribute: line.attribute,
        value: recordValue(line, record, row, 0, 1),
        raw_value: textOf(row[line.column]),
        rule: RULES[line.rule],
        source: sourceOf(view, row, line.column),
      })),
  )
}

type FindEntries = (attribute: string) => readonly ProvenanceEntry[]

const derive = (
  attribute: string,
  value: JsonValue,
  rule: Text,
  from: readonly ProvenanceEntry[],
): ProvenanceEntry[] => from.map(({ raw_value, source }) => ({ attribute, value, raw_value, rule, source }))

/** Describes the name of a code: its row in the published code table, or the cell of the code when the project's list names it. */
function describeName(
  attribute: string,
  value: JsonValue,
  rows: ProvenanceRows,
  findEntries: FindEntries,
  view: ReleaseView,
): ProvenanceEntry[] | null {
  if (attribute === 'municipality_name') {
    const [row] = rows.get('municipality') ?? []
    const source = row === undefined ? null : sourceOf(view, row, municipalityColumn(row))
    if (row !== undefined && source !== null)
      return [
        {
          attribute,
          value,
          raw_value: textOf(row.raw_value),
          rule: both('texto do código na lista publicada', 'text of the code in the published list'),
          source,
        },
      ]
    return derive(attribute, value, PROJECT_LIST, findEntries('municipality_ibge_code'))
  }
  const code = NAMED_CODES[attribute]
  if (code === undefined || value === null) return null
  const row =
    (rows.get('codes') ?? []).find((candidate) => candidate.attribute === attribute) ??
    rows.get(`list:${attribute}`)?.[0]
  const column = textOf(row?.source_column) ?? code.column
  const source = row === undefined ? null : sourceOf(view, row, column)
  if (row !== undefined && source !== null)
    return [
      {
        attribute,
        value,
        raw_value: textOf(row.raw_value),
        rule: both('texto do código na lista publicada', 'text of the code in the published list'),
        source,
      },
    ]
  const cells = code.codes.flatMap((field) => {
    const found = findEntries(field)
    return found.length > 0 || field !== 'uf' ? found : findEntries('municipality_ibge_code')
  })
  return cells.length === 0 ? null : derive(attribute, value, PROJECT_LIST, cells)
}

const PROJECT_LIST = both(
  'texto do código na lista do próprio projeto',
  'text of the code in the project’s own list',
)

/** Releases made before v1.2.0 do not record the column, which is one of two. */
const municipalityColumn = (row: Row): string =>
  textOf(row.source_column) ?? (/\.json$/i.test(String(row.source_file)) ? 'nome' : 'Nome_Município')

/** Describes the month. Files by state have it in a column; the national base has it in the file name only. */
function describeMonth(
  attribute: string,
  value: JsonValue,
  period: number,
  family: Family,
  published: readonly Row[],
  view: ReleaseView,
): ProvenanceEntry[] | null {
  if (attribute !== 'reference_period') return null
  if (family === 'base')
    return [
      {
        attribute,
        value,
        raw_value: null,
        rule: both('o mês no nome do arquivo', 'the month in the name of the file'),
        source: null,
      },
    ]
  return published.map((row) => ({
    attribute,
    value,
    raw_value: String(period),
    rule: both('ano e mês', 'year and month'),
    source: sourceOf(view, row, MONTH_COLUMN),
  }))
}

function describeDecision(
  attribute: string,
  value: JsonValue,
  family: Family,
  rows: ProvenanceRows,
  view: ReleaseView,
): ProvenanceEntry[] | null {
  const facts = new Map(FACT_NAMES.map((fact) => [fact, rows.get(fact) ?? null]))
  const cells = decidingCells(attribute, value, family, facts)
  if (cells === null) return null
  const rule = RULE_TEXTS[attribute] ?? NOT_PUBLISHED
  if (cells.length === 0) return [{ attribute, value, raw_value: null, rule, source: null }]
  return cells.map(({ row, column }) => ({
    attribute,
    value,
    raw_value: textOf(row[column]),
    rule,
    source: sourceOf(view, row, column),
  }))
}

function describeDerived(
  dataset: TracedDataset,
  attribute: string,
  value: JsonValue,
  family: Family,
  findEntries: FindEntries,
): ProvenanceEntry[] | null {
  const origin = ORIGINS[dataset]?.[attribute] ?? ORIGINS.all?.[attribute]
  if (origin === undefined) return null
  const rule = origin.rule[family]
  const all = origin.from[family].map((name) => findEntries(name))
  const hasText = ({ raw_value }: ProvenanceEntry): boolean => (raw_value ?? '').trim() !== ''
  const from =
    origin.isFirst === true ? (all.find((candidates) => candidates.some(hasText)) ?? []) : all.flat()
  if (from.length > 0) return derive(attribute, value, rule, from)
  return [{ attribute, value, raw_value: null, rule: value === null ? NOT_PUBLISHED : rule, source: null }]
}

function lineageOf(dataset: TracedDataset, family: Family): readonly Lineage[] {
  if (dataset !== 'facilities') return FACT_LINEAGE[dataset][family]
  // A facility without a registry row has only the attributes that fact rows repeat. Columns that the row lacks are skipped later.
  return family === 'state'
    ? [...REPEATED_FACILITY_LINEAGE, ...FACILITY_LINEAGE.state.slice(REPEATED_FACILITY_LINEAGE.length)]
    : FACILITY_LINEAGE.base
}

const ATTRIBUTE_NAMES: Readonly<Record<string, string>> = {
  municipality6: 'municipality_ibge_code',
  quantity_sus_published: 'quantity_sus',
  provider_code: 'declarations.provider_code',
  address_code: 'declarations.address_code',
}
const attributeOf = ({ attribute }: Lineage): string => ATTRIBUTE_NAMES[attribute] ?? attribute

/** Attribute → end of the rule's text, for records that combine several published rows. */
const SEVERAL_ROWS_RULES: Readonly<Record<string, Text>> = {
  bed_category_code: both('o registro tem o da primeira linha', 'the record has that of its first row'),
  tp_sus_code: both(
    'o registro tem 1 onde alguma linha o tem, senão 2, senão 9',
    'the record has 1 where a row has it, else 2, else 9',
  ),
}
const joined = (first: Text, second: Text): Text =>
  both(`${first.pt}; ${second.pt}`, `${first.en}; ${second.en}`)

/** @param rows number of published rows of the record; quantities of beds and equipment are summed over them */
function ruleText(dataset: TracedDataset, { attribute, rule }: Lineage, rows: number): Text {
  if (rows < 2 || dataset === 'facilities' || dataset === 'specialized_services') return RULES[rule]
  if (rule === 'quantity' || rule === 'quantity_optional')
    return joined(
      RULES[rule],
      both(
        `o registro soma as suas ${rows} linhas publicadas`,
        `the record adds up its ${rows} published rows`,
      ),
    )
  const several = SEVERAL_ROWS_RULES[attribute]
  return several === undefined ? RULES[rule] : joined(RULES[rule], several)
}

/** @returns the value of one published row, by its rule, when a record has several */
function rowValue({ rule }: Lineage, cell: string | null): JsonValue {
  if (rule === 'flag_1_2' || rule === 'flag_1_0') return cell === '1'
  if (rule === 'ind_sus') return cell === '1' ? '1' : '2'
  if (rule === 'tp_sus') return cell === '1' || cell === '2' || cell === '9' ? cell : '0'
  if (cell === null || cell === '') return null
  return rule === 'quantity' || rule === 'quantity_optional' ? Number(cell) : cell
}

/** @returns the record's value, or the value of this row alone when the record combines several rows */
function recordValue(line: Lineage, record: Row, row: Row, index: number, rows: number): JsonValue {
  const [field = '', member] = attributeOf(line).split('.')
  const cell = textOf(row[line.column])?.trim() ?? null
  if (field === 'declarations' && member !== undefined) {
    const declared = (record.declarations as readonly Row[] | undefined)?.[index]
    return declared === undefined ? cell : (declared[member] ?? null)
  }
  if (rows > 1 && !(field in row)) return rowValue(line, cell)
  const value = record[field]
  if (member !== undefined) return (value as Row | null | undefined)?.[member] ?? null
  return value === undefined ? cell : value
}

const textOf = (value: JsonValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value)
