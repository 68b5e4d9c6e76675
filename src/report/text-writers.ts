/** Reports as text: CSV with the manifest in a first comment line, JSON with the manifest as its last member. */
import type { AggregatePlan } from '../query/aggregate.ts'
import { describeRow } from '../query/result.ts'
import { canonicalJson } from '../release/digest.ts'
import { csvHeader, csvLine } from './csv.ts'
import type { ReportManifest } from './manifest.ts'
import type { Column, Language } from './table.ts'
import type { FileSink, TableWriter } from './writers.ts'

/** Begins the line of a CSV report that carries its manifest; readers of CSV skip it as a comment. */
export const CSV_MANIFEST_MARK = '# sus-data-report '

export function createCsvWriter(sink: FileSink, columns: readonly Column[]): TableWriter {
  let draft: ReportManifest
  return {
    async begin(newDraft) {
      draft = newDraft
      await sink.write(`${CSV_MANIFEST_MARK}${canonicalJson(draft)}\r\n${csvHeader(columns)}`)
    },
    rows: ({ cells }) => sink.write(cells.map((row) => csvLine(row, columns)).join('')),
    end: (manifest) => sink.replaceDraft(draft, manifest),
  }
}

export function createJsonWriter(sink: FileSink, plan: AggregatePlan, language: Language): TableWriter {
  let isFirst = true
  return {
    begin: () => sink.write('{"data":['),
    async rows({ rows }) {
      for (const row of rows) {
        await sink.write(`${isFirst ? '\n' : ',\n'}${JSON.stringify(describeRow(row, plan, language))}`)
        isFirst = false
      }
    },
    end: (manifest) => sink.write(`\n],"manifest":${canonicalJson(manifest)}}\n`),
  }
}
