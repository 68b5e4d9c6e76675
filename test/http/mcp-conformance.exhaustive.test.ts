/**
 * The official conformance suite of the Model Context Protocol, over the endpoint as it is served: every scenario for servers of two
 * revisions. Most of the suite calls tools, resources and prompts of a server made for it; what needs these is listed with the reason,
 * and a check that begins to pass, or fails for another reason, is noticed.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { validatorFile, withoutValidators } from '../fixtures/validators.ts'

/** The suite needs Node.js 22, whose package is installed with it. */
const nodePackage = `node-${process.platform}-${process.arch}`
const skip = withoutValidators('@modelcontextprotocol/conformance', nodePackage)

/** Why checks fail here. Each is a pattern of what the suite reports for the check. */
const NO_SUCH_METHOD = /Methods are .*this server has no resources and no prompts/
const NO_TEST_TOOL =
  /There is no tool "test_|Tool 'json_schema_2020_12_tool' not found|does not list the diagnostic tool/
const NO_PARAMETER_HEADERS = /no tool with x-mcp-header annotations/
const NEVER_ASKS_BACK = /Expected InputRequiredResult|could not get initial InputRequiredResult/

/** Checks that fail by revision, each with its reason; all others must pass. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  '2025-11-25': {
    'completion-complete': NO_SUCH_METHOD,
    'logging-set-level': NO_SUCH_METHOD,
    'prompts-get-embedded-resource': NO_SUCH_METHOD,
    'prompts-get-simple': NO_SUCH_METHOD,
    'prompts-get-with-args': NO_SUCH_METHOD,
    'prompts-get-with-image': NO_SUCH_METHOD,
    'prompts-list': NO_SUCH_METHOD,
    'resources-list': NO_SUCH_METHOD,
    'resources-read-binary': NO_SUCH_METHOD,
    'resources-read-text': NO_SUCH_METHOD,
    'resources-subscribe': NO_SUCH_METHOD,
    'resources-templates-read': NO_SUCH_METHOD,
    'resources-unsubscribe': NO_SUCH_METHOD,
    'tools-call-with-logging': NO_SUCH_METHOD,
    'elicitation-sep1034-general': NO_TEST_TOOL,
    'elicitation-sep1330-general': NO_TEST_TOOL,
    'json-schema-2020-12-tool-found': NO_TEST_TOOL,
    'tools-call-audio': NO_TEST_TOOL,
    'tools-call-elicitation': NO_TEST_TOOL,
    'tools-call-embedded-resource': NO_TEST_TOOL,
    'tools-call-error': NO_TEST_TOOL,
    'tools-call-image': NO_TEST_TOOL,
    'tools-call-mixed-content': NO_TEST_TOOL,
    'tools-call-sampling': NO_TEST_TOOL,
    'tools-call-simple-text': NO_TEST_TOOL,
    'tools-call-with-progress': NO_TEST_TOOL,
  },
  '2026-07-28': {
    'completion-complete': NO_SUCH_METHOD,
    'prompts-get-embedded-resource': NO_SUCH_METHOD,
    'prompts-get-simple': NO_SUCH_METHOD,
    'prompts-get-with-args': NO_SUCH_METHOD,
    'prompts-get-with-image': NO_SUCH_METHOD,
    'prompts-list': NO_SUCH_METHOD,
    'resources-list': NO_SUCH_METHOD,
    'resources-read-binary': NO_SUCH_METHOD,
    'resources-read-text': NO_SUCH_METHOD,
    'resources-templates-read': NO_SUCH_METHOD,
    'sep-2549-prompts-list-caching-hints': NO_SUCH_METHOD,
    'sep-2549-resources-list-caching-hints': NO_SUCH_METHOD,
    'sep-2549-resources-templates-list-caching-hints': NO_SUCH_METHOD,
    'sep-2322-non-tool-incomplete': NO_SUCH_METHOD,
    'json-schema-2020-12-tool-found': NO_TEST_TOOL,
    'sep-2322-elicitation-incomplete': NO_TEST_TOOL,
    'sep-2322-list-roots-incomplete': NO_TEST_TOOL,
    'sep-2322-multiple-inputs-incomplete': NO_TEST_TOOL,
    'sep-2322-request-state-incomplete': NO_TEST_TOOL,
    'sep-2322-respect-client-capabilities': NO_TEST_TOOL,
    'sep-2322-result-type-included': NO_TEST_TOOL,
    'sep-2322-sampling-incomplete': NO_TEST_TOOL,
    'sep-2575-http-server-no-independent-requests-on-stream': NO_TEST_TOOL,
    'sep-2575-missing-capability-http-400': NO_TEST_TOOL,
    'sep-2575-server-no-log-without-loglevel': NO_TEST_TOOL,
    'sep-2575-server-rejects-undeclared-capability': NO_TEST_TOOL,
    'tools-call-audio': NO_TEST_TOOL,
    'tools-call-embedded-resource': NO_TEST_TOOL,
    'tools-call-error': NO_TEST_TOOL,
    'tools-call-image': NO_TEST_TOOL,
    'tools-call-mixed-content': NO_TEST_TOOL,
    'tools-call-simple-text': NO_TEST_TOOL,
    'tools-call-with-progress': NO_TEST_TOOL,
    'sep-2243-server-decode-base64': NO_PARAMETER_HEADERS,
    'sep-2243-server-no-xmcp-tool': NO_PARAMETER_HEADERS,
    'sep-2243-server-reject-invalid-param-chars': NO_PARAMETER_HEADERS,
    'sep-2243-server-reject-param-mismatch': NO_PARAMETER_HEADERS,
    'sep-2243-server-validate-param-match': NO_PARAMETER_HEADERS,
    'sep-2322-multi-round-r1': NEVER_ASKS_BACK,
    'sep-2322-reject-tampered-state': NEVER_ASKS_BACK,
  },
}
/** Checks that passed when the lists were made. The suite has a version, so fewer mean that scenarios did not run. */
const PASSED_MIN = { '2025-11-25': 35, '2026-07-28': 84 } as const

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

