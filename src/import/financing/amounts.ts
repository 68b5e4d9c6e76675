/**
 * Parses published amounts, percentages and dates of financing files. Amounts are exact integers of cents. Pure functions.
 * Formats differ by year and publisher: `1336110,08`, `7708340.4400000004` (a spreadsheet number), `R$ 1.234,56`,
 * `(123,45)`, or reais without decimals. Parsing uses digits instead of floating point. More than two decimals are rounded
 * half away from zero.
 */

function toHundredths(sign: string, integer: string, fraction: string): bigint {
  const digits = `${fraction}000`
  const value = BigInt(integer === '' ? '0' : integer) * 100n + BigInt(digits.slice(0, 2))
  const rounded = value + (digits.charCodeAt(2) >= 0x35 ? 1n : 0n)
  return sign === '-' ? -rounded : rounded
}

const PLAIN = /^(-?)(\d*)[.,]?(\d*)$/
/** Numbers with dots between thousands and a decimal comma. */
const GROUPED = /^(-?)(\d{1,3}(?:\.\d{3})+),(\d+)$/
const GROUPED_TWICE = /^(-?)(\d{1,3}(?:\.\d{3}){2,})$/
/** Scientific notation, which spreadsheets use for very large and very small numbers. */
const SCIENTIFIC = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,2})$/

/** @returns hundredths, that is cents of an amount, or null for an empty cell or one that is not a number */
export function readHundredths(text: string): bigint | null {
  let cell = text.replaceAll(/R\$|%|\s|\u00a0/g, '')
  if (/^\(.+\)$/.test(cell)) cell = `-${cell.slice(1, -1)}`
  const grouped = GROUPED.exec(cell) ?? GROUPED_TWICE.exec(cell)
  if (grouped !== null)
    return toHundredths(grouped[1] ?? '', (grouped[2] ?? '').replaceAll('.', ''), grouped[3] ?? '')
  const scientific = SCIENTIFIC.exec(cell)
  if (scientific !== null) {
    const [, sign = '', integer = '', fraction = '', power = '0'] = scientific
    const exponent = Number(power)
    const digits = integer + fraction
    const point = integer.length + exponent
    return point <= 0
      ? toHundredths(sign, '0', '0'.repeat(-point) + digits)
      : toHundredths(sign, digits.slice(0, point).padEnd(point, '0'), digits.slice(point))
  }
  const plain = PLAIN.exec(cell)
  if (plain === null || (plain[2] === '' && plain[3] === '')) return null
  return toHundredths(plain[1] ?? '', plain[2] ?? '', plain[3] ?? '')
}

/** Day zero of spreadsheet dates. */
const FIRST_DAY = Date.UTC(1899, 11, 30)
const DAY_MS = 86_400_000

/** @returns YYYYMM of 21/12/2020, 2/12/2020, 21/10/22, 2024-12-05 00:00:00.000000 or 45925 (spreadsheet date), else null */
export function readMonth(text: string): number | null {
  const cell = text.trim()
  const slashed = /^\d{1,2}\/(\d{1,2})\/(\d{2}|\d{4})(?: .*)?$/.exec(cell)
  const iso = /^(\d{4})-(\d{2})-\d{2}/.exec(cell)
  const [year, month] =
    slashed !== null
      ? [Number((slashed[2] ?? '').length === 2 ? `20${slashed[2]}` : slashed[2]), Number(slashed[1])]
      : iso !== null
        ? [Number(iso[1]), Number(iso[2])]
        : serialMonth(cell)
  return month >= 1 && month <= 12 && year >= 1990 && year <= 2100 ? year * 100 + month : null
}

function serialMonth(cell: string): readonly [year: number, month: number] {
  if (!/^\d{5}(\.\d+)?$/.test(cell)) return [0, 0]
  const date = new Date(FIRST_DAY + Math.floor(Number(cell)) * DAY_MS)
  return [date.getUTCFullYear(), date.getUTCMonth() + 1]
}
