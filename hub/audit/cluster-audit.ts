/** Audit log of all hubs of the store, newest first: each hub reads its own, and the one that is asked merges them. */
import { HubError, invalidInput } from '../core/errors.js';
import type { AuditPart, AuditQuery, AuditReader, AuditSource } from '../core/ports/audit.js';
import type { Hubs } from '../core/ports/hubs.js';
import { AgentUnavailable, type HubReceiver, type Mail } from '../core/ports/mail.js';

export interface ClusterAuditOptions {
  /** Entries of this hub. */
  readonly own: AuditSource;
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly mail: Pick<Mail, 'askHub'>;
}

type Client = Parameters<AuditReader['read']>[1];

/** Entries of a hub, from the first one that no page has. */
interface OfHub extends AuditPart {
  readonly hubId: string;
  /** Number of entries that the page has taken. */
  taken: number;
}

const TIMEOUT_MS = 10_000;
/** Cursor of several hubs: `<hub>~<cursor>_<hub>~<cursor>`. */
const CURSORS = /^[\w-]{1,100}~[\d.-]+(_[\w-]{1,100}~[\d.-]+)*$/;
const NOBODY = { aborted: false };

/** Rejects with HubError HUB_UNAVAILABLE when a hub that runs does not respond in time, with INVALID_INPUT for an invalid `before`. */
export function clusterAudit(options: ClusterAuditOptions): AuditReader {
  return {
    async read(query, client) {
      const parts = await partsOf(query, client, options);
      const entries = [...newestOf(parts, query.limit)];
      const going = parts.filter(({ taken, found, hasMore }) => hasMore || taken < found.length);
      if (going.length === 0) return { entries, next: null };
      const [first] = going;
      const isOwnAlone = parts.length === 1 && first?.hubId === options.hubs.ownId;
      return { entries, next: isOwnAlone ? cursorOf(first) : going.map(withHub).join('_') };
    },
  };
}

/** Receiver of requests of other hubs for entries of this one. */
export function auditReceiver(own: AuditSource): HubReceiver {
  return async ({ query }) => {
    try {
      return { error: null, text: JSON.stringify(await own.read(query, NOBODY)) };
    } catch (error) {
      if (error instanceof HubError) return { error: error.message, text: null };
      throw error;
    }
  };
}

async function partsOf(
  query: AuditQuery,
  client: Client,
  { own, hubs, mail }: ClusterAuditOptions,
): Promise<OfHub[]> {
  const before = query.before === undefined ? undefined : cursorsOf(query.before, hubs.ownId);
  const live = await liveHubs(hubs);
  const asked = before === undefined ? live : live.filter((id) => before.has(id));
  return Promise.all(
    asked.map(async (hubId) => {
      const ofHub = { ...query, before: before?.get(hubId) };
      const part = hubId === hubs.ownId ? await own.read(ofHub, client) : await ask(hubId, ofHub, mail);
      return { ...part, hubId, taken: 0 };
    }),
  );
}

async function liveHubs(hubs: ClusterAuditOptions['hubs']): Promise<string[]> {
  if (hubs.others() === 0) return [hubs.ownId];
  const all = await hubs.all();
  return all.filter(({ id, isLive }) => isLive || id === hubs.ownId).map(({ id }) => id);
}

async function ask(hubId: string, query: AuditQuery, mail: ClusterAuditOptions['mail']): Promise<AuditPart> {
  const { error, text } = await mail
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

function withHub(part: OfHub): string {
  return `${part.hubId}~${cursorOf(part)}`;
}

/** Cursors by hub. One of a hub that was alone is that of the hub that is asked. */
function cursorsOf(before: string, ownId: string): ReadonlyMap<string, string> {
  if (!before.includes('~')) return new Map([[ownId, before]]);
  if (!CURSORS.test(before))
    throw invalidInput([{ where: 'before', what: 'must be the "next" of an earlier answer' }]);
  return new Map(before.split('_').map((part) => part.split('~') as [string, string]));
}
