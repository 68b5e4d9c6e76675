/**
 * Where on the map a list is asked for: a box, or the surroundings of a point. In: texts of a request. Out: conditions, and
 * distances that are the same to the last bit wherever they are computed.
 *
 * Distances are those of the great circle on a sphere of 6,371.0088 km (IUGG mean radius), by the haversine formula. It is
 * computed here only, never in SQL, with additions, multiplications and one square root, which IEEE 754 rounds in one way;
 * the sine is a series, because libraries differ in the last bit of theirs. Rows without coordinates are nowhere.
 */
import { z } from 'zod'
import { ident, type Sql, sql } from '../../sql.ts'
import { takes } from '../field-texts.ts'
import { documentedAs } from '../text-schemas.ts'

export interface Box {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}
export interface Near {
  readonly latitude: number
  readonly longitude: number
  readonly radiusKm: number
}
/** Both where a request names both: what lies in the box and near the point. */
export interface Place {
  readonly box: Box | null
  readonly near: Near | null
}

const RADIUS_DEFAULT_KM = 10
const RADIUS_MAX_KM = 500
const EARTH_KM = 6371.0088
/** Decimals as programs write them, those of very small numbers included. */
const DECIMAL = /^-?\d{1,3}(\.\d{1,25})?(e-\d{1,3})?$/i
/** As the API document has them. */
const LONGITUDE = { type: 'number', minimum: -180, maximum: 180 } as const
const LATITUDE = { type: 'number', minimum: -90, maximum: 90 } as const

/** @returns numbers separated by commas; null where the text is not so many of them */
function numbersIn(text: string, count: number): number[] | null {
  const parts = text.split(',')
  return parts.length === count && parts.every((part) => DECIMAL.test(part)) ? parts.map(Number) : null
}
const isLatitude = (degrees: number): boolean => Math.abs(degrees) <= 90
const isLongitude = (degrees: number): boolean => Math.abs(degrees) <= 180

/** Parameters of a list of places. The texts that come out are in one form: equal boxes are equal texts. */
export const PLACE_SCHEMAS = {
  bbox: documentedAs(
    takes(
      z
        .string()
        .refine((text) => {
          const [west = 0, south = 0, east = 0, north = 0] = numbersIn(text, 4) ?? [1, 1, 0, 0]
          return (
            [west, east].every(isLongitude) &&
            [south, north].every(isLatitude) &&
            west <= east &&
            south <= north
          )
        })
        .transform((text) => numbersIn(text, 4)?.join(',') ?? text),
      'oeste,sul,leste,norte em graus decimais, com oeste ≤ leste e sul ≤ norte, por exemplo -68.1,-10.2,-67.6,-9.8',
      'west,south,east,north in decimal degrees, with west ≤ east and south ≤ north, such as -68.1,-10.2,-67.6,-9.8',
    ),
    {
      type: 'array',
      minItems: 4,
      maxItems: 4,
      prefixItems: [LONGITUDE, LATITUDE, LONGITUDE, LATITUDE],
      items: LONGITUDE,
    },
  ),
  near: documentedAs(
    takes(
      z
        .string()
        .refine((text) => {
          const [latitude = 99, longitude = 0] = numbersIn(text, 2) ?? []
          return isLatitude(latitude) && isLongitude(longitude)
        })
        .transform((text) => numbersIn(text, 2)?.join(',') ?? text),
      'latitude,longitude em graus decimais, por exemplo -9.97,-67.81',
      'latitude,longitude in decimal degrees, such as -9.97,-67.81',
    ),
    { type: 'array', minItems: 2, maxItems: 2, prefixItems: [LATITUDE, LONGITUDE], items: LONGITUDE },
  ),
  radius_km: documentedAs(
    takes(
      z
        .string()
        .regex(DECIMAL)
        .refine((text) => Number(text) > 0 && Number(text) <= RADIUS_MAX_KM)
        .transform((text) => String(Number(text))),
      `um número de quilômetros acima de 0, até ${RADIUS_MAX_KM} (${RADIUS_DEFAULT_KM} quando não informado)`,
      `a number of kilometres above 0, up to ${RADIUS_MAX_KM} (${RADIUS_DEFAULT_KM} without it)`,
    ),
    { type: 'number', exclusiveMinimum: 0, maximum: RADIUS_MAX_KM },
  ),
} as const

