/**
 * Makes the deliveries of ends and of changes of studies, in the transactions that make those. While no webhook is configured and
 * no task names an address, it does nothing at the end of a task.
 */
import type { EndSubscription } from '../../../core/ports/webhook-deliveries.js';
import type { NotifyAddress } from '../../../core/task.js';
import { DeliveryCounts } from '../../rows/delivery-counts.js';
import { namedColumns } from '../../rows/study-sql.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { countsOf } from '../rows/point-counts.js';
import { TASK_COLUMNS } from '../rows/task-columns.js';

interface Made {
  id: number;
  receiver: string;
  isWaiting: number;
}

const TOO_MANY = 'too many deliveries waited for this receiver';

const COLUMNS = 'task_id, hook, receiver, url, task, told_of, next_at, state, ended_at, fault';

/** The values of a delivery, which fails at once when too many wait for its receiver. */
const values = (hook: string, receiver: string, url: string) => `
  task.id, ${hook}, ${receiver}, ${url}, iif(is_full, NULL, json_array(${TASK_COLUMNS})), task.ended_at,
  iif(is_full, NULL, task.ended_at), iif(is_full, 'FAILED', 'WAITING'), iif(is_full, task.ended_at, NULL),
  iif(is_full, '${TOO_MANY}', NULL)`;

const RETURNING = 'RETURNING id, receiver, next_at IS NOT NULL AS isWaiting';

/** Delivery of an end to the address that the task names. */
const INSERT_FOR_TASK = `
  INSERT OR IGNORE INTO webhook_delivery (${COLUMNS})
  SELECT ${values("''", 'task_notify.receiver', 'task_notify.url')}
  FROM (SELECT task_notify.*, receiver IN (SELECT value FROM json_each(@full)) AS is_full FROM task_notify WHERE task_seq = @seq)
       AS task_notify
  JOIN task ON task.seq = task_notify.task_seq JOIN requirement ON requirement.id = task.requirement_id
  ${RETURNING}`;

/** Delivery of an end to a webhook of the configuration. */
const INSERT_FOR_HOOK = `
  INSERT OR IGNORE INTO webhook_delivery (${COLUMNS})
  SELECT ${values('@hook', '@receiver', 'NULL')}
  FROM (SELECT @isFull AS is_full)
  JOIN task ON task.seq = @seq AND task.status IN (SELECT value FROM json_each(@statuses))
  JOIN requirement ON requirement.id = task.requirement_id
  ${RETURNING}`;

/** Delivery of a change of a study. */
const INSERT_FOR_STUDY = `
  INSERT INTO webhook_delivery (task_id, hook, receiver, url, study, told_of, next_at, state, ended_at, fault)
  SELECT study.id || '.' || told_count, @hook, @receiver, @url,
    iif(@isFull, NULL, json_object('study', json_object(${namedColumns('study')}), 'change', told_count, 'counts', json((
      SELECT json_group_object(outcome, count) FROM (${countsOf('study.seq')}))))),
    @atMs, iif(@isFull, NULL, @atMs), iif(@isFull, 'FAILED', 'WAITING'), iif(@isFull, @atMs, NULL), iif(@isFull, '${TOO_MANY}', NULL)
  FROM study WHERE seq = @seq
  ${RETURNING}`;

interface StudyDelivery {
  seq: number;
  atMs: number;
  hook: string;
  receiver: string;
  url: string | null;
  isFull: number;
}

export class WebhookOutbox implements ChangedTasks {
  /** Numbers of committed deliveries. */
  readonly counts: DeliveryCounts;
  readonly #statements;
  #webhooks: readonly EndSubscription[] = [];
  #maxWaiting = Number.POSITIVE_INFINITY;
  /** Whether any task names an address. */
  #isNamed: boolean;
  /** Deliveries that the open transaction makes, and numbers of those that it ends. */
  #made: Made[] = [];
  #ended: [receiver: string, count: number][] = [];
  #latest: number;
  #durable: number;
  readonly #watchers = new Set<() => void>();

