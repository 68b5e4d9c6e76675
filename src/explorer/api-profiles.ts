/** The profile of a place, as far as pages read it. */
import type { Answer, Meta, Note } from './api.ts'

export interface ProfilePlace {
  readonly level: string
  readonly code: string | number
  readonly name: string
}

interface ProfileQuery {
  readonly filters: readonly {
    readonly dimension: string
    readonly value: string | number | readonly string[]
  }[]
}

export interface ProfileIndicator {
  readonly metric: string
  readonly label: string
  readonly unit: string
  readonly kind: string
  readonly decimals: number
  readonly period: {
    readonly unit: 'month' | 'year'
    readonly from: string
    readonly to: string
    readonly months: number
  } | null
  readonly value: number | null
  readonly lower: number | null
  readonly upper: number | null
  readonly comparator: number | null
  readonly significance: 'lower' | 'similar' | 'higher' | 'not_compared' | null
  readonly peers: {
    readonly places: number
    readonly rank: number
    readonly percentile: number | null
    readonly distribution: Readonly<Record<'min' | 'p05' | 'p25' | 'p50' | 'p75' | 'p95' | 'max', number>>
  } | null
  readonly course: {
    readonly points: readonly { readonly period: string; readonly value: number | null }[]
  } | null
  readonly query: ProfileQuery
}

export interface Profile {
  readonly place: ProfilePlace & { readonly parents: readonly ProfilePlace[] }
  readonly comparator: ProfilePlace | null
  readonly population_by_age: {
    readonly groups: readonly {
      readonly sex: string | null
      readonly age_group: string | null
      readonly population: number | null
    }[]
  } | null
  readonly blocks: readonly {
    readonly code: string
    readonly label: string
    readonly indicators: readonly ProfileIndicator[]
  }[]
}

export type ProfileAnswer = Answer<Profile> & {
  readonly meta: Meta & { readonly release_id: string; readonly notes: readonly Note[] }
}
