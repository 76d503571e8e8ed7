/** The trail of who did what: written while security is on, never changed, read by administrators. */
import type { Caller } from '../access.js';

/**
 * What somebody did. A request has the method and the path template of its endpoint as action
 * (`DELETE /api/2.0/workbench/task/{id}/cancel`); what is no request has one of these.
 */
export const AUDIT_EVENTS = [
  /** An agent fetched a credential of its own with a one-time code. */
  'AGENT_ENROLLED',
  /** An agent was let in. */
  'AGENT_JOIN',
  /** The connection of an agent that was let in has ended. */
  'AGENT_LEFT',
  /** An agent was not, or no longer: a wrong token, code or credential, or another agent of its name is there. */
  'AGENT_REFUSED',
  /** A command of the hub's own machine changed something: `workbench-hub user add`. */
  'COMMAND',
  /** Refusals and failures beyond those that have an entry of their own: of a known caller, with the action as resource, or of
   *  all whom nobody knows. */
  'MORE_REFUSALS',
  /** Entries could not be written, and are lost. */
  'ENTRIES_LOST',
] as const;

export const AUDIT_OUTCOMES = ['ALLOWED', 'REFUSED', 'FAILED'] as const;
/** REFUSED: for who it was; FAILED: for another reason. */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** How somebody showed who it is. */
export const AUDIT_MEANS = [
  'SESSION',
  'PERSONAL_TOKEN',
  'SIGN_ON',
  'PASSWORD',
  'REFRESH_TOKEN',
  'AGENT_TOKEN',
  'AGENT_CREDENTIAL',
  'COMMAND_LINE',
  'OPEN_HUB',
] as const satisfies readonly (Caller['by'] | string)[];
export type AuditMeans = (typeof AUDIT_MEANS)[number];

/** One entry. No value of it may hold a secret, nor the query of a request. */
export interface AuditEntry {
  readonly atMs: number;
  /** Name of the user, the agent, or (of a command) the account of the operating system; null as long as nobody has shown
   *  who it is. */
  readonly user: string | null;
  readonly by: AuditMeans | null;
  /** From where, through the trusted proxies; null for what came over no network. */
  readonly address: string | null;
  readonly action: string;
  /** The path with its identifiers, or what else was acted on. */
  readonly resource: string;
  readonly outcome: AuditOutcome;
  /** HTTP status, where there was one. */
  readonly status: number | null;
  readonly detail: string | null;
}

export interface AuditTrail {
  /** Takes an entry; never throws and holds nobody up. `isAdministrators` tells that the caller has the role ADMIN: what others
   *  do takes no room from that. */
  record(entry: AuditEntry, isAdministrators?: boolean): void;
}

/** What to read, newest first. */
export interface AuditQuery {
  readonly limit: number;
  /** `next` of the page before. */
  readonly before?: string | undefined;
  readonly user?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** From this moment on. */
  readonly fromMs?: number | undefined;
  /** Up to this moment, which is not included. */
  readonly toMs?: number | undefined;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where to go on; null when there is nothing more. */
  readonly next: string | null;
}

export interface AuditReader {
  /** `client` ends the search when it goes away. Rejects with HubError INVALID_INPUT for a `before` that is none. */
  read(query: AuditQuery, client: { readonly aborted: boolean }): Promise<AuditPage>;
}
