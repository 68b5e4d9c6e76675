/**
 * Limits untrusted JSON before it is parsed, by counting in its bytes. A parsed `{}` takes about thirty times its two bytes.
 * In: bytes. Out: the exceeded limit. It does not check that the bytes are valid JSON.
 */
export interface JsonLimits {
  readonly depth: number
  readonly objects: number
  /** Largest number of commas, as a measure of the number of values. */
  readonly values: number
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [BRACKET, CLOSED_BRACKET, BRACE, CLOSED_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

export function exceededLimit(bytes: Uint8Array, limits: JsonLimits): keyof JsonLimits | null {
  let [depth, objects, values, isText] = [0, 0, 0, false]
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]
    if (isText) {
      if (byte === BACKSLASH) index += 1
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA) {
      values += 1
      if (values > limits.values) return 'values'
    } else if (byte === CLOSED_BRACKET || byte === CLOSED_BRACE) depth -= 1
    else if (byte === BRACKET || byte === BRACE) {
      depth += 1
      objects += 1
      if (depth > limits.depth) return 'depth'
      if (objects > limits.objects) return 'objects'
    }
  }
  return null
}
