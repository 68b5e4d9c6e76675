/**
 * Saves the drawing of an answer as an image. Browser only. In: the figure on the page, and what the image says of its source. Out: an SVG
 * or PNG file with title, drawing, legend and source, whose colors are those of the page.
 */

import { shorten } from './drawings/chart-parts.tsx'

const SVG = 'http://www.w3.org/2000/svg'
const WIDTH = 960
const MARGIN = 24
const INNER = WIDTH - 2 * MARGIN
const LINE = 22
const BAR_LINE = 26
/** Bars begin at x; names stand before them, values behind. */
const BARS = { x: 320, width: 480 }
const LEGEND_COLUMNS = 4
const NAME_MAX = 44
const TITLE_MAX = 80
/** Pixels of a PNG for each unit of the drawing. */
const PNG_SCALE = 2
/** Styles that become attributes, because an image has no style sheet. */
const ATTRIBUTES = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-linecap',
  'stroke-linejoin',
  'paint-order',
  'opacity',
  'font-size',
  'font-weight',
  'font-family',
  'text-anchor',
]

export interface PictureAbout {
  readonly title: string
  /** Lines below the drawing. */
  readonly source: readonly string[]
  /** Name of the file, without its ending. */
  readonly name: string
}

type Attributes = Readonly<Record<string, string | number>>

function element(name: string, attributes: Attributes = {}, text = ''): SVGElement {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  made.textContent = text
  return made
}

/** @returns a copy of a drawing with its computed styles as attributes */
function copyOf(drawing: SVGElement, attributes: Attributes): SVGElement {
  const copy = drawing.cloneNode(true) as SVGElement
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>('*')]
  const copies = [copy, ...copy.querySelectorAll<SVGElement>('*')]
  for (const [index, original] of originals.entries()) {
    const style = getComputedStyle(original)
    for (const name of ATTRIBUTES) copies[index]?.setAttribute(name, style.getPropertyValue(name))
    copies[index]?.removeAttribute('class')
  }
  for (const [key, value] of Object.entries(attributes)) copy.setAttribute(key, String(value))
  return copy
}

/** @returns lines of whole words */
function wrap(text: string, length: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const isShown = (drawing: Element): boolean => drawing.getClientRects().length > 0

/** @param figure a chart or a map @returns the image as SVG text with its size */
export function pictureOf(figure: Element, { title, source }: PictureAbout): { svg: string; height: number } {
  const style = getComputedStyle(document.body)
  const font = { fill: style.color, 'font-family': style.fontFamily }
  const parts: SVGElement[] = []
  let y = MARGIN
  const write = (text: string, size: number, weight = 'normal'): void => {
    y += LINE
    parts.push(element('text', { ...font, x: MARGIN, y, 'font-size': size, 'font-weight': weight }, text))
  }
  for (const line of wrap(title, TITLE_MAX)) write(line, 18, 'bold')
  write((figure.querySelector('figcaption')?.textContent ?? '').trim(), 13)
  y += LINE
  const bars = [...figure.querySelectorAll('.bars > li')]
  for (const bar of bars) {
    const drawing = bar.querySelector('svg')
    const textAt = (selector: string): string => bar.querySelector(selector)?.textContent ?? ''
    parts.push(
      element('text', { ...font, x: MARGIN, y: y + 14, 'font-size': 14 }, shorten(textAt('.name'), NAME_MAX)),
      element(
        'text',
        { ...font, x: BARS.x + BARS.width + MARGIN / 2, y: y + 14, 'font-size': 14 },
        textAt('.value'),
      ),
    )
    if (drawing !== null) parts.push(copyOf(drawing, { x: BARS.x, y, width: BARS.width, height: 18 }))
    y += BAR_LINE
  }
  const drawing = bars.length > 0 ? undefined : [...figure.querySelectorAll('svg')].find(isShown)
  if (drawing !== undefined) {
    const { width, height } = drawing.viewBox.baseVal
    const shown = { width: INNER, height: Math.round((INNER * height) / width) }
    parts.push(copyOf(drawing, { x: MARGIN, y, ...shown }))
    y += shown.height
  }
  const legend = [...figure.querySelectorAll('.legend li')].filter(isShown)
  for (const [index, item] of legend.entries()) {
    const x = MARGIN + (index % LEGEND_COLUMNS) * (INNER / LEGEND_COLUMNS)
    if (index % LEGEND_COLUMNS === 0) y += LINE
    const swatch = item.querySelector('svg')
    if (swatch !== null) parts.push(copyOf(swatch, { x, y: y - 12, width: 20, height: 12 }))
    parts.push(
      element('text', { ...font, x: x + 26, y: y - 1, 'font-size': 13 }, (item.textContent ?? '').trim()),
    )
  }
  y += LINE / 2
  for (const line of source) write(line, 12)
  const height = Math.ceil(y + MARGIN)
  const image = element('svg', {
    xmlns: SVG,
    viewBox: `0 0 ${WIDTH} ${height}`,
    width: WIDTH,
    height,
    role: 'img',
  })
  image.append(
    element('title', {}, title),
    element('rect', { width: WIDTH, height, fill: style.backgroundColor }),
    ...parts,
  )
  return { svg: new XMLSerializer().serializeToString(image), height }
}

async function pngOf(svg: string, height: number): Promise<Blob | null> {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = WIDTH * PNG_SCALE
  canvas.height = height * PNG_SCALE
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'))
}

/** Saves the drawing of a figure as a file of the visitor's. */
export async function savePicture(
  figure: Element,
  format: 'svg' | 'png',
  about: PictureAbout,
): Promise<void> {
  const { svg, height } = pictureOf(figure, about)
  const blob = format === 'svg' ? new Blob([svg], { type: 'image/svg+xml' }) : await pngOf(svg, height)
  if (blob === null) return
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${about.name}.${format}`
  link.click()
  URL.revokeObjectURL(link.href)
}
