/**
 * Error about API keys for operators: an unusable file, an unknown id, an invalid argument. It never contains a secret or hash.
 * Clients never see it; their invalid keys get a plain 401.
 */
export class KeysError extends Error {
  /** @param message one sentence: the problem and its remedy */
  constructor(message: string) {
    super(message)
    this.name = 'KeysError'
  }
}
