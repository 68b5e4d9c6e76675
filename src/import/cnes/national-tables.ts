/**
 * Lists the tables of the national base (BASE_DE_DADOS_CNES_AAAAMM) that an import reads, with required and optional columns.
 * Columns with personal data are not listed, so they are never read.
 */
import { FACILITY_LINEAGE, FACT_LINEAGE, type FactName } from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { COPY_MARK } from '../readers/download-suffix.ts'

export interface PublishedTable {
  /** Name without the month, as in the file name. */
  readonly name: string
  readonly required: readonly string[]
  readonly optional: readonly string[]
  /** A month without a required table is an error. A missing optional table counts as empty. */
  readonly presence: 'required' | 'optional'
}

const columnsOf = (lineage: readonly Lineage[]): string[] => [...new Set(lineage.map(({ column }) => column))]

const FACILITY_REQUIRED = [
  'CO_UNIDADE',
  'CO_CNES',
  'NO_RAZAO_SOCIAL',
  'NO_FANTASIA',
  'TP_UNIDADE',
  'TP_GESTAO',
  'CO_MUNICIPIO_GESTOR',
  'CO_ESTADO_GESTOR',
  'CO_MOTIVO_DESAB',
  'CO_NATUREZA_JUR',
  'TP_PFPJ',
  'DT_ATUALIZACAO',
]

export const FACT_TABLES: Readonly<Record<FactName, string>> = {
  bed_capacity: 'rlEstabComplementar',
  equipment_inventory: 'rlEstabEquipamento',
  specialized_services: 'rlEstabServClass',
}

const fact = (name: FactName, optional: readonly string[]): PublishedTable => ({
  name: FACT_TABLES[name],
  required: columnsOf(FACT_LINEAGE[name].base).filter((column) => !optional.includes(column)),
  optional,
  presence: 'required',
})
const catalog = (
  name: string,
  required: readonly string[],
  presence: 'required' | 'optional' = 'required',
  optional: readonly string[] = [],
): PublishedTable => ({ name, required, optional, presence })

export const PUBLISHED_TABLES: readonly PublishedTable[] = [
  {
    name: 'tbEstabelecimento',
    required: FACILITY_REQUIRED,
    optional: columnsOf(FACILITY_LINEAGE.base).filter((column) => !FACILITY_REQUIRED.includes(column)),
    presence: 'required',
  },
  fact('bed_capacity', []),
  fact('equipment_inventory', ['QT_SUS']),
  fact('specialized_services', ['CO_END_COMPL']),
  catalog('tbLeito', ['CO_LEITO', 'DS_LEITO'], 'required', ['TP_LEITO', 'CO_TIPO_LEITO']),
  catalog('tbTipoLeito', ['CO_TIPO_LEITO', 'DS_TIPO_LEITO'], 'optional'),
  catalog('tbEquipamento', ['CO_EQUIPAMENTO', 'CO_TIPO_EQUIPAMENTO', 'DS_EQUIPAMENTO'], 'required', [
    'CO_RENEM',
  ]),
  catalog('tbTipoEquipamento', ['CO_TIPO_EQUIPAMENTO', 'DS_TIPO_EQUIPAMENTO']),
  catalog('tbServicoEspecializado', ['CO_SERVICO_ESPECIALIZADO', 'DS_SERVICO_ESPECIALIZADO']),
  catalog('tbClassificacaoServico', [
    'CO_CLASSIFICACAO_SERVICO',
    'CO_SERVICO_ESPECIALIZADO',
    'DS_CLASSIFICACAO_SERVICO',
  ]),
  catalog('tbTipoUnidade', ['CO_TIPO_UNIDADE', 'DS_TIPO_UNIDADE']),
  catalog('tbNaturezaJuridica', ['CO_NATUREZA_JUR', 'DS_NATUREZA_JUR']),
  catalog('tbMotivoDesativacao', ['DS_MOTIVO_DESAB'], 'required', ['CO_MOTIVO_DESAB', 'CD_MOTIVO_DESAB']),
  catalog('tbTurnoAtendimento', ['CO_TURNO_ATENDIMENTO', 'DS_TURNO_ATENDIMENTO']),
  // The columns of these tables are not confirmed for every month. A table without them names nothing.
  catalog('tbGestao', [], 'optional', ['CO_GESTAO', 'DS_GESTAO']),
  catalog('tbAtividadeEnsino', [], 'optional', ['CO_ATIVIDADE', 'DS_ATIVIDADE']),
  catalog('tbFluxoDadosClientela', [], 'optional', ['CO_CLIENTELA', 'DS_CLIENTELA']),
  catalog('tbTipoEstabelecimento', [], 'optional', ['CO_TIPO_ESTABELECIMENTO', 'DS_TIPO_ESTABELECIMENTO']),
  catalog('tbAtividade', [], 'optional', ['CO_ATIVIDADE', 'DS_ATIVIDADE']),
  catalog('tbTipoAbrangencia', [], 'optional', ['CO_TIPO_ABRANGENCIA', 'DS_ABRANGENCIA']),
  catalog('tbSubTipo', [], 'optional', ['CO_TIPO_UNIDADE', 'CO_SUB_TIPO', 'DS_SUB_TIPO']),
  catalog('tbMunicipio', [], 'optional', ['CO_MUNICIPIO', 'NO_MUNICIPIO']),
  catalog('tbEstado', [], 'optional', ['CO_SIGLA', 'NO_DESCRICAO']),
  catalog('tbMantenedora', ['NU_CNPJ_MANTENEDORA', 'NO_RAZAO_SOCIAL'], 'optional'),
]

const FILE_NAME = new RegExp(`^([A-Za-z]+)(\\d{6})${COPY_MARK}\\.csv$`, 'i')

export const tableOfFile = (fileName: string): { table: PublishedTable; period: number } | null => {
  const match = FILE_NAME.exec(fileName)
  const table = PUBLISHED_TABLES.find(({ name }) => name.toLowerCase() === match?.[1]?.toLowerCase())
  return table === undefined ? null : { table, period: Number(match?.[2]) }
}
