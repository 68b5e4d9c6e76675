/** Shows where and when published files were fetched, as the operator recorded it. */
import type { Acquisition } from '../../answers/releases.ts'
import { formatBytes } from '../numbers.ts'
import { Rows } from './rows.tsx'
import { useSite } from './site.tsx'

/** The page names the publisher elsewhere. */
export type FetchedFile = Omit<Acquisition, 'publisher'>

export function Acquisitions({ acquisitions }: { readonly acquisitions: readonly FetchedFile[] }) {
  const { t, language } = useSite()
  return (
    <Rows
      title={t.acquisitions}
      count={acquisitions.length}
      heads={[
        { text: t.publishedIn },
        { text: t.fetchedFrom },
        { text: t.fetchedAt },
        { text: t.publisherTime },
        { text: t.size, isNumber: true },
        { text: 'SHA-256' },
      ]}
      rows={acquisitions.map(({ file, url, retrieved_at, server_time, bytes, sha256 }) => [
        <code key="file">{file}</code>,
        url === null ? '–' : <code key="url">{url}</code>,
        retrieved_at ?? '–',
        server_time ?? '–',
        bytes === null ? '–' : formatBytes(bytes, language),
        sha256 === null ? (
          '–'
        ) : (
          <code key="digest" class="wide">
            {sha256}
          </code>
        ),
      ])}
    />
  )
}
