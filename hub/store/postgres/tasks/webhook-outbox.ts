/** Makes the deliveries of ends and of changes of studies, in the statements that make those. */
import type { EndSubscription } from '../../../core/ports/webhook-deliveries.js';
import { DeliveryCounts } from '../../rows/delivery-counts.js';
import { namedColumns } from '../../rows/study-sql.js';
import { countsOf } from '../rows/point-counts.js';
import { TASK_JSON } from '../rows/task-columns.js';

const TOO_MANY = 'too many deliveries waited for this receiver';

/** Parameters of statements that make deliveries. */
export const DELIVERY_PARAMETERS = {
  hookNames: 'text[]',
  hookReceivers: 'text[]',
  hookStatuses: 'text[]',
  fullReceivers: 'text[]',
  fullCounts: 'bigint[]',
  maxWaiting: 'bigint',
} as const;

/**
 * Makes the deliveries of the tasks that `ended` returns with its number `at` and all columns of a task. One that exceeds the
 * number that may wait for its receiver fails at once.
 */
export const makeDeliveries = (ended: string) => `
  told AS (
    SELECT task.at, task.seq, '' AS hook, task_notify.receiver, task_notify.url
    FROM ${ended} AS task JOIN task_notify ON task_notify.task_seq = task.seq
    UNION ALL
    SELECT task.at, task.seq, hook.name, hook.receiver, NULL
    FROM ${ended} AS task JOIN unnest(:hookNames, :hookReceivers, :hookStatuses) AS hook (name, receiver, statuses)
      ON task.status = ANY (string_to_array(hook.statuses, ','))),
  counted AS (
    SELECT told.*, coalesce(waiting.deliveries, 0) + row_number() OVER (PARTITION BY told.receiver ORDER BY told.at, told.hook)
      > :maxWaiting AS is_full
    FROM told LEFT JOIN unnest(:fullReceivers, :fullCounts) AS waiting (receiver, deliveries) ON waiting.receiver = told.receiver),
  made AS (
    INSERT INTO webhook_delivery (task_id, hook, receiver, url, task, told_of, next_at, state, ended_at, fault)
    SELECT task_request.id, counted.hook, counted.receiver, counted.url, CASE WHEN NOT is_full THEN ${TASK_JSON} END,
      task.ended_at, CASE WHEN NOT is_full THEN task.ended_at END, CASE WHEN is_full THEN 'FAILED' ELSE 'WAITING' END,
      CASE WHEN is_full THEN task.ended_at END,
      CASE WHEN is_full THEN '${TOO_MANY}' END
    FROM counted JOIN ${ended} AS task ON task.seq = counted.seq
    JOIN task_request ON task_request.task_seq = task.seq JOIN requirement ON requirement.id = task.requirement_id
    ORDER BY counted.at, counted.hook
    ON CONFLICT (task_id, hook) DO NOTHING RETURNING receiver, next_at IS NOT NULL AS is_waiting)`;

/** Parameters of statements that make deliveries of studies. */
export const STUDY_DELIVERY_PARAMETERS = {
  isTold: 'boolean',
  changedAt: 'bigint',
  hookNames: 'text[]',
  hookReceivers: 'text[]',
  fullReceivers: 'text[]',
  fullCounts: 'bigint[]',
  maxWaiting: 'bigint',
} as const;

