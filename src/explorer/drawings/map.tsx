/**
 * A map of an answer: quantile classes, hatching for missing data, zoom and keyboard. It is drawn only in the browser; the table has the
 * same numbers. Geometry is in map-shapes.ts.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Topology } from 'topojson-specification'
import type { Api, Labels, QueryAnswer } from '../api.ts'
import { ApiFailure, codeOf } from '../api.ts'
import { unitOutsideLabel, unitWithPrices } from '../catalog-texts.ts'
import { formatNumber } from '../numbers.ts'
import { useQuestionHref, useSite } from '../parts/site.tsx'
import { labelOf, metricOf } from '../parts/table.tsx'
import type { Question } from '../question.ts'
import { ClassLegend, Hatch } from './chart-parts.tsx'
import { classBounds, classOf, layShapes, neighbourOf, type Outlines, outlinesOf } from './map-shapes.ts'
import { CHART_TEXTS } from './texts.ts'

export const MAP_LEVELS: readonly string[] = [
  'municipality',
  'health_region',
  'health_macroregion',
  'state',
  'region',
]
/** @returns whether the groups of a question are the areas of one level */
export const hasMap = ({ groupBy: [level = '', ...more] }: Question): boolean =>
  more.length === 0 && MAP_LEVELS.includes(level)
const WIDTH = 720
/** Largest height of a drawing; its width follows, so that all areas have the same margins. */
const MAP_HEIGHT = '66vh'
const ZOOM_STEP = 1.6
const ZOOM_MAX = 40
/** Largest zoom for outlines with fewer points. From the third zoom step on, their corners would be visible. */
const OVERVIEW_MAX = 3

const loaded = new Map<string, Promise<Outlines>>()

/**
 * Loads the outlines of a level, for some states or the country. Results are cached.
 * @param detail overview: only as many points as a map of the country shows
 */
export function loadOutlines(
  api: Api,
  level: string,
  ufs: string,
  release: string,
  detail: 'full' | 'overview' = 'full',
): Promise<Outlines> {
  const query = new URLSearchParams({
    format: 'topojson',
    ...(detail === 'full' ? {} : { detail }),
    // A major region is larger than a state, so a state filter does not apply.
    ...(ufs === '' || level === 'region' ? {} : { uf: ufs }),
    ...(release === '' ? {} : { expected_release_id: release }),
  })
  const path = `/v1/geo/outlines/${level}?${query}`
  let outlines = loaded.get(path)
  if (outlines === undefined) {
    outlines = api.get<{ readonly data: Topology }>(path).then(({ data }) => outlinesOf(data))
    loaded.set(path, outlines)
    outlines.catch(() => loaded.delete(path))
  }
  return outlines
}

const statesOf = ({ filters }: Question): string => (filters.state ?? []).join()

/** Loads the outlines that the map of a question shows first, or those for a closer look. */
export function loadMapOutlines(api: Api, question: Question, isNear = false): Promise<Outlines> {
  const states = statesOf(question)
  const detail = states === '' && !isNear ? 'overview' : 'full'
  return loadOutlines(api, question.groupBy[0] ?? '', states, question.release, detail)
}

