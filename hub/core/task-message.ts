import type { Task } from './task.js';

/** Status of a task in words: the `message` of results (contract 4.6). */
export function describeState(task: Task): string {
  switch (task.status) {
    case 'WAITING':
      return task.attempt === 0
        ? 'The task waits for a workbench instance.'
        : `The task waits for a workbench instance again, ${afterAttempts(task)}.`;
    case 'RUNNING':
      return `The task runs on workbench instance ${task.instance?.id ?? 'unknown'}.`;
    case 'FINISHED':
      return `The task has finished on workbench instance ${task.instance?.id ?? 'unknown'}.`;
    case 'FAILED':
      return `The task has failed: ${task.message ?? 'no reason is known'}.`;
    case 'CANCELED':
      if (task.startedAtMs !== null) return 'The task was canceled by force while it ran.';
      return task.attempt === 0
        ? 'The task was canceled before it ran.'
        : `The task was canceled while it waited again, ${afterAttempts(task)}.`;
  }
}

/** Adds to a message which fields of the request were ignored; returns it unchanged when none were. */
export function withIgnoredFields<Message extends string | null>(
  { ignoredFields }: Pick<Task, 'ignoredFields'>,
  message: Message,
): Message | string {
  if (ignoredFields === null) return message;
  const note = `The hub ignored fields of the request that it does not know: ${ignoredFields}.`;
  if (message === null) return note;
  return /[.!?]$/.test(message) ? `${message} ${note}` : `${message}. ${note}`;
}

function afterAttempts({ attempt }: Task): string {
  return `after ${attempt} ${attempt === 1 ? 'attempt' : 'attempts'} that could not end`;
}
