import type { TaskAttempt, TaskDetails } from '@workbench-hub/client';

/** A wait or an attempt of a task. */
export interface LifeSpan {
  readonly key: string;
  readonly kind: 'waiting' | TaskAttempt['outcome'];
  readonly attempt?: TaskAttempt;
  readonly from: string;
  /** Absent while it lasts. */
  readonly to?: string | undefined;
}

/** Waits and attempts in their order. A wait begins with the request, or with the end of a lost attempt. */
export function lifeOf({ attempts, requestedAt, endedAt, status }: TaskDetails): readonly LifeSpan[] {
  const spans: LifeSpan[] = [];
  let waitsSince: string | undefined = requestedAt;
  for (const attempt of attempts) {
    const from = attempt.startedAt ?? waitsSince ?? requestedAt;
    if (waitsSince !== undefined)
      spans.push({ key: `waits-${attempt.attempt}`, kind: 'waiting', from: waitsSince, to: from });
    spans.push({
      key: `attempt-${attempt.attempt}`,
      kind: attempt.outcome,
      attempt,
      from,
      to: attempt.endedAt ?? (attempt.outcome === 'RUNNING' ? undefined : (endedAt ?? from)),
    });
    waitsSince = attempt.endedAt;
  }
  const isOver = attempts.length > 0 && status !== 'WAITING';
  if (waitsSince !== undefined && !isOver)
    spans.push({ key: 'waits', kind: 'waiting', from: waitsSince, to: endedAt });
  return spans;
}
