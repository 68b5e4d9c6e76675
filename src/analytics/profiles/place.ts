/** Finds the place of a profile in the release's list of municipalities, with the larger places that contain it. */
import type { Row } from '../../engine/types.ts'
import { AppError, both } from '../../errors.ts'
import { dimensionOf } from '../../model/dimensions.ts'
import { PROFILE_LEVELS, type ProfileLevel } from '../../model/profiles/index.ts'
import { STATES } from '../../model/territory/states.ts'
import type { FilterValue } from '../../query/analytics/filters.ts'
import { requireDimension } from '../../query/analytics/territory.ts'
import type { ReleaseView } from '../../release/view.ts'
import { sql, table } from '../../sql.ts'
import type { AnswerParts } from '../query.ts'

export interface NamedPlace {
  readonly level: ProfileLevel
  /** Code as answers of queries show it: an integer for municipalities and major regions. */
  readonly code: FilterValue
  readonly name: string
}

export interface ProfilePlace extends NamedPlace {
  /** The places that contain it, the finest first. */
  readonly parents: readonly NamedPlace[]
  /** Abbreviation of its state; null for regions and the country. */
  readonly uf: string | null
}

export const COUNTRY_CODE = 'BR'
const COUNTRY: NamedPlace = { level: 'country', code: COUNTRY_CODE, name: 'Brasil' }

/** Codes of each level, in the forms that a path takes. Municipalities have 7 digits, or 6 without the check digit. */
const CODE_FORMS: Readonly<Record<ProfileLevel, RegExp>> = {
  municipality: /^\d{6,7}$/,
  health_region: /^\d{5}$/,
  health_macroregion: /^\d{4}$/,
  state: /^[A-Za-z]{2}$/,
  region: /^[1-5]$/,
  country: /^br$/i,
}

/** The column of a level's code in the list of municipalities. */
const CODE_COLUMNS: Readonly<Record<Exclude<ProfileLevel, 'country'>, string>> = {
  municipality: 'ibge_code',
  health_region: 'health_region_code',
  health_macroregion: 'health_macroregion_code',
  state: 'uf',
  region: 'region_code',
}

/** Municipalities by view: every profile needs them, and a view never changes. */
const MUNICIPALITIES = new WeakMap<ReleaseView, Promise<readonly Row[]>>()

function readMunicipalities({ engine, view }: AnswerParts): Promise<readonly Row[]> {
  const cached = MUNICIPALITIES.get(view)
  if (cached !== undefined) return cached
  // Ignore the client's abort signal: other requests may wait for the same list.
  const loading = engine.run(
    sql`SELECT ibge_code, name, uf, state_name, region_code, region_name, health_region_code, health_region_name, health_macroregion_code, health_macroregion_name
FROM ${table('municipalities')} WHERE territorial_type = 'MUNICIPALITY' ORDER BY ibge_code`,
    view,
    {},
  )
  MUNICIPALITIES.set(view, loading)
  loading.catch(() => MUNICIPALITIES.delete(view))
  return loading
}

/** @returns whether a row lies in the place; municipalities may be named without their check digit */
function liesIn(row: Row, level: Exclude<ProfileLevel, 'country'>, code: string): boolean {
  const value = String(row[CODE_COLUMNS[level]])
  return level === 'municipality' && code.length === 6
    ? value.slice(0, 6) === code
    : value === code.toUpperCase()
}

const notFound = (level: ProfileLevel, code: string): AppError =>
  new AppError('not_found', {
    detail: both(
      `A versão de dados não tem lugar com o código ${code} no nível ${level}.`,
      `The release has no place with the code ${code} at the level ${level}.`,
    ),
  })

/** @throws AppError 'not_found' for an unknown level or code, 'dimension_not_loaded' where the release lacks the level */
export async function findPlace(levelName: string, code: string, parts: AnswerParts): Promise<ProfilePlace> {
  const level = PROFILE_LEVELS.find((name) => name === levelName)
  if (level === undefined)
    throw new AppError('not_found', {
      detail: both(
        `Não há perfis deste nível; há os de ${PROFILE_LEVELS.join(', ')}.`,
        `There are no profiles of this level; there are those of ${PROFILE_LEVELS.join(', ')}.`,
      ),
    })
  if (!CODE_FORMS[level].test(code)) throw notFound(level, code)
  if (level === 'country') return { ...COUNTRY, parents: [], uf: null }
  requireDimension(level, parts.view, null)
  const row = (await readMunicipalities(parts)).find((candidate) => liesIn(candidate, level, code))
  if (row === undefined) throw notFound(level, code)
  const places = placesOf(row, parts.language)
  const place = places.find((candidate) => candidate.level === level)
  if (place === undefined) throw notFound(level, code)
  const parents = [
    ...PARENT_LEVELS[level].flatMap((parent) => places.filter((other) => other.level === parent)),
    COUNTRY,
  ]
  return { ...place, parents, uf: level === 'region' ? null : String(row.uf) }
}

/** A health region may touch several macro-regions, so only municipalities have one. */
const PARENT_LEVELS: Readonly<Record<Exclude<ProfileLevel, 'country'>, readonly ProfileLevel[]>> = {
  municipality: ['health_region', 'health_macroregion', 'state', 'region'],
  health_region: ['state', 'region'],
  health_macroregion: ['state', 'region'],
  state: ['region'],
  region: [],
}

function placesOf(row: Row, language: 'pt' | 'en'): NamedPlace[] {
  const region = String(row.region_code)
  const named: readonly (readonly [ProfileLevel, FilterValue | null, unknown])[] = [
    ['municipality', Number(row.ibge_code), row.name],
    ['health_region', textOf(row.health_region_code), row.health_region_name],
    ['health_macroregion', textOf(row.health_macroregion_code), row.health_macroregion_name],
    ['state', String(row.uf), row.state_name],
    ['region', Number(region), dimensionOf('region').labels?.[region]?.[language] ?? row.region_name],
  ]
  return named.flatMap(([level, code, name]) =>
    code === null ? [] : [{ level, code, name: String(name ?? code) }],
  )
}

const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)

/** @returns states that a place covers, which decide the months of its indicators */
export function statesOfPlace({ level, code, uf }: ProfilePlace): readonly string[] {
  if (level === 'country') return STATES.map((state) => state.uf)
  if (level === 'region')
    return STATES.filter(({ region_code }) => region_code === code).map((state) => state.uf)
  return uf === null ? [] : [uf]
}
