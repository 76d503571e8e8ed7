/** By what a task is found in logs: its id, and the request that created it, as far as the hub says. */
export interface TaskNames {
  readonly taskId: string;
  readonly requestId?: string | undefined;
}

/** The same in words: `task 4711, request build-12`. */
export function inWords({ taskId, requestId }: TaskNames): string {
  return `task ${taskId}${requestId === undefined ? '' : `, request ${requestId}`}`;
}
