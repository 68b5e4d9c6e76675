/** Reads the keys of `--witness` and describes cosignatures, for the commands that check a checkpoint. */
import { type Cosignature, parseWitness, type Witness } from '../src/trust/cosignature.ts'
import { UsageError } from './command.ts'

export const WITNESS_OPTION = {
  type: 'string',
  value: 'KEYS',
  help: 'Keys of witnesses that must have cosigned the checkpoint, separated by commas.',
} as const

/** @throws UsageError for a text that is not a key of a witness */
export function readWitnesses(text: string | undefined): readonly Witness[] {
  return (text?.split(',') ?? []).map((each) => {
    const witness = parseWitness(each.trim())
    if (witness === null)
      throw new UsageError(
        '--witness takes keys of witnesses, name+id+key, of signature type 4 (cosignature/v1)',
      )
    return witness
  })
}

/** @returns one line for each cosignature */
export const describeCosignatures = (cosignatures: readonly Cosignature[]): string[] =>
  cosignatures.map(({ name, key_id, status, time }) =>
    status === 'valid'
      ? `cosigned by ${name}+${key_id} at ${time}`
      : status === 'invalid'
        ? `not cosigned by ${name}+${key_id}, whose name it carries`
        : `the signature of ${name}+${key_id} is not checked, because its key is unknown`,
  )
