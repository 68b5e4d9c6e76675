/**
 * Writes cells as Parquet: text as UTF8, integers as INT64, decimals as DECIMAL(18) on INT64 (exact, no DOUBLE). The footer's
 * key-value metadata holds the manifest.
 */
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { canonicalJson } from '../../release/digest.ts'
import type { Cell, Column } from '../table.ts'
import { MANIFEST_KEY, parseDecimal } from './arrow.ts'
import type { FileSink, TableWriter } from './index.ts'

/** Digits of a DECIMAL on 64 bits. */
const DECIMAL_DIGITS = 18
const ROW_GROUP_ROWS = 32_768

export function createParquetWriter(sink: FileSink, columns: readonly Column[]): TableWriter {
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'report', num_children: columns.length }, ...columns.map(elementOf)],
    createdBy: 'sus-data',
  })
  let pendingRows: (readonly Cell[])[] = []
  // Offsets count from the start of the file, although the buffer is emptied after each row group.
  const drain = async (): Promise<void> => {
    await sink.write(new Uint8Array(bytes.getBytes()))
    bytes.index = 0
  }
  const writeGroup = async (): Promise<void> => {
    writer.write({
      columnData: columns.map((column, index) => ({
        name: column.name,
        data: pendingRows.map((row) => cellValue(row[index] ?? null, column)),
      })),
      rowGroupSize: ROW_GROUP_ROWS,
    })
    pendingRows = []
    await drain()
  }
  return {
    begin: async () => undefined,
    async rows({ cells }) {
      pendingRows.push(...cells)
      if (pendingRows.length >= ROW_GROUP_ROWS) await writeGroup()
    },
    async end(manifest) {
      if (pendingRows.length > 0) await writeGroup()
      writer.kvMetadata = [{ key: MANIFEST_KEY, value: canonicalJson(manifest) }]
      writer.finish()
      await drain()
    },
  }
}

const elementOf = ({ name, type, decimals }: Column): SchemaElement => ({
  name,
  repetition_type: 'OPTIONAL',
  ...(type === 'text'
    ? { type: 'BYTE_ARRAY', converted_type: 'UTF8' }
    : type === 'integer'
      ? { type: 'INT64', converted_type: 'INT_64' }
      : { type: 'INT64', converted_type: 'DECIMAL', scale: decimals, precision: DECIMAL_DIGITS }),
})

const cellValue = (cell: Cell, { type, decimals }: Column): string | bigint | null =>
  cell === null ? null : type === 'text' ? cell : parseDecimal(cell, decimals)
