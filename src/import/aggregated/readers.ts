/** Lists the readers of aggregated files by kind of file. Workers look a reader up by this name, so a new area adds an entry here. */
import { readProduction } from '../sia/production-files.ts'
import { readAdmissions } from '../sih/admission-files.ts'
import { readDeaths } from '../sim/death-files.ts'
import { readBirths } from '../sinasc/birth-files.ts'

/** `groups` names the members of a result that hold sums by group. */
export const READERS = {
  admissions: { read: readAdmissions, groups: ['byHospital', 'byResidence', 'byFlow'] },
  births: { read: readBirths, groups: ['groups'] },
  production: { read: readProduction, groups: ['groups'] },
  deaths: { read: readDeaths, groups: ['groups', 'fetal'] },
} as const

export type FileKind = keyof typeof READERS
type ReadFunction<Kind extends FileKind> = (typeof READERS)[Kind]['read']
/** Attributes of a file from its name. */
export type NamePartsOf<Kind extends FileKind> = Parameters<ReadFunction<Kind>>[2]
/** Result of reading a file. */
export type ReadOf<Kind extends FileKind> = Awaited<ReturnType<ReadFunction<Kind>>>
/** Members of results that hold sums by group. */
export type GroupsMember = (typeof READERS)[FileKind]['groups'][number]
