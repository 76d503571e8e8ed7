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
import { taskOfRow } from '../../rows/task-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { firstOnly, type Items, tookPlace } from '../lanes/batch-items.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import type { RowWithTask } from '../rows/task-columns.js';
import type { WebhookOutbox } from './webhook-outbox.js';

interface ClaimedRow extends RowWithTask {
  /** Null in the only row of a claim without a delivery. */
  readonly id: number | null;
  readonly tries: number;
  readonly hook: string;
  readonly receiver: string;
  readonly url: string | null;
  readonly told_of: number;
  /** Null for a delivery of a task. */
  readonly study: ToldStudyRow | null;
}

const CLAIMED = 'id, tries, hook, receiver, url, told_of, task, study';

const RECALL = sql(
  { ids: 'bigint[]' },
  `SELECT ${CLAIMED} FROM webhook_delivery JOIN unnest(:ids) WITH ORDINALITY AS asked (asked_id, at) ON id = asked_id
   WHERE next_at IS NOT NULL ORDER BY at`,
);

const CLAIM: LaneWrite<ClaimQuery, ClaimedDelivery[]> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { receiver: 'text', dueUntil: 'bigint', leaseUntil: 'bigint', limit: 'bigint' },
    parts: `
      due AS (
        SELECT webhook_delivery.id, next_at FROM held, webhook_delivery
        WHERE receiver = :receiver AND next_at <= :dueUntil ORDER BY next_at, webhook_delivery.id LIMIT :limit),
      claimed AS (
        UPDATE webhook_delivery SET next_at = :leaseUntil, tries = tries + 1 FROM due
        WHERE webhook_delivery.id = due.id AND webhook_delivery.next_at = due.next_at
        RETURNING webhook_delivery.id, tries, hook, receiver, url, told_of, task, study, due.next_at AS was_due)`,
    outcome: 'SELECT json_agg(id ORDER BY was_due, id) FROM claimed',
    returned: `
      SELECT saved.outcome, ${CLAIMED} FROM saved LEFT JOIN claimed ON true ORDER BY was_due, id`,
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([query]) => ({
    receiver: query?.receiver,
    dueUntil: query?.dueUntilMs,
    leaseUntil: query?.leaseUntilMs,
    limit: query?.limit,
  }),
  results: (_, __, rows) => [(rows as ClaimedRow[]).flatMap(claimedOf)],
  recall: async (_, outcome, db) => {
    const rows = await rowsOf<ClaimedRow, 'ids'>(db, RECALL, { ids: (outcome ?? []) as number[] });
    return [rows.flatMap(claimedOf)];
  },
};

interface Settled {
  readonly done: readonly number[] | null;
  readonly ended: readonly (readonly [receiver: string, deliveries: number])[] | null;
}

const SETTLE = laneStatement({
  isDurable: false,
  parameters: {
    ids: 'bigint[]',
    tries: 'integer[]',
    states: 'text[]',
    nextAts: 'bigint[]',
    endedAts: 'bigint[]',
    faults: 'text[]',
  },
  parts: `
    input AS (
      SELECT given.* FROM held, unnest(:ids, :tries, :states, :nextAts, :endedAts, :faults)
        WITH ORDINALITY AS given (id, tries, state, next_at, ended_at, fault, at)),
    settled AS (
      UPDATE webhook_delivery AS delivery SET state = input.state, next_at = input.next_at, ended_at = input.ended_at,
        task = CASE WHEN input.next_at IS NOT NULL THEN delivery.task END,
        study = CASE WHEN input.next_at IS NOT NULL THEN delivery.study END,
        fault = CASE WHEN input.next_at IS NULL THEN input.fault ELSE coalesce(input.fault, delivery.fault) END
      FROM input WHERE delivery.id = input.id AND delivery.tries = input.tries AND delivery.next_at IS NOT NULL
      RETURNING input.at, delivery.receiver, delivery.next_at)`,
  outcome: `SELECT json_build_object('done', (SELECT json_agg(at) FROM settled), 'ended', (
    SELECT json_agg(json_build_array(receiver, deliveries)) FROM (
      SELECT receiver, count(*) AS deliveries FROM settled WHERE next_at IS NULL GROUP BY receiver) AS each))`,
});