export function PlaceMap(props: {
  readonly question: Question
  readonly catalog: Labels
  readonly answer: QueryAnswer
}) {
  const { question, catalog, answer } = props
  const { t, language, api, go } = useSite()
  const questionHref = useQuestionHref()
  const [level = ''] = question.groupBy
  const [code = ''] = question.metrics
  const metric = metricOf(catalog, code)
  const [outlines, setOutlines] = useState<Outlines | null>(null)
  const [failure, setFailure] = useState('')
  const [active, setActive] = useState(-1)
  const [zoom, setZoom] = useState({ scale: 1, x: 0, y: 0 })
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null)
  const states = statesOf(question)
  const isNear = zoom.scale > OVERVIEW_MAX
  const drawn = useRef('')
  useEffect(() => {
    let isCurrent = true
    const shapesKey = `${level} ${states} ${question.release}`
    // Keep the current outlines until those with more points arrive.
    if (drawn.current !== shapesKey) setOutlines(null)
    drawn.current = shapesKey
    setFailure('')
    if (api === undefined) return
    loadMapOutlines(api, question, isNear).then(
      (found) => {
        if (isCurrent) setOutlines(found)
      },
      (error: unknown) => {
        const problem = error instanceof ApiFailure ? error.problem : null
        if (isCurrent)
          setFailure(
            problem === null || problem.status === 404 ? t.mapMissing : problem.detail || t.mapMissing,
          )
      },
    )
    return () => {
      isCurrent = false
    }
  }, [api, level, states, question.release, isNear])

  const values = useMemo(
    () =>
      new Map(answer.data.map((row) => [codeOf(row.dimensions[level]), row.metrics[code] ?? null] as const)),
    [answer, level, code],
  )
  const names = useMemo(
    () =>
      new Map(
        answer.data.map((row) => {
          const member = row.dimensions[level]
          return [codeOf(member), typeof member === 'object' ? (member?.name ?? '') : ''] as const
        }),
      ),
    [answer, level],
  )
  const layout = useMemo(
    () => (outlines === null ? null : layShapes(outlines, values, WIDTH)),
    [outlines, values],
  )
  const bounds = useMemo(() => classBounds([...values.values()].filter((value) => value !== null)), [values])
  const paths = useMemo(() => {
    const classes: string[][] = bounds.map(() => [])
    const missing: string[] = []
    for (const place of layout?.places ?? []) {
      const value = values.get(place.code) ?? null
      if (value === null) missing.push(place.path)
      else classes[classOf(value, bounds)]?.push(place.path)
    }
    return { classes: classes.map((list) => list.join('')), missing: missing.join('') }
  }, [layout, values, bounds])

  if (failure !== '') return <p class="notice">{failure}</p>
  if (layout === null) return <p class="notice">{t.loading}</p>
  const { places, width, height } = layout
  const activePlace = places[active]
  const show = (value: number | null | undefined): string =>
    value === null || value === undefined ? t.noData : formatNumber(value, metric?.decimals ?? 0, language)
  const zoomBy = (factor: number, x = width / 2, y = height / 2): void =>
    setZoom((old) => {
      const scale = Math.min(ZOOM_MAX, Math.max(1, old.scale * factor))
      const ratio = scale / old.scale
      return keepInside({ scale, x: x - (x - old.x) * ratio, y: y - (y - old.y) * ratio })
    })
  const keepInside = ({ scale, x, y }: typeof zoom): typeof zoom => ({
    scale,
    x: Math.min(0, Math.max(width * (1 - scale), x)),
    y: Math.min(0, Math.max(height * (1 - scale), y)),
  })
  /** Converts a pointer position to the drawing's coordinates before zoom. */
  const pointOf = (event: MouseEvent): [number, number] => {
    const frame = (event.currentTarget as Element).getBoundingClientRect()
    const x = ((event.clientX - frame.left) / frame.width) * width
    const y = ((event.clientY - frame.top) / frame.height) * height
    return [(x - zoom.x) / zoom.scale, (y - zoom.y) / zoom.scale]
  }
  const open = (index: number): void => {
    const place = places[index]
    if (place !== undefined && (values.get(place.code) ?? null) !== null)
      go?.(`${questionHref({ ...question, cell: { metric: code, key: { [level]: place.code } } })}#lineage`)
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === '+' || event.key === '=')
      zoomBy(ZOOM_STEP, activePlace?.centre[0], activePlace?.centre[1])
    else if (event.key === '-') zoomBy(1 / ZOOM_STEP)
    else if (event.key === '0') setZoom({ scale: 1, x: 0, y: 0 })
    else if (event.key === 'Enter' && active >= 0) open(active)
    else if (event.key.startsWith('Arrow')) setActive(active < 0 ? 0 : neighbourOf(places, active, event.key))
    else return
    event.preventDefault()
  }
  const label = labelOf(metric, language)
  const unit = unitOutsideLabel(metric, language, question.analysis.prices)
  return (
    <figure class="map">
      <figcaption>
        {label}
        {unit === '' ? '' : ` (${unit})`}
      </figcaption>
      <div class="map-row">
        <div class="frame" style={{ flexBasis: `calc(${MAP_HEIGHT} * ${width / height})` }}>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            // Lower case, because SVG ignores tabIndex. The arrow keys move between areas.
            tabindex={0}
            role="application"
            aria-label={`${CHART_TEXTS[language].views.map}: ${label}. ${t.mapHelp}`}
            onKeyDown={onKey}
            onWheel={(event) => {
              if (!event.ctrlKey && !event.metaKey) return
              event.preventDefault()
              zoomBy(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP)
            }}
            onPointerDown={(event) => {
              drag.current = { x: event.clientX, y: event.clientY, moved: false }
            }}
            onPointerUp={(event) => {
              const wasMoved = drag.current?.moved === true
              drag.current = null
              if (!wasMoved) open(layout.find(...pointOf(event)))
            }}
            onPointerLeave={() => {
              drag.current = null
            }}
            onPointerMove={(event) => {
              const dragStart = drag.current
              if (dragStart === null) return setActive(layout.find(...pointOf(event)))
              const frame = event.currentTarget.getBoundingClientRect()
              const [x, y] = [event.clientX - dragStart.x, event.clientY - dragStart.y]
              if (!dragStart.moved && Math.abs(x) + Math.abs(y) < 4) return
              drag.current = { x: event.clientX, y: event.clientY, moved: true }
              const unit = width / frame.width
              setZoom((old) => keepInside({ ...old, x: old.x + x * unit, y: old.y + y * unit }))
            }}
          >
            <Hatch id="hatched" />
            <g transform={`translate(${zoom.x} ${zoom.y}) scale(${zoom.scale})`}>
              {/* The lowest class has the color of the ground. Only the outer half of the border shows. */}
              <path d={layout.border} class="outline" />
              {paths.classes.map((path, index) => (
                <path key={index} d={path} class={`place class-${index} of-${bounds.length}`} />
              ))}
              <path d={paths.missing} class="place missing" fill="url(#hatched)" />
              {activePlace === undefined ? null : <path d={activePlace.path} class="active" />}
            </g>
          </svg>
          <div class="zoom">
            <button type="button" onClick={() => zoomBy(ZOOM_STEP)} aria-label={t.zoomIn}>
              +
            </button>
            <button type="button" onClick={() => zoomBy(1 / ZOOM_STEP)} aria-label={t.zoomOut}>
              −
            </button>
            <button type="button" onClick={() => setZoom({ scale: 1, x: 0, y: 0 })} aria-label={t.zoomAll}>
              ⤢
            </button>
          </div>
        </div>
        <div class="map-key">
          <p class="reading" role="status" aria-live="polite">
            {activePlace === undefined ? (
              <span class="hint">{t.mapHelp}</span>
            ) : (
              `${names.get(activePlace.code) || activePlace.name}: ${show(values.get(activePlace.code))}`
            )}
          </p>
          <ClassLegend
            unit={unitWithPrices(metric, language, question.analysis.prices)}
            bounds={bounds}
            lowest={Math.min(...[...values.values()].filter((value) => value !== null))}
            show={show}
            hasMissing={[...values.values()].includes(null)}
          />
          {layout.isClipped ? <p class="hint">{t.farIslands}</p> : null}
        </div>
      </div>
    </figure>
  )
}
