/**
 * `sus-data trino`: registers the tables of a release in Trino, drops them, and compares them with the manifests.
 * Tables are external over the folder in SUS_TRINO_LOCATION, so files do not move. Every action can be repeated safely.
 */
import { readdir } from 'node:fs/promises'
import { connectTrino } from '../../src/engine/trino/connect.ts'
import { TrinoError } from '../../src/engine/trino/errors.ts'
import { checkRegistered, registerReleases, unregisterRelease } from '../../src/engine/trino/register.ts'
import { AppError } from '../../src/errors.ts'
import { type Manifest, RELEASE_ID } from '../../src/release/manifest.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { readManifest } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { type Command, type ParsedArgs, UsageError } from '../command.ts'

export const command: Command = {
  name: 'trino',
  summary: 'Register releases with Trino, drop them, or compare what Trino reads with the manifests.',
  usage: ['trino register [ID…]', 'trino unregister ID…', 'trino check [ID…]'],
  options: { json: { type: 'boolean', help: 'Print JSON.' } },
  async run(args) {
    const [action, ...ids] = args.positionals
    if (action === 'register') return register(args, ids)
    if (action === 'unregister') return unregister(args, ids)
    if (action === 'check') return check(args, ids)
    throw new UsageError(
      `trino takes register, unregister or check${action === undefined ? '' : `, not ${JSON.stringify(action)}`}`,
    )
  },
}

/** Turns Trino's errors into messages for the operator. */
async function atTrino<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof AppError || error instanceof TrinoError)) throw error
    // Use the cause: the message for clients does not help an operator.
    throw new TrinoUnusable(`Trino at ${readSettings().trinoUrl}: ${reasonOf(deepest(error))}`)
  }
}
/** Explains certificate errors, the most common obstacle between two reachable machines. */
const reasonOf = (error: Error & { readonly code?: string }): string =>
  /CERT|SIGNATURE/.test(error.code ?? '')
    ? `${error.message}: NODE_EXTRA_CA_CERTS names a file with the authority that signed its certificate`
    : error.message
const deepest = (error: Error): Error => (error.cause instanceof Error ? deepest(error.cause) : error)

/** Reports that Trino failed to do what a command needs. The message is for the operator. */
class TrinoUnusable extends Error {
  override readonly name = 'TrinoUnusable'
}

const catalogOf = (settings: ReturnType<typeof readSettings>) => ({
  client: connectTrino({
    url: settings.trinoUrl,
    user: settings.trinoUser,
    passwordFile: settings.trinoPasswordFile,
    tokenFile: settings.trinoTokenFile,
  }),
  catalog: settings.trinoCatalog,
  location: settings.trinoLocation,
})

const print = (args: ParsedArgs, json: object, text: string): void =>
  void process.stdout.write(args.values.json === true ? `${JSON.stringify(json)}\n` : `${text}\n`)

/** @returns manifests of releases and their components; without ids, those of the release in service */
async function manifestsFor(releasesDir: string, ids: readonly string[]): Promise<Map<string, Manifest[]>> {
  const named = ids.length > 0 ? ids : [await readPointer(releasesDir)].filter((id) => id !== null)
  if (named.length === 0) throw new UsageError('no release is in service: name one')
  const present = new Set(await readdir(releasesDir))
  const found = new Map<string, Manifest[]>()
  for (const id of named) {
    if (!RELEASE_ID.test(id) || !present.has(id))
      throw new UsageError(`${JSON.stringify(id)} is not a release in ${releasesDir}`)
    const manifest = await readManifest(releasesDir, id)
    const joined = manifest.area === 'analytics' ? Object.values(manifest.components) : []
    found.set(id, [
      manifest,
      ...(await Promise.all(joined.map((componentId) => readManifest(releasesDir, componentId)))),
    ])
  }
  return found
}

async function register(args: ParsedArgs, ids: readonly string[]): Promise<number> {
  const settings = readSettings()
  const target = catalogOf(settings)
  for (const [id, manifests] of await manifestsFor(settings.releasesDir, ids)) {
    const tables = await atTrino(registerReleases(manifests, target))
    print(
      args,
      { release_id: id, tables },
      `${id}: ${tables} tables of ${manifests.length} releases in catalog ${target.catalog}`,
    )
  }
  return 0
}

async function unregister(args: ParsedArgs, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError('trino unregister takes the ids of releases')
  const unknown = ids.find((id) => !RELEASE_ID.test(id))
  if (unknown !== undefined) throw new UsageError(`${JSON.stringify(unknown)} is not the id of a release`)
  const target = catalogOf(readSettings())
  for (const id of ids) {
    const wasRegistered = await atTrino(unregisterRelease(id, target))
    print(
      args,
      { release_id: id, unregistered: wasRegistered },
      `${id}: ${wasRegistered ? 'unregistered; its files are as they were' : 'was not registered'}`,
    )
  }
  return 0
}

async function check(args: ParsedArgs, ids: readonly string[]): Promise<number> {
  const settings = readSettings()
  const target = catalogOf(settings)
  let isComplete = true
  for (const [id, manifests] of await manifestsFor(settings.releasesDir, ids)) {
    const problems: { release_id: string; problem: string }[] = []
    for (const manifest of manifests)
      for (const problem of await atTrino(checkRegistered(manifest, target)))
        problems.push({ release_id: manifest.release_id, problem })
    isComplete &&= problems.length === 0
    print(
      args,
      { release_id: id, registered: problems.length === 0, problems },
      problems.length === 0
        ? `${id}: Trino reads the files that were verified`
        : problems.map((entry) => `${entry.release_id}: ${entry.problem}`).join('\n'),
    )
  }
  return isComplete ? 0 : 1
}