/** Outcomes of the same delivery have different numbers of tries, of which one counts. */
const settling = (outbox: WebhookOutbox): LaneWrite<Items<DeliveryOutcome>, boolean[]> => {
  /** Number of recounts when the batch under way began. */
  let since = 0;
  return {
    statement: SETTLE,
    isDurable: false,
    keys: (outcomes) => outcomes.map(({ ref }) => String(ref.id)),
    values: (calls) => {
      since = outbox.counts.recounts;
      const outcomes = calls.flat();
      const keys = firstOnly(outcomes, ({ ref }) => `${ref.id}/${ref.tries}`);
      return {
        ids: outcomes.map(({ ref }, at) => (keys[at] === null ? null : ref.id)),
        tries: outcomes.map(({ ref }) => ref.tries),
        states: outcomes.map(({ state }) => state),
        nextAts: outcomes.map((outcome) => (outcome.state === 'WAITING' ? outcome.nextAtMs : null)),
        endedAts: outcomes.map((outcome) => (outcome.state === 'WAITING' ? null : outcome.atMs)),
        faults: outcomes.map((outcome) => (outcome.state === 'DELIVERED' ? null : outcome.fault)),
      };
    },
    results: (calls, outcome) => {
      const { done, ended } = outcome as Settled;
      for (const [receiver, deliveries] of ended ?? []) outbox.counts.ended(receiver, deliveries, since);
      return tookPlace(calls, done);
    },
  };
};

interface GiveUp {
  readonly receiver: string;
  readonly endedBeforeMs: number;
  readonly atMs: number;
  readonly fault: string;
}

const GIVE_UP: LaneWrite<GiveUp, number> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { receiver: 'text', endedBefore: 'bigint', at: 'bigint', fault: 'text', limit: 'bigint' },
    parts: `
      old AS (
        SELECT webhook_delivery.id FROM held, webhook_delivery
        WHERE receiver = :receiver AND next_at IS NOT NULL AND told_of < :endedBefore LIMIT :limit),
      given_up AS (
        UPDATE webhook_delivery SET state = 'FAILED', ended_at = :at, fault = :fault, task = NULL, study = NULL, next_at = NULL FROM old
        WHERE webhook_delivery.id = old.id AND next_at IS NOT NULL RETURNING webhook_delivery.id)`,
    outcome: 'SELECT to_json(count(*)) FROM given_up',
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([asked]) => ({
    receiver: asked?.receiver,
    endedBefore: asked?.endedBeforeMs,
    at: asked?.atMs,
    fault: asked?.fault,
    limit: SWEEP_BATCH,
  }),
  results: (_, outcome) => [outcome as number],
};

const FORGET: LaneWrite<number, number> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { endedBefore: 'bigint', limit: 'bigint' },
    parts: `
      old AS (
        SELECT webhook_delivery.id FROM held, webhook_delivery WHERE ended_at < :endedBefore LIMIT :limit),
      forgotten AS (
        DELETE FROM webhook_delivery USING old WHERE webhook_delivery.id = old.id RETURNING old.id)`,
    outcome: 'SELECT to_json(count(*)) FROM forgotten',
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([endedBefore]) => ({ endedBefore, limit: SWEEP_BATCH }),
  results: (_, outcome) => [outcome as number],
};

const NOTIFY = sql(
  { taskId: 'text' },
  'SELECT url, receiver FROM task_notify WHERE task_seq = (SELECT task_seq FROM task_request WHERE id = :taskId)',
);

const NOTIFY_OF_STUDY = sql(
  { studyId: 'text' },
  'SELECT notify_url AS url, notify_receiver AS receiver FROM study WHERE id = :studyId AND notify_url IS NOT NULL',
);

const NEXT = sql(
  { receivers: 'text[]' },
  `SELECT receiver, next_at AS "nextAtMs" FROM unnest(:receivers) WITH ORDINALITY AS asked (receiver, at), LATERAL (
     SELECT next_at FROM webhook_delivery WHERE webhook_delivery.receiver = asked.receiver AND next_at IS NOT NULL
     ORDER BY next_at LIMIT 1) AS next ORDER BY at`,
);

