/** Messages of the first release, verbatim, in version 1 of the protocol. Later builds that speak version 1 accept them, and the
 *  first release ignores fields that it does not know. */
import { describe, expect, it } from 'vitest';
import { manualRuntime } from '../runtime/manual-runtime.js';
import { Link } from './link.js';
import { AGENT_PROTOCOL_VERSIONS } from './messages.js';
import { parseAgentMessage, parseHubMessage } from './parse-message.js';

const TASK = '019c0000-0000-7000-8000-000000000001';
const DIGEST = 'd'.repeat(64);
const REF = `"taskId":"${TASK}","attempt":1,"instanceId":"sim-1"`;

const AGENT_SAID = [
  `{"type":"hello","protocolVersions":[1],"agent":{"id":"host-1","nodeId":"0c0e5e0e-0000-4000-8000-000000000001",
    "version":"0.1.0","revision":"abc"},"instances":[{"id":"sim-1","version":"9.1.0","revision":"4711","labels":["gears"],
    "status":"UP","upForMs":12.5}],"running":[{${REF}}],"spooled":[]}`,
  '{"type":"heartbeat"}',
  `{"type":"instance","instance":{"id":"sim-1","version":"9.1.0","revision":"4711","labels":[],"status":"DOWN",
    "upForMs":null}}`,
  `{"type":"output","ref":{${REF}},"offset":0,"text":"step 1"}`,
  `{"type":"report","report":{${REF},"outcome":"OK","message":null,
    "outputFiles":[{"path":"a/b.txt","digest":"${DIGEST}","sizeBytes":3}],"log":{"digest":"${DIGEST}","sizeBytes":3}}}`,
  '{"type":"reply","requestId":"1","error":null,"text":"log"}',
];

const HUB_SAID = [
  `{"type":"welcome","protocolVersion":1,"hubVersion":"0.1.0","heartbeatIntervalMs":5000,"silenceLimitMs":30000}`,
  '{"type":"refused","code":"AGENT_ID_TAKEN","message":"why"}',
  '{"type":"heartbeat"}',
  `{"type":"assign","ref":{${REF}},"timeLimitMs":null,"job":{"type":"SIMULATE_WORK","durationS":5}}`,
  `{"type":"assign","ref":{${REF}},"timeLimitMs":1000,"job":{"type":"EXECUTE_BATCH_JOB","model":{"kind":"BLOB",
    "path":"model.wbpz","digest":"${DIGEST}","sizeBytes":3},"scripts":[{"digest":"${DIGEST}","sizeBytes":3}],
    "additionalFiles":[],"variables":[{"key":"a","value":"b"}]}}`,
  `{"type":"cancel","ref":{${REF}}}`,
  `{"type":"acknowledged","ref":{${REF}},"counted":true}`,
  '{"type":"request","requestId":"1","request":{"kind":"instanceCommand","instanceId":"sim-1","command":"stop"}}',
  '{"type":"request","requestId":"2","request":{"kind":"instanceLog","instanceId":"sim-1","logType":"stdout"}}',
];

/** Takes a frame as the other side does; gives what ended the link, if something did. */
function fault(read: typeof parseAgentMessage | typeof parseHubMessage, frame: string): string | undefined {
  let reason: string | undefined;
  const link = new Link<{ type: string }, { type: string }>({
    transport: {
      send: () => undefined,
      close: () => undefined,
      terminate: () => undefined,
      bufferedBytes: () => 0,
    },
    runtime: manualRuntime(),
    read,
    onMessage: () => undefined,
    onDown: (why) => {
      reason = why;
    },
  });
  link.receive(frame);
  return reason;
}

const typeOf = (message: string) => (JSON.parse(message) as { type: string }).type;
const named = (messages: readonly string[]) => messages.map((message) => [typeOf(message), message] as const);

describe.runIf(AGENT_PROTOCOL_VERSIONS.includes(1))('version 1 of the protocol', () => {
  it.each(named(AGENT_SAID))('is understood from an agent of the first release: %s', (_, message) => {
    expect(fault(parseAgentMessage, `[${message}]`)).toBeUndefined();
  });

  it.each(named(HUB_SAID))('is understood from a hub of the first release: %s', (_, message) => {
    expect(fault(parseHubMessage, `[${message}]`)).toBeUndefined();
  });

  it('ignores fields of a later release, at any depth', () => {
    const extended = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(extended);
      if (typeof value !== 'object' || value === null) return value;
      const members = Object.entries(value).map(([key, member]) => [key, extended(member)] as const);
      return { ...Object.fromEntries(members), fieldOfTheFuture: { is: ['anything'] } };
    };
    for (const message of AGENT_SAID)
      expect(fault(parseAgentMessage, JSON.stringify([extended(JSON.parse(message))]))).toBeUndefined();
    for (const message of HUB_SAID)
      expect(fault(parseHubMessage, JSON.stringify([extended(JSON.parse(message))]))).toBeUndefined();
  });
});
