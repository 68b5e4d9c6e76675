/** Profiles of places: what a release says of a place, each number with the query that gives it. */
import { z } from 'zod'
import { answerProfile } from '../../analytics/profiles/profile.ts'
import { PROFILE_LEVELS } from '../../model/profiles/index.ts'
import type { Route } from '../route.ts'
import { awaitPlanning, partsOf } from './analytics.ts'

export const PROFILES: readonly Route[] = [
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/profiles/{level}/{code}',
    operation: 'getProfile',
    isCacheable: true,
    cost: 5,
    summary: 'Profile of a place: population, and indicators with limits, comparator, peers and course.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'ProfileResponse',
    pathSchemas: {
      level: z.enum(PROFILE_LEVELS),
      code: z.string().regex(/^([0-9]{1,7}|[A-Za-z]{2})$/),
    },
    handle: async (request) => {
      await awaitPlanning(request)
      const { level = '', code = '' } = request.parameters
      return answerProfile(level, code, partsOf(request))
    },
  },
]
