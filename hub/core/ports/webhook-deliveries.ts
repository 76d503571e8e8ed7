/**
 * Deliveries of webhooks: for each end of a task, and for each change of a study of which webhooks tell, one for each receiver. A
 * delivery is made in the transaction that ends the task or changes the study, so that none is lost, and stays after the removal of
 * either. It is told at least once: a lease that ends without an outcome lets the delivery be claimed again, by any hub. All methods
 * reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be written.
 */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { OutcomeCounts, StudyRecord } from '../studies/study.js';
import type { NotifyAddress, Task } from '../task.js';

/** A webhook of the configuration. */
export interface EndSubscription {
  readonly name: string;
  /** Its origin, and after `#` what tells it from others there. */
  readonly receiver: string;
  /** Ends of tasks that it is told of. */
  readonly statuses: readonly TaskStatus[];
  /** Whether it is told of studies. */
  readonly studies: boolean;
}

export const DELIVERY_STATES = ['WAITING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface Delivery {
  /** Name of the webhook of the configuration; null for the address that the task or study names. */
  readonly hook: string | null;
  readonly receiver: string;
  readonly state: DeliveryState;
  readonly tries: number;
  /** Time of the next try, or of the end of the present one's lease; null when there is none. */
  readonly nextAtMs: number | null;
  /** Time at which it was delivered or given up; null before. */
  readonly endedAtMs: number | null;
  /** Why the latest try failed, in words; null when it did not. */
  readonly fault: string | null;
}

/** The fence of a delivery: a later claim has a higher number of tries. */
export interface DeliveryRef {
  readonly id: number;
  readonly tries: number;
}

export interface ClaimedDelivery {
  readonly ref: DeliveryRef;
  readonly hook: string | null;
  readonly receiver: string;
  /** Null for a webhook of the configuration, which has its address. */
  readonly url: string | null;
  /** Time of the end of the task, or of the change of the study. */
  readonly toldOfMs: number;
  readonly news: News;
}

/** The task as it ended, or the study as it was after the change. */
export type News = { readonly kind: 'TASK'; readonly task: Task } | StudyNews;

export interface StudyNews {
  readonly kind: 'STUDY';
  readonly study: StudyRecord;
  readonly counts: OutcomeCounts;
  /** Number of the change among those of its study that were told, from 1. */
  readonly change: number;
}

export interface ClaimQuery {
  readonly receiver: string;
  /** Time until which a next try is due. */
  readonly dueUntilMs: number;
  readonly leaseUntilMs: number;
  readonly limit: number;
}

/** Outcome of a try. */
export type DeliveryOutcome = { readonly ref: DeliveryRef } & (
  | { readonly state: 'DELIVERED'; readonly atMs: number }
  | { readonly state: 'FAILED'; readonly atMs: number; readonly fault: string }
  /** `fault` is null for a try that was broken off. */
  | { readonly state: 'WAITING'; readonly nextAtMs: number; readonly fault: string | null }
);

export interface WaitingReceiver {
  readonly receiver: string;
  readonly deliveries: number;
  /** Time of the earliest next try. */
  readonly nextAtMs: number;
}

export interface RefusedDeliveries {
  readonly receiver: string;
  readonly deliveries: number;
}

export interface WebhookDeliveries {
  /** Makes a delivery of each end and change from now on for each of these webhooks. More than `maxWaiting` deliveries that wait for a
   *  receiver fail at once. */
  subscribe(webhooks: readonly EndSubscription[], maxWaiting: number): void;
  /** Address that a task names; null for none. */
  notifyOf(taskId: string): Promise<NotifyAddress | null>;
  /** Address that a study names; null for none. */
  notifyOfStudy(studyId: string): Promise<NotifyAddress | null>;
  /** Numbers of deliveries that this hub made since the last call, and that failed at once because too many wait. */
  takeRefused(): Promise<RefusedDeliveries[]>;
  /** Receivers for which durable deliveries wait. */
  waiting(): Promise<WaitingReceiver[]>;
  /** Claims deliveries that are durable and due, the earliest first, and counts a try of each. */
  claim(query: ClaimQuery): Promise<ClaimedDelivery[]>;
  /** Tells for each outcome whether it counts: not when the delivery was claimed again. */
  settle(outcomes: readonly DeliveryOutcome[]): Promise<boolean[]>;
  /** Ends the deliveries that wait for this receiver for ends and changes before a time; resolves with their number. */
  giveUp(receiver: string, endedBeforeMs: number, atMs: number, fault: string): Promise<number>;
  /** Deliveries of a task, by webhook. */
  ofTask(taskId: string): Promise<Delivery[]>;
  /** Deliveries of the latest change of a study that was told, by webhook. */
  ofStudy(studyId: string): Promise<Delivery[]>;
  /** Forgets deliveries that ended before this time; resolves with their number. */
  forget(endedBeforeMs: number): Promise<number>;
  /** Learns of deliveries that other hubs have made or ended. Rejects as the store does. */
  refresh(): Promise<void>;
  /** Calls `onDurable` when more deliveries can be claimed, until the returned function is called. */
  watch(onDurable: () => void): () => void;
}
