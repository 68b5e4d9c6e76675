/**
 * Code lists of a release: from the national base's own tables where a month has them, else the lists built into model/cnes/codes.
 *
 * Every catalog is one staged table `cat_<dataset>` with rank (newer months win), so that a release of many months shows
 * each code once, with its newest text. Names inside fact rows come from `now_<dataset>`, the catalog of their own month.
 */
import * as codes from '../../model/cnes/codes/index.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, writeDataset } from '../write-parquet.ts'

/** A catalog of the national base: its table, and the expression of each stored column. */
interface CatalogSource {
  readonly dataset: DatasetName
  readonly table: string
  readonly columns: readonly (readonly [column: string, expression: string])[]
}

const code = (width: 1 | 2 | 3 | 4, column: string): string => applyRule(`code${width}`, quoteName(column))
const text = (column: string): string => applyRule('text', quoteName(column))

const catalog = (
  dataset: DatasetName,
  table: string,
  columns: Readonly<Partial<Record<FieldName, string>>>,
): CatalogSource => ({ dataset, table, columns: Object.entries(columns) })

const BASE: readonly CatalogSource[] = [
  catalog('facility_types', 'tbTipoUnidade', {
    facility_type_code: code(2, 'CO_TIPO_UNIDADE'),
    facility_type_name: text('DS_TIPO_UNIDADE'),
  }),
  catalog('legal_natures', 'tbNaturezaJuridica', {
    legal_nature_code: code(4, 'CO_NATUREZA_JUR'),
    legal_nature_name: text('DS_NATUREZA_JUR'),
  }),
  catalog('deactivation_reasons', 'tbMotivoDesativacao', {
    deactivation_reason_code: `coalesce(${code(2, 'CO_MOTIVO_DESAB')}, ${code(2, 'CD_MOTIVO_DESAB')})`,
    deactivation_reason_name: text('DS_MOTIVO_DESAB'),
  }),
  catalog('opening_hours', 'tbTurnoAtendimento', {
    opening_hours_code: code(2, 'CO_TURNO_ATENDIMENTO'),
    opening_hours_name: text('DS_TURNO_ATENDIMENTO'),
  }),
  catalog('bed_categories', 'tbTipoLeito', {
    bed_category_code: code(1, 'CO_TIPO_LEITO'),
    bed_category_name: text('DS_TIPO_LEITO'),
  }),
  catalog('bed_types', 'tbLeito', {
    bed_type_code: code(2, 'CO_LEITO'),
    bed_type_name: text('DS_LEITO'),
    bed_category_code: `coalesce(${code(1, 'TP_LEITO')}, ${code(1, 'CO_TIPO_LEITO')})`,
  }),
  catalog('equipment_categories', 'tbTipoEquipamento', {
    category_code: code(2, 'CO_TIPO_EQUIPAMENTO'),
    category_name: text('DS_TIPO_EQUIPAMENTO'),
  }),
  catalog('equipment_types', 'tbEquipamento', {
    category_code: code(2, 'CO_TIPO_EQUIPAMENTO'),
    equipment_code: code(2, 'CO_EQUIPAMENTO'),
    equipment_name: text('DS_EQUIPAMENTO'),
    renem_code: text('CO_RENEM'),
  }),
  catalog('specialized_service_types', 'tbServicoEspecializado', {
    service_code: code(3, 'CO_SERVICO_ESPECIALIZADO'),
    service_name: text('DS_SERVICO_ESPECIALIZADO'),
  }),
  catalog('specialized_service_classifications', 'tbClassificacaoServico', {
    service_code: code(3, 'CO_SERVICO_ESPECIALIZADO'),
    classification_code: code(3, 'CO_CLASSIFICACAO_SERVICO'),
    classification_name: text('DS_CLASSIFICACAO_SERVICO'),
  }),
]

const LISTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  facility_types: codes.FACILITY_TYPES,
  legal_natures: codes.LEGAL_NATURES,
  deactivation_reasons: codes.DEACTIVATION_REASONS,
  opening_hours: codes.OPENING_HOURS,
  bed_categories: codes.BED_CATEGORIES,
  bed_types: codes.BED_TYPES,
  equipment_categories: codes.EQUIPMENT_CATEGORIES,
  equipment_types: codes.EQUIPMENT_TYPES,
  specialized_service_types: codes.SERVICE_TYPES,
  specialized_service_classifications: codes.SERVICE_CLASSIFICATIONS,
}
const OLD_SERVICES: typeof LISTS = {
  specialized_service_types: codes.SERVICE_TYPES_BEFORE_200803,
  specialized_service_classifications: codes.SERVICE_CLASSIFICATIONS_BEFORE_200803,
}

