/** Public keys that verify signatures: the operator's key and the keys that the operator trusts. */
import type { Verifier } from '../trust/note.ts'
import { KeysError } from './keys-error.ts'
import { loadNoteSigner } from './signing.ts'

export interface TrustSettings {
  readonly releasesDir: string
  readonly signingKeyFile: string
  readonly signingName: string | null
  readonly trustedKeys: readonly Verifier[]
}

export interface Trust {
  /** Folder of the releases, which also holds the log and the signatures. */
  readonly releasesDir: string
  /** The operator's key as it is on disk now; null when there is none. */
  operatorKey(): Verifier | null
  /** The operator's key and the trusted keys. */
  verifiers(): readonly Verifier[]
}

export function createTrust({ releasesDir, signingKeyFile, signingName, trustedKeys }: TrustSettings): Trust {
  const operatorKey = (): Verifier | null => {
    try {
      return loadNoteSigner(signingKeyFile, signingName)?.verifier ?? null
    } catch (error) {
      // A damaged key verifies nothing. Commands that sign report it.
      if (error instanceof KeysError) return null
      throw error
    }
  }
  return {
    releasesDir,
    operatorKey,
    verifiers() {
      const key = operatorKey()
      const isNamed = trustedKeys.some(({ verifierKey }) => verifierKey === key?.verifierKey)
      return key === null || isNamed ? trustedKeys : [key, ...trustedKeys]
    },
  }
}
