/** The keys whose signatures can be checked here: the operator's own, and those that the operator trusts. Public halves only. */
import type { Verifier } from '../trust/note.ts'
import { loadNoteSigner } from './signing.ts'

export interface TrustSettings {
  readonly releasesDir: string
  readonly signingKeyFile: string
  readonly signingName: string | null
  readonly trustedKeys: readonly Verifier[]
}

export interface Trust {
  /** Folder of the releases, in which the log and the signatures are. */
  readonly releasesDir: string
  /** The operator's own key as it is now, or null where there is none. */
  own(): Verifier | null
  /** The own key and the trusted ones. */
  known(): readonly Verifier[]
}

export function createTrust({ releasesDir, signingKeyFile, signingName, trustedKeys }: TrustSettings): Trust {
  const own = (): Verifier | null => loadNoteSigner(signingKeyFile, signingName)?.verifier ?? null
  return {
    releasesDir,
    own,
    known() {
      const key = own()
      const isNamed = trustedKeys.some(({ verifierKey }) => verifierKey === key?.verifierKey)
      return key === null || isNamed ? trustedKeys : [key, ...trustedKeys]
    },
  }
}
