/** Formats of a report, with content type and file extension. */
export const REPORT_FORMATS = {
  json: { contentType: 'application/json; charset=utf-8', extension: 'json' },
  csv: { contentType: 'text/csv; charset=utf-8; header=present', extension: 'csv' },
  arrow: { contentType: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
  parquet: { contentType: 'application/vnd.apache.parquet', extension: 'parquet' },
  xlsx: {
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extension: 'xlsx',
  },
  'json-stat': { contentType: 'application/vnd.json-stat+json', extension: 'json' },
} as const satisfies Record<string, { readonly contentType: string; readonly extension: string }>

export type ReportFormat = keyof typeof REPORT_FORMATS
export const REPORT_FORMAT_NAMES = Object.keys(REPORT_FORMATS) as ReportFormat[]
