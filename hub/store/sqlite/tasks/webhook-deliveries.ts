import type {
  ClaimedDelivery,
  ClaimQuery,
  Delivery,
  DeliveryOutcome,
  WebhookDeliveries,
} from '../../../core/ports/webhook-deliveries.js';
import type { NotifyAddress } from '../../../core/task.js';
import { SWEEP_BATCH } from '../../rows/limits.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { WebhookOutbox } from './webhook-outbox.js';

interface ClaimedRow {
  id: number;
  tries: number;
  hook: string;
  receiver: string;
  url: string | null;
  task: string;
}

export function sqliteWebhookDeliveries(
  db: SqliteDatabase,
  commit: GroupCommit,
  outbox: WebhookOutbox,
): WebhookDeliveries {
  const statements = prepare(db);
  const settle = settling(db, outbox);
  const inBatches = async (work: () => number): Promise<number> => {
    let all = 0;
    for (;;) {
      const done = await commit.freeing(work, { durable: false });
      all += done;
      if (done < SWEEP_BATCH) return all;
    }
  };
  return {
    subscribe: (webhooks, maxWaiting) => outbox.subscribe(webhooks, maxWaiting),
    notifyOf: async (taskId) => statements.notify.get(taskId) ?? null,
    takeRefused: async () => outbox.counts.takeRefused(),
    waiting: async () =>
      [...outbox.counts.waiting.keys()].flatMap((receiver) => {
        const nextAtMs = statements.next.get(receiver, outbox.durable) ?? null;
        return nextAtMs === null
          ? []
          : [{ receiver, deliveries: outbox.counts.waitingFor(receiver), nextAtMs }];
      }),
    claim: ({ receiver, nowMs, leaseUntilMs, limit }: ClaimQuery) =>
      commit.relaxed(() => {
        const query = { receiver, nowMs, leaseUntilMs, limit, durable: outbox.durable };
        return statements.claim.all(query).map(claimedOf);
      }),
    settle: (outcomes) => commit.relaxed(() => outcomes.map(settle)),
    giveUp: async (receiver, endedBeforeMs, atMs, fault) =>
      statements.hasOld.get(receiver, endedBeforeMs) === undefined
        ? 0
        : inBatches(() => {
            const { changes } = statements.giveUp.run({
              receiver,
              endedBeforeMs,
              atMs,
              fault,
              limit: SWEEP_BATCH,
            });
            outbox.ended(receiver, changes);
            return changes;
          }),
    ofTask: async (taskId) => statements.ofTask.all(taskId),
    forget: async (endedBeforeMs) =>
      statements.hasEnded.get(endedBeforeMs) === undefined
        ? 0
        : inBatches(() => statements.forget.run(endedBeforeMs, SWEEP_BATCH).changes),
    refresh: async () => undefined,
    watch: (onDurable) => outbox.watch(onDurable),
  };
}

function settling(db: SqliteDatabase, outbox: WebhookOutbox): (outcome: DeliveryOutcome) => boolean {
  const fenced = 'WHERE id = @id AND tries = @tries AND next_at IS NOT NULL RETURNING receiver';
  const end = db
    .prepare<[{ id: number; tries: number; state: string; atMs: number; fault: string | null }], string>(`
      UPDATE webhook_delivery SET state = @state, ended_at = @atMs, fault = @fault, task = NULL, next_at = NULL ${fenced}`)
    .pluck();
  const postpone = db
    .prepare<[{ id: number; tries: number; nextAtMs: number; fault: string | null }], string>(`
      UPDATE webhook_delivery SET next_at = @nextAtMs, fault = coalesce(@fault, fault) ${fenced}`)
    .pluck();
  return (outcome) => {
    const { ref, state } = outcome;
    if (state === 'WAITING') {
      const { nextAtMs, fault } = outcome;
      return postpone.get({ ...ref, nextAtMs, fault }) !== undefined;
    }
    const fault = state === 'FAILED' ? outcome.fault : null;
    const receiver = end.get({ ...ref, state, atMs: outcome.atMs, fault });
    if (receiver !== undefined) outbox.ended(receiver, 1);
    return receiver !== undefined;
  };
}

function prepare(db: SqliteDatabase) {
  return {
    notify: db.prepare<[string], NotifyAddress>(
      'SELECT url, receiver FROM task_notify WHERE task_seq = (SELECT seq FROM task WHERE id = ?)',
    ),
    next: db
      .prepare<[string, number], number>(`
        SELECT next_at FROM webhook_delivery WHERE receiver = ? AND next_at IS NOT NULL AND id <= ?
        ORDER BY next_at LIMIT 1`)
      .pluck(),
    claim: db.prepare<[ClaimQuery & { durable: number }], ClaimedRow>(`
      UPDATE webhook_delivery SET next_at = @leaseUntilMs, tries = tries + 1 WHERE id IN (
        SELECT id FROM webhook_delivery
        WHERE receiver = @receiver AND next_at IS NOT NULL AND next_at <= @nowMs AND id <= @durable
        ORDER BY next_at LIMIT @limit)
      RETURNING id, tries, hook, receiver, url, task`),
    hasOld: db.prepare<[string, number]>(
      'SELECT 1 FROM webhook_delivery WHERE receiver = ? AND next_at IS NOT NULL AND told_of < ? LIMIT 1',
    ),
    giveUp: db.prepare<
      [{ receiver: string; endedBeforeMs: number; atMs: number; fault: string; limit: number }]
    >(`
      UPDATE webhook_delivery SET state = 'FAILED', ended_at = @atMs, fault = @fault, task = NULL, next_at = NULL WHERE id IN (
        SELECT id FROM webhook_delivery WHERE receiver = @receiver AND next_at IS NOT NULL AND told_of < @endedBeforeMs
        LIMIT @limit)`),
    ofTask: db.prepare<[string], Delivery>(`
      SELECT nullif(hook, '') AS hook, receiver, state, tries, next_at AS nextAtMs, ended_at AS endedAtMs, fault
      FROM webhook_delivery WHERE task_id = ? ORDER BY hook`),
    hasEnded: db.prepare<[number]>('SELECT 1 FROM webhook_delivery WHERE ended_at < ? LIMIT 1'),
    forget: db.prepare<[number, number]>(
      'DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE ended_at < ? LIMIT ?)',
    ),
  };
}

function claimedOf({ id, tries, hook, receiver, url, task }: ClaimedRow): ClaimedDelivery {
  const row = JSON.parse(task) as TaskRow;
  return { ref: { id, tries }, hook: hook === '' ? null : hook, receiver, url, task: taskOfRow(row) };
}
