/**
 * Types that each area folder of import/ implements: how it recognises its files and builds its release. To add a source, add a
 * folder (recognise, read, map) and list it in import.ts.
 */
import type { Area } from '../model/datasets.ts'
import type { Manifest, Snapshot } from '../release/manifest.ts'
import type { FoundFile, Recogniser } from './discover.ts'
import type { EmptiedFile } from './file-contents.ts'
import type { NamedNumbers } from './import-error.ts'
import type { Session } from './session.ts'
import type { NamedCheck } from './write-parquet.ts'

export interface AreaImporter extends Recogniser {
  readonly area: Area
  /** It recognises files by their names alone, so it is consulted before importers that look at the contents. */
  readonly recognisesNames?: true
  /**
   * Inspects all files of the area before anything is built.
   * @param unknown receives the names of recognised files that turn out to hold no data of the area
   * @returns null if there is nothing to import
   */
  open(
    files: readonly FoundFile[],
    unknown: string[],
    onProgress: (step: string) => void,
  ): Promise<AreaFiles | null>
}

export interface AreaFiles {
  /** True if the files are marked as generated for the demonstration. */
  readonly synthetic: boolean
  /**
   * Starts work that needs no other area while earlier areas are built. `build` awaits that work.
   * @returns a function that stops the work if the import fails, and resolves once none of it is running
   */
  begin?(session: Session, onProgress: (step: string) => void): () => Promise<void>
  /** Writes the Parquet files of the release. @throws ImportError */
  build(context: BuildContext): Promise<BuiltArea>
}

export interface BuildContext {
  readonly session: Session
  /** Folder that is renamed to become the release. */
  readonly staging: string
  /** Release folders of the needed areas that are available. */
  readonly needed: ReadonlyMap<Area, string>
  readonly onProgress: (step: string) => void
  /** Maximum number of processes that read files at once. It does not change the output. */
  readonly threads: number
  /** Accepts a population without some municipalities. Their values and sums over them are null. */
  readonly partialPopulation: boolean
}

/** Manifest contents of a release, except its list of files. */
export interface BuiltArea {
  readonly datasets: Manifest['datasets']
  readonly rowsByFile: ReadonlyMap<string, number>
  readonly snapshots: readonly Snapshot[]
  /** State code in lower case if the release covers one state, otherwise `br`. */
  readonly scope: string
  readonly counts: Record<string, number>
  readonly setAside: Manifest['set_aside']
  /** First rejected rows by setAsideKey(), for messages. Areas that write a table of rejected rows omit it. */
  readonly firstRows?: ReadonlyMap<string, NamedNumbers>
  /** Rows out of `read` that could not be loaded. --max-rejected limits their share. */
  readonly rejected: number
  readonly read: number
  readonly checks: readonly NamedCheck[]
  /** Empty files whose neighbouring months have rows. */
  readonly emptied?: readonly EmptiedFile[]
  readonly coverage: Manifest['coverage']
  readonly headers?: Manifest['headers']
  readonly month: number
  readonly censusYear: number | null
  readonly territoryEdition?: string
}
