/** Cosignatures of checkpoints: one that torchwood (Go) made, and what must not pass for one. */
import t from 'tap'
import { checkCosignatures, parseWitness, readCosignatures } from '../../src/trust/cosignature.ts'
import { parseVerifier } from '../../src/trust/note.ts'

const LOG = 'example.org/log+d286f1b3+AUPnqEyBju0OpNONdoOxmwsEjdXIxDXl0izkmg0+l2OK'
const WITNESS = 'example.org/witness+f2d1259d+BM8sFIna2GFnTZbmoBCtShPFzFGh8R9jk/yqNafMgzvY'
const CHECKPOINT = `example.org/log
1
2cLWa1IsJSJyj1Of+fZ7hdQN7/8JX8ilKMmU9PNbs94=

— example.org/log 0obxs018V1xnTLzw1puVcEeBNcOIHTuMAta8P6xkeqlw1NM+uopy1haPILJALq6wOYcNPuAi9JY6LQYktvi8nkHWmgw=
— example.org/witness 8tElnQAAAABrBhNX0k2h5DMzO6Vqt7mee4TqTwd83muwFxTGAprnzI2qLYlwfaZK/k8HGGO2G77SrqAVFfL093/Ae1sYFpWQZNsWCQ==
`
const log = parseVerifier(LOG)
const witness = parseWitness(WITNESS)
if (log === null || witness === null) throw new Error('not read')
const { name, keyId } = witness

/** The checkpoint, with one byte of the cosignature changed. */
function changedAt(byte: number): string {
  const [head, encoded = ''] = CHECKPOINT.split(`— ${name} `)
  const bytes = Buffer.from(encoded, 'base64')
  bytes[byte] = (bytes[byte] ?? 0) ^ 1
  return `${head}— ${name} ${bytes.toString('base64')}\n`
}

t.test('a cosignature that another implementation made', async (t) => {
  const cosignatures = readCosignatures(CHECKPOINT, [log], [witness])
  t.match(cosignatures, [{ name, key_id: keyId, status: 'valid', time: '2026-11-24T22:44:39.000Z' }])
  t.equal(cosignatures.length, 1, 'the signature of the log is none')
  t.same(checkCosignatures(cosignatures, [witness]), [])
  t.match(readCosignatures(CHECKPOINT, [log], []), [{ name, key_id: keyId, status: 'unknown', time: null }])
})

t.test('what is not what the witness signed', async (t) => {
  // Bytes 0 to 3 are the key id, 4 to 11 the time, and the rest is the signature.
  for (const byte of [4, 11, 12, 75]) {
    const cosignatures = readCosignatures(changedAt(byte), [log], [witness])
    t.match(cosignatures, [{ name, status: 'invalid', time: null }], `byte ${byte}`)
    t.match(checkCosignatures(cosignatures, [witness]), [/^was not cosigned by example\.org\/witness/])
  }
  const other = readCosignatures(changedAt(0), [log], [witness])
  t.match(other, [{ name, status: 'unknown' }], 'another key of that name')
  t.match(checkCosignatures(other, [witness]), [/^is not cosigned by example\.org\/witness$/])
  const [text = ''] = CHECKPOINT.split('\n\n')
  const moved = CHECKPOINT.replace(text, text.replace('\n1\n', '\n2\n'))
  t.match(readCosignatures(moved, [], [witness])[1], { status: 'invalid' }, 'of another size')
})

t.test('keys of witnesses', async (t) => {
  t.equal(parseWitness(LOG), null, 'a key that signs logs does not cosign')
  t.equal(parseVerifier(WITNESS), null)
  for (const text of ['', name, WITNESS.replace(keyId, '00000000'), WITNESS.slice(0, -4), `x${WITNESS}`])
    t.equal(parseWitness(text), null, text)
})
