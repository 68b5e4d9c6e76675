/** Every note has both languages and its parameters, in code, in the API document and in the documentation. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { NOTE } from '../../src/http/openapi/notes.ts'
import { sentenceOf, uniqueNotes, writeNotes } from '../../src/model/note-sentences.ts'
import { type Kind, NOTE_CODES, NOTES, type Note } from '../../src/model/notes.ts'

const SAMPLES: Readonly<Record<Exclude<Kind, readonly string[]>, unknown>> = {
  code: 'some_code',
  codes: ['AC', 'RR'],
  month: '2026-05',
  months: ['2026-04', '2026-05'],
  year: 2022,
  count: 7,
  month_by_metric: { one: '2026-05', other: null },
}
const sampleOf = (kind: Kind): unknown => (typeof kind === 'string' ? SAMPLES[kind] : kind[0])
const exampleOf = (code: (typeof NOTE_CODES)[number]): Note => {
  const params = Object.entries<Kind>(NOTES[code].params).map(([name, kind]) => [name, sampleOf(kind)])
  return { code, ...Object.fromEntries(params) } as Note
}
const { properties } = NOTE as { readonly properties: Readonly<Record<string, { enum?: string[] }>> }
const documentation = readFileSync(new URL('../../docs/analytics.md', import.meta.url), 'utf8')

t.test('each note has a sentence in both languages, and is documented', async (t) => {
  const kinds = new Map<string, string>()
  for (const code of NOTE_CODES) {
    const note = exampleOf(code)
    const [pt, en] = [sentenceOf(note, 'pt'), sentenceOf(note, 'en')]
    for (const text of [pt, en]) t.match(text, /^[^{}]{20,}\.$/, code)
    t.not(pt, en, code)
    t.notMatch(`${pt}${en}`, /undefined|NaN|\[object/, code)
    t.match(NOTES[code].when, /^[A-Z].*\.$/, code)
    t.ok(documentation.includes(`\n| \`${code}\` |`), `docs/analytics.md: ${code}`)
    for (const [name, kind] of Object.entries<Kind>(NOTES[code].params)) {
      t.ok(name in properties, `API document: ${name} of ${code}`)
      t.equal(kinds.get(name) ?? String(kind), String(kind), `${name} has one kind in all notes`)
      kinds.set(name, String(kind))
    }
  }
  t.same(properties.code?.enum, NOTE_CODES)
})

t.test('a note without its parameters does not compile', async () => {
  const notes: Note[] = [
    { code: 'no_share', metric: 'beds_sus_share' },
    // @ts-expect-error a parameter of another kind
    { code: 'no_share', metric: ['beds_sus_share'] },
    // @ts-expect-error a parameter is missing
    { code: 'no_estimate', metric: 'beds_sus_share' },
    // @ts-expect-error a parameter of another note
    { code: 'partial_residence', metric: 'beds_sus_share' },
    // @ts-expect-error no value of the parameter
    { code: 'null_rows', metric: 'beds_sus_share', rows: 1, total_rows: 2, reason: 'other' },
    // @ts-expect-error no note
    { code: 'no_such_note' },
  ]
  t.equal(notes.length, 6)
})

t.test('sentences name codes, or what a caller calls them', async (t) => {
  const gap: Note = {
    code: 'not_collected',
    dataset: 'bed_capacity',
    states: ['RR'],
    periods: ['2026-05'],
    effect: 'null_metrics',
    metrics: ['bed_capacity_sus'],
  }
  t.same(writeNotes([gap], 'pt'), [
    {
      ...gap,
      message:
        'bed_capacity, 2026-05: não coletado em RR; sem dado onde a resposta precisa disso: bed_capacity_sus.',
    },
  ])
  t.equal(
    sentenceOf({ ...gap, of_base: true }, 'en', (code) => code.toUpperCase()),
    'change: BED_CAPACITY 2026-05: not collected for RR; BED_CAPACITY_SUS is null where an answer needs it.',
  )
  t.same(uniqueNotes([gap, { code: 'partial_residence' }, { ...gap }]), [gap, { code: 'partial_residence' }])
})

t.test('long lists are short in sentences and whole in parameters', async (t) => {
  const states = ['AC', 'AL', 'AM', 'AP', 'BA', 'CE', 'DF', 'ES', 'GO', 'MA', 'MG', 'MS', 'MT', 'PA', 'PB']
  const periods = Array.from({ length: 14 }, (_, index) => `2025-${String(index).padStart(2, '0')}`)
  const gap = {
    code: 'not_collected',
    dataset: 'd',
    states,
    periods,
    effect: 'null_totals',
    metrics: [],
  } as const
  const [note] = writeNotes([gap], 'en')
  t.equal(
    note?.message,
    'd 14 months to 2025-13: not collected for states other than PE, PI, PR, RJ, RN, RO, RR, RS, SC, SE, SP, TO; totals are null.',
  )
  t.match(note, { states, periods })
})
