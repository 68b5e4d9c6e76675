/** Tells final files of deaths and births from preliminary ones by the publisher's folder. No file says it inside. */
import type { Coverage } from '../../release/manifest.ts'

export type PublicationStatus = NonNullable<Coverage['status']>[string]

const PRELIMINARY_FOLDER = /(^|[\\/])PRELIM[\\/]/i
/** Folders of final files: deaths by CID-10 and CID-9, births from 1996 on and of 1994 and 1995. */
const FINAL_FOLDER = /(^|[\\/])(CID(10|9)[\\/]DO(RES|FET)|(1996_|1994_1995)[\\/]Dados)[\\/]/i

/** @param path of a file, on disk or inside an archive @returns null where no folder of the path says it */
export function publicationStatusOf(path: string): PublicationStatus | null {
  if (PRELIMINARY_FOLDER.test(path)) return 'preliminary'
  return FINAL_FOLDER.test(path) ? 'final' : null
}
