/**
 * Amounts, percentages and dates of financing files as they are published: text → whole cents, exactly. Pure.
 *
 * The format changes by year and publisher: `1336110,08`, `7708340.4400000004` (a number of a spreadsheet), `R$ 1.234,56`,
 * `(123,45)`, whole reais without decimals. No floating-point number takes part: what has more than two decimals is rounded
 * half away from zero by its digits.
 */

/** Digits as an exact number of hundredths. */
function hundredths(sign: string, whole: string, fraction: string): bigint {
  const digits = `${fraction}000`
  const value = BigInt(whole === '' ? '0' : whole) * 100n + BigInt(digits.slice(0, 2))
  const rounded = value + (digits.charCodeAt(2) >= 0x35 ? 1n : 0n)
  return sign === '-' ? -rounded : rounded
}

const PLAIN = /^(-?)(\d*)[.,]?(\d*)$/
/** Dots part thousands, a comma the decimals. */
const GROUPED = /^(-?)(\d{1,3}(?:\.\d{3})+),(\d+)$/
const GROUPED_TWICE = /^(-?)(\d{1,3}(?:\.\d{3}){2,})$/
/** As spreadsheets and programs write very large and very small numbers. */
const SCIENTIFIC = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,2})$/

/**
 * @param text a published cell
 * @returns hundredths (cents of an amount); null where the cell is no number; '' (nothing published) is null, too
 */
export function readHundredths(text: string): bigint | null {
  let cell = text.replaceAll(/R\$|%|\s|\u00a0/g, '')
  if (/^\(.+\)$/.test(cell)) cell = `-${cell.slice(1, -1)}`
  const grouped = GROUPED.exec(cell) ?? GROUPED_TWICE.exec(cell)
  if (grouped !== null)
    return hundredths(grouped[1] ?? '', (grouped[2] ?? '').replaceAll('.', ''), grouped[3] ?? '')
  const scientific = SCIENTIFIC.exec(cell)
  if (scientific !== null) {
    const [, sign = '', whole = '', fraction = '', power = '0'] = scientific
    const places = Number(power)
    const digits = whole + fraction
    const point = whole.length + places
    return point <= 0
      ? hundredths(sign, '0', '0'.repeat(-point) + digits)
      : hundredths(sign, digits.slice(0, point).padEnd(point, '0'), digits.slice(point))
  }
  const plain = PLAIN.exec(cell)
  if (plain === null || (plain[2] === '' && plain[3] === '')) return null
  return hundredths(plain[1] ?? '', plain[2] ?? '', plain[3] ?? '')
}

/** Days of a spreadsheet are counted from this one. */
const FIRST_DAY = Date.UTC(1899, 11, 30)
const DAY_MS = 86_400_000

/** @returns YYYYMM of a date: 21/12/2020, 2/12/2020, 21/10/22, 2024-12-05 00:00:00.000000, or a spreadsheet's 45925; else null */
export function readMonth(text: string): number | null {
  const cell = text.trim()
  const written = /^\d{1,2}\/(\d{1,2})\/(\d{2}|\d{4})(?: .*)?$/.exec(cell)
  const iso = /^(\d{4})-(\d{2})-\d{2}/.exec(cell)
  const [year, month] =
    written !== null
      ? [Number((written[2] ?? '').length === 2 ? `20${written[2]}` : written[2]), Number(written[1])]
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
