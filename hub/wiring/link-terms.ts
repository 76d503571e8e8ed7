import { INLINE_BLOB_BYTES } from '@workbench-hub/shared/agent-protocol/messages';
import type { LinkTerms } from '../agent-link/agent-session.js';
import type { HubConfig } from '../config.js';

/** A side sends this many heartbeats within the time after which silence counts as the end of a link. */
const HEARTBEATS_PER_SILENCE = 6;
/** Short enough for proxies, many of which close connections that are idle for 60 s. */
const MAX_HEARTBEAT_INTERVAL_MS = 20_000;

/** Terms of the link between hub and agents. */
export function linkTerms({ agents }: HubConfig): Omit<LinkTerms, 'hubVersion'> {
  const silenceLimitMs = agents.unreachableAfter;
  const heartbeatIntervalMs = Math.min(
    Math.ceil(silenceLimitMs / HEARTBEATS_PER_SILENCE),
    MAX_HEARTBEAT_INTERVAL_MS,
  );
  return { heartbeatIntervalMs, silenceLimitMs, inlineBlobBytes: INLINE_BLOB_BYTES };
}
