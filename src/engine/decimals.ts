/**
 * Writes the integer of a DECIMAL as text with all decimals of its scale, exactly: -5 with scale 2 is `-0.05`. DuckDB's driver divides
 * numbers of any length instead, and takes four times as long.
 */
export function decimalText(value: bigint, scale: number): string {
  if (scale === 0) return String(value)
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
