import { describe, expect, it } from 'vitest';
import { ShapeFault } from '../shape.js';
import {
  readCancelParams,
  readExecuteBatchJobParams,
  readExecuteBatchJobResult,
  readInitializeParams,
  readInitializeResult,
  readOutputParams,
  readSimulateWorkParams,
} from './reading.js';

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
  it.each([
    [readInitializeParams, { protocolVersion: 1, instance }],
    [readInitializeResult, { protocolVersion: 1, name: long(200), version: '' }],
    [readSimulateWorkParams, { ...work, requestId: long(200) }],
    [readExecuteBatchJobParams, job],
    [readExecuteBatchJobParams, { ...job, model: '/w/model.inp' }],
    [readExecuteBatchJobResult, { status: 'OK' }],
    [readExecuteBatchJobResult, { status: 'ERROR', message: long(10_000) }],
    [readCancelParams, { taskId: 't' }],
    [readOutputParams, { taskId: 't', stream: 'stderr', text: '' }],
  ])('is taken by %o, without members that are not known: %j', (read, value) => {
    expect(read({ ...value, later: true })).toEqual(value);
  });

  it('keeps a variable whose name means something to the language', () => {
    const variables = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>;
    const read = readExecuteBatchJobParams({ ...job, variables });
    expect(JSON.stringify(read.variables)).toBe('{"__proto__":"a","constructor":"b"}');
  });
});

describe('what is not', () => {
  it.each([
    [readInitializeParams, { protocolVersion: 2, instance }, 'protocolVersion', 'expected 1'],
    [readInitializeParams, { protocolVersion: 1 }, 'instance', 'expected an object'],
    [
      readInitializeParams,
      { protocolVersion: 1, instance: { ...instance, labels: [1] } },
      'instance.labels.0',
      'expected a text',
    ],
    [
      readInitializeResult,
      { protocolVersion: 1, name: long(201), version: '' },
      'name',
      'expected a text of at most 200 characters',
    ],
    [readSimulateWorkParams, undefined, '', 'expected an object'],
    [readSimulateWorkParams, [], '', 'expected an object'],
    [readSimulateWorkParams, { ...work, durationMs: -1 }, 'durationMs', 'expected a whole number, 0 or more'],
    [
      readSimulateWorkParams,
      { ...work, durationMs: 0.5 },
      'durationMs',
      'expected a whole number, 0 or more',
    ],
    [
      readSimulateWorkParams,
      { ...work, requestId: long(201) },
      'requestId',
      'expected a text of at most 200 characters',
    ],
    [readExecuteBatchJobParams, { ...job, scripts: [] }, 'scripts', 'expected at least one'],
    [readExecuteBatchJobParams, { ...job, scripts: 'x' }, 'scripts', 'expected a list of texts'],
    [readExecuteBatchJobParams, { ...job, model: undefined }, 'model', 'expected a text'],
    [readExecuteBatchJobParams, { ...job, variables: { load: 1 } }, 'variables.load', 'expected a text'],
    [readExecuteBatchJobParams, { ...job, environment: [] }, 'environment', 'expected an object'],
    [readExecuteBatchJobResult, null, '', 'expected an object'],
    [readExecuteBatchJobResult, { status: 'PERHAPS' }, 'status', 'expected OK or ERROR'],
    [
      readExecuteBatchJobResult,
      { status: 'OK', message: long(10_001) },
      'message',
      'expected a text of at most 10000 characters',
    ],
    [readCancelParams, {}, 'taskId', 'expected a text'],
    [readOutputParams, { taskId: 't', stream: 'stdin', text: '' }, 'stream', 'expected stdout or stderr'],
  ])('is refused by %o with where and what: %j', (read, value, path, message) => {
    const fault = expect.objectContaining({ path, message });
    expect(() => read(value)).toThrow(ShapeFault);
    expect(() => read(value)).toThrow(fault);
  });
});
