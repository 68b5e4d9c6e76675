/**
 * The one error of API keys that an operator sees: a file that cannot be used, an id that is unknown, a bad argument.
 * Absent on purpose: any secret or hash. Clients never see it; a bad key of theirs is a plain 401.
 */
export class KeysError extends Error {
  /** @param message one sentence: what is wrong and what to do */
  constructor(message: string) {
    super(message)
    this.name = 'KeysError'
  }
}
