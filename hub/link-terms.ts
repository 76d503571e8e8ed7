import type { HubConfig } from './config.js';

/** A side sends this many heartbeats within the time after which silence counts as the end of a link. */
const HEARTBEATS_PER_SILENCE = 6;
/** Short enough for proxies, many of which close connections that are idle for 60 s. */
const MAX_HEARTBEAT_INTERVAL_MS = 20_000;

/** Times of the link between hub and agents. */
export function linkTerms({ agents }: HubConfig): { heartbeatIntervalMs: number; silenceLimitMs: number } {
  const silenceLimitMs = agents.unreachableAfter;
  const heartbeatIntervalMs = Math.min(
    Math.ceil(silenceLimitMs / HEARTBEATS_PER_SILENCE),
    MAX_HEARTBEAT_INTERVAL_MS,
  );
  return { heartbeatIntervalMs, silenceLimitMs };
}
