/** Errors of an import between processes, and the rows that their texts name. */
import t from 'tap'
import {
  ImportError,
  LimitReached,
  nameFirst,
  packError,
  UnknownContent,
  unpackError,
} from '../../src/import/import-error.ts'

t.test('an error from a worker keeps its class and its text', async (t) => {
  for (const Kind of [ImportError, LimitReached, UnknownContent]) {
    const thrown = new Kind('RDRR2401.dbc', 'is cut', 'Fetch the file again')
    const received = unpackError(structuredClone(packError(thrown)))
    t.equal(received.constructor, Kind, Kind.name)
    t.same(
      [received.message, received.file, received.problem, received.remedy],
      [thrown.message, thrown.file, thrown.problem, thrown.remedy],
    )
  }
})

t.test('the first rows, features or municipalities', async (t) => {
  t.equal(nameFirst({ noun: 'row', numbers: [7] }), 'row 7')
  t.equal(nameFirst({ noun: 'feature', numbers: [7, 9, 12] }), 'features 7, 9, 12')
  t.equal(nameFirst({ noun: 'municipality', numbers: [1, 2, 3, 4] }), 'municipalities 1, 2, 3 …')
})
