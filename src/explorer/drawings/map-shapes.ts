/**
 * Geometry of maps: outlines to screen paths, classes of values, the area under a point, the neighbour in a direction. Pure. All areas of a
 * class share one path, so a map of 5,571 municipalities redraws only a few elements.
 */
import { geoContains, geoMercator, geoPath } from 'd3-geo'
import type { Feature, FeatureCollection, MultiLineString, MultiPolygon, Polygon, Position } from 'geojson'
import { feature, mesh } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'

export type PlaceShape = Feature<Polygon | MultiPolygon, { readonly code: string; readonly name: string }>

export interface Outlines {
  readonly shapes: readonly PlaceShape[]
  /** @returns the lines that have one of these areas on one side only */
  borderOf(codes: Codes): MultiLineString
}

export interface Shapes {
  /** Path of the border around all areas. */
  readonly border: string
  readonly width: number
  readonly height: number
  readonly places: readonly {
    readonly code: string
    readonly name: string
    readonly path: string
    readonly centre: readonly [x: number, y: number]
    readonly box: readonly [left: number, top: number, right: number, bottom: number]
  }[]
  readonly isClipped: boolean
  /** @returns index of the area under a point of the drawing, or -1 */
  readonly find: (x: number, y: number) => number
  readonly project: (longitude: number, latitude: number) => readonly [x: number, y: number] | null
}

/** Bounds of the mainland. Distant islands (Noronha, Trindade) would halve the size of the country on screen. */
const MAINLAND = { west: -74.1, south: -33.9, east: -34.7, north: 5.4 }

/** @param topology only its first object is used */
export function outlinesOf(topology: Topology): Outlines {
  const object = Object.values(topology.objects)[0] as
    | GeometryCollection<{ readonly code?: unknown; readonly name?: unknown }>
    | undefined
  const geometries = object?.geometries ?? []
  const collection = feature(topology, {
    type: 'GeometryCollection',
    geometries,
  } as GeometryCollection) as unknown as FeatureCollection
  const codeOf = (item: {
    readonly properties?: { readonly code?: unknown } | null | undefined
    readonly id?: unknown
  }): string => String(item.properties?.code ?? item.id ?? '')
  return {
    shapes: collection.features.flatMap((item) => {
      const { geometry, properties } = item
      if (geometry === null || (geometry.type !== 'Polygon' && geometry.type !== 'MultiPolygon')) return []
      const code = codeOf(item)
      return [
        {
          type: 'Feature',
          geometry,
          properties: { code, name: String(properties?.name ?? code) },
        } as PlaceShape,
      ]
    }),
    borderOf(codes) {
      const chosen = geometries.filter((geometry) => codes.has(codeOf(geometry)))
      return mesh(
        topology,
        { type: 'GeometryCollection', geometries: chosen } as GeometryCollection,
        (left, right) => left === right,
      )
    },
  }
}

/** @returns the smallest box around the corners of areas that a condition takes; where it takes none, west lies east of east */
function boundsOf(
  shapes: readonly PlaceShape[],
  isTaken: (x: number, y: number) => boolean,
): [number, number, number, number] {
  let [west, south, east, north] = [180, 90, -180, -90]
  for (const { geometry } of shapes)
    for (const polygon of geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates)
      for (const [x = 0, y = 0] of polygon[0] ?? []) {
        if (!isTaken(x, y)) continue
        west = Math.min(west, x)
        east = Math.max(east, x)
        south = Math.min(south, y)
        north = Math.max(north, y)
      }
  return [west, south, east, north]
}

/** Space around the areas. */
const MARGIN = 16

/** Anything that says whether it has a code: a set, or values by code. */
interface Codes {
  has(code: string): boolean
}

