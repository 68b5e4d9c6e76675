/** Closed lists: fields whose values the specification fixes (2.2). Order matters where a list says so. */
export const MANAGEMENT_TYPES = ['M', 'E', 'D', 'S'] as const
export const TP_SUS_CODES = ['1', '2', '0', '9'] as const
export const CHARACTERISTIC_CODES = ['1', '2', '3'] as const
/** In order of precedence: the record of an offering shows the first kind any of its declarations has. */
export const PROVIDER_KINDS = ['CNES', 'CNPJ', 'NOT_INFORMED', 'NOT_APPLICABLE', 'OTHER_SENTINEL'] as const
export const POPULATION_TYPES = ['ESTIMATED_POPULATION', 'CENSUS_POPULATION'] as const
export const TERRITORIAL_TYPES = ['MUNICIPALITY', 'ADMINISTRATIVE_REGION', 'IGNORED'] as const
export const FACILITY_STATUSES = ['active', 'inactive', 'all'] as const

/** Labels of the closed lists that analytics shows as members of a dimension. */
export const CODE_LABELS: Readonly<Record<string, Readonly<Record<string, { pt: string; en: string }>>>> = {
  management_type: {
    M: { pt: 'Municipal', en: 'Municipal' },
    E: { pt: 'Estadual', en: 'State' },
    D: { pt: 'Dupla', en: 'Both' },
    S: { pt: 'Sem gestão', en: 'None' },
  },
  service_characteristic: {
    '1': { pt: 'Próprio', en: 'Own' },
    '2': { pt: 'Terceirizado', en: 'Third party' },
    '3': { pt: 'Próprio e terceirizado', en: 'Own and third party' },
  },
  provider_kind: {
    CNES: { pt: 'Código CNES', en: 'CNES code' },
    CNPJ: { pt: 'CNPJ', en: 'CNPJ' },
    NOT_INFORMED: { pt: 'Não informado', en: 'Not informed' },
    NOT_APPLICABLE: { pt: 'Não se aplica', en: 'Not applicable' },
    OTHER_SENTINEL: { pt: 'Outro preenchimento', en: 'Other filler' },
  },
}

export interface StateFact {
  readonly ibge_code: number
  readonly uf: string
  readonly name: string
  readonly region_code: number
  readonly region_name: string
}

const REGIONS: Readonly<Record<number, string>> = {
  1: 'Norte',
  2: 'Nordeste',
  3: 'Sudeste',
  4: 'Sul',
  5: 'Centro-Oeste',
}

/** The 27 federative units: the first digit of the IBGE code is the region. Source: IBGE territorial division. */
export const STATES: readonly StateFact[] = (
  [
    [11, 'RO', 'Rondônia'],
    [12, 'AC', 'Acre'],
    [13, 'AM', 'Amazonas'],
    [14, 'RR', 'Roraima'],
    [15, 'PA', 'Pará'],
    [16, 'AP', 'Amapá'],
    [17, 'TO', 'Tocantins'],
    [21, 'MA', 'Maranhão'],
    [22, 'PI', 'Piauí'],
    [23, 'CE', 'Ceará'],
    [24, 'RN', 'Rio Grande do Norte'],
    [25, 'PB', 'Paraíba'],
    [26, 'PE', 'Pernambuco'],
    [27, 'AL', 'Alagoas'],
    [28, 'SE', 'Sergipe'],
    [29, 'BA', 'Bahia'],
    [31, 'MG', 'Minas Gerais'],
    [32, 'ES', 'Espírito Santo'],
    [33, 'RJ', 'Rio de Janeiro'],
    [35, 'SP', 'São Paulo'],
    [41, 'PR', 'Paraná'],
    [42, 'SC', 'Santa Catarina'],
    [43, 'RS', 'Rio Grande do Sul'],
    [50, 'MS', 'Mato Grosso do Sul'],
    [51, 'MT', 'Mato Grosso'],
    [52, 'GO', 'Goiás'],
    [53, 'DF', 'Distrito Federal'],
  ] as const
).map(([ibge_code, uf, name]) => ({
  ibge_code,
  uf,
  name,
  region_code: Math.floor(ibge_code / 10),
  region_name: REGIONS[Math.floor(ibge_code / 10)] ?? '',
}))
