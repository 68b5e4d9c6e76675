/** Fields of the question form for a group of municipalities that the visitor pastes. */
import type { Catalog } from '../api.ts'
import { GROUP_CODES_MAX, GROUP_DIMENSIONS, type UnresolvedLine } from '../own-group.ts'
import { change, type Question, withGroup } from '../question.ts'
import { Choice, type Mark, Picker } from './picker.tsx'
import { useQuestionHref, useSite } from './site.tsx'
import { dimensionOf, labelOf } from './table.tsx'

export function GroupFields(props: {
  readonly question: Question
  readonly catalog: Catalog
  readonly unresolved: readonly UnresolvedLine[]
}) {
  const { question, catalog, unresolved } = props
  const { t, language } = useSite()
  const questionHref = useQuestionHref()
  const { group } = question
  const codes = group?.codes ?? []
  const hrefWith = (changed: Question['group']): string =>
    questionHref(change(question, { group: changed, groupBy: withGroup(question.groupBy, changed) }))
  const marks: Mark[] =
    group === null || codes.length === 0
      ? []
      : [
          {
            key: 'group',
            label: t.group.mark(group.name, codes.length),
            without: hrefWith(null),
          },
        ]
  const kinds = GROUP_DIMENSIONS.filter((code) => dimensionOf(catalog, code) !== undefined)
  return (
    <Picker title={t.group.title} emptyText={t.group.none} marks={marks} isOpen={(group?.paste ?? '') !== ''}>
      {codes.length === 0 ? null : <input type="hidden" name="group.in" value={codes.join(',')} />}
      <label class="choice">
        <span>{t.group.name}</span>
        <input type="text" name="group.name" value={group?.name ?? ''} maxLength={60} />
      </label>
      <Choice
        name="group.of"
        label={t.group.of}
        value={group?.of ?? 'municipality'}
        options={Object.fromEntries(
          kinds.map((code) => [code, labelOf(dimensionOf(catalog, code), language)]),
        )}
      />
      <label class="choice">
        <span>{t.group.paste(GROUP_CODES_MAX)}</span>
        <textarea name="group.paste" rows={4} value={group?.paste ?? ''} />
      </label>
      {group === null || unresolved.length === 0 ? null : (
        <div role="status">
          <ul class="unresolved">
            {unresolved.map(({ text, candidates }) => (
              <li key={text}>
                <strong>{text}</strong>: {candidates.length === 0 ? t.group.unknown : t.group.ambiguous}{' '}
                {candidates.map((member) => (
                  <a
                    key={member.code}
                    class="button"
                    href={hrefWith({
                      ...group,
                      codes: [...codes, String(member.code)],
                      paste: unresolved
                        .filter((line) => line.text !== text)
                        .map((line) => line.text)
                        .join('\n'),
                    })}
                  >
                    {member.name} ({member.parent?.code})
                  </a>
                ))}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Picker>
  )
}
