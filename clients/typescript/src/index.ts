/**
 * Client of sus-data for Node.js and browsers, without dependencies. Types of paths, parameters, bodies and answers are those of the
 * server's API document (api.ts, made by openapi-typescript).
 */
import type { components, paths } from './api.ts'
import { sha256 } from './digest.ts'
import { checkRelease, type Manifest, manifestOf, type VerifiedRelease } from './release.ts'
import { type RequestOptions, type Settings, SusDataError, send } from './request.ts'

export type { components, paths } from './api.ts'
export type { LogProof } from './note.ts'
export type { Manifest, VerifiedRelease } from './release.ts'
export { type ReportManifest, type VerifiedReport, verifyReport } from './report.ts'
export { type Refusal, type RequestOptions, type Settings, SusDataError } from './request.ts'

type Schemas = components['schemas']
export type Query = Schemas['AnalyticsQueryRequest']
export type Row = Schemas['AnalyticsRow']

type Get<Path extends keyof paths> = paths[Path] extends { get: infer Operation } ? Operation : never
/** Paths that answer with JSON. */
export type GetPath = {
  [Path in keyof paths]: Get<Path> extends {
    responses: { 200: { content: { 'application/json': unknown } } }
  }
    ? Path
    : never
}[keyof paths]
/** Body of a path's answer. */
export type Answer<Path extends keyof paths> =
  Get<Path> extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : never
/** Parameters of a path, those of its address and those of its query together. */
export type Params<Path extends keyof paths> = Members<Get<Path>, 'path'> & Members<Get<Path>, 'query'>
type Members<Operation, Place extends 'path' | 'query'> = Operation extends {
  parameters: { [Name in Place]?: infer Values }
}
  ? [NonNullable<Values>] extends [never]
    ? object
    : NonNullable<Values>
  : object
/** Paths that answer with pages. */
export type ListPath = {
  [Path in GetPath]: Answer<Path> extends { data: unknown[]; pagination: Schemas['Pagination'] }
    ? Path
    : never
}[GetPath]
export type Item<Path extends ListPath> = Answer<Path> extends { data: (infer Of)[] } ? Of : never

export type ReportFormat = NonNullable<Schemas['AnalyticsExportRequest']['format']>

export interface Report {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly fingerprint: string
  readonly rows: number
  readonly sha256: string
}

/** Rows of a page of a walk over an answer: the most there are. */
const PAGE = 10_000

export class SusData {
  readonly #settings: Settings
  /** The analytics release that every answer is of; null: the one in service at the time of each request. */
  readonly release: string | null

  /** @param release id of an analytics release; see `pin` */
  constructor(settings: Settings, release: string | null = null) {
    this.#settings = settings
    this.release = release
  }