const SELECT_DELIVERY = `
  SELECT nullif(hook, '') AS hook, receiver, state, tries, next_at AS "nextAtMs", ended_at AS "endedAtMs", fault
  FROM webhook_delivery`;

const OF_TASK = sql(
  { taskId: 'text' },
  `${SELECT_DELIVERY} WHERE task_id = :taskId ORDER BY webhook_delivery.hook`,
);

const OF_STUDY = sql(
  { studyId: 'text' },
  `${SELECT_DELIVERY} WHERE task_id = (SELECT id || '.' || told_count FROM study WHERE id = :studyId)
   ORDER BY webhook_delivery.hook`,
);

/** Deliveries that wait, by receiver. */
const COUNT_WAITING = sql(
  {},
  'SELECT receiver, count(*) AS deliveries FROM webhook_delivery WHERE next_at IS NOT NULL GROUP BY receiver',
);

/** Numbers of deliveries that wait, by receiver. */
export async function countsOf(db: Database): Promise<(readonly [receiver: string, deliveries: number])[]> {
  const rows = await rowsOf<{ receiver: string; deliveries: number }>(db, COUNT_WAITING, {});
  return rows.map(({ receiver, deliveries }) => [receiver, deliveries] as const);
}

export function postgresWebhookDeliveries(
  db: Database,
  { side }: Lanes,
  outbox: WebhookOutbox,
): WebhookDeliveries {
  const settle = settling(outbox);
  const inBatches = async (work: () => Promise<number>): Promise<number> => {
    let all = 0;
    for (;;) {
      const done = await work();
      all += done;
      if (done < SWEEP_BATCH) return all;
    }
  };
  return {
    subscribe: (webhooks, maxWaiting) => outbox.subscribe(webhooks, maxWaiting),
    notifyOf: async (taskId) => (await rowOf<NotifyAddress, 'taskId'>(db, NOTIFY, { taskId })) ?? null,
    notifyOfStudy: async (studyId) =>
      (await rowOf<NotifyAddress, 'studyId'>(db, NOTIFY_OF_STUDY, { studyId })) ?? null,
    takeRefused: async () => outbox.counts.takeRefused(),
    waiting: async () => {
      const receivers = [...outbox.counts.waiting.keys()];
      if (receivers.length === 0) return [];
      const rows = await rowsOf<{ receiver: string; nextAtMs: number }, 'receivers'>(db, NEXT, { receivers });
      return rows.map((row) => ({ ...row, deliveries: outbox.counts.waitingFor(row.receiver) }));
    },
    claim: (query) => side.write(CLAIM, query),
    settle: (outcomes) => side.write(settle, outcomes),
    giveUp: (receiver, endedBeforeMs, atMs, fault) =>
      outbox.counts.waitingFor(receiver) === 0
        ? Promise.resolve(0)
        : inBatches(() => {
            const since = outbox.counts.recounts;
            return side.write(GIVE_UP, { receiver, endedBeforeMs, atMs, fault }, (given) =>
              outbox.counts.ended(receiver, given, since),
            );
          }),
    ofTask: (taskId) => rowsOf<Delivery, 'taskId'>(db, OF_TASK, { taskId }),
    ofStudy: (studyId) => rowsOf<Delivery, 'studyId'>(db, OF_STUDY, { studyId }),
    forget: (endedBeforeMs) => inBatches(() => side.write(FORGET, endedBeforeMs)),
    refresh: () => outbox.recount(() => countsOf(db)),
    watch: (onDurable) => outbox.watch(onDurable),
  };
}

function claimedOf(row: ClaimedRow): ClaimedDelivery[] {
  const { id, tries, receiver, url, told_of: toldOfMs, task, study } = row;
  if (id === null) return [];
  const hook = row.hook === '' ? null : row.hook;
  const news: News = study === null ? { kind: 'TASK', task: taskOfRow(task) } : newsOfRow(study);
  return [{ ref: { id, tries }, hook, receiver, url, toldOfMs, news }];
}
