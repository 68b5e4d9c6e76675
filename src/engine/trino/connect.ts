/**
 * Creates a Trino client, and an engine that uses it, from settings; used by the server, the report worker and commands. Passwords
 * and tokens stay in their files and are read for each request, so that a renewed token needs no restart.
 */
import { readFileSync } from 'node:fs'
import type { DuckDbEngine } from '../duckdb/engine.ts'
import type { Engine, TrinoSettings } from '../types.ts'
import { createTrinoClient, type TrinoClient } from './client.ts'
import { type TrinoDialect, withTrino } from './engine.ts'

/** @throws the error of reading the password or token file */
export function connectTrino({
  url,
  user,
  passwordFile,
  tokenFile,
}: Pick<TrinoSettings, 'url' | 'user' | 'passwordFile' | 'tokenFile'>): TrinoClient {
  const readSecret = (file: string): string => readFileSync(file, 'utf8').trim()
  const authorization =
    tokenFile !== null
      ? () => `Bearer ${readSecret(tokenFile)}`
      : passwordFile !== null
        ? () => `Basic ${Buffer.from(`${user}:${readSecret(passwordFile)}`).toString('base64')}`
        : null
  // Fail now when the file is missing.
  authorization?.()
  return createTrinoClient({ url, user, authorization })
}

/** @param settings null: DuckDB runs everything */
export const createEngineWith = (
  local: DuckDbEngine,
  settings: TrinoSettings | null,
  dialect: TrinoDialect,
  timeoutMs: number,
): Engine =>
  settings === null
    ? local
    : withTrino(local, { ...settings, client: connectTrino(settings), dialect, timeoutMs })
