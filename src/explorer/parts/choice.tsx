/** A list of the question form with one choice; choices that do not go with the question are disabled, with the reason. */
import { lookUp } from '../question.ts'

export function Choice(props: {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
  readonly reason?: string | null
  readonly without?: Readonly<Record<string, string>>
}) {
  const { name, label, value, options, reason = null, without = {} } = props
  // A value that is no longer offered, such as a removed release, stays visible until it is replaced.
  const allOptions = Object.hasOwn(options, value) ? options : { ...options, [value]: value }
  const hintId = `why-${name}`
  return (
    <label class="choice">
      <span>{label}</span>
      <select name={name} disabled={reason !== null} aria-describedby={reason === null ? undefined : hintId}>
        {Object.entries(allOptions).map(([code, text]) => {
          const disabledReason = code === value ? undefined : lookUp(without, code)
          return (
            <option key={code} value={code} selected={code === value} disabled={disabledReason !== undefined}>
              {disabledReason === undefined ? text : `${text} (${disabledReason})`}
            </option>
          )
        })}
      </select>
      {reason === null ? null : (
        <span class="reason" id={hintId}>
          {reason}
        </span>
      )}
    </label>
  )
}
