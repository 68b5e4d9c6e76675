/** Facilities of a place as points within its outline, in the browser alone. The list of the page names them. */
import type { FeatureCollection, Point } from 'geojson'
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure } from '../api.ts'
import { layShapes, type Shapes } from '../map-shapes.ts'
import { formatNumber } from '../numbers.ts'
import { loadShapes } from './map.tsx'
import { useSite } from './site.tsx'

interface Properties {
  readonly cnes_code: string
  readonly trade_name: string | null
  readonly legal_name: string | null
  readonly facility_type_name: string | null
  readonly has_beds: boolean | null
  readonly coordinates_suspect?: boolean | null
}

const WIDTH = 480
const POINTS_MAX = 5000

export function PointsMap(props: {
  readonly level: string
  readonly code: string
  readonly uf: string
  /** Filter of the list of facilities, e.g. municipality_ibge_code=1200401. */
  readonly filter: string
}) {
  const { level, code, uf, filter } = props
  const { t, api, href, language } = useSite()
  const [drawing, setDrawing] = useState<Shapes | null>(null)
  const [points, setPoints] = useState<FeatureCollection<Point | null, Properties> | null>(null)
  useEffect(() => {
    let isCurrent = true
    if (api === undefined) return
    const quietly = (error: unknown): void => {
      // Without outlines, or with an older release, the list stands alone.
      if (!(error instanceof ApiFailure)) throw error
    }
    loadShapes(api, level, uf, '').then((shapes) => {
      const own = shapes.filter(({ properties }) => properties.code === code)
      if (isCurrent && own.length > 0) setDrawing(layShapes(own, WIDTH))
    }, quietly)
    api
      .get<FeatureCollection<Point | null, Properties>>(
        `/v1/facilities?${filter}&limit=${POINTS_MAX}`,
        'application/geo+json',
      )
      .then((found) => {
        if (isCurrent) setPoints(found)
      }, quietly)
    return () => {
      isCurrent = false
    }
  }, [api, level, code, uf, filter])
  if (points === null) return <p class="hint">{t.loading}</p>
  if (drawing === null) return null
  const shown = points.features.flatMap(({ geometry, properties }) => {
    if (geometry === null || properties.coordinates_suspect === true) return []
    const [longitude = 0, latitude = 0] = geometry.coordinates
    const point = drawing.project(longitude, latitude)
    return point === null ? [] : [{ point, properties }]
  })
  // Large points over small ones.
  shown.sort((left, right) => Number(left.properties.has_beds) - Number(right.properties.has_beds))
  const left = points.features.length - shown.length
  // An outline without a point says nothing that the page does not.
  if (shown.length === 0) return <p class="hint">{t.noPoints}</p>
  return (
    <figure class="map points">
      <figcaption>{t.facilities}</figcaption>
      {/* A picture to the eye and the pointer: the list beside it has the same facilities, with their names as links. */}
      <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} aria-hidden="true">
        {drawing.places.map(({ path }) => (
          <path key={path} d={path} class="place ground" />
        ))}
        {shown.map(({ point: [x, y], properties }) => (
          <a
            key={properties.cnes_code}
            href={href(`/explorer/facilities/${properties.cnes_code}`)}
            tabindex={-1}
          >
            <circle
              cx={x}
              cy={y}
              r={properties.has_beds === true ? 5 : 3}
              class={properties.has_beds === true ? 'beds' : 'other'}
            >
              <title>{`${properties.trade_name ?? properties.legal_name ?? properties.cnes_code}, ${properties.facility_type_name ?? ''}`}</title>
            </circle>
          </a>
        ))}
      </svg>
      <p class="hint">
        {t.pointsHint}
        {left > 0 ? ` ${t.pointsLeft(formatNumber(left, 0, language))}` : ''}
      </p>
    </figure>
  )
}
