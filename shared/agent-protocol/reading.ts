/**
 * Reads the messages that come over the link: what is not as the protocol says is a ShapeFault, and fields that
 * are not known are left out. The three that each task needs are read by hand, for a schema costs as much as what is done
 * with them; all others by their schemas.
 */
import type { z } from 'zod';
import { ATTEMPT_OUTCOMES, type AttemptReport } from '../domain/attempt.js';
import type { Job } from '../domain/job.js';
import type { AttemptRef } from '../domain/task.js';
import { expected, flag, type Members, members, ShapeFault, text, wholeNumber } from '../shape.js';
import {
  type AgentMessage,
  type AssignMessage,
  batchJob,
  fileRef,
  type HubMessage,
  IDENTIFIER,
  MAX_IDENTIFIER_LENGTH,
  namedFileRefs,
  otherAgentMessage,
  otherHubMessage,
  type SettledMessage,
  storedFileRefs,
} from './messages.js';

const MAX_NAME_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 10_000;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;
const OUTCOMES: ReadonlySet<unknown> = new Set(ATTEMPT_OUTCOMES);

/** What a hub said. */
export function readHubMessage(value: unknown): HubMessage {
  switch (typeOf(value)) {
    case 'assign':
      return assign(value as Members);
    case 'settled':
      return settled(value as Members);
    default:
      return bySchema(otherHubMessage, value, '');
  }
}

/** What an agent said. */
export function readAgentMessage(value: unknown): AgentMessage {
  if (typeOf(value) !== 'ended') return bySchema(otherAgentMessage, value, '');
  return { type: 'ended', report: endedReport(members((value as Members)['report'], 'report')) };
}

function assign(message: Members): AssignMessage {
  const { timeLimitMs, requestId, traceContext } = message;
  return {
    type: 'assign',
    ref: attemptRef(members(message['ref'], 'ref'), 'ref'),
    timeLimitMs: timeLimitMs === null ? null : wholeNumber(timeLimitMs, 'timeLimitMs', 1),
    job: job(members(message['job'], 'job')),
    requestId: requestId === undefined ? undefined : text(requestId, 'requestId', MAX_NAME_LENGTH),
    traceContext:
      traceContext === undefined ? undefined : text(traceContext, 'traceContext', MAX_NAME_LENGTH),
  };
}

function settled(message: Members): SettledMessage {
  return {
    type: 'settled',
    ref: attemptRef(members(message['ref'], 'ref'), 'ref'),
    counted: flag(message['counted'], 'counted'),
  };
}

function job(value: Members): Job {
  if (value['type'] !== 'SIMULATE_WORK') return bySchema(batchJob, value, 'job');
  return { type: 'SIMULATE_WORK', durationS: wholeNumber(value['durationS'], 'job.durationS', 0) };
}

function endedReport(report: Members): AttemptReport {
  const { taskId, attempt, instanceId } = attemptRef(report, 'report');
  const { outcome, message, hostFault, outputFiles, log, storedFiles } = report;
  if (!OUTCOMES.has(outcome)) throw expected(`one of ${ATTEMPT_OUTCOMES.join(', ')}`, 'report.outcome');
  return {
    taskId,
    attempt,
    instanceId,
    outcome: outcome as AttemptReport['outcome'],
    message: message === null ? null : text(message, 'report.message', MAX_MESSAGE_LENGTH),
    ...(hostFault === undefined ? {} : { hostFault: flag(hostFault, 'report.hostFault') }),
    outputFiles: isEmptyList(outputFiles) ? [] : bySchema(namedFileRefs, outputFiles, 'report.outputFiles'),
    log: log === null ? null : bySchema(fileRef, log, 'report.log'),
    ...(storedFiles === undefined
      ? {}
      : { storedFiles: bySchema(storedFileRefs, storedFiles, 'report.storedFiles') }),
  };
}

function attemptRef({ taskId, attempt, instanceId }: Members, parent: string): AttemptRef {
  if (typeof taskId !== 'string' || !UUID.test(taskId)) throw expected('a UUID', `${parent}.taskId`);
  if (
    typeof instanceId !== 'string' ||
    instanceId.length > MAX_IDENTIFIER_LENGTH ||
    !IDENTIFIER.test(instanceId)
  )
    throw expected(`1 to ${MAX_IDENTIFIER_LENGTH} letters, digits and . _ : @ -`, `${parent}.instanceId`);
  return { taskId, attempt: wholeNumber(attempt, `${parent}.attempt`, 1), instanceId };
}

function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null ? (message as Members)['type'] : undefined;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function bySchema<T>(schema: z.ZodType<T>, value: unknown, parent: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = [...(parent === '' ? [] : [parent]), ...(issue?.path ?? [])];
  throw new ShapeFault(path.join('.'), issue?.message ?? 'expected something else');
}
