/** Audit log of all hubs of the store, newest first: each hub reads its own, and the one that is asked merges them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError, invalidInput } from '../core/errors.js';
import type { AuditPart, AuditQuery, AuditReader, AuditSource } from '../core/ports/audit.js';
import type { Hubs } from '../core/ports/hubs.js';
import { AgentUnavailable, type AuditRequest, type HubReceiver, type Relay } from '../core/ports/relay.js';

export interface ClusterAuditOptions {
  /** Entries of this hub. */
  readonly own: AuditSource;
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly relay: Pick<Relay, 'askHub'>;
}

type Client = Parameters<AuditReader['read']>[1];

/** Entries of a hub, from the first one that no page has. */
interface OfHub extends AuditPart {
  readonly hubId: string;
  /** Number of entries that the page has taken. */
  taken: number;
}

/** Limit for the search in the files of another hub, which may be large. */
const TIMEOUT_MS = 30_000;
/** `<hub>~<cursor>_<hub>~<cursor>` */
const CURSORS = /^[\w-]{1,100}~[\d.-]+(_[\w-]{1,100}~[\d.-]+)*$/;

/** Rejects with HubError HUB_UNAVAILABLE when a hub that runs does not respond in time, with INVALID_INPUT for an invalid `before`. */
export function clusterAudit(options: ClusterAuditOptions): AuditReader {
  return {
    async read(query, client) {
      const { parts, away } = await partsOf(query, client, options);
      const entries = [...newestOf(parts, query.limit)];
      const going = parts.filter(({ taken, found, hasMore }) => hasMore || taken < found.length);
      const next = [...going.map((part) => [part.hubId, cursorOf(part)]), ...away];
      return { entries, next: going.length === 0 ? null : next.map((each) => each.join('~')).join('_') };
    },
  };
}

/** Receiver of requests of other hubs for entries of this one. The search ends when nobody waits for it any more. */
export function auditReceiver(
  own: AuditSource,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, 'error'> },
): HubReceiver<AuditRequest> {
  return async ({ query }, timeoutMs) => {
    const untilMs = clock.monotonicMs() + timeoutMs;
    const client = {
      get aborted() {
        return clock.monotonicMs() > untilMs;
      },
    };
    try {
      return { error: null, text: JSON.stringify(await own.read(query, client)) };
    } catch (error) {
      if (error instanceof HubError) return { error: error.message, text: null };
      log.error({ err: error }, 'the audit log could not be read for another hub');
      throw new AgentUnavailable('it cannot read its files', { cause: error });
    }
  };
}

/** Entries of the hubs that run, and for each hub that is away the place at which its entries continue. */
async function partsOf(
  query: AuditQuery,
  client: Client,
  { own, hubs, relay }: ClusterAuditOptions,
): Promise<{ readonly parts: readonly OfHub[]; readonly away: readonly (readonly [string, string])[] }> {
  const before = query.before === undefined ? undefined : cursorsOf(query.before, hubs.ownId);
  const live = await liveHubs(hubs);
  const asked = before === undefined ? live : live.filter((id) => before.has(id));
  const away = [...(before ?? [])].filter(([id]) => !live.includes(id));
  const reading = asked.map(async (hubId) => {
    const ofHub = { ...query, before: before?.get(hubId) };
    const part = hubId === hubs.ownId ? await own.read(ofHub, client) : await ask(hubId, ofHub, relay);
    return { ...part, hubId, taken: 0 };
  });
  return { parts: await Promise.all(reading), away };
}

async function liveHubs(hubs: ClusterAuditOptions['hubs']): Promise<string[]> {
  if (hubs.others() === 0) return [hubs.ownId];
  const all = await hubs.all();
  return all.filter(({ id, isLive }) => isLive || id === hubs.ownId).map(({ id }) => id);
}

async function ask(
  hubId: string,
  query: AuditQuery,
  relay: ClusterAuditOptions['relay'],
): Promise<AuditPart> {
  const { error, text } = await relay
    .askHub(hubId, { kind: 'audit', query }, TIMEOUT_MS)
    .catch((cause: unknown) => {
      if (!(cause instanceof AgentUnavailable)) throw cause;
      const message = `the audit log of hub ${hubId} cannot be read: ${cause.message}`;
      throw new HubError('HUB_UNAVAILABLE', message, { cause });
    });
  if (text === null) throw new HubError('INVALID_INPUT', error ?? '');
  return JSON.parse(text) as AuditPart;
}

/** Takes up to `limit` entries. */
function* newestOf(parts: readonly OfHub[], limit: number) {
  for (let count = 0; count < limit; count++) {
    const [first, ...others] = parts.filter(({ taken, found }) => taken < found.length);
    if (!first) return;
    const newest = others.reduce((best, part) => (atMsOf(part) > atMsOf(best) ? part : best), first);
    const found = newest.found[newest.taken++];
    if (found) yield found.entry;
  }
}

function atMsOf({ found, taken }: OfHub): number {
  return found[taken]?.entry.atMs ?? Number.NEGATIVE_INFINITY;
}

/** Place behind the entries that were taken. */
function cursorOf({ found, taken, start }: OfHub): string {
  return found[taken - 1]?.next ?? start;
}

/** Cursors by hub. One without a hub is of an earlier version, and of the hub that is asked. */
function cursorsOf(before: string, ownId: string): ReadonlyMap<string, string> {
  if (!before.includes('~')) return new Map([[ownId, before]]);
  if (!CURSORS.test(before))
    throw invalidInput([{ where: 'before', what: 'must be the "next" of an earlier answer' }]);
  return new Map(before.split('_').map((part) => part.split('~') as [string, string]));
}
