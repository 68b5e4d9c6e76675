/**
 * `sus-data attest`: imports the snapshots again into a temporary folder and signs that they give the same release. The
 * result is "same bytes" for an equal id, or "same content" for an equal content id (written by another version of DuckDB or
 * the importer). The note is stored beside the release, or printed when the release is elsewhere.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { checkContent } from '../../src/import/content.ts'
import { importPaths } from '../../src/import/import.ts'
import { loadNoteSigner } from '../../src/keys/signing.ts'
import { type Manifest, RELEASE_AREAS, RELEASE_ID } from '../../src/release/manifest.ts'
import { readManifest, verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { attest, writeAttestation } from '../../src/trust/release-notes.ts'
import { type Command, textOption, UsageError } from '../command.ts'
import { createProgress } from '../progress.ts'
import { withComponents } from '../recorder.ts'

const SNAPSHOTS = 'data'

export const command: Command = {
  name: 'attest',
  summary:
    'Import the snapshots of a release again and sign that they give the same bytes, or the same content.',
  usage: ['attest ID [--snapshots PATH,PATH…] [--json]'],
  options: {
    snapshots: {
      type: 'string',
      value: 'PATHS',
      help: `Files and folders with all snapshots of the release, and of those it joins. Default ${SNAPSHOTS}.`,
    },
    json: { type: 'boolean', help: 'Print JSON, without progress.' },
  },
  async run(args) {
    const [id, ...rest] = args.positionals
    if (id === undefined || !RELEASE_ID.test(id) || rest.length > 0)
      throw new UsageError('attest takes the id of one release')
    const isJson = args.values.json === true
    const { releasesDir, signingKeyFile, signingName } = readSettings()
    const signer = loadNoteSigner(signingKeyFile, signingName)
    if (signer === null) throw new UsageError('there is no signing key; keys signing create makes one')
    const progress = createProgress({ silent: isJson })
    const folder = await mkdtemp(join(tmpdir(), 'sus-data-attest-'))
    try {
      const paths = (textOption(args, 'snapshots') ?? SNAPSHOTS).split(',').map((path) => resolve(path))
      // The manifest lists the rejected rows that the operator accepted, so every share is allowed here.
      const result = await importPaths(paths, {
        releasesDir: folder,
        maxRejected: 1,
        withoutPopulation: true,
        partialPopulation: true,
        onProgress: (step) => progress.step(step),
      })
      progress.stop()
      const made = RELEASE_AREAS.flatMap((area) => result[area] ?? [])
      const isHere = existsSync(join(releasesDir, id, 'manifest.json'))
      const same = made.includes(id)
        ? id
        : isHere
          ? await findSameContent(releasesDir, id, folder, made)
          : null
      if (same === null) {
        const found = isHere ? await explain(releasesDir, id, folder, made) : []
        const lines = [`${id} was not rebuilt: the snapshots give ${made.join(', ')}`, ...found]
        process.stdout.write(
          isJson
            ? `${JSON.stringify({ release_id: id, rebuilt: false, made, differences: found })}\n`
            : `${lines.join('\n')}\n`,
        )
        return 1
      }
      const { duckdb_version, importer_version, catalog_version, content_id } = await readManifest(
        folder,
        same,
      )
      const outcome = same === id ? 'same bytes' : 'same content'
      const note = attest(
        id,
        {
          time: new Date().toISOString(),
          duckdb_version,
          importer_version,
          catalog_version,
          platform: `${process.platform} ${process.arch}`,
          result: outcome,
          ...(content_id === undefined ? {} : { content_id }),
        },
        signer,
      )
      const path = isHere ? writeAttestation(releasesDir, id, note, signer) : null
      const { name, keyId } = signer.verifier
      const place =
        path === null
          ? `The release is not here. Its operator puts this note at attestations/${keyId}.note in its folder:\n\n${note}`
          : `${path}\n`
      process.stdout.write(
        isJson
          ? `${JSON.stringify({ release_id: id, rebuilt: true, result: outcome, made: same, content_id, name, note, file: path })}\n`
          : `${id}: rebuilt and attested by ${name}\n${describeResult(outcome, same)}${place}`,
      )
      return 0
    } finally {
      progress.stop()
      await rm(folder, { recursive: true, force: true })
    }
  },
}

/**
 * Compares rows as they are in the files: the digests in a manifest are those that its maker states.
 * @returns the new release with the same content as the given release, or null
 * @throws ReleaseRefused when files of the given release are not those of its manifest, or have other rows than it states
 */
async function findSameContent(
  releasesDir: string,
  id: string,
  madeDir: string,
  made: readonly string[],
): Promise<string | null> {
  for (const each of await withComponents(releasesDir, id)) await verifyRelease(releasesDir, each)
  const { contentId } = await checkContent(releasesDir, id)
  const manifests = await Promise.all(made.map((each) => readManifest(madeDir, each)))
  return manifests.find(({ content_id }) => content_id === contentId)?.release_id ?? null
}

function describeResult(result: 'same bytes' | 'same content', made: string): string {
  return result === 'same bytes'
    ? 'same bytes\n'
    : `same content: every row, snapshot and rule; other bytes, written by another version as ${made}\n`
}

/** @returns differences between a release, or its components, and the new releases of the same areas */
async function explain(
  releasesDir: string,
  id: string,
  madeDir: string,
  made: readonly string[],
): Promise<string[]> {
  const manifest = await readManifest(releasesDir, id)
  const others = await Promise.all(made.map((each) => readManifest(madeDir, each)))
  const other = others.find(({ area }) => area === manifest.area)
  if (other === undefined) return [`no snapshot of ${manifest.area} was given`]
  if (other.release_id === id) return []
  const joined = Object.values(manifest.components)
  const below = await Promise.all(joined.map((each) => explain(releasesDir, each, madeDir, made)))
  return [...new Set([...below.flat(), ...differences(manifest, other)])]
}

function differences(manifest: Manifest, other: Manifest): string[] {
  const { area } = manifest
  const listUnshared = (release: Manifest, compared: Manifest): string => {
    const comparedDigests = new Set(compared.snapshots.map(({ sha256 }) => sha256))
    return release.snapshots
      .filter(({ sha256 }) => !comparedDigests.has(sha256))
      .map(({ file, sha256 }) => `${file} (SHA-256 ${sha256.slice(0, 12)}…)`)
      .join(', ')
  }
  const versions = (['duckdb_version', 'importer_version', 'catalog_version'] as const)
    .filter((name) => manifest[name] !== other[name])
    .map((name) => `${area}: ${name} is ${other[name]} here, ${manifest[name]} in the release`)
  const [missing, added] = [listUnshared(manifest, other), listUnshared(other, manifest)]
  const digests = new Map(other.files.map(({ path, sha256 }) => [path, sha256]))
  const file = manifest.files.find(({ path, sha256 }) => digests.get(path) !== sha256)?.path
  return [
    ...versions,
    ...(missing === '' ? [] : [`${area}: these snapshots of the release were not given: ${missing}`]),
    ...(added === '' ? [] : [`${area}: these snapshots are not those of the release: ${added}`]),
    ...(file === undefined ? [] : [`${area}: the first file that differs is ${file}`]),
  ]
}
