/** Accounts of health financing. The specification has no capability for them, so analytics.query.read applies. */
import { DATASETS } from '../../model/datasets.ts'
import { SOURCE_CODES, SOURCES, type SourceText } from '../../model/financing/code-lists.ts'
import { codesIn } from '../../query/lists/filters.ts'
import type { Route } from '../route.ts'

const describeSources = (filter: string | undefined) => {
  const codes = filter === undefined ? SOURCE_CODES : codesIn(filter)
  return SOURCE_CODES.filter((code) => codes.includes(code)).map((code) => {
    const { label, means, adds }: SourceText = SOURCES[code]
    return {
      source: code,
      label: label[0],
      label_en: label[1],
      means: means[0],
      means_en: means[1],
      adds: adds[0],
      adds_en: adds[1],
    }
  })
}

export const HEALTH_FINANCING: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/health-financing/sources',
    operation: 'listHealthFinancing',
    summary:
      'Accounts of health financing by source, government, year, stage and category, each row with the published file and rows it is of; meta.sources says what the numbers of each source mean and what of them may be added.',
    capability: 'analytics.query.read',
    dataset: DATASETS.health_financing,
    filters: Object.keys(DATASETS.health_financing.filters),
    limit: { default: 25, max: 100 },
    response: 'HealthFinancingSourcesResponse',
    about: ({ source }) => ({ sources: describeSources(source) }),
  },
]
