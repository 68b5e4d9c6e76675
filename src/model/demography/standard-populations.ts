/**
 * Standard populations: people per age group, by whose shares rates are standardized. Values only. brazil_2010: residents of
 * Brazil on 1 July 2010 by the estimates of the Ministry of Health (POPSBR, edition of 2024-12), both sexes. Brazilian
 * practice (RIPSA, Saúde Brasil) takes a census year; no page names one official standard.
 */
import { AGE_GROUPS } from './code-lists.ts'

export type StandardName = 'brazil_2010'

export interface StandardPopulation {
  readonly title: { readonly pt: string; readonly en: string }
  /** People per age group, in the order of AGE_GROUPS. */
  readonly people: readonly number[]
}

export const STANDARD_POPULATIONS: Readonly<Record<StandardName, StandardPopulation>> = {
  brazil_2010: {
    title: { pt: 'Brasil em 2010 (POPSBR)', en: 'Brazil in 2010 (POPSBR)' },
    people: [
      14_926_565, 16_004_125, 17_190_853, 17_259_413, 17_342_029, 17_495_165, 16_070_561, 14_030_008,
      13_050_194, 12_011_024, 10_282_765, 8_368_585, 6_506_111, 4_834_001, 3_751_073, 2_638_919, 2_987_938,
    ],
  },
}

/**
 * Decimals kept of w·N/P of an age group before the groups are summed. Fractions of 17 populations have no common denominator
 * that fits 128 bits. The truncated rest is below 0.000000001 admissions per 10,000 inhabitants. A change in percent
 * multiplies both sides of two rates, and still fits rates of 100 admissions per inhabitant.
 */
export const STANDARDIZED_DECIMALS = 6

/** Decimals kept of w²·N/P² of an age group, the variance of its part of the rate. */
export const VARIANCE_DECIMALS = 9

export const standardOf = (name: StandardName): readonly (readonly [ageGroup: string, people: number])[] =>
  AGE_GROUPS.map((ageGroup, index) => [ageGroup, STANDARD_POPULATIONS[name].people[index] ?? 0])
