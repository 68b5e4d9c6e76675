/**
 * Words of refusals. Every parameter and every field of a body is given what it does not take, in both languages: each
 * message is a sentence of ours that says what may stand there, Portuguese unless English is preferred, and none quotes the
 * library that validates. Not responsible for: which requests are refused (routes.test.ts, analytics.test.ts).
 */
import t, { type Test } from 'tap'
import { z } from 'zod'
import { querySchemas } from '../../src/http/request/parameters.ts'
import { languageOf } from '../../src/http/request/problem.ts'
import { methodOf, type Route } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { describeBody, takes } from '../../src/query/field-texts.ts'
import { documentOf } from '../../src/query/text-schemas.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

/** Words that zod's own messages consist of. */
const LIBRARY_WORDS =
  /\b(expected|received|Invalid (input|option|string|key|element|format|value)|Too (big|small)|Unrecognized|nonoptional|NaN|pattern \/|unexpected token)\b|>=|<=|=>/i
const PORTUGUESE = /^(deve|não|é obrigatório e deve|em \S+ (deve|não|é)|pertence|\w+ não combina)/
const ENGLISH = /^(must|is|at \S+ (must|is)|belongs|does not|\w+ does not)/

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1)
t.teardown(() => client.close())

const EXAMPLES: Readonly<Record<string, string>> = {
  ibge_code: '14',
  uf: 'RR',
  dimensionCode: 'state',
  metricCode: 'bed_capacity_existing',
  level: 'state',
  code: 'RR',
  municipalityCode: '1400100',
  cnes_code: '0000001',
  path: 'manifest.json',
}
const addressOf = (route: Route): string =>
  route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => EXAMPLES[name] ?? '01')

type Place = { parameter?: string; pointer?: string; message: string; allowed?: unknown[] }

/** Asserts the words of a refusal in both languages. @returns its places */
async function checkWords(
  t: Test,
  request: { method: string; url: string; payload?: string; headers?: Record<string, string> },
  name: string,
): Promise<Place[]> {
  const ask = (language: string) =>
    client.send({ ...request, headers: { 'accept-language': language, ...request.headers } })
  const [pt, en] = [await ask('pt-BR,pt;q=0.9,en;q=0.8'), await ask('en-US,en;q=0.9')]
  const wrong: string[] = []
  const places = ({ body }: Reply): unknown =>
    (body?.errors ?? []).map((place: Place) => ({ ...place, message: '' }))
  for (const [{ status, body, text }, words] of [
    [pt, PORTUGUESE],
    [en, ENGLISH],
  ] as const) {
    if (status !== 400 || LIBRARY_WORDS.test(text) || !/\.$/.test(body.detail)) wrong.push(text)
    for (const { message } of body?.errors ?? []) if (!words.test(message)) wrong.push(message)
  }
  if (pt.body?.detail === en.body?.detail) wrong.push('one language')
  if (JSON.stringify(places(pt)) !== JSON.stringify(places(en))) wrong.push('more than the words differs')
  // One assertion a request would be slower than the request.
  if (wrong.length > 0) t.same(wrong, [], name)
  return pt.body.errors
}

t.test('every parameter says what it takes', secondRing, async (t) => {
  let refused = 0
  for (const route of ROUTES) {
    if (methodOf(route) !== 'GET' || route.capability === null) continue
    const schemas = Object.entries(querySchemas(route))
    for (const [name, schema] of schemas)
      for (const text of ['', '\u0000', 'x'.repeat(20_000 / 2), '-1', '´', '2026-13', '99999999999999']) {
        if (schema.safeParse(text).success) continue
        const url = `${addressOf(route)}?${name}=${encodeURIComponent(text)}`
        // A path that names nothing is 404 before its parameters are looked at; a long address is refused as one.
        const { status } = await client.get(url)
        if (status !== 400) continue
        const places = await checkWords(
          t,
          { method: 'GET', url },
          `${route.path} ${name} ${text.slice(0, 20)}`,
        )
        if (!places.some(({ parameter }) => parameter === name)) t.fail(`${url} does not name ${name}`)
        refused += 1
      }
    // Of a list, the same parameter twice is two values of it.
    const [name] = schemas.find(([, schema]) => documentOf(schema).type !== 'array') ?? []
    if (name !== undefined) {
      const twice = `${addressOf(route)}?${name}=1&${name}=2`
      const errors = await checkWords(t, { method: 'GET', url: twice }, `${route.path} ${name} twice`)
      t.match(errors, [{ parameter: name, message: 'deve aparecer uma só vez' }])
    }
    const strange = await checkWords(t, { method: 'GET', url: `${addressOf(route)}?strange=1` }, route.path)
    t.match(strange.at(-1), { parameter: 'strange', message: 'não é um parâmetro desta rota' })
  }
  t.ok(refused > 200, `${refused} refused`)
})

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  '',
  'x'.repeat(2000),
  [],
  [[]],
  [null],
  [{}],
  {},
  { x: 1 },
]

