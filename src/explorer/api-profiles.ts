/** The profile of a place, as pages read it. */
import type { Profile } from '../answers/profiles.ts'
import type { Answer, Meta, Note } from './api.ts'

export type { Profile, ProfileIndicator } from '../answers/profiles.ts'
export type ProfilePlace = NonNullable<Profile['comparator']>

export type ProfileAnswer = Answer<Profile> & {
  readonly meta: Meta & { readonly release_id: string; readonly notes: readonly Note[] }
}
