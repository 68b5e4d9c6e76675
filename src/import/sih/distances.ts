/**
 * Distances between municipalities, for admissions away from home: great circles between the centroids of their outlines, in
 * whole kilometres. They approximate a way that nobody travels in a straight line. Trigonometric functions of a machine may
 * differ in their last digit, so sines, cosines and the arc are computed here with +, −, ×, ÷ and √ alone. Equal outlines then
 * give equal kilometres everywhere.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { quoteText, type Session } from '../session.ts'

/** Mean radius of the earth. */
const EARTH_KM = 6371.0088
const DEGREE = 0.017453292519943295

type Ring = readonly (readonly [longitude: number, latitude: number])[]
export interface MultiPolygon {
  readonly coordinates: readonly (readonly Ring[])[]
}
export type Vector = readonly [x: number, y: number, z: number]

/** Sums the Taylor series of the sine; angles up to a right angle need 12 terms for all digits of a double. */
function sine(angle: number): number {
  let term = angle
  let sum = angle
  for (let index = 1; index <= 12; index += 1) {
    term = (-term * angle * angle) / (2 * index * (2 * index + 1))
    sum += term
  }
  return sum
}
function cosine(angle: number): number {
  let term = 1
  let sum = 1
  for (let index = 1; index <= 12; index += 1) {
    term = (-term * angle * angle) / ((2 * index - 1) * 2 * index)
    sum += term
  }
  return sum
}
/** Sums the series of the arcsine. Half of the longest distance in Brazil has a sine below 0.4, so 24 terms are enough. */
function arcsine(value: number): number {
  let term = value
  let sum = value
  for (let index = 1; index <= 24; index += 1) {
    term = (term * value * value * (2 * index - 1)) / (2 * index)
    sum += term / (2 * index + 1)
  }
  return sum
}

/** @returns centroid of the surface in degrees; null for an outline without surface. Holes run against the outer ring. */
export function centroidOf({
  coordinates,
}: MultiPolygon): readonly [longitude: number, latitude: number] | null {
  let [surface, x, y] = [0, 0, 0]
  for (const polygon of coordinates)
    for (const [index, ring] of polygon.entries()) {
      let [ringSurface, ringX, ringY] = [0, 0, 0]
      for (let point = 1; point < ring.length; point += 1) {
        const [x0, y0] = ring[point - 1] as Ring[number]
        const [x1, y1] = ring[point] as Ring[number]
        const cross = x0 * y1 - x1 * y0
        ringSurface += cross
        ringX += (x0 + x1) * cross
        ringY += (y0 + y1) * cross
      }
      // The direction of rings is not reliable: the first is the outer one.
      const sign = ringSurface < 0 === (index === 0) ? -1 : 1
      surface += sign * ringSurface
      x += sign * ringX
      y += sign * ringY
    }
  return surface === 0 ? null : [x / (3 * surface), y / (3 * surface)]
}

/** @returns the point of the unit sphere at a longitude and latitude in degrees */
export function vectorOf([longitude, latitude]: readonly [number, number]): Vector {
  const [east, north] = [longitude * DEGREE, latitude * DEGREE]
  const radius = cosine(north)
  return [radius * cosine(east), radius * sine(east), sine(north)]
}

/** @returns length of the great circle between two points, rounded to kilometres */
export function kilometresBetween(from: Vector, to: Vector): number {
  const [x, y, z] = [from[0] - to[0], from[1] - to[1], from[2] - to[2]]
  return Math.round(2 * EARTH_KM * arcsine(Math.sqrt(x * x + y * y + z * z) / 2))
}

/** @param municipalities Parquet of the municipality list, beside which a release has its outlines */
export async function stageDistances(session: Session, municipalities: string): Promise<void> {
  const outlines = join(dirname(dirname(municipalities)), 'municipality_outlines', 'part-0.parquet')
  await session.run(
    `CREATE TABLE sih_outlines AS ${
      existsSync(outlines)
        ? `SELECT ibge_code, geometry FROM read_parquet(${quoteText(outlines)})`
        : 'SELECT CAST(NULL AS INTEGER) AS ibge_code, CAST(NULL AS VARCHAR) AS geometry WHERE false'
    };
     CREATE TABLE sih_distances (residence INTEGER, hospital INTEGER, distance_km INTEGER)`,
  )
}

/** Caches points by session, because every month needs them. */
const POINTS = new WeakMap<Session, ReadonlyMap<number, Vector>>()
async function pointsOf(session: Session): Promise<ReadonlyMap<number, Vector>> {
  const cached = POINTS.get(session)
  if (cached !== undefined) return cached
  const points = new Map<number, Vector>()
  for (const { ibge_code, geometry } of await session.rows('SELECT ibge_code, geometry FROM sih_outlines')) {
    const centroid = centroidOf(JSON.parse(String(geometry)) as MultiPolygon)
    if (centroid !== null) points.set(Number(ibge_code), vectorOf(centroid))
  }
  POINTS.set(session, points)
  return points
}

/** Adds the distances of pairs that have none yet. @param pairs SQL that returns distinct pairs: residence, hospital */
export async function addDistances(session: Session, pairs: string): Promise<void> {
  const points = await pointsOf(session)
  const missing = await session.rows(
    `SELECT residence, hospital FROM (${pairs}) ANTI JOIN sih_distances USING (residence, hospital)`,
  )
  await session.append('sih_distances', (appender) => {
    for (const { residence, hospital } of missing) {
      const [from, to] = [points.get(Number(residence)), points.get(Number(hospital))]
      if (from === undefined || to === undefined) continue
      appender.appendInteger(Number(residence))
      appender.appendInteger(Number(hospital))
      appender.appendInteger(kilometresBetween(from, to))
      appender.endRow()
    }
  })
}
