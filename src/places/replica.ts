/**
 * Connects a server's store of releases with the place that it follows. In: settings and the store. Out: a store that copies
 * releases that requests pin, and the state of the place for /ready. Copying itself is in follow.ts.
 */
import { AppError, both } from '../errors.ts'
import type { ReleaseStore } from '../release/store.ts'
import type { Verifier } from '../trust/note.ts'
import { type FollowOptions, type FollowState, follow } from './follow.ts'
import { openPlace, type PlaceAccess } from './open-place.ts'

export interface ReplicaSettings extends PlaceAccess {
  readonly releasesDir: string
  readonly releasesUrl: string | null
  readonly releasesCacheBytes: number | null
  readonly trustedKeys: readonly Verifier[]
}

export interface Replica {
  readonly releases: ReleaseStore
  state(): FollowState
  close(): Promise<void>
}

/** @returns null without SUS_RELEASES_URL @throws PlaceError when the address names no place */
export function startReplica(
  settings: ReplicaSettings,
  store: ReleaseStore,
  callbacks: Pick<FollowOptions, 'onArrived' | 'onProblem' | 'onMended'>,
): Replica | null {
  if (settings.releasesUrl === null) return null
  const follower = follow({
    place: openPlace(settings.releasesUrl, settings).place,
    releasesDir: settings.releasesDir,
    trusted: settings.trustedKeys,
    cacheBytes: settings.releasesCacheBytes,
    listRefused: () => store.problems().map(({ release_id }) => release_id),
    listDamaged: () => store.guard.damaged().map(({ file }) => file),
    onPointer: () => store.refresh(),
    ...callbacks,
  })
  return {
    releases: {
      ...store,
      async pin(id) {
        const view = await store.pin(id)
        if (view !== null) return view
        const found = await follower.want(id)
        if (found === 'absent') return null
        const copied = found === 'here' ? await store.pin(id) : null
        if (copied !== null) return copied
        throw new AppError('not_ready', {
          detail: both(
            'A versão de dados pedida está sendo copiada para esta instância.',
            'The release asked for is being copied to this instance.',
          ),
          headers: { 'Retry-After': '5' },
        })
      },
      async refresh() {
        await follower.look()
        await store.refresh()
      },
    },
    state: follower.state,
    close: follower.close,
  }
}
