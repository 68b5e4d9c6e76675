/** Writes dBase III as DATASUS does: the header, and tables of text. Bytes only, without meaning of columns. */
export interface DbfColumn {
  readonly name: string
  /** C: text; N: digits. */
  readonly type: 'C' | 'N'
  readonly width: number
}

/** @returns bytes of a record, including its deletion mark */
export const recordBytes = (columns: readonly DbfColumn[]): number =>
  columns.reduce((sum, { width }) => sum + width, 1)

/** @param made creation date in the table: [year − 2000, month, day] */
export function dbfHeader(
  columns: readonly DbfColumn[],
  records: number,
  made: readonly [number, number, number],
): Buffer {
  const bytes = Buffer.alloc(32 + 32 * columns.length + 1)
  bytes.writeUInt8(0x03, 0)
  bytes.set(made, 1)
  bytes.writeUInt32LE(records, 4)
  bytes.writeUInt16LE(bytes.length, 8)
  bytes.writeUInt16LE(recordBytes(columns), 10)
  bytes.writeUInt8(0x03, 29)
  let offset = 1
  columns.forEach(({ name, type, width }, index) => {
    const start = 32 + 32 * index
    bytes.write(name, start, 'latin1')
    bytes.write(type, start + 11, 'latin1')
    bytes.writeUInt32LE(offset, start + 12)
    bytes.writeUInt8(width, start + 16)
    offset += width
  })
  bytes.writeUInt8(0x0d, bytes.length - 1)
  return bytes
}

/** @param rows cells by column; missing ones are blank, long ones are truncated */
export function textDbf(
  columns: readonly (readonly [name: string, width: number])[],
  rows: readonly Readonly<Record<string, string>>[],
  made: readonly [number, number, number],
): Buffer {
  const declared = columns.map(([name, width]): DbfColumn => ({ name, type: 'C', width }))
  const records = rows.map(
    (row) => ` ${columns.map(([name, width]) => (row[name] ?? '').slice(0, width).padEnd(width)).join('')}`,
  )
  return Buffer.concat([
    dbfHeader(declared, rows.length, made),
    Buffer.from(records.join(''), 'latin1'),
    Buffer.from([0x1a]),
  ])
}
