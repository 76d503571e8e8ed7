/** Identity of a task in logs: its id, and the id of the request that created it, if known. */
export interface TaskNames {
  readonly taskId: string;
  readonly requestId?: string | undefined;
}

/** `task 4711, request build-12` */
export function inWords({ taskId, requestId }: TaskNames): string {
  return `task ${taskId}${requestId === undefined ? '' : `, request ${requestId}`}`;
}
