import { describe, expect, it } from 'vitest';
import { ValidationError } from '../validation-error.js';
import {
  cancelParams,
  executeBatchJobParams,
  executeBatchJobResult,
  initializeParams,
  initializeResult,
  outputParams,
  simulateWorkParams,
} from './messages.js';
import { readAs } from './parse-message.js';

const SCHEMAS = {
  cancelParams,
  executeBatchJobParams,
  executeBatchJobResult,
  initializeParams,
  initializeResult,
  outputParams,
  simulateWorkParams,
};

const instance = { id: 'sim-1', version: '9.1.0', revision: '4711', labels: ['gears'] };
const job = {
  taskId: 't',
  requestId: 'r',
  workingDirectory: '/w',
  scripts: ['/s'],
  model: null,
  variables: { load: '100' },
  environment: {},
};
const work = { taskId: 't', durationMs: 1 };
const long = (length: number) => 'x'.repeat(length);

describe('what is as the protocol says', () => {
  it.each<[keyof typeof SCHEMAS, object]>([
    ['initializeParams', { protocolVersion: 1, instance }],
    ['initializeResult', { protocolVersion: 1, name: long(200), version: '' }],
    ['simulateWorkParams', { ...work, requestId: long(200) }],
    ['executeBatchJobParams', job],
    ['executeBatchJobParams', { ...job, model: '/w/model.inp' }],
    ['executeBatchJobResult', { status: 'OK' }],
    ['executeBatchJobResult', { status: 'OK', startedProcesses: false }],
    ['executeBatchJobResult', { status: 'ERROR', message: long(10_000) }],
    ['cancelParams', { taskId: 't' }],
    ['outputParams', { taskId: 't', stream: 'stderr', text: '' }],
  ])('is taken as %s, without members that the schema does not know: %j', (name, value) => {
    expect(readAs(SCHEMAS[name], { ...value, later: true })).toEqual(value);
  });

  it('keeps a variable whose name means something to the language', () => {
    const variables = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>;
    const read = readAs(executeBatchJobParams, { ...job, variables });
    expect(JSON.stringify(read.variables)).toBe('{"__proto__":"a","constructor":"b"}');
  });
});

describe('what is not', () => {
  it.each<[name: keyof typeof SCHEMAS, value: unknown, path: string, message: string]>([
    [
      'initializeParams',
      { protocolVersion: 2, instance },
      'protocolVersion',
      'Invalid type: Expected 1 but received 2',
    ],
    [
      'initializeParams',
      { protocolVersion: 1 },
      'instance',
      'Invalid key: Expected "instance" but received undefined',
    ],
    [
      'initializeParams',
      { protocolVersion: 1, instance: { ...instance, labels: [1] } },
      'instance.labels.0',
      'Invalid type: Expected string but received 1',
    ],
    [
      'initializeResult',
      { protocolVersion: 1, name: long(201), version: '' },
      'name',
      'Invalid length: Expected <=200 but received 201',
    ],
    ['simulateWorkParams', undefined, '', 'Invalid type: Expected Object but received undefined'],
    ['simulateWorkParams', [], 'taskId', 'Invalid key: Expected "taskId" but received undefined'],
    [
      'simulateWorkParams',
      { ...work, durationMs: -1 },
      'durationMs',
      'Invalid value: Expected >=0 but received -1',
    ],
    ['simulateWorkParams', { ...work, durationMs: 0.5 }, 'durationMs', 'Invalid safe integer: Received 0.5'],
    [
      'simulateWorkParams',
      { ...work, requestId: long(201) },
      'requestId',
      'Invalid length: Expected <=200 but received 201',
    ],
    [
      'executeBatchJobParams',
      { ...job, scripts: [] },
      'scripts',
      'Invalid length: Expected >=1 but received 0',
    ],
    [
      'executeBatchJobParams',
      { ...job, scripts: 'x' },
      'scripts',
      'Invalid type: Expected Array but received "x"',
    ],
    [
      'executeBatchJobParams',
      { ...job, model: undefined },
      'model',
      'Invalid type: Expected string but received undefined',
    ],
    [
      'executeBatchJobParams',
      { ...job, variables: { load: 1 } },
      'variables.load',
      'Invalid type: Expected string',
    ],
    ['executeBatchJobParams', { ...job, environment: [] }, 'environment', 'Invalid type: Expected Object'],
    ['executeBatchJobResult', null, '', 'Invalid type: Expected Object but received null'],
    [
      'executeBatchJobResult',
      { status: 'PERHAPS' },
      'status',
      'Invalid type: Expected ("OK" | "ERROR") but received "PERHAPS"',
    ],
    [
      'executeBatchJobResult',
      { status: 'OK', message: long(10_001) },
      'message',
      'Invalid length: Expected <=10000 but received 10001',
    ],
    ['cancelParams', {}, 'taskId', 'Invalid key: Expected "taskId" but received undefined'],
    [
      'outputParams',
      { taskId: 't', stream: 'stdin', text: '' },
      'stream',
      'Invalid type: Expected ("stdout" | "stderr") but received "stdin"',
    ],
  ])('is refused as %s: %j, at %j', (name, value, path, message) => {
    const fault = expect.objectContaining({ path, message });
    expect(() => readAs(SCHEMAS[name], value)).toThrow(ValidationError);
    expect(() => readAs(SCHEMAS[name], value)).toThrow(fault);
  });
});