/** @param params valid texts of bbox, near and radius_km @returns null where none of them is there */
export function placeOf(params: Readonly<Record<string, string>>): Place | null {
  const [west, south, east, north] = params.bbox === undefined ? [] : params.bbox.split(',').map(Number)
  const [latitude, longitude] = params.near === undefined ? [] : params.near.split(',').map(Number)
  const box =
    west === undefined || south === undefined || east === undefined || north === undefined
      ? null
      : { west, south, east, north }
  const near =
    latitude === undefined || longitude === undefined
      ? null
      : { latitude, longitude, radiusKm: Number(params.radius_km ?? RADIUS_DEFAULT_KM) }
  return box === null && near === null ? null : { box, near }
}

/** What a place says in SQL: of a point only the latitudes that it reaches, a little more than less. */
export function placeConditions({ box, near }: Place): Sql[] {
  const conditions: Sql[] = []
  if (box !== null)
    conditions.push(
      sql`${ident('latitude')} BETWEEN ${degreesSql(box.south)} AND ${degreesSql(box.north)}`,
      sql`${ident('longitude')} BETWEEN ${degreesSql(box.west)} AND ${degreesSql(box.east)}`,
    )
  if (near !== null) {
    const degrees = degreesOf(near)
    conditions.push(
      sql`${ident('latitude')} BETWEEN ${degreesSql(near.latitude - degrees)} AND ${degreesSql(near.latitude + degrees)}`,
      sql`${ident('longitude')} IS NOT NULL`,
    )
  }
  return conditions
}

/** A number of degrees in a statement, exactly: its decimal text says which DOUBLE it is. */
const degreesSql = (degrees: number): Sql => sql`CAST(${String(degrees)} AS DOUBLE)`

/** Latitudes within reach, and a thousandth more. */
export const degreesOf = ({ radiusKm }: Near): number => (radiusKm / EARTH_KM) * (180 / Math.PI) * 1.001

export const isInBox = ({ west, south, east, north }: Box, latitude: number, longitude: number): boolean =>
  latitude >= south && latitude <= north && longitude >= west && longitude <= east

const HALF = Math.PI / 2
const TO_RADIANS = Math.PI / 180
/** 1/3!, 1/5! …: the series ends where its terms are below the last bit of a sine. */
const SERIES = Array.from({ length: 11 }, (_, index) => {
  let factorial = 1
  for (let factor = 2; factor <= 2 * index + 3; factor += 1) factorial *= factor
  return (index % 2 === 0 ? -1 : 1) / factorial
}).reverse()

/** @param radians between −π and π */
function sine(radians: number): number {
  const x = radians > HALF ? Math.PI - radians : radians < -HALF ? -Math.PI - radians : radians
  const square = x * x
  let sum = 0
  for (const term of SERIES) sum = (sum + term) * square
  return x + x * sum
}
const cosine = (radians: number): number => sine(HALF - Math.abs(radians))

/** The square of half the chord: it grows with the distance, so that it orders and bounds. @returns its function of a place */
export function chordFrom(near: Near): (latitude: number, longitude: number) => number {
  const own = cosine(near.latitude * TO_RADIANS)
  return (latitude, longitude) => {
    const upward = sine(((latitude - near.latitude) * TO_RADIANS) / 2)
    const sideward = sine(((longitude - near.longitude) * TO_RADIANS) / 2)
    return upward * upward + own * cosine(latitude * TO_RADIANS) * sideward * sideward
  }
}

/** @returns the square of half the chord at the radius */
export function reachOf({ radiusKm }: Near): number {
  const half = sine(radiusKm / EARTH_KM / 2)
  return half * half
}

/** @param chord of at most the largest radius @returns kilometres, to the metre */
export function distanceOf(chord: number): number {
  // The arc sine as a series: for what is at most 500 km away, its fifth term is below a micrometre.
  const x = Math.sqrt(chord)
  const square = x * x
  const arc = x * (1 + square * (1 / 6 + square * (3 / 40 + square * (15 / 336 + square * (105 / 3456)))))
  return Math.round(2 * EARTH_KM * arc * 1000) / 1000
}
