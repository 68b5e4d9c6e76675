/** Every example of the OpenAPI document, sent to a server with the demonstration, is answered with 200. */
import t from 'tap'
import { describeApi } from '../../src/http/openapi/document.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { createRecorder } from '../../src/trust/recorder.ts'
import { openClient } from '../fixtures/client.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly example?: unknown
}
interface Operation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': { readonly examples?: Record<string, { value: object }> }
    }
  }
}
const api = JSON.parse(JSON.stringify(describeApi(ROUTES))) as {
  readonly paths: Record<string, Record<string, Operation>>
}
/** What only a running server knows. */
const WITHOUT_EXAMPLE: ReadonlySet<string> = new Set(['cursor', 'expected_release_id', 'release_id'])

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
createSigningKey(client.signingKeyFile)
const signer = loadNoteSigner(client.signingKeyFile, null)
if (signer !== null) createRecorder(small.releasesDir, signer).recordReleases([small.result.analytics])
/** As the link of listReleases says. */
const releases = (await client.get('/v1/releases')).body.data
const release: string = releases[0].release_id

const written = (value: unknown): string =>
  encodeURIComponent(Array.isArray(value) ? value.join(',') : String(value))
const addressOf = (path: string, parameters: readonly Parameter[], names: readonly Parameter[]): string => {
  const own = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'release_id' ? release : written(parameters.find((other) => other.name === name)?.example),
  )
  const query = names.map(({ name, example }) => `${name}=${written(example)}`).join('&')
  return query === '' ? own : `${own}?${query}`
}

for (const [path, methods] of Object.entries(api.paths))
  for (const [method, { operationId, parameters, requestBody }] of Object.entries(methods))
    t.test(operationId, async (t) => {
      for (const { name, example } of parameters)
        if (!WITHOUT_EXAMPLE.has(name)) t.not(example, undefined, `${name} has an example`)
      const shown = parameters.filter((own) => own.in === 'query' && own.example !== undefined)
      const required = shown.filter((own) => own.required)
      if (method === 'post') {
        const examples = requestBody?.content['application/json'].examples ?? {}
        // A comparison needs the id of a release.
        t.ok(Object.keys(examples).length > 0 || operationId === 'compareAnalytics')
        for (const [name, { value }] of Object.entries(examples)) {
          const { status, text } = await client.post(addressOf(path, parameters, required), value)
          t.equal(status, 200, `${name}: ${status === 200 ? '' : text.slice(0, 300)}`)
        }
        return
      }
      const near = shown.filter(({ name }) => name === 'near')
      const alone = shown.map((one) => (one.name === 'radius_km' ? [...near, one] : [one]))
      // Of a month that the small demonstration lacks there is nothing to ask for.
      const requests = [shown, ...cases(alone, [])].map((names) =>
        names.filter(
          ({ name }) =>
            name !== 'reference_period' ||
            !/listHealthFinancing|listOutpatient|listHospital|listAdmissionFlows|listDeaths|listFetalDeaths|listBirths/.test(
              operationId,
            ),
        ),
      )
      for (const names of requests) {
        const url = addressOf(path, parameters, [...new Set([...required, ...names])])
        const { status, text } = await client.get(url)
        t.equal(status, 200, `${url} ${status === 200 ? '' : text.slice(0, 300)}`)
      }
    })
