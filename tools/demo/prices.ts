/** Invents a monthly index of consumer prices in the layout of SIDRA's "values" API, table 1737. Its label names the demonstration. */
import type { Chance } from './random.ts'

const FIRST_YEAR = 2019
const START = 5_000
const MONTHS = [
  'janeiro',
  'fevereiro',
  'março',
  'abril',
  'maio',
  'junho',
  'julho',
  'agosto',
  'setembro',
  'outubro',
  'novembro',
  'dezembro',
]

/** @param last month of the index, YYYYMM @returns the answer's elements, labels first */
export function priceIndexValues(last: number, chance: Chance): Record<string, string>[] {
  const labels = {
    NC: 'Nível Territorial (Código)',
    NN: 'Nível Territorial',
    MC: 'Unidade de Medida (Código)',
    MN: 'Unidade de Medida',
    V: 'Valor (sus-data demonstration)',
    D1C: 'Brasil (Código)',
    D1N: 'Brasil',
    D2C: 'Variável (Código)',
    D2N: 'Variável',
    D3C: 'Mês (Código)',
    D3N: 'Mês',
  }
  const rows: Record<string, string>[] = []
  let hundredths = START * 100
  for (let year = FIRST_YEAR; year <= Math.floor(last / 100); year += 1)
    MONTHS.forEach((name, index) => {
      const month = year * 100 + index + 1
      if (month > last) return
      // Prices rise by 0.9 % a month at most, and fall in some months.
      hundredths = Math.round(hundredths * (0.999 + 0.01 * chance(month, 77)))
      rows.push({
        NC: '1',
        NN: 'Brasil',
        MC: '30',
        MN: 'Número-índice',
        V: `${(hundredths / 100).toFixed(2)}${'0'.repeat(11)}`,
        D1C: '1',
        D1N: 'Brasil',
        D2C: '2266',
        D2N: 'IPCA - Número-índice (base: dezembro de 1993 = 100)',
        D3C: String(month),
        D3N: `${name} ${year}`,
      })
    })
  return [labels, ...rows]
}
