/** Map of a place's facilities as points, drawn only in the browser. The page also lists them. */
import type { FeatureCollection, Point } from 'geojson'
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, type Page } from '../api.ts'
import { formatNumber } from '../numbers.ts'
import { useSite } from '../parts/site.tsx'
import { loadOutlines } from './map.tsx'
import { layShapes, type Shapes } from './map-shapes.ts'

interface Properties {
  readonly cnes_code: string
  readonly trade_name: string | null
  readonly legal_name: string | null
  readonly facility_type_name: string | null
  readonly has_beds: boolean | null
  readonly coordinates_suspect?: boolean | null
}

type Points = FeatureCollection<Point | null, Properties> & Pick<Page<unknown>, 'pagination'>

const WIDTH = 480
const POINTS_MAX = 5000
const OTHER = { class: 'other', radius: 3, text: 'withoutBeds' } as const
const BEDS = { class: 'beds', radius: 5, text: 'withBeds' } as const
/** In the order in which they are drawn: the fewer ones last, so that they stay in sight. */
const KINDS: readonly (typeof OTHER | typeof BEDS)[] = [OTHER, BEDS]

export function PointsMap(props: {
  readonly level: string
  readonly code: string
  readonly uf: string
  /** Query string of the facilities, e.g. municipality_ibge_code=1200401. */
  readonly filter: string
  /** The filter leaves out facilities without beds. */
  readonly isOnlyBeds: boolean
}) {
  const { level, code, uf, filter, isOnlyBeds } = props
  const { t, api, href, language } = useSite()
  const [drawing, setDrawing] = useState<Shapes | null>(null)
  const [points, setPoints] = useState<Points | null>(null)
  useEffect(() => {
    let isCurrent = true
    if (api === undefined) return
    const ignoreApiFailure = (error: unknown): void => {
      // Without outlines, or with an older release, the page shows only the list.
      if (!(error instanceof ApiFailure)) throw error
    }
    loadOutlines(api, level, uf, '').then((outlines) => {
      const isHere = outlines.shapes.some(({ properties }) => properties.code === code)
      if (isCurrent && isHere) setDrawing(layShapes(outlines, new Set([code]), WIDTH))
    }, ignoreApiFailure)
    api.get<Points>(`/v1/facilities?${filter}&limit=${POINTS_MAX}`, 'application/geo+json').then((found) => {
      if (isCurrent) setPoints(found)
    }, ignoreApiFailure)
    return () => {
      isCurrent = false
    }
  }, [api, level, code, uf, filter])
  if (points === null) return <p class="hint">{t.loading}</p>
  if (drawing === null) return null
  const { features, pagination } = points
  const shown = features.flatMap(({ geometry, properties }) => {
    if (geometry === null || properties.coordinates_suspect === true) return []
    const [longitude = 0, latitude = 0] = geometry.coordinates
    const point = drawing.project(longitude, latitude)
    return point === null ? [] : [{ point, properties, kind: properties.has_beds === true ? BEDS : OTHER }]
  })
  shown.sort((left, right) => KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind))
  const format = (count: number): string => formatNumber(count, 0, language)
  if (shown.length === 0) return <p class="hint">{t.noPoints}</p>
  return (
    <figure class="map points">
      {/* Hidden from screen readers and the keyboard, because the list has the same facilities as links. */}
      <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} aria-hidden="true">
        {drawing.places.map(({ path }) => (
          <path key={path} d={path} class="place ground" />
        ))}
        {shown.map(({ point: [x, y], properties, kind }) => (
          <a
            key={properties.cnes_code}
            href={href(`/explorer/facilities/${properties.cnes_code}`)}
            tabindex={-1}
          >
            <circle cx={x} cy={y} r={kind.radius} class={kind.class}>
              <title>{`${properties.trade_name ?? properties.legal_name ?? properties.cnes_code}, ${properties.facility_type_name ?? ''}`}</title>
            </circle>
          </a>
        ))}
      </svg>
      <ul class="legend">
        {KINDS.filter((kind) => shown.some((point) => point.kind === kind)).map((kind) => (
          <li key={kind.class}>
            <svg aria-hidden="true" viewBox="0 0 16 10">
              <circle cx="8" cy="5" r={kind.radius} class={kind.class} />
            </svg>{' '}
            {t[kind.text]}
          </li>
        ))}
      </ul>
      <p class="hint">
        {t.pointsShown(format(shown.length), format(features.length), isOnlyBeds)}
        {shown.length < features.length ? ` ${t.pointsLeft}` : ''}
        {pagination.has_more ? ` ${t.pointsFirst(format(features.length))}` : ''}
      </p>
    </figure>
  )
}
