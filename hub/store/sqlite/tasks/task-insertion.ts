import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { filesOfJob } from '@workbench-hub/shared/domain/job';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import type { WaitingTask } from '../../../core/match-tasks.js';
import type { NewTask } from '../../../core/task.js';
import { REQUEST_COLUMNS } from '../../rows/task-fields.js';
import type { SqliteDatabase } from '../connection/database.js';
import { fileReferences } from '../objects/file-references.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { LATEST_SEQ } from '../rows/task-columns.js';
import type { RequirementIds } from './requirement-ids.js';
import type { WebhookOutbox } from './webhook-outbox.js';

/** Inserts a task into the queue. To be called within a transaction. */
export function taskInsertion(
  db: SqliteDatabase,
  tasks: ChangedTasks,
  requirements: RequirementIds,
  webhooks: Pick<WebhookOutbox, 'named'>,
): (task: NewTask) => WaitingTask {
  const columns = [
    'seq',
    'type',
    'status',
    'priority',
    'requirement_id',
    'job',
    ...REQUEST_COLUMNS.map(({ column }) => column),
  ];
  const insert = db.prepare<(string | number | null)[]>(
    `INSERT INTO task (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  const openLoan = db.prepare<[number]>('INSERT INTO open_loan (task_seq) VALUES (?)');
  const refer = fileReferences(db);
  // Never reused, not even after the removal of the latest task: lists identify tasks by it.
  let latestSeq = db.prepare<[], number>(LATEST_SEQ).pluck().get() ?? 0;

  const insertTask = (task: NewTask): WaitingTask => {
    const seq = ++latestSeq;
    const key = requirementKey(task.requirement);
    const groupId = requirements.of(key);
    const rank = priorityRank(task.priority);
    const request = REQUEST_COLUMNS.map(({ valueIn }) => valueIn(task));
    insert.run(seq, task.type, task.status, rank, groupId, JSON.stringify(task.job), ...request);
    filesOfJob(task.job).forEach((file, position) => {
      refer({ taskSeq: seq, role: 'INPUT', position, path: null }, file);
    });
    if (task.loan) openLoan.run(seq);
    if (task.notify) webhooks.named(seq, task.notify);
    tasks.added(seq);
    const { id: taskId, timeLimitS } = task;
    return { taskId, groupId, requirementKey: key, priorityRank: rank, sequence: seq, timeLimitS };
  };
  return insertTask;
}