/** Months from which services have the coding of today. */
const NEW_SERVICES_FROM = 200803

export const CATALOGS: readonly DatasetName[] = BASE.map(({ dataset }) => dataset)

/** Makes the empty cat_ tables that collect every month. */
export async function createCatalogs(session: Session): Promise<void> {
  for (const { dataset, columns } of BASE)
    await session.run(
      `CREATE TABLE cat_${dataset} (rank INTEGER, ${columns.map(([column]) => `${column} VARCHAR`).join(', ')}, source_file VARCHAR, source_row INTEGER)`,
    )
}

/** Adds the catalogs of a month of the national base (staged as st_<table>) and makes now_<dataset>. */
export async function addBaseCatalogs(
  session: Session,
  period: number,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { dataset, table, columns } of BASE) {
    const file = files.get(table)
    if (file === undefined) await insertList(session, dataset, period)
    else
      await session.run(
        `INSERT INTO cat_${dataset} SELECT ${period}, ${columns.map(([, expression]) => expression).join(', ')}, ${quoteText(file)}, source_row FROM st_${table}`,
      )
    await makeNow(session, dataset, period)
  }
}

/** The same for a month that comes as files by state, which carry no catalogs. */
export async function addBuiltInCatalogs(session: Session, period: number): Promise<void> {
  for (const { dataset } of BASE) {
    // Rank below every published catalog, the older coding below the newer.
    const rank = period < NEW_SERVICES_FROM && dataset.startsWith('specialized') ? 1 : 2
    if ((await session.number(`SELECT count(*) FROM cat_${dataset} WHERE rank = ${rank}`)) === 0)
      await insertList(session, dataset, rank, period)
    await makeNow(session, dataset, rank)
  }
}

async function insertList(
  session: Session,
  dataset: DatasetName,
  rank: number,
  period = rank,
): Promise<void> {
  const lists = period < NEW_SERVICES_FROM ? { ...LISTS, ...OLD_SERVICES } : LISTS
  const rows = lists[dataset] ?? []
  const width = BASE.find((source) => source.dataset === dataset)?.columns.length ?? 0
  const values = rows.map((cells) => {
    const padded = Array.from({ length: width }, (_, index) =>
      cells[index] ? quoteText(cells[index]) : 'NULL',
    )
    return `(${rank}, ${padded.join(', ')}, NULL, NULL)`
  })
  if (values.length > 0) await session.run(`INSERT INTO cat_${dataset} VALUES ${values.join(', ')}`)
}

async function makeNow(session: Session, dataset: DatasetName, rank: number): Promise<void> {
  const key = datasetOf(dataset).key.map(quoteName).join(', ')
  await session.run(
    `CREATE OR REPLACE TABLE now_${dataset} AS SELECT DISTINCT ON (${key}) * FROM cat_${dataset} WHERE rank = ${rank} ORDER BY ${key}, source_row`,
  )
}

/** The catalog above another, its key there, and the columns that come with it. */
const PARENTS: Readonly<
  Partial<Record<DatasetName, { dataset: DatasetName; key: string; columns: string }>>
> = {
  bed_types: { dataset: 'bed_categories', key: 'bed_category_code', columns: 'parent.bed_category_name' },
  equipment_types: {
    dataset: 'equipment_categories',
    key: 'category_code',
    columns: "category_code || ':' || equipment_code AS equipment_type_key, parent.category_name",
  },
  specialized_service_classifications: {
    dataset: 'specialized_service_types',
    key: 'service_code',
    columns: "service_code || ':' || classification_code AS classification_key, parent.service_name",
  },
}

/** Writes every catalog: one row a code, its newest text. Names of parents (category, service) are joined in. */
export async function writeCatalogs(session: Session, staging: string): Promise<DatasetOutput[]> {
  const outputs: DatasetOutput[] = []
  const newest = (dataset: DatasetName): string => {
    const key = datasetOf(dataset).key.map(quoteName)
    return `(SELECT DISTINCT ON (${key.join(', ')}) * FROM cat_${dataset} WHERE ${key.map((column) => `${column} IS NOT NULL`).join(' AND ')} ORDER BY ${key.join(', ')}, rank DESC, source_row)`
  }
  for (const dataset of CATALOGS) {
    const parent = PARENTS[dataset]
    const select =
      parent === undefined
        ? `SELECT * FROM ${newest(dataset)}`
        : `SELECT own.*, ${parent.columns} FROM ${newest(dataset)} own LEFT JOIN ${newest(parent.dataset)} parent USING (${parent.key})`
    outputs.push(await writeDataset(session, staging, dataset, null, select))
  }
  return outputs
}
