/**
 * Filters of lists by area: a box, or the surroundings of a point. In: request parameters. Out: SQL conditions and distances. Distances are
 * great-circle distances by the haversine formula, on a sphere of 6,371.0088 km (IUGG mean radius). They are computed only here, never in
 * SQL, so that they are the same to the last bit everywhere. The code uses additions, multiplications and one square root, which IEEE 754
 * rounds in one way. The sine is a series, because libraries differ in its last bit. Rows without coordinates never match.
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
/** When both are present, a row must lie in the box and near the point. */
export interface Place {
  readonly box: Box | null
  readonly near: Near | null
}

const RADIUS_DEFAULT_KM = 10
const RADIUS_MAX_KM = 500
const EARTH_KM = 6371.0088
/** Decimal number, with an optional exponent because programs write very small numbers with one. */
const DECIMAL = /^-?\d{1,3}(\.\d{1,25})?(e-\d{1,3})?$/i
const LONGITUDE = { type: 'number', minimum: -180, maximum: 180 } as const
const LATITUDE = { type: 'number', minimum: -90, maximum: 90 } as const

/** @returns the comma-separated numbers; null when the text does not hold exactly `count` of them */
function numbersIn(text: string, count: number): number[] | null {
  const parts = text.split(',')
  return parts.length === count && parts.every((part) => DECIMAL.test(part)) ? parts.map(Number) : null
}
const isLatitude = (degrees: number): boolean => Math.abs(degrees) <= 90
const isLongitude = (degrees: number): boolean => Math.abs(degrees) <= 180

/** Schemas of the area parameters. They normalize the text, so that equal boxes have equal texts. */
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

/** @param params valid texts of bbox, near and radius_km @returns null when none of them is present */
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

/** SQL conditions of an area. A point is limited by latitude only, with a small margin; the caller computes the distance. */
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

/** Writes degrees as decimal text, which identifies one DOUBLE exactly. */
const degreesSql = (degrees: number): Sql => sql`CAST(${String(degrees)} AS DOUBLE)`

/** @returns the radius in degrees of latitude, plus a thousandth as a margin */
export const degreesOf = ({ radiusKm }: Near): number => (radiusKm / EARTH_KM) * (180 / Math.PI) * 1.001

export const isInBox = ({ west, south, east, north }: Box, latitude: number, longitude: number): boolean =>
  latitude >= south && latitude <= north && longitude >= west && longitude <= east

const HALF = Math.PI / 2
const TO_RADIANS = Math.PI / 180
/** Coefficients 1/3!, 1/5! … The last term is smaller than the last bit of a sine. */
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

/**
 * Half the chord, squared, grows with the distance. It is enough to order rows and to compare them with the radius.
 * @returns function of latitude and longitude in degrees
 */
export function chordFrom(near: Near): (latitude: number, longitude: number) => number {
  const cosineOfLatitude = cosine(near.latitude * TO_RADIANS)
  return (latitude, longitude) => {
    const upward = sine(((latitude - near.latitude) * TO_RADIANS) / 2)
    const sideward = sine(((longitude - near.longitude) * TO_RADIANS) / 2)
    return upward * upward + cosineOfLatitude * cosine(latitude * TO_RADIANS) * sideward * sideward
  }
}

export function reachOf({ radiusKm }: Near): number {
  const half = sine(radiusKm / EARTH_KM / 2)
  return half * half
}

/** @param chord half the chord, squared, up to the largest radius @returns kilometres, rounded to the metre */
export function distanceOf(chord: number): number {
  // The arcsine as a series. Up to 500 km, its fifth term is below a micrometre.
  const x = Math.sqrt(chord)
  const square = x * x
  const arc = x * (1 + square * (1 / 6 + square * (3 / 40 + square * (15 / 336 + square * (105 / 3456)))))
  return Math.round(2 * EARTH_KM * arc * 1000) / 1000
}
