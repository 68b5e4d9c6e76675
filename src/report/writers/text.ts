/** Writes reports as text: CSV with the manifest in a first comment line, JSON with the manifest as its last member. */

import { describeRow } from '../../analytics/described-rows.ts'
import type { AggregatePlan } from '../../query/analytics/plan.ts'
import { namesOfGroups } from '../../query/analytics/query-plan.ts'
import { canonicalJson } from '../../release/digest.ts'
import type { ReportManifest } from '../manifest.ts'
import { type Column, type Language, planOfRow } from '../table.ts'
import { csvHeader, csvLine } from './csv.ts'
import type { FileSink, TableWriter } from './index.ts'

/** Start of the CSV line with the manifest, which CSV readers skip as a comment. */
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
  /** Level of the rows being written: 0 for the query, then one per total. */
  let level = 0
  const openLevel = async (): Promise<void> => {
    level += 1
    isFirst = true
    const total = plan.totals[level - 1]
    const groups = JSON.stringify(total === undefined ? [] : namesOfGroups(total))
    const separator = level === 1 ? '\n],"totals":[' : '\n]},'
    await sink.write(`${separator}\n{"group_by":${groups},"data":[`)
  }
  return {
    begin: () => sink.write('{"data":['),
    async rows({ rows }) {
      for (const row of rows) {
        const rowPlan = planOfRow(row, plan)
        while (level < plan.totals.indexOf(rowPlan) + 1) await openLevel()
        await sink.write(`${isFirst ? '\n' : ',\n'}${JSON.stringify(describeRow(row, rowPlan, language))}`)
        isFirst = false
      }
    },
    async end(manifest) {
      while (level < plan.totals.length) await openLevel()
      await sink.write(`\n]${level === 0 ? '' : '}]'},"manifest":${canonicalJson(manifest)}}\n`)
    },
  }
}
