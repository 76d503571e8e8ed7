/** The parts by which a hub takes part in a cluster call each other in one direction only, also at run time; news reach them by
 *  methods that only wake them or take a message. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallGraph, classesIn, cycleIn } from '../support/call-graph.js';
import { eventually } from '../support/eventually.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { joinAgent, TestHubs } from '../support/stores/postgres-cluster.js';

const [A, B] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'];

const EVENT_TARGETS = [
  'ClusterRelay.look',
  'HubRows.lookNow',
  'MessageReceiver.receive',
  'Resyncs.soon',
  'SchedulerRole.tryNow',
];

const PARTS = await classesIn('@workbench-hub/hub/store/postgres/cluster/open-cluster');

let graph: CallGraph;
let hubs: TestHubs;
beforeEach(async () => {
  graph = CallGraph.of(PARTS, EVENT_TARGETS);
  if (hasPostgres) hubs = await TestHubs.open();
});
afterEach(async () => {
  if (hasPostgres) await hubs.end();
  graph.end();
});

it.skipIf(!hasPostgres)(
  'the parts of a membership call each other without a cycle while hubs come and go',
  async () => {
    const a = await hubs.start(A);
    const b = await hubs.start(B);
    await eventually(() => a.hubs.others() === 1 && b.hubs.others() === 1);
    await a.roles.contend({ gained: async () => undefined, lost: async () => undefined });
    await joinAgent(b, 'host');
    b.relay.serve(async () => ({ error: null, text: 'done' }));
    const request = { kind: 'instanceCommand', instanceId: 'sim', command: 'restart' } as const;
    expect(await a.relay.ask('host', request, 60_000)).toMatchObject({ text: 'done' });
    a.signals.tell({ kind: 'ENDED', taskId: 't' });
    await a.signals.caughtUp();
    a.proxy.cut();
    await eventually(() => a.resyncs() > 0);
    await b.crash();
    await eventually(() => a.hubs.others() === 0);
    await a.close();
    expect([...graph.calls]).toEqual(
      expect.arrayContaining(['MessageReceiver -> ClusterSignals', 'HubRows -> ControlConnection']),
    );
    expect(cycleIn(graph.calls)).toBeUndefined();
  },
);
