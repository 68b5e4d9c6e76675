/**
 * What a folder of import/ gives, one for each area of releases: how its files are recognised, and how the release is made of
 * them. Types only. A new source is a new folder (recognise, read, map), named in the list of import.ts.
 */
import type { Area } from '../model/datasets.ts'
import type { Manifest, Snapshot } from '../release/manifest.ts'
import type { FoundFile, Recogniser } from './discover.ts'
import type { EmptiedFile } from './file-contents.ts'
import type { Session } from './session.ts'
import type { NamedCheck } from './write-parquet.ts'

export interface AreaImporter extends Recogniser {
  readonly area: Area
  /** Areas whose releases this one is made with. */
  readonly needs: readonly Area[]
  /**
   * Looks at the files together, before anything is made.
   *
   * @param files those the area recognised
   * @param unknown gets the names of files that hold nothing of the area after all
   * @returns null where there is nothing to import
   */
  open(
    files: readonly FoundFile[],
    unknown: string[],
    onProgress: (step: string) => void,
  ): Promise<AreaFiles | null>
}

export interface AreaFiles {
  /** The files themselves say that the demonstration made them. */
  readonly synthetic: boolean
  /**
   * Begins what needs no other area, while those before it are built; `build` awaits it.
   * @returns ends it, for an import that fails; resolves when nothing of it is running
   */
  begin?(session: Session, onProgress: (step: string) => void): () => Promise<void>
  /** Writes the Parquet files of the release. @throws ImportError */
  build(context: BuildContext): Promise<BuiltArea>
}

export interface BuildContext {
  readonly session: Session
  /** Folder that becomes the release. */
  readonly staging: string
  /** Folders of the releases of the areas needed, where they are here. */
  readonly needed: ReadonlyMap<Area, string>
  readonly onProgress: (step: string) => void
  /** Processes that may read files at once; what is made is the same with any number. */
  readonly threads: number
  /** Allows a population that lacks municipalities: theirs, and sums over them, are null. */
  readonly partialPopulation: boolean
}

/** What the manifest says of a release, beside its files. */
export interface BuiltArea {
  readonly datasets: Manifest['datasets']
  readonly rowsByFile: ReadonlyMap<string, number>
  readonly snapshots: readonly Snapshot[]
  /** The state where there is just one, else br. */
  readonly scope: string
  readonly counts: Record<string, number>
  readonly setAside: Manifest['set_aside']
  /** First rows by setAsideKey(), for messages; of an area whose release has a table of such rows, that is read. */
  readonly firstRows?: ReadonlyMap<string, readonly number[]>
  /** Rows set aside because they could not be loaded, of `read` rows: what --max-rejected bounds. */
  readonly rejected: number
  readonly read: number
  readonly checks: readonly NamedCheck[]
  /** Files without rows although those of the months around them have some. */
  readonly emptied?: readonly EmptiedFile[]
  readonly coverage: Manifest['coverage']
  readonly headers?: Manifest['headers']
  readonly month: number
  readonly censusYear: number | null
  /** Edition of the territorial base, where the area has one. */
  readonly territoryEdition?: string
}
