/**
 * Interface of the report writers: begin with a draft of the manifest, write rows in batches, end with the final manifest.
 *
 * The draft is complete except for the digests that are only known at the end, which are zeros of the same length. Formats whose
 * manifest comes first (CSV, Arrow) write the draft and overwrite it in place.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { Row } from '../../engine/types.ts'
import { canonicalJson } from '../../release/digest.ts'
import type { ReportManifest } from '../manifest.ts'
import type { Cell } from '../table.ts'

export interface Batch {
  readonly rows: readonly Row[]
  readonly cells: readonly (readonly Cell[])[]
}

export interface TableWriter {
  begin(draft: ReportManifest): Promise<void>
  rows(batch: Batch): Promise<void>
  end(manifest: ReportManifest): Promise<void>
}

export const UNKNOWN_DIGEST = '0'.repeat(64)
const BUFFER_BYTES = 1 << 20
/** Bytes searched for the draft. The manifest is small and near the beginning of the file. */
const PATCH_BYTES = 4 << 20

/** Writes a file sequentially, a megabyte at a time. */
export class FileSink {
  readonly #handle: FileHandle
  #chunks: Uint8Array[] = []
  #heldBytes = 0

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** @param path must not exist */
  static async create(path: string): Promise<FileSink> {
    return new FileSink(await open(path, 'wx+', 0o600))
  }

  /** Buffers the bytes, and writes to disk when a megabyte is buffered. */
  async write(bytes: Uint8Array | string): Promise<void> {
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes >= BUFFER_BYTES) await this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#heldBytes === 0) return
    const bytes = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#heldBytes = 0
    await this.#handle.writeFile(bytes)
  }

  /** Overwrites the draft of the manifest, near the beginning of the file, with the final manifest. */
  async replaceDraft(draft: ReportManifest, manifest: ReportManifest): Promise<void> {
    await this.#flush()
    const before = Buffer.from(canonicalJson(draft))
    const after = Buffer.from(canonicalJson(manifest))
    const head = Buffer.alloc(PATCH_BYTES)
    const { bytesRead } = await this.#handle.read(head, 0, PATCH_BYTES, 0)
    const position = head.subarray(0, bytesRead).indexOf(before)
    if (position < 0 || before.length !== after.length)
      throw new TypeError('the draft of the manifest is not there')
    await this.#handle.write(after, 0, after.length, position)
  }

  async close(): Promise<void> {
    try {
      await this.#flush()
    } finally {
      // Close the handle even when a full disk makes the flush fail.
      await this.#handle.close()
    }
  }
}
