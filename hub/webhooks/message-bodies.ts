/** Bodies of the messages to receivers, one for each kind of webhook. */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { ClaimedDelivery, StudyNews } from '../core/ports/webhook-deliveries.js';
import type { Task } from '../core/task.js';

/** Functions that give tasks and studies as lists show them. */
export interface Presenters {
  readonly task: (task: Task) => object;
  readonly study: (news: StudyNews) => object;
}

/** Body of the message of a delivery. */
export function messageBody(
  { news, toldOfMs }: Pick<ClaimedDelivery, 'news' | 'toldOfMs'>,
  present: Presenters,
): string {
  const timestamp = offsetTimestamp(toldOfMs);
  if (news.kind === 'TASK') {
    return JSON.stringify({ type: 'task.ended', timestamp, data: present.task(news.task) });
  }
  const type = news.study.state === 'PAUSED' ? 'study.paused' : 'study.ended';
  return JSON.stringify({ type, timestamp, data: present.study(news) });
}