t.test('the conformance suite', { skip }, async (t) => {
  const small = await makeSmallRelease(2)
  const client = await openClient(small.releasesDir)
  t.teardown(() => client.close())
  const served = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
  const authorization = `Bearer ${client.keyWithout()}`
  // The suite sends no key, so a proxy adds one and passes on all else as it comes.
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const passed = request(
      { host: served.hostname, port: served.port, method, path: url, headers: { ...headers, authorization } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  t.teardown(() => proxy.close())
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`

  for (const [revision, expected] of Object.entries(EXPECTED)) {
    const results = temporaryFolder('conformance')
    const suite = [validatorFile('@modelcontextprotocol/conformance/dist/index.js'), 'server']
    const options = ['--url', address, '--spec-version', revision, '--suite', 'all', '-o', results]
    // It ends with 1 where any check fails; what failed stands in its results.
    await promisify(execFile)(validatorFile(`${nodePackage}/bin/node`), [...suite, ...options], {
      timeout: 120_000,
      maxBuffer: 64 * 1024 * 1024,
    }).catch((error: { readonly code: unknown }) => {
      if (error.code !== 1) throw error
    })
    const checks = readdirSync(results).flatMap((folder): Check[] =>
      JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')),
    )
    const failed = checks.filter(({ status }) => status === 'FAILURE')
    t.same(failed.map(({ id }) => id).sort(), Object.keys(expected).sort(), `${revision}: what fails`)
    for (const { id, errorMessage = '' } of failed)
      t.match(errorMessage, expected[id] ?? /none is expected/, `${revision}: why ${id} fails`)
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length
    t.ok(passed >= PASSED_MIN[revision as keyof typeof PASSED_MIN], `${revision}: ${passed} checks passed`)
    t.comment(`${revision}: ${passed} passed, ${failed.length} failed as expected`)
  }
})
