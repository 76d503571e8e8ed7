import type {
  ClaimedDelivery,
  ClaimQuery,
  Delivery,
  DeliveryOutcome,
  News,
  WebhookDeliveries,
} from '../../../core/ports/webhook-deliveries.js';
import type { NotifyAddress } from '../../../core/task.js';
import { SWEEP_BATCH } from '../../rows/limits.js';
import { newsOfRow, type ToldStudyRow } from '../../rows/study-row.js';
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
  toldOfMs: number;
  /** JSON of one of them; null for the other. */
  task: string;
  study: string | null;
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
    notifyOfStudy: async (studyId) => statements.notifyOfStudy.get(studyId) ?? null,
    takeRefused: async () => outbox.counts.takeRefused(),
    waiting: async () =>
      [...outbox.counts.waiting.keys()].flatMap((receiver) => {
        const nextAtMs = statements.next.get(receiver, outbox.durable) ?? null;
        return nextAtMs === null
          ? []
          : [{ receiver, deliveries: outbox.counts.waitingFor(receiver), nextAtMs }];
      }),
    claim: ({ receiver, dueUntilMs, leaseUntilMs, limit }: ClaimQuery) =>
      commit.relaxed(() => {
        const query = { receiver, dueUntilMs, leaseUntilMs, limit, durable: outbox.durable };
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
    ofStudy: async (studyId) => statements.ofStudy.all(studyId),
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
      UPDATE webhook_delivery SET state = @state, ended_at = @atMs, fault = @fault, task = NULL, study = NULL, next_at = NULL ${fenced}`)
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

const SELECT_DELIVERY = `
  SELECT nullif(hook, '') AS hook, receiver, state, tries, next_at AS nextAtMs, ended_at AS endedAtMs, fault FROM webhook_delivery`;

function prepare(db: SqliteDatabase) {
  return {
    notify: db.prepare<[string], NotifyAddress>(
      'SELECT url, receiver FROM task_notify WHERE task_seq = (SELECT seq FROM task WHERE id = ?)',
    ),
    notifyOfStudy: db.prepare<[string], NotifyAddress>(
      'SELECT notify_url AS url, notify_receiver AS receiver FROM study WHERE id = ? AND notify_url IS NOT NULL',
    ),
    next: db
      .prepare<[string, number], number>(`
        SELECT next_at FROM webhook_delivery WHERE receiver = ? AND next_at IS NOT NULL AND id <= ?
        ORDER BY next_at LIMIT 1`)
      .pluck(),
    claim: db.prepare<[ClaimQuery & { durable: number }], ClaimedRow>(`
      UPDATE webhook_delivery SET next_at = @leaseUntilMs, tries = tries + 1 WHERE id IN (
        SELECT id FROM webhook_delivery
        WHERE receiver = @receiver AND next_at IS NOT NULL AND next_at <= @dueUntilMs AND id <= @durable
        ORDER BY next_at LIMIT @limit)
      RETURNING id, tries, hook, receiver, url, told_of AS toldOfMs, task, study`),
    hasOld: db.prepare<[string, number]>(
      'SELECT 1 FROM webhook_delivery WHERE receiver = ? AND next_at IS NOT NULL AND told_of < ? LIMIT 1',
    ),
    giveUp: db.prepare<
      [{ receiver: string; endedBeforeMs: number; atMs: number; fault: string; limit: number }]
    >(`
      UPDATE webhook_delivery SET state = 'FAILED', ended_at = @atMs, fault = @fault, task = NULL, study = NULL, next_at = NULL WHERE id IN (
        SELECT id FROM webhook_delivery WHERE receiver = @receiver AND next_at IS NOT NULL AND told_of < @endedBeforeMs
        LIMIT @limit)`),
    ofTask: db.prepare<[string], Delivery>(`${SELECT_DELIVERY} WHERE task_id = ? ORDER BY hook`),
    ofStudy: db.prepare<[string], Delivery>(`
      ${SELECT_DELIVERY} WHERE task_id = (SELECT id || '.' || told_count FROM study WHERE id = ?) ORDER BY hook`),
    hasEnded: db.prepare<[number]>('SELECT 1 FROM webhook_delivery WHERE ended_at < ? LIMIT 1'),
    forget: db.prepare<[number, number]>(
      'DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE ended_at < ? LIMIT ?)',
    ),
  };
}

function claimedOf({ id, tries, hook, task, study, ...rest }: ClaimedRow): ClaimedDelivery {
  const news: News =
    study === null
      ? { kind: 'TASK', task: taskOfRow(JSON.parse(task) as TaskRow) }
      : newsOfRow(JSON.parse(study) as ToldStudyRow);
  return { ref: { id, tries }, hook: hook === '' ? null : hook, ...rest, news };
}
