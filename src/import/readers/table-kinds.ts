/**
 * Identifies a published table by its columns, regardless of the file name. All CNES tables share the facility columns, so
 * columns that occur in only one table decide.
 */
import { ImportError } from '../import-error.ts'

export interface TableKind {
  readonly kinds: readonly string[]
  /** Description for messages, such as "a CNES file of beds by state". */
  readonly what: string
  /** Example of a published name; null if such files are not read. */
  readonly example: string | null
}

const KINDS: readonly (TableKind & { readonly marks: readonly string[] })[] = [
  // Tables that are not read come first, because they repeat columns of the tables that are read.
  {
    kinds: ['EP'],
    marks: ['IDEQUIPE', 'TIPO_EQP', 'NOME_EQP'],
    what: 'a CNES file of health teams by state (EP)',
    example: null,
  },
  {
    kinds: ['PF'],
    marks: ['CPF_PROF', 'CNS_PROF', 'NOMEPROF', 'HORAHOSP'],
    what: 'a CNES file of health professionals by state (PF)',
    example: null,
  },
  {
    kinds: ['DC'],
    marks: ['S_HBSAGP', 'S_HBSAGN', 'MAQ_PROP', 'F_AREIA'],
    what: 'a CNES file of complementary data by state (DC: dialysis, chemotherapy, radiotherapy, blood banks)',
    example: null,
  },
  {
    kinds: ['HB'],
    marks: ['NULEITOS'],
    what: 'a CNES file of qualifications by state (HB)',
    example: null,
  },
  {
    kinds: ['HB', 'IN', 'RC', 'GM', 'EE', 'EF'],
    marks: ['SGRUPHAB', 'DTPORTAR', 'MAPORTAR'],
    what: 'a CNES file of qualifications, incentives, contract rules, management and goals, teaching or philanthropy by state (HB, IN, RC, GM, EE, EF)',
    example: null,
  },
  { kinds: ['LT'], marks: ['CODLEITO'], what: 'a CNES file of beds by state', example: 'LTRR2309.dbc' },
  { kinds: ['EQ'], marks: ['TIPEQUIP'], what: 'a CNES file of equipment by state', example: 'EQRR2309.dbc' },
  { kinds: ['SR'], marks: ['SERV_ESP'], what: 'a CNES file of services by state', example: 'SRRR2309.dbc' },
  { kinds: ['ST'], marks: ['VINC_SUS'], what: 'a CNES file of facilities by state', example: 'STRR2309.dbc' },
  {
    kinds: ['CADGER'],
    marks: ['RAZ_SOCI'],
    what: 'the CNES table of facility names',
    example: 'CADGERRR.dbf',
  },
  {
    kinds: ['RD'],
    marks: ['DIAG_PRINC', 'PROC_REA'],
    what: 'a file of hospital admissions by state (RD)',
    example: 'RDRR2309.dbc',
  },
  {
    kinds: ['PA'],
    marks: ['PA_CODUNI'],
    what: 'a file of outpatient production by state',
    example: 'PARR2309.dbc',
  },
  {
    kinds: [],
    marks: ['NO_RAZAO_SOCIAL'],
    what: 'a table of the national CNES base',
    example: 'tbEstabelecimento202605.csv',
  },
  {
    kinds: [],
    marks: ['CO_UNIDADE'],
    what: 'a table of the national CNES base',
    example: 'rlEstabEquipamento202605.csv',
  },
]

export const kindOfColumns = (columns: readonly string[]): TableKind | null =>
  KINDS.find(({ marks }) => marks.some((mark) => columns.includes(mark))) ?? null

/** @param group prefix of the file name; @throws ImportError if the columns belong to another table */
export function refuseOtherTable(file: string, group: string, columns: readonly string[]): void {
  const kind = kindOfColumns(columns)
  if (kind !== null && !kind.kinds.includes(group))
    throw new ImportError(
      file,
      `is named as ${group}, and its columns are those of ${kind.what}`,
      remedyOf(kind),
    )
}

export const remedyOf = ({ example }: TableKind): string =>
  example === null ? 'Leave it out: such files are not read' : `Give it its published name, e.g. ${example}`
