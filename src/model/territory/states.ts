/** The 27 federative units with their regions, and the kinds of entries in a municipality list. Values only. */
export const TERRITORIAL_TYPES = ['MUNICIPALITY', 'ADMINISTRATIVE_REGION', 'IGNORED'] as const

export interface State {
  readonly ibge_code: number
  readonly uf: string
  readonly name: string
  readonly region_code: number
  readonly region_name: string
}

/** The five major regions by IBGE code. */
export const REGIONS: Readonly<Record<number, string>> = {
  1: 'Norte',
  2: 'Nordeste',
  3: 'Sudeste',
  4: 'Sul',
  5: 'Centro-Oeste',
}

/** The first digit of a state's IBGE code is its region. Source: IBGE territorial division. */
export const STATES: readonly State[] = (
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
