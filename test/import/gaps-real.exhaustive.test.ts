/** A real month with the registry alone: what it says, and null for what needs beds, equipment or services. */
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const isMissing = (dataset: string, state: string) => (note: WrittenNote) =>
  note.code === 'not_collected' &&
  note.dataset === dataset &&
  note.states.includes(state) &&
  note.periods.includes('2019-12')

t.test('Sergipe, facilities of 2019-12 alone', { skip: skipWithoutShared }, async (t) => {
  const releasesDir = join(temporaryFolder('gaps-real'), 'releases')
  const files = [sharedPath('ibge'), sharedPath('cnes/dbc/STSE1912.DBF.gz')]
  const { analytics } = await importPaths(files, { releasesDir, maxRejected: 0.001 })
  await promoteRelease(releasesDir, analytics)
  const client = await openClient(releasesDir)
  // Rows of the file, and rows with VINC_SUS 1, counted by a plain look at it.
  const published = { facilities_count: 3802, facilities_linked_sus: 1265 }
  const needing = {
    facilities_sus: null,
    facilities_sus_share: null,
    facilities_with_beds: null,
    facilities_with_equipment: null,
    bed_capacity_existing: null,
  }
  const metrics = [...Object.keys(published), ...Object.keys(needing)]
  const inState = (value: string) => [{ dimension: 'state', operator: 'EQ', value }]
  for (const filters of [[], inState('SE')]) {
    const { body } = await client.query({ metrics, filters })
    t.strictSame(body.data[0].metrics, { ...published, ...needing })
    t.ok(body.meta.notes.some(isMissing('equipment_inventory', 'SE')))
  }
  const { body } = await client.query({ metrics, filters: inState('AC') })
  t.ok(Object.values(body.data[0].metrics).every((value) => value === null))
  t.ok(body.meta.notes.some(isMissing('facilities', 'AC')))
  await client.close()
})