  constructor(db: SqliteDatabase, commit: GroupCommit) {
    this.#statements = prepare(db);
    this.#isNamed = this.#statements.isNamed.get() === 1;
    this.counts = new DeliveryCounts(this.#statements.count.all());
    this.#latest = this.#statements.latest.get() ?? 0;
    this.#durable = this.#latest;
    commit.onTransaction({
      beforeCommit: () => undefined,
      committed: () => this.#committed(),
      rolledBack: () => this.#forget(),
    });
    commit.onSync(() => {
      const latest = this.#latest;
      return () => this.#synced(latest);
    });
  }

  /** Deliveries with higher ids may be undone by a loss of power. */
  get durable(): number {
    return this.#durable;
  }

  subscribe(webhooks: readonly EndSubscription[], maxWaiting: number): void {
    this.#webhooks = webhooks;
    this.#maxWaiting = maxWaiting;
  }

  /** Deliveries for a receiver end. To be called within their transaction. */
  ended(receiver: string, count: number): void {
    this.#ended.push([receiver, count]);
  }

  watch(onDurable: () => void): () => void {
    this.#watchers.add(onDurable);
    return () => void this.#watchers.delete(onDurable);
  }

  /** A new task names an address. To be called within its transaction. */
  named(seq: number, { url, receiver }: NotifyAddress): void {
    this.#isNamed = true;
    this.#statements.name.run(seq, url, receiver);
  }

  added(): void {
    // A new task names its address by `named`.
  }

  changed(): void {
    // Only the end counts.
  }

  removed(): void {
    // Deliveries outlive their task.
  }

  taskEnded(seq: number): void {
    const { forHook, forTask } = this.#statements;
    for (const { name, receiver, statuses } of this.#webhooks) {
      const isFull = this.#isFull(receiver) ? 1 : 0;
      this.#made.push(
        ...forHook.all({ seq, hook: name, receiver, isFull, statuses: JSON.stringify(statuses) }),
      );
    }
    if (!this.#isNamed) return;
    const full = [...this.counts.waiting.keys()].filter((receiver) => this.#isFull(receiver));
    this.#made.push(...forTask.all({ seq, full: JSON.stringify(full) }));
  }

  /** A study has changed in a way that is told. To be called within its transaction. */
  studyChanged(seq: number, atMs: number): void {
    const { tellStudy, forStudy } = this.#statements;
    const { url = null, receiver = null } = tellStudy.get(seq) ?? {};
    const named = url === null || receiver === null ? [] : [{ hook: '', receiver, url }];
    const configured = this.#webhooks.filter(({ studies }) => studies);
    for (const told of [
      ...named,
      ...configured.map(({ name, receiver }) => ({ hook: name, receiver, url: null })),
    ]) {
      const isFull = this.#isFull(told.receiver) ? 1 : 0;
      this.#made.push(...forStudy.all({ ...told, seq, atMs, isFull }));
    }
  }

  #isFull(receiver: string): boolean {
    return this.counts.waitingFor(receiver) >= this.#maxWaiting;
  }

  #committed(): void {
    if (this.#made.length + this.#ended.length === 0) return;
    for (const { id, receiver, isWaiting } of this.#made) {
      this.#latest = Math.max(this.#latest, id);
      this.counts.made(receiver, isWaiting ? { waiting: 1, refused: 0 } : { waiting: 0, refused: 1 });
    }
    for (const [receiver, count] of this.#ended) this.counts.ended(receiver, count);
    this.#forget();
  }

  #forget(): void {
    this.#made = [];
    this.#ended = [];
  }

  #synced(latest: number): void {
    if (latest === this.#durable) return;
    this.#durable = latest;
    for (const onDurable of [...this.#watchers]) onDurable();
  }
}

function prepare(db: SqliteDatabase) {
  return {
    isNamed: db.prepare<[], number>('SELECT EXISTS (SELECT 1 FROM task_notify)').pluck(),
    name: db.prepare<[number, string, string]>(
      'INSERT INTO task_notify (task_seq, url, receiver) VALUES (?, ?, ?)',
    ),
    count: db
      .prepare<[], [string, number]>(
        'SELECT receiver, count(*) FROM webhook_delivery WHERE next_at IS NOT NULL GROUP BY receiver',
      )
      .raw(),
    latest: db.prepare<[], number>('SELECT max(id) FROM webhook_delivery').pluck(),
    forTask: db.prepare<[{ seq: number; full: string }], Made>(INSERT_FOR_TASK),
    forHook: db.prepare<
      [{ seq: number; hook: string; receiver: string; isFull: number; statuses: string }],
      Made
    >(INSERT_FOR_HOOK),
    tellStudy: db.prepare<[number], { url: string | null; receiver: string | null }>(`
      UPDATE study SET told_count = told_count + 1 WHERE seq = ?
      RETURNING notify_url AS url, notify_receiver AS receiver`),
    forStudy: db.prepare<[StudyDelivery], Made>(INSERT_FOR_STUDY),
  };
}
