/** Reports: an analytics query's rows as a file with its own proof. */
import { createReadStream, openSync, unlinkSync } from 'node:fs'
import { z } from 'zod'
import { readPin } from '../../analytics/query.ts'
import { AppError, both } from '../../errors.ts'
import { reportSchema } from '../../query/analytics/request.ts'
import { componentAs, jsonText } from '../../query/text-schemas.ts'
import { formatPeriod } from '../../release/view.ts'
import type { BuiltReport } from '../../report/build.ts'
import { REPORT_FORMAT_NAMES, REPORT_FORMATS, type ReportFormat } from '../../report/formats.ts'
import type { Call, FileResult, Route, Services } from '../route.ts'
import { readLinkedPin, readLinkedQuery } from './linked-query.ts'

const REPORT_COST = 20

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function answerReport(
  { view, key, language, signal }: Call,
  { reports }: Services,
  { body, format }: { readonly body: unknown; readonly format: ReportFormat },
): Promise<FileResult> {
  if (view === null) throw new AppError('not_ready', { headers: { 'Retry-After': '5' } })
  // HEAD also builds the report: errors and headers are unknown before.
  const report = await reports.build(
    { owner: key?.id ?? '', body, format, view, capabilities: key?.capabilities ?? [], language },
    signal(),
  )
  const period = report.referencePeriod?.split(', ').at(-1) ?? formatPeriod(view.analytics.month)
  return {
    content: openOnce(report),
    contentType: REPORT_FORMATS[format].contentType,
    headers: {
      'content-disposition': `attachment; filename="sus-data-${period}-${report.fingerprint.slice(0, 12)}.${REPORT_FORMATS[format].extension}"`,
      'content-length': String(report.bytes),
      'x-report-fingerprint': report.fingerprint,
      'x-report-row-count': String(report.rows),
      'x-artifact-sha256': report.sha256,
      ...(report.signature === null ? {} : { 'x-report-signature': report.signature }),
    },
    rows: report.rows,
    ...(report.engine === null ? {} : { engine: report.engine }),
  }
}

/** Opens the file and unlinks it at once, so that nothing remains however the answer ends. */
function openOnce({ file }: BuiltReport): ReturnType<typeof createReadStream> {
  const handle = openSync(file, 'r')
  unlinkSync(file)
  return createReadStream('', { fd: handle, highWaterMark: 1 << 18 })
}

const formatSchema = z.enum(REPORT_FORMAT_NAMES)
const exportSchema = componentAs(
  reportSchema.extend({ format: formatSchema.optional() }),
  'AnalyticsExportRequest',
)

/** @returns the export format from query parameter or body. @throws AppError 'invalid_request' when they differ */
function readFormat(parameter: string | undefined, field: unknown): ReportFormat {
  const parsed = formatSchema.safeParse(field ?? parameter ?? 'json')
  if (!parsed.success)
    throw new AppError('invalid_request', {
      errors: [
        {
          pointer: '/format',
          message: both('deve ser um dos valores permitidos', 'must be one of the allowed values'),
          allowed: REPORT_FORMAT_NAMES,
        },
      ],
    })
  if (parameter !== undefined && parameter !== parsed.data)
    throw new AppError('invalid_request', {
      errors: [
        {
          pointer: '/format',
          message: both(
            'deve ser igual ao parâmetro format do endereço',
            'must equal the query parameter format',
          ),
        },
      ],
    })
  return parsed.data
}

const xlsxRoute = (path: string, operation: string): Route => ({
  kind: 'custom',
  method: 'POST',
  path,
  operation,
  cost: REPORT_COST,
  summary: 'A query’s rows, all of them, as a reproducible workbook with its manifest.',
  capability: 'analytics.query.read',
  release: 'analytics',
  response: 'AnalyticsExportResponse',
  body: reportSchema,
  produces: [REPORT_FORMATS.xlsx.contentType],
  bodyPin: readPin,
  handle: (call, services) => answerReport(call, services, { body: call.body, format: 'xlsx' }),
})

const produces = Object.values(REPORT_FORMATS).map(({ contentType }) => contentType)

export const EXPORTS: readonly Route[] = [
  xlsxRoute('/v1/analytics/exports/xlsx', 'exportWorkbook'),
  xlsxRoute('/v1/analytics/export/xlsx', 'exportWorkbookByAlias'),
  {
    kind: 'custom',
    method: 'GET',
    path: '/v1/analytics/export',
    operation: 'exportAnalyticsByLink',
    cost: REPORT_COST,
    summary: 'A report as a link: the request as JSON in q, the file in the format asked for.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsExportResponse',
    query: { q: jsonText(16_000), format: formatSchema.optional() },
    produces,
    bodyPin: (_body, { q }) => readLinkedPin(q),
    handle: (call, services) => {
      const body = readLinkedQuery(call.query.q)
      return answerReport(call, services, { body, format: readFormat(call.query.format, undefined) })
    },
  },
  {
    kind: 'custom',
    method: 'POST',
    path: '/v1/analytics/export',
    operation: 'exportAnalytics',
    cost: REPORT_COST,
    summary: 'A query’s rows, all of them, with manifest and fingerprint, in the format asked for.',
    capability: 'analytics.query.read',
    release: 'analytics',
    response: 'AnalyticsExportResponse',
    query: { format: formatSchema.optional() },
    body: exportSchema,
    produces,
    bodyPin: readPin,
    handle: (call, services) => {
      const { format, ...body } = isObject(call.body) ? call.body : { format: undefined }
      return answerReport(call, services, {
        body: isObject(call.body) ? body : call.body,
        format: readFormat(call.query.format, format),
      })
    },
  },
  {
    kind: 'custom',
    method: 'GET',
    path: '/.well-known/sus-data-signing-key',
    operation: 'getSigningKey',
    summary: 'The operator’s public key, with which the signatures of reports are checked.',
    capability: null,
    release: null,
    response: 'SigningKeyResponse',
    handle: async (_call, { trust }) => {
      const signingKey = trust.operatorKey()
      if (signingKey === null) throw new AppError('not_found')
      return {
        data: {
          algorithm: 'Ed25519',
          public_key: signingKey.publicKey,
          signs: 'the 64 characters of a fingerprint',
          name: signingKey.name,
          verifier_key: signingKey.verifierKey,
        },
      }
    },
  },
]
