import t from 'tap'
import { centroidOf, kilometresBetween, vectorOf } from '../../../src/import/sih/distances.ts'

const square = (west: number, south: number, size: number): [number, number][] => [
  [west, south],
  [west + size, south],
  [west + size, south + size],
  [west, south + size],
  [west, south],
]

t.test('distances agree with the formula by trigonometric functions of the machine', async (t) => {
  const haversine = ([lon1, lat1]: [number, number], [lon2, lat2]: [number, number]): number => {
    const rad = Math.PI / 180
    const a =
      Math.sin(((lat2 - lat1) * rad) / 2) ** 2 +
      Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * Math.sin(((lon2 - lon1) * rad) / 2) ** 2
    return 2 * 6371.0088 * Math.asin(Math.sqrt(a))
  }
  const points: [number, number][] = [
    [-60.67, 2.82],
    [-51.23, -30.03],
    [-34.88, -7.12],
    [-72.68, -7.61],
    [-32.42, -3.85],
    [-46.63, -23.55],
  ]
  for (const from of points)
    for (const to of points) {
      const found = kilometresBetween(vectorOf(from), vectorOf(to))
      t.ok(Math.abs(found - haversine(from, to)) <= 0.5 + 1e-6, `${from} ${to} ${found}`)
    }
  t.equal(kilometresBetween(vectorOf([-60.67, 2.82]), vectorOf([-60.67, 2.82])), 0)
})

t.test('the centroid of an outline takes holes out, whatever the direction of its rings', async (t) => {
  t.same(centroidOf({ coordinates: [[square(0, 0, 2)]] }), [1, 1])
  const hole = square(0, 0, 1)
  const [longitude, latitude] = centroidOf({ coordinates: [[square(0, 0, 2), hole]] }) ?? [0, 0]
  t.ok(Math.abs(longitude - 3.5 / 3) < 1e-12 && Math.abs(latitude - 3.5 / 3) < 1e-12)
  t.same(centroidOf({ coordinates: [[square(0, 0, 2), hole.toReversed()]] }), [longitude, latitude])
  t.same(centroidOf({ coordinates: [[square(0, 0, 2)], [square(4, 0, 2).toReversed()]] }), [3, 1])
  t.equal(centroidOf({ coordinates: [] }), null)
})
