/**
 * How much a JSON text makes, counted in its bytes before anything is made of it: a parsed `{}` takes some thirty times its two bytes.
 * In: bytes that nobody vouches for. Out: whether they are within limits. Not here: whether they are JSON.
 */
export interface JsonLimits {
  /** Objects and lists in each other. */
  readonly depth: number
  /** Objects and lists in all. */
  readonly objects: number
  /** Values in all, as far as commas stand between them. */
  readonly values: number
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [BRACKET, CLOSED_BRACKET, BRACE, CLOSED_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** @returns the limit that a text exceeds; null where it is within all */
export function exceededLimit(bytes: Uint8Array, limits: JsonLimits): keyof JsonLimits | null {
  let [depth, objects, values, isText] = [0, 0, 0, false]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (isText) {
      if (byte === BACKSLASH) at += 1
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
