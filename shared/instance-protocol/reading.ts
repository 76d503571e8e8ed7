/**
 * Reads what the other side sent: what is not as the protocol says is a ShapeFault, and members that are not known
 * are left out. By hand: a library of schemas would take 7 MiB of each instance program, most of the time of its start, and
 * longer for each process that it starts, since that copies the tables of its memory.
 */
import { expected, members, text, wholeNumber } from '../shape.js';
import {
  type CancelParams,
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  INSTANCE_PROTOCOL_VERSION,
  type InitializeParams,
  type InitializeResult,
  type OutputParams,
  type SimulateWorkParams,
} from './messages.js';

const MAX_REQUEST_ID_LENGTH = 200;
const MAX_NAME_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 10_000;

export function readInitializeParams(value: unknown): InitializeParams {
  const { protocolVersion, instance } = members(value, '');
  const { id, version, revision, labels } = members(instance, 'instance');
  return {
    protocolVersion: thisVersion(protocolVersion),
    instance: {
      id: text(id, 'instance.id'),
      version: text(version, 'instance.version'),
      revision: text(revision, 'instance.revision'),
      labels: texts(labels, 'instance.labels'),
    },
  };
}

export function readInitializeResult(value: unknown): InitializeResult {
  const { protocolVersion, name, version } = members(value, '');
  return {
    protocolVersion: thisVersion(protocolVersion),
    name: text(name, 'name', MAX_NAME_LENGTH),
    version: text(version, 'version', MAX_NAME_LENGTH),
  };
}

export function readSimulateWorkParams(value: unknown): SimulateWorkParams {
  const { taskId, requestId, durationMs } = members(value, '');
  return {
    taskId: text(taskId, 'taskId'),
    requestId: optionalRequestId(requestId),
    durationMs: wholeNumber(durationMs, 'durationMs', 0),
  };
}

export function readExecuteBatchJobParams(value: unknown): ExecuteBatchJobParams {
  const job = members(value, '');
  const scripts = texts(job['scripts'], 'scripts');
  if (scripts.length === 0) throw expected('at least one', 'scripts');
  const model = job['model'];
  return {
    taskId: text(job['taskId'], 'taskId'),
    requestId: optionalRequestId(job['requestId']),
    workingDirectory: text(job['workingDirectory'], 'workingDirectory'),
    scripts,
    model: model === null ? null : text(model, 'model'),
    variables: textsByName(job['variables'], 'variables'),
    environment: textsByName(job['environment'], 'environment'),
  };
}

export function readExecuteBatchJobResult(value: unknown): ExecuteBatchJobResult {
  const { status, message } = members(value, '');
  if (status !== 'OK' && status !== 'ERROR') throw expected('OK or ERROR', 'status');
  if (message === undefined) return { status };
  return { status, message: text(message, 'message', MAX_MESSAGE_LENGTH) };
}

export function readCancelParams(value: unknown): CancelParams {
  return { taskId: text(members(value, '')['taskId'], 'taskId') };
}

export function readOutputParams(value: unknown): OutputParams {
  const output = members(value, '');
  const stream = output['stream'];
  if (stream !== 'stdout' && stream !== 'stderr') throw expected('stdout or stderr', 'stream');
  return { taskId: text(output['taskId'], 'taskId'), stream, text: text(output['text'], 'text') };
}

function optionalRequestId(value: unknown): string | undefined {
  return value === undefined ? undefined : text(value, 'requestId', MAX_REQUEST_ID_LENGTH);
}

function thisVersion(value: unknown): typeof INSTANCE_PROTOCOL_VERSION {
  if (value !== INSTANCE_PROTOCOL_VERSION) throw expected(`${INSTANCE_PROTOCOL_VERSION}`, 'protocolVersion');
  return value;
}

function texts(value: unknown, path: string): string[] {
  if (!Array.isArray(value)) throw expected('a list of texts', path);
  return value.map((item, index) => text(item, `${path}.${index}`));
}

function textsByName(value: unknown, path: string): Record<string, string> {
  const named = members(value, path);
  for (const [name, item] of Object.entries(named)) text(item, `${path}.${name}`);
  return named as Record<string, string>;
}