/** Bodies in which one place holds each of the values, for every place of a valid body. */
function* spoil(body: unknown): Generator<unknown> {
  yield* cases(VALUES, VALUES.slice(0, 2))
  if (Array.isArray(body)) {
    for (const [index, inner] of body.entries())
      for (const value of spoil(inner)) yield body.map((own, at) => (at === index ? value : own))
    yield Array.from({ length: 10_000 }, () => body[0])
  } else if (typeof body === 'object' && body !== null) {
    for (const [name, inner] of Object.entries(body)) {
      for (const value of spoil(inner)) yield { ...body, [name]: value }
      const { [name]: _, ...rest } = body as Record<string, unknown>
      yield rest
    }
    yield { ...body, strange: 1, 'a/b~c': 2 }
  }
}

const QUERY = {
  metrics: ['bed_capacity_existing'],
  group_by: ['state'],
  filters: [
    { dimension: 'state', operator: 'IN', value: ['RR'] },
    { dimension: 'reference_period', operator: 'EQ', value: '2026-05' },
  ],
}
const PAGE = { limit: 10 }
const ORDER = { order_by: [{ field: 'state', direction: 'asc' }] }
const BODIES: Readonly<Record<string, unknown>> = {
  '/v1/analytics/query': { ...QUERY, ...PAGE, ...ORDER, offset: 0, over_period: 'last' },
  '/v1/analytics/explain': { ...QUERY, ...PAGE },
  '/v1/analytics/lineage': {
    ...QUERY,
    key: { state: 'RR' },
    metric: 'bed_capacity_existing',
    side: 'numerator',
  },
  '/v1/analytics/compare': { ...QUERY, old_release_id: small.result.analytics, only_changed: true },
  '/v1/analytics/export': { ...QUERY, ...ORDER, title: 'A', format: 'csv' },
}

t.test('every field of a body says what it takes', secondRing, async (t) => {
  let refused = 0
  for (const [url, valid] of Object.entries(BODIES))
    for (const body of spoil(valid)) {
      const payload = JSON.stringify(body)
      const request = { method: 'POST', url, payload, headers: { 'content-type': 'application/json' } }
      const { status } = await client.send({ ...request, method: 'POST' })
      if (status >= 500) t.fail(`${status} ${payload.slice(0, 200)}`)
      if (status !== 400) continue
      await checkWords(t, request, `${url} ${payload.slice(0, 200)}`)
      refused += 1
    }
  t.ok(refused > cases(500, 150), `${refused} refused`)
})

t.test('filters and requests in the address, and texts that are no JSON', async (t) => {
  const json = { 'content-type': 'application/json' }
  for (const text of ['{', '"', 'nul', '{"__proto__":1}', '{"metrics":NaN}', '', '\u0000'])
    await checkWords(t, { method: 'POST', url: '/v1/analytics/query', payload: text, headers: json }, text)
  for (const value of [
    '[',
    '{}',
    '[1]',
    '[{"dimension":1}]',
    '[{"dimension":"state","operator":"EQ"}]',
    '[{"x":1}]',
  ])
    await checkWords(
      t,
      { method: 'GET', url: `/v1/analytics/dimensions/state/values?filters=${encodeURIComponent(value)}` },
      value,
    )
  for (const value of ['[', '{}', '[]', '{"metrics":1}'])
    await checkWords(t, { method: 'GET', url: `/v1/analytics/export?q=${encodeURIComponent(value)}` }, value)
})