/** Makes the deliveries of the study that `changed` returns with all its columns, if its change is told. */
export const makeStudyDeliveries = (changed: string) => `
  told AS (
    SELECT '' AS hook, notify_receiver AS receiver, notify_url AS url FROM ${changed} WHERE notify_url IS NOT NULL
    UNION ALL
    SELECT hook.name, hook.receiver, NULL FROM ${changed}, unnest(:hookNames, :hookReceivers) AS hook (name, receiver)),
  counted AS (
    SELECT told.*, coalesce(waiting.deliveries, 0) >= :maxWaiting AS is_full
    FROM told LEFT JOIN unnest(:fullReceivers, :fullCounts) AS waiting (receiver, deliveries) USING (receiver)),
  made AS (
    INSERT INTO webhook_delivery (task_id, hook, receiver, url, study, told_of, next_at, state, ended_at, fault)
    SELECT study.id || '.' || study.told_count, counted.hook, counted.receiver, counted.url,
      CASE WHEN NOT is_full THEN json_build_object('study', json_build_object(${namedColumns('study')}), 'change', study.told_count,
        'counts', coalesce((SELECT json_object_agg(outcome, count) FROM (${countsOf('study.seq')}) AS each), '{}'::json)) END,
      :changedAt, CASE WHEN NOT is_full THEN :changedAt END, CASE WHEN is_full THEN 'FAILED' ELSE 'WAITING' END,
      CASE WHEN is_full THEN :changedAt END, CASE WHEN is_full THEN '${TOO_MANY}' END
    FROM ${changed} AS study, counted WHERE :isTold ORDER BY counted.hook
    ON CONFLICT (task_id, hook) DO NOTHING RETURNING receiver, next_at IS NOT NULL AS is_waiting)`;

/** Numbers of deliveries that were made, as JSON. */
export const MADE = `(
  SELECT json_agg(json_build_array(receiver, waiting, refused)) FROM (
    SELECT receiver, count(*) FILTER (WHERE is_waiting) AS waiting, count(*) FILTER (WHERE NOT is_waiting) AS refused
    FROM made GROUP BY receiver) AS each)`;

/** Deliveries that a batch made: for each receiver those that wait, and those that failed at once. */
export type MadeDeliveries = readonly (readonly [receiver: string, waiting: number, refused: number])[];

export class WebhookOutbox {
  readonly counts: DeliveryCounts;
  #webhooks: readonly EndSubscription[] = [];
  #maxWaiting = Number.MAX_SAFE_INTEGER;
  readonly #watchers = new Set<() => void>();

  /** @param waiting Numbers of deliveries that wait. */
  constructor(waiting: Iterable<readonly [receiver: string, deliveries: number]>) {
    this.counts = new DeliveryCounts(waiting);
  }

  subscribe(webhooks: readonly EndSubscription[], maxWaiting: number): void {
    this.#webhooks = webhooks;
    this.#maxWaiting = maxWaiting;
  }

  /** Values of {@link DELIVERY_PARAMETERS}. */
  values() {
    return {
      hookNames: this.#webhooks.map(({ name }) => name),
      hookReceivers: this.#webhooks.map(({ receiver }) => receiver),
      hookStatuses: this.#webhooks.map(({ statuses }) => statuses.join(',')),
      fullReceivers: [...this.counts.waiting.keys()],
      fullCounts: [...this.counts.waiting.values()],
      maxWaiting: this.#maxWaiting,
    };
  }

  /** Values of {@link STUDY_DELIVERY_PARAMETERS}. */
  valuesOfStudy(isTold: boolean, changedAt: number | undefined) {
    const { fullReceivers, fullCounts, maxWaiting } = this.values();
    const webhooks = this.#webhooks.filter(({ studies }) => studies);
    const [hookNames, hookReceivers] = [
      webhooks.map(({ name }) => name),
      webhooks.map(({ receiver }) => receiver),
    ];
    return { isTold, changedAt, hookNames, hookReceivers, fullReceivers, fullCounts, maxWaiting };
  }

  /** A batch made deliveries. */
  made(deliveries: MadeDeliveries): void {
    for (const [receiver, waiting, refused] of deliveries) this.counts.made(receiver, { waiting, refused });
    if (deliveries.length > 0) for (const onDurable of [...this.#watchers]) onDurable();
  }

  /** Reads numbers, and takes them in place of the known ones. */
  async recount(
    read: () => Promise<Iterable<readonly [receiver: string, deliveries: number]>>,
  ): Promise<void> {
    await this.counts.recount(read);
    if (this.counts.waiting.size > 0) for (const onDurable of [...this.#watchers]) onDurable();
  }

  watch(onDurable: () => void): () => void {
    this.#watchers.add(onDurable);
    return () => void this.#watchers.delete(onDurable);
  }
}
