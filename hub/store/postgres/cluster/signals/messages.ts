/**
 * Messages between hubs: texts of notifications, each with its version, the hub, its incarnation and a number, which grows by one.
 * A gap tells that some were lost. Unknown versions and contents are ignored, so that hubs of neighboring versions can run together.
 */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Signal } from '../../../../core/ports/signals.js';

export const CHANNEL = 'workbench_hub';

const VERSION = '1';

/** Limit of PostgreSQL for a notification, in bytes, less the head of a message. */
export const MAX_CONTENT_BYTES = 7800;

/** An assignment without its task, which the hub that holds the agent reads. */
export interface SentAssignment extends AttemptRef {
  readonly kind: 'ASSIGNED';
  readonly agentId: string;
  readonly startedAtMs: number;
  /** The hub that tells it sends the task itself, or takes it back when the agent is away. */
  readonly isTaken?: true;
}

export interface SentSignal {
  readonly signal: Exclude<Signal, { readonly kind: 'ASSIGNED' }> | SentAssignment;
  /** Epoch of the agent's connection; only in signals about connections of the hub that tells them. */
  readonly epoch?: number | undefined;
}

/** Content of a message; one of: */
export interface Content {
  readonly signals?: readonly SentSignal[];
  /** The signals are in a row. */
  readonly isLong?: true;
  /** The hub has begun or ends. */
  readonly hub?: 'BEGINS' | 'ENDS';
  /** The scheduler's role is free. */
  readonly role?: 'FREE';
  /** The hub for which requests or replies wait. Named as hubs of earlier versions read it. */
  readonly mailTo?: string;
}

export interface Message {
  readonly hubId: string;
  readonly incarnation: string;
  readonly number: number;
  readonly content: Content;
}

/** The text before the number, the same for all messages of a hub. */
export function headOf(hubId: string, incarnation: string): string {
  return `${VERSION} ${hubId} ${incarnation} `;
}

/** The number of a message with this head; undefined for another's message. */
export function numberAfter(head: string, payload: string): number | undefined {
  if (!payload.startsWith(head)) return undefined;
  return Number.parseInt(payload.slice(head.length, payload.indexOf(' ', head.length)), 10);
}

/** Undefined for what this version does not know. */
export function messageOf(payload: string): Message | undefined {
  const found = /^(\S+) (\S+) (\S+) (\d+) /.exec(payload);
  const [head = '', version, hubId = '', incarnation = '', number] = found ?? [];
  if (version !== VERSION) return undefined;
  const content = contentOf(payload.slice(head.length));
  return content && { hubId, incarnation, number: Number(number), content };
}

function contentOf(json: string): Content | undefined {
  try {
    const content: unknown = JSON.parse(json);
    return typeof content === 'object' && content !== null ? content : undefined;
  } catch {
    return undefined;
  }
}
