/**
 * Settings → a client, and an engine that uses it: once for the server, for the report worker and for commands. Passwords and tokens
 * stand in their files alone, and are read anew for each request to Trino: tokens end, and whoever renews them needs no restart.
 */
import { readFileSync } from 'node:fs'
import type { DuckDbEngine } from '../duckdb/engine.ts'
import type { Engine, TrinoSettings } from '../types.ts'
import { createTrinoClient, type TrinoClient } from './client.ts'
import { type TrinoDialect, withTrino } from './engine.ts'

/** @throws what reading the file of the password or token throws */
export function connectTrino({
  url,
  user,
  passwordFile,
  tokenFile,
}: Pick<TrinoSettings, 'url' | 'user' | 'passwordFile' | 'tokenFile'>): TrinoClient {
  const secret = (file: string): string => readFileSync(file, 'utf8').trim()
  const authorization =
    tokenFile !== null
      ? () => `Bearer ${secret(tokenFile)}`
      : passwordFile !== null
        ? () => `Basic ${Buffer.from(`${user}:${secret(passwordFile)}`).toString('base64')}`
        : null
  // A file that is not there is said now.
  authorization?.()
  return createTrinoClient({ url, user, authorization })
}

/** @param settings null: the process has all to itself */
export const engineWith = (
  local: DuckDbEngine,
  settings: TrinoSettings | null,
  dialect: TrinoDialect,
  timeoutMs: number,
): Engine =>
  settings === null
    ? local
    : withTrino(local, { ...settings, client: connectTrino(settings), dialect, timeoutMs })
