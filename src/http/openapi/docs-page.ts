/** Serves /docs: swagger-ui shows /openapi.json. The policy allows nothing from other servers. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // swagger-ui uses inline styles.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>sus-data API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`
const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#page',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
})
`
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

export interface DocsPage {
  readonly path: string
  readonly type: string
  readonly policy: string
  readonly read: () => string | Buffer
}

export function docsPages(): DocsPage[] {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const page = (path: string, type: string, read: DocsPage['read']): DocsPage => ({
    path,
    type,
    policy: POLICY,
    read,
  })
  return [
    page('/docs', 'text/html; charset=utf-8', () => PAGE),
    page('/docs/', 'text/html; charset=utf-8', () => PAGE),
    page('/docs/start.js', 'text/javascript; charset=utf-8', () => START),
    ...Object.entries(ASSETS).map(([name, type]) =>
      page(`/docs/${name}`, type, () => readFileSync(join(folder, name))),
    ),
  ]
}
