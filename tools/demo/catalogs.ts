/**
 * Code lists of the demonstration at the sizes of a complete month: published codes with their names, and clearly invented
 * ones.
 */
import * as codes from '../../src/model/cnes/codes/index.ts'

const SIZES = { equipment_types: 224, service_types: 73, classifications: 459 } as const

export interface DemoCatalogs {
  readonly bedTypes: readonly (readonly string[])[]
  readonly bedCategories: readonly (readonly string[])[]
  readonly equipmentTypes: readonly (readonly string[])[]
  readonly equipmentCategories: readonly (readonly string[])[]
  readonly serviceTypes: readonly (readonly string[])[]
  readonly classifications: readonly (readonly string[])[]
}

export function makeCatalogs(): DemoCatalogs {
  const equipmentTypes = [...codes.EQUIPMENT_TYPES]
  // Categories 11 and 14 to 16 have no published types, so invent types until the list has its size.
  for (let index = 0; equipmentTypes.length < SIZES.equipment_types; index += 1) {
    const category = ['11', '14', '15', '16'][index % 4] ?? '11'
    const code = String(Math.floor(index / 4) + 1).padStart(2, '0')
    equipmentTypes.push([category, code, `Equipamento demonstrativo ${category}-${code}`])
  }
  const serviceTypes = [...codes.SERVICE_TYPES]
  for (let index = 0; serviceTypes.length < SIZES.service_types; index += 1)
    serviceTypes.push([String(901 + index), `Serviço demonstrativo ${901 + index}`])
  const classifications = [...codes.SERVICE_CLASSIFICATIONS].map(([service = '', code = '', name = '']) => [
    service,
    code,
    name === '' ? `Classificação demonstrativa ${service}-${code}` : name,
  ])
  for (let index = 0; classifications.length < SIZES.classifications; index += 1) {
    const service = String(901 + (index % 2))
    const code = String(Math.floor(index / 2) + 1).padStart(3, '0')
    classifications.push([service, code, `Classificação demonstrativa ${service}-${code}`])
  }
  return {
    bedTypes: codes.BED_TYPES,
    bedCategories: codes.BED_CATEGORIES,
    equipmentTypes,
    equipmentCategories: codes.EQUIPMENT_CATEGORIES,
    serviceTypes,
    classifications,
  }
}

/**
 * Code tables whose published wording is not available: [table, header, rows]. The names say that they are invented; the
 * headers are the published ones.
 */
export const INVENTED_TABLES: readonly (readonly [
  table: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
])[] = [
  [
    'tbGestao',
    ['CO_GESTAO', 'DS_GESTAO', 'TP_PROG'],
    ['M', 'E', 'D', 'S'].map((code) => [code, `Gestão demonstrativa ${code}`, '1']),
  ],
  [
    'tbAtividadeEnsino',
    ['CO_ATIVIDADE', 'DS_ATIVIDADE'],
    ['01', '02', '03', '04', '05'].map((code) => [code, `Atividade de ensino demonstrativa ${code}`]),
  ],
  [
    'tbFluxoDadosClientela',
    ['CO_CLIENTELA', 'DS_CLIENTELA'],
    ['01', '02', '03'].map((code) => [code, `Clientela demonstrativa ${code}`]),
  ],
  [
    'tbTipoEstabelecimento',
    ['CO_TIPO_ESTABELECIMENTO', 'DS_TIPO_ESTABELECIMENTO', 'DS_CONCEITO_TIPO'],
    ['001', '002', '016'].map((code) => [
      code,
      `Tipo de estabelecimento demonstrativo ${code}`,
      // Concepts of the published table have several lines.
      'Conceito demonstrativo\nem duas linhas',
    ]),
  ],
  [
    'tbAtividade',
    ['CO_GRUPO_ATIVIDADE', 'CO_ATIVIDADE', 'DS_ATIVIDADE', 'DS_CONCEITO_ATIVIDADE'],
    ['001', '002'].map((code) => ['01', code, `Atividade principal demonstrativa ${code}`, '']),
  ],
  [
    'tbTipoAbrangencia',
    ['CO_TIPO_ABRANGENCIA', 'DS_ABRANGENCIA'],
    ['01', '02', '03'].map((code) => [code, `Abrangência demonstrativa ${code}`]),
  ],
  [
    'tbSubTipo',
    ['CO_TIPO_UNIDADE', 'CO_SUB_TIPO', 'DS_SUB_TIPO'],
    [
      ['36', '001', 'Subtipo demonstrativo 36-001'],
      ['70', '002', 'Subtipo demonstrativo 70-002'],
    ],
  ],
]