/** @param codes areas to draw; others are left out */
export function layShapes(outlines: Outlines, codes: Codes, width: number): Shapes {
  const shapes = outlines.shapes.filter(({ properties }) => codes.has(properties.code))
  const all = boundsOf(shapes, () => true)
  const onMainland = boundsOf(
    shapes,
    (x, y) => x >= MAINLAND.west && x <= MAINLAND.east && y >= MAINLAND.south && y <= MAINLAND.north,
  )
  // Draw islands completely when nothing else is shown.
  const [west, south, east, north] = onMainland[0] < onMainland[2] ? onMainland : all
  const isClipped = all[0] < west - 0.5 || all[1] < south - 0.5 || all[2] > east + 0.5 || all[3] > north + 0.5
  const corners = {
    type: 'MultiPoint' as const,
    coordinates: [
      [west, south],
      [east, north],
    ],
  }
  const projection = geoMercator().fitWidth(width - 2 * MARGIN, corners)
  const [[left, top], [right, bottom]] = geoPath(projection).bounds(corners)
  const ratio = Math.min(1.3, Math.max(0.45, (bottom - top) / Math.max(0.01, right - left)))
  const height = Math.round((width - 2 * MARGIN) * ratio) + 2 * MARGIN
  projection.fitExtent(
    [
      [MARGIN, MARGIN],
      [width - MARGIN, height - MARGIN],
    ],
    corners,
  )
  // Each corner is projected once, for path, box and centre: the country's map is laid out in half of the time.
  const draw = geoPath().digits(1)
  const flatten = (lines: readonly Position[][]): Position[][] =>
    lines.map((line) => line.map(([x = 0, y = 0]) => projection([x, y]) ?? [0, 0]))
  const places = shapes.flatMap((shape) => {
    const { geometry, properties } = shape
    const flat: Polygon | MultiPolygon =
      geometry.type === 'Polygon'
        ? { type: 'Polygon', coordinates: flatten(geometry.coordinates) }
        : { type: 'MultiPolygon', coordinates: geometry.coordinates.map(flatten) }
    const [[left, top], [right, bottom]] = draw.bounds(flat)
    const path = draw(flat)
    const isInside = right >= 0 && bottom >= 0 && left <= width && top <= height
    if (path === null || !isInside) return []
    const { code, name } = properties
    return [
      { shape, code, name, path, centre: draw.centroid(flat), box: [left, top, right, bottom] as const },
    ]
  })
  const border: MultiLineString = {
    type: 'MultiLineString',
    coordinates: flatten(outlines.borderOf(codes).coordinates),
  }
  return {
    border: draw(border) ?? '',
    width,
    height,
    places,
    isClipped,
    project(longitude, latitude) {
      const point = projection([longitude, latitude])
      if (point === null) return null
      const [x, y] = point
      return x >= 0 && y >= 0 && x <= width && y <= height ? [x, y] : null
    },
    find(x, y) {
      const point = projection.invert?.([x, y])
      if (point === undefined || point === null) return -1
      return places.findIndex(
        ({ box: [left, top, right, bottom], shape }) =>
          x >= left && x <= right && y >= top && y <= bottom && geoContains(orient(shape), point),
      )
    },
  }
}

/** Turns outer rings clockwise: d3-geo reads a ring in the other direction, which publishers use too, as the globe without the area. */
function orient(shape: PlaceShape): PlaceShape {
  const { geometry } = shape
  const orientRings = (rings: readonly (readonly number[][])[]): number[][][] =>
    rings.map(
      (ring, index) => (areaOf(ring) > 0 === (index === 0) ? [...ring].reverse() : [...ring]) as number[][],
    )
  return {
    ...shape,
    geometry:
      geometry.type === 'Polygon'
        ? { type: 'Polygon', coordinates: orientRings(geometry.coordinates) }
        : { type: 'MultiPolygon', coordinates: geometry.coordinates.map(orientRings) },
  }
}

/** @returns twice the signed area; positive for anticlockwise rings */
function areaOf(ring: readonly number[][]): number {
  let area = 0
  for (let index = 0, last = ring.length - 1; index < ring.length; last = index, index += 1) {
    const [x1 = 0, y1 = 0] = ring[last] ?? []
    const [x2 = 0, y2 = 0] = ring[index] ?? []
    area += x1 * y2 - x2 * y1
  }
  return area
}

export const CLASSES_MAX = 5

/**
 * Computes quantile classes. Zero is a class alone where it would fill the first one, so that the others tell the values above it apart.
 * @param values without nulls @returns distinct upper bounds, ascending; repeated values make fewer classes
 */
export function classBounds(values: readonly number[]): number[] {
  const sorted = [...values].sort((left, right) => left - right)
  const hasManyZeros = sorted[0] === 0 && sorted[Math.ceil(sorted.length / CLASSES_MAX) - 1] === 0
  const others = hasManyZeros ? sorted.filter((value) => value > 0) : sorted
  const classes = hasManyZeros ? CLASSES_MAX - 1 : CLASSES_MAX
  const bounds = hasManyZeros ? [0] : []
  for (let index = 1; index <= classes && others.length > 0; index += 1) {
    const bound = others[Math.ceil((index * others.length) / classes) - 1] ?? 0
    if (bound !== bounds.at(-1)) bounds.push(bound)
  }
  return bounds
}

export function classOf(value: number, bounds: readonly number[]): number {
  const found = bounds.findIndex((bound) => value <= bound)
  return found < 0 ? bounds.length - 1 : found
}

const DIRECTIONS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** @returns the nearest area in the direction of an arrow key, or `from` when there is none */
export function neighbourOf(places: Shapes['places'], from: number, arrow: string): number {
  const direction = DIRECTIONS[arrow]
  const origin = places[from]
  if (direction === undefined || origin === undefined) return from
  let [best, bestCost] = [from, Number.POSITIVE_INFINITY]
  for (const [index, { centre }] of places.entries()) {
    const [x, y] = [centre[0] - origin.centre[0], centre[1] - origin.centre[1]]
    const along = x * direction[0] + y * direction[1]
    const across = Math.abs(x * direction[1]) + Math.abs(y * direction[0])
    // Skip areas that lie more sideways than ahead.
    if (index === from || along <= 0.5 || across > along * 1.5) continue
    const cost = along + 2 * across
    if (cost < bestCost) [best, bestCost] = [index, cost]
  }
  return best
}
