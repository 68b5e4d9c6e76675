/** Chooses the release that answers: the cursor's, which must hold a pinned one, otherwise the pinned one, otherwise the promoted one. */
import type { ReleaseSource } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import type { Cursor } from '../../query/lists/cursor.ts'
import { holdsRelease, type ReleaseView } from '../../release/view.ts'

export const RELEASE_GONE = both(
  'A versão de dados pedida não está aqui. GET /v1/releases lista as que estão.',
  'The release asked for is not here. GET /v1/releases lists those that are.',
)

const RELEASE_NOT_JOINED = both(
  'A versão de dados pedida está aqui, mas nenhuma versão analítica que está aqui a reúne com outras; só essas respondem.',
  'The release asked for is here, but no analytics release that is here joins it, and only those answer.',
)
const WALK_GONE = both(
  'A versão de dados desta lista não está mais aqui. Recomece a lista.',
  'The release this walk is on is no longer here. Start the list again.',
)
const WALK_ELSEWHERE = both(
  'O cursor pertence a outra versão de dados que a de expected_release_id. Recomece a lista.',
  'The cursor belongs to another release than expected_release_id. Start the list again.',
)

/** @throws AppError 'release_mismatch', 'invalid_cursor' where the cursor's release is gone or is not the pinned one, 'not_ready' */
export async function chooseRelease(
  releases: ReleaseSource,
  pin: string | null,
  cursor: Cursor | null,
): Promise<ReleaseView> {
  const pinned = pin === null ? null : await openPinned(releases, pin)
  if (cursor !== null) {
    const view = await open(releases, cursor.release)
    if (view === null) throw new AppError('invalid_cursor', { detail: WALK_GONE })
    if (pin !== null && !holdsRelease(view, pin))
      throw new AppError('invalid_cursor', { detail: WALK_ELSEWHERE })
    return view
  }
  const view = pinned ?? releases.current()
  if (view !== null) return view
  throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
}

const open = async (releases: ReleaseSource, id: string): Promise<ReleaseView | null> =>
  releases.findOpen(id) ?? (await releases.pin(id))

/** @throws AppError 'release_mismatch' */
async function openPinned(releases: ReleaseSource, pin: string): Promise<ReleaseView> {
  const view = await open(releases, pin)
  if (view !== null) return view
  throw new AppError('release_mismatch', {
    detail: (await releases.locate(pin)) === null ? RELEASE_GONE : RELEASE_NOT_JOINED,
    extra: { expected: pin, current: releases.current()?.id ?? null, releases: '/v1/releases' },
  })
}
