/** Releases that are here, and their manifests (any valid key). */

import type { JsonValue } from '../../engine/types.ts'
import { AppError } from '../../errors.ts'
import { componentId } from '../../release/view.ts'
import type { Route } from '../route.ts'

export const RELEASES: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases',
    summary: 'Every verified release here, any of which can be pinned.',
    capability: 'any',
    release: null,
    response: 'ReleaseListResponse',
    handle: async ({ releases }) => {
      const list = await releases.list()
      return { data: list.map(({ release_id, promoted }) => ({ release_id, promoted })), rows: list.length }
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/releases/{release_id}',
    summary: 'The manifest of a release.',
    capability: 'any',
    release: null,
    response: 'ReleaseDetailResponse',
    handle: async ({ parameters, releases }) => {
      const id = parameters.release_id ?? ''
      const view = await releases.pin(id)
      if (view === null) throw new AppError('not_found')
      const manifest =
        view.id === id
          ? view.analytics
          : componentId(view, 'cnes') === id
            ? view.components.cnes
            : view.components.demography
      return { data: JSON.parse(JSON.stringify(manifest)) as JsonValue, rows: 1 }
    },
  },
]
