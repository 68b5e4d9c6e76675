/** Worker process that computes the digest of the rows of a Parquet file, one file per job. In: its path. Out: a digest or an error. */
import { digestFileRows } from '../import/digests/digest-file.ts'
import type { DigestReply } from '../import/row-digests.ts'

process.on('disconnect', () => process.exit())

const reply = (path: string): Promise<DigestReply> =>
  digestFileRows(path).then(
    (digest) => ({ digest }),
    (error: unknown) => ({ failure: error instanceof Error ? error.message : String(error) }),
  )

process.on('message', async (path: string) => process.send?.(await reply(path)))