  /**
   * @param release id of an analytics release; the one in service without it
   * @returns a client all of whose answers are of that release, whatever is promoted meanwhile
   */
  async pin(release?: string, options?: RequestOptions): Promise<SusData> {
    if (release !== undefined) return new SusData(this.#settings, release)
    const { data } = await this.get('/v1/releases', {}, options)
    const current = data.find(({ area, promoted }) => area === 'analytics' && promoted)
    if (current === undefined) throw new SusDataError('no release is in service', { code: 'not_ready' })
    return new SusData(this.#settings, current.release_id)
  }

  /** Any route of the API document that is read: `get('/v1/facilities/{cnes_code}', { cnes_code: '2648359' })`. */
  async get<Path extends GetPath>(
    path: Path,
    params: Params<Path>,
    options?: RequestOptions,
  ): Promise<Answer<Path>> {
    const response = await send(this.#settings, this.#address(path, params as Values), {}, options)
    return (await response.json()) as Answer<Path>
  }

  /** All records of a list, page by page: `for await (const facility of client.list('/v1/facilities', { uf: ['RR'] }))`. */
  async *list<Path extends ListPath>(
    path: Path,
    params: Params<Path>,
    options?: RequestOptions,
  ): AsyncGenerator<Item<Path>> {
    let cursor: string | null = null
    do {
      const page = (await this.get(
        path,
        (cursor === null ? params : { ...params, cursor }) as Params<Path>,
        options,
      )) as {
        readonly data: Item<Path>[]
        readonly pagination: Schemas['Pagination']
      }
      yield* page.data
      cursor = page.pagination.next_cursor
    } while (cursor !== null)
  }

  /** A page of the answer of a query. */
  query(body: Query, options?: RequestOptions): Promise<Schemas['AnalyticsQueryResponse']> {
    return this.#post('/v1/analytics/query', body, options)
  }

  /** All rows of a query, all of one release: the first page says which where none is pinned. */
  async *rows(body: Omit<Query, 'limit' | 'offset'>, options?: RequestOptions): AsyncGenerator<Row> {
    let release = body.expected_release_id ?? this.release
    for (let offset = 0; ; offset += PAGE) {
      const { data, pagination, meta } = await this.query(
        { ...body, limit: PAGE, offset, expected_release_id: release },
        options,
      )
      yield* data
      if (!pagination.has_more) return
      release = meta.release_id
    }
  }

  /** What a query would read, without running it. */
  explain(body: Query, options?: RequestOptions): Promise<Schemas['AnalyticsExplainResponse']> {
    return this.#post('/v1/analytics/explain', body, options)
  }

  /** The records behind a cell, with the published file and row of each. */
  lineage(
    body: Schemas['AnalyticsLineageRequest'],
    options?: RequestOptions,
  ): Promise<Schemas['AnalyticsLineageResponse']> {
    return this.#post('/v1/analytics/lineage', body, options)
  }

  /** A query on two releases: what changed, and why. */
  async compare(
    body: Schemas['AnalyticsCompareRequest'],
    options?: RequestOptions,
  ): Promise<Schemas['AnalyticsCompareResponse']> {
    const pinned = this.release === null ? body : { new_release_id: this.release, ...body }
    const response = await this.#send('/v1/analytics/compare', pinned, options)
    return (await response.json()) as Schemas['AnalyticsCompareResponse']
  }

  /** All rows of a query as a file; its digest is checked against what the server says it sent. @throws SusDataError */
  async report(
    body: Schemas['AnalyticsReportRequest'],
    format: ReportFormat,
    options?: RequestOptions,
  ): Promise<Report> {
    const response = await this.#send('/v1/analytics/export', this.#pinned({ ...body, format }), options)
    const bytes = new Uint8Array(await response.arrayBuffer())
    const digest = await sha256(bytes)
    if (digest !== response.headers.get('x-artifact-sha256'))
      throw new SusDataError('the report did not arrive as it was sent', { code: 'not_verified' })
    return {
      bytes,
      sha256: digest,
      fingerprint: response.headers.get('x-report-fingerprint') ?? '',
      rows: Number(response.headers.get('x-report-row-count')),
    }
  }

  /** Asks the query of a report again, on its release. @returns whether the server gives the same rows */
  async reproduces(
    manifest: Pick<Schemas['ReportManifest'], 'query' | 'release_id' | 'fingerprint'>,
    options?: RequestOptions,
  ): Promise<boolean> {
    const body = { ...manifest.query, limit: 1, expected_release_id: manifest.release_id } as Query
    return (await this.query(body, options)).meta.fingerprint === manifest.fingerprint
  }

  /** The manifest of a release, checked: its id is the digest of what it says. @throws SusDataError */
  async manifest(release: string, options?: RequestOptions): Promise<Manifest> {
    return manifestOf(await this.text(release, 'manifest.json', options), release)
  }

  /**
   * Who vouches for a release and those that it joins, without its data: manifests, signatures, and proofs of the operator's log.
   * @param verifierKey of the operator (name+keyid+key), from a place that is trusted
   * @returns the release first; @throws SusDataError
   */
  verifyRelease(release: string, verifierKey: string, options?: RequestOptions): Promise<VerifiedRelease[]> {
    return checkRelease((id, path) => this.text(id, path, options), release, verifierKey)
  }

  /** A text beside the data of a release, as it came, such as manifest.sig. @returns null where there is none */
  async text(release: string, path: string, options?: RequestOptions): Promise<string | null> {
    try {
      return await (await send(this.#settings, addressOf(release, path), {}, options)).text()
    } catch (error) {
      if (error instanceof SusDataError && error.status === 404 && path !== 'manifest.json') return null
      throw error
    }
  }

  /** A file of a release, checked against its manifest. @throws SusDataError */
  async file(
    release: string,
    { path, bytes, sha256: digest }: Manifest['files'][number],
    options?: RequestOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const response = await send(this.#settings, addressOf(release, path), {}, options)
    const content = new Uint8Array(await response.arrayBuffer())
    if (content.length !== bytes || (await sha256(content)) !== digest)
      throw new SusDataError(`${path} is not what the manifest says`, { code: 'not_verified' })
    return content
  }

  #pinned<Body extends { expected_release_id?: string | null }>(body: Body): Body {
    return this.release === null ? body : { expected_release_id: this.release, ...body }
  }

  async #post<Answered>(
    path: string,
    body: { expected_release_id?: string | null },
    options: RequestOptions | undefined,
  ): Promise<Answered> {
    return (await (await this.#send(path, this.#pinned(body), options)).json()) as Answered
  }

  #send(path: string, body: object, options: RequestOptions | undefined): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    return send(this.#settings, path, { method: 'POST', headers, body: JSON.stringify(body) }, options)
  }

  #address(path: string, params: Values): string {
    const query = new URLSearchParams()
    const isOfRelease = path.startsWith('/v1/') && !path.startsWith('/v1/releases')
    const pinned =
      this.release === null || !isOfRelease ? params : { expected_release_id: this.release, ...params }
    for (const [name, value] of Object.entries(pinned))
      if (value !== undefined && !path.includes(`{${name}}`))
        query.set(name, Array.isArray(value) ? value.join(',') : String(value))
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(params[name])),
    )
    return query.size === 0 ? filled : `${filled}?${query}`
  }
}

const addressOf = (release: string, path: string): string =>
  `/v1/releases/${encodeURIComponent(release)}/files/${path}`

type Values = Readonly<Record<string, unknown>>
