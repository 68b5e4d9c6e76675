/** Chooses the release that answers: the pinned one, otherwise the cursor's, otherwise the promoted one. */
import type { ReleaseSource } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import type { Cursor } from '../../query/lists/cursor.ts'
import type { ReleaseView } from '../../release/view.ts'

export const RELEASE_GONE = both(
  'A versão de dados pedida não está aqui. GET /v1/releases lista as que estão.',
  'The release asked for is not here. GET /v1/releases lists those that are.',
)

/** @throws AppError 'release_mismatch', 'invalid_cursor' where the release is gone, 'not_ready' */
export async function chooseRelease(
  releases: ReleaseSource,
  pin: string | null,
  cursor: Cursor | null,
): Promise<ReleaseView> {
  const releaseId = pin ?? cursor?.release ?? null
  const current = releases.current()
  if (releaseId === null) {
    if (current !== null) return current
    throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  }
  const open = releases.findOpen(releaseId)
  if (open !== null) return open
  const view = await releases.pin(releaseId)
  if (view !== null) return view
  throw pin === null
    ? new AppError('invalid_cursor', {
        detail: both(
          'A versão de dados desta lista não está mais aqui. Recomece a lista.',
          'The release this walk is on is no longer here. Start the list again.',
        ),
      })
    : new AppError('release_mismatch', {
        detail: RELEASE_GONE,
        extra: { expected: pin, current: current?.id ?? null, releases: '/v1/releases' },
      })
}
