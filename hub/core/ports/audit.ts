/** The audit log: written while security is on, append-only, read by administrators. */
import type { Caller } from '../access.js';

/**
 * Actions other than requests. The action of a request is the method and path template of its endpoint
 * (`DELETE /api/2.0/workbench/task/{id}/cancel`).
 */
export const AUDIT_EVENTS = [
  /** An agent fetched a credential of its own with a one-time code. */
  'AGENT_ENROLLED',
  /** An agent joined. */
  'AGENT_JOIN',
  /** The connection of a joined agent ended. */
  'AGENT_LEFT',
  /** An agent was refused or cut off: a wrong token, code or credential, its id is in use, or its join is out of date. */
  'AGENT_REFUSED',
  /** A command on the hub's machine made a change: `workbench-hub user add`. */
  'COMMAND',
  /** A hub that this hub lends an instance to has given it a command. */
  'LENT_INSTANCE_COMMAND',
  /** A hub that this hub lends an instance to has given it a task. */
  'LOAN',
  /** Refusals and failures beyond the rate of single entries: of one caller, with the action as resource, or of all unknown
   *  callers. */
  'MORE_REFUSALS',
  /** Entries were lost because they could not be written. */
  'ENTRIES_LOST',
] as const;

export const AUDIT_OUTCOMES = ['ALLOWED', 'REFUSED', 'FAILED'] as const;
/** REFUSED: for lack of permission; FAILED: for another reason. */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** Means of authentication. */
export const AUDIT_MEANS = [
  'SESSION',
  'PERSONAL_TOKEN',
  'SIGN_ON',
  'PASSWORD',
  'REFRESH_TOKEN',
  'AGENT_TOKEN',
  'AGENT_CREDENTIAL',
  'COMMAND_LINE',
  /** The connection to a hub that this hub has joined. */
  'UPSTREAM',
  'OPEN_HUB',
] as const satisfies readonly (Caller['by'] | string)[];
export type AuditMeans = (typeof AUDIT_MEANS)[number];

/** One entry, without secrets and without the query of a request. */
export interface AuditEntry {
  readonly atMs: number;
  /** Name of the user, agent or upstream, or for a command the account of the operating system; null when not authenticated. */
  readonly user: string | null;
  readonly by: AuditMeans | null;
  /** Client address behind trusted proxies; null for local actions. */
  readonly address: string | null;
  readonly action: string;
  /** Path with its identifiers, or another object of the action. */
  readonly resource: string;
  readonly outcome: AuditOutcome;
  /** HTTP status; null without a response. */
  readonly status: number | null;
  readonly detail: string | null;
}

export interface AuditTrail {
  /** Records an entry; never throws or waits. `isAdministrators` marks callers with the role ADMIN, whose entries have space
   *  of their own. */
  record(entry: AuditEntry, isAdministrators?: boolean): void;
}

/** Filter of entries, which are read newest first. */
export interface AuditQuery {
  readonly limit: number;
  /** `next` of the previous page. */
  readonly before?: string | undefined;
  readonly user?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** Included. */
  readonly fromMs?: number | undefined;
  /** Excluded. */
  readonly toMs?: number | undefined;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Start of the next page; null on the last one. */
  readonly next: string | null;
}

/** Entries of one hub, from a place on. */
export interface AuditPart {
  /** The place: `before` of the query, or the present end of the log. */
  readonly start: string;
  readonly found: readonly FoundEntry[];
  /** Whether older entries match. */
  readonly hasMore: boolean;
}

export interface FoundEntry {
  readonly entry: AuditEntry;
  /** Place behind it: `before` of a query for older ones. */
  readonly next: string;
}

/** Audit log of one hub. */
export interface AuditSource {
  /** The search ends when `client` has gone. Rejects with HubError INVALID_INPUT for an invalid `before`. */
  read(query: AuditQuery, client: { readonly aborted: boolean }): Promise<AuditPart>;
}

/** Audit log of all hubs. */
export interface AuditReader {
  /** The search ends when `client` has gone. Rejects with HubError INVALID_INPUT for an invalid `before`. */
  read(query: AuditQuery, client: { readonly aborted: boolean }): Promise<AuditPage>;
}