t.test('what is said of common mistakes', async (t) => {
  const say = async (body: unknown, language: string): Promise<unknown> => {
    const { body: problem } = await client.query(body, { 'accept-language': language })
    return [problem.detail, problem.errors]
  }
  t.same(await say({ metrics: 'bed_capacity_existing' }, 'pt'), [
    '/metrics deve ser uma lista de 1 a 20 itens, cada um deles um código de métrica, {metric, as, filters} ou {as, ratio, scale, decimals}.',
    [
      {
        pointer: '/metrics',
        message:
          'deve ser uma lista de 1 a 20 itens, cada um deles um código de métrica, {metric, as, filters} ou {as, ratio, scale, decimals}',
      },
    ],
  ])
  t.same(await say({ metrics: ['bed_capacity_existing'], limit: 0 }, 'en'), [
    '/limit must be a whole number from 1 to 10000.',
    [{ pointer: '/limit', message: 'must be a whole number from 1 to 10000' }],
  ])
  t.same(await say({}, 'pt'), [
    '/metrics é obrigatório e deve ser uma lista de 1 a 20 itens, cada um deles um código de métrica, {metric, as, filters} ou {as, ratio, scale, decimals}.',
    [
      {
        pointer: '/metrics',
        message:
          'é obrigatório e deve ser uma lista de 1 a 20 itens, cada um deles um código de métrica, {metric, as, filters} ou {as, ratio, scale, decimals}',
      },
    ],
  ])
  t.same(await say({ metrics: ['bed_capacity_existing'], over_period: 'sum' }, 'en'), [
    '/over_period must be one of the allowed values or null.',
    [
      {
        pointer: '/over_period',
        message: 'must be one of the allowed values or null',
        allowed: ['last', 'first', 'avg', 'max'],
      },
    ],
  ])
})

t.test('any schema is described', async (t) => {
  const schema = z.strictObject({
    flag: z.boolean(),
    share: z.number().min(0).max(1),
    many: z.union([z.literal(true), z.array(z.enum(['a', 'b'])).max(3)]),
    one: z.strictObject({ x: z.string().length(2), y: takes(z.string().regex(/^a/), 'A', 'A') }),
    map: z.record(z.string(), z.int().min(-5)),
  })
  const value = { flag: 1, share: 2, many: ['c'], one: { x: 'abc', y: 'b' }, map: { k: -6 }, 'a/b~': 1 }
  const { error } = schema.safeParse(value)
  t.ok(error)
  if (error === undefined) return
  t.same(
    describeBody(error, schema, value).map(({ pointer, message }) => [pointer, message.pt, message.en]),
    [
      ['/flag', 'deve ser true ou false', 'must be true or false'],
      ['/share', 'deve ser um número de 0 a 1', 'must be a number from 0 to 1'],
      [
        '/many',
        'deve ser true ou uma lista de até 3 itens, cada um deles um dos valores permitidos',
        'must be true or a list of at most 3 items, each of them one of the allowed values',
      ],
      ['/one/x', 'deve ser um texto de 2 caracteres', 'must be a text of 2 characters'],
      ['/one/y', 'deve ser A', 'must be A'],
      ['/map/k', 'deve ser um número inteiro de pelo menos -5', 'must be a whole number of at least -5'],
      ['/a~1b~0', 'não é um campo deste pedido', 'is not a field of this request'],
    ],
  )
})

t.test('the language that the client prefers of the two', async (t) => {
  for (const [header, language] of [
    [undefined, 'pt'],
    ['en', 'en'],
    ['en-US,en;q=0.9', 'en'],
    ['EN', 'en'],
    ['pt-BR,en', 'pt'],
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt'],
    ['pt;q=0.2,en-GB;q=0.3', 'en'],
    ['fr, en;q=0.5', 'en'],
    ['fr', 'pt'],
    ['*', 'pt'],
    ['en;q=0', 'pt'],
    ['', 'pt'],
    [';;;q=', 'pt'],
  ] as const)
    t.equal(languageOf(header), language, String(header))
})
