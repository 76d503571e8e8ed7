/** Many agents without hosts in one process, which join hubs and move between them by the code of the agent. Their instances end each task
 *  at once. */

import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import { HubSession } from '@workbench-hub/shared/joining/hub-session';
import type { HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';

/** Input. Each is replied to when all agents are joined, `rejoin` when this many connections have ended before. */
export type ToAgents =
  | {
      readonly kind: 'join';
      readonly addresses: readonly string[];
      readonly token: string;
      readonly agents: number;
      readonly instancesEach: number;
    }
  | { readonly kind: 'rejoin'; readonly ended: number };

export interface FromAgents {
  readonly tookMs: number;
}

const LOOK_EVERY_MS = 10;

const sessions: HubSession[] = [];
let ended = 0;

async function noFiles(): Promise<never> {
  throw new Error('its tasks have no files');
}

function addAgent(
  index: number,
  { addresses, token, instancesEach }: Extract<ToAgents, { kind: 'join' }>,
): void {
  const id = `agent-${index}`;
  const nodeId = `00000000-0000-4000-8000-${`${index}`.padStart(12, '0')}`;
  const reports = new Map<string, AttemptReport>();
  let connection: HubConnection | undefined;
  const hub = hubLink({
    addresses,
    agent: {
      ...{ id, nodeId, version: '0.1.0', revision: 'simulated' },
      installation: { kind: 'FILE', os: 'linux', arch: 'x64' },
    },
    secret: { read: async () => token, advice: '' },
    tls: async () => ({}),
    runtime: systemRuntime,
    files: () => ({ download: noFiles, uploadedBytes: noFiles, upload: noFiles }),
  });
  const session = new HubSession(
    hub,
    {
      introduce: () => ({
        instances: Array.from({ length: instancesEach }, (_, at) => ({
          ...{ id: `${id}-${at}`, version: '1.0.0', revision: '4711', labels: ['fem', 'gears'] },
          ...{ status: 'UP' as const, upForMs: 1000 },
        })),
        running: [],
        spooled: [...reports.values()].map(({ taskId, attempt, instanceId }) => ({
          taskId,
          attempt,
          instanceId,
        })),
      }),
      onJoined: (joined) => {
        connection = joined;
        for (const report of reports.values()) joined.sendReport(report);
        joined.ended.addEventListener('abort', () => ended++, { once: true });
      },
      onAssign: ({ ref }) => {
        const report: AttemptReport = { ...ref, outcome: 'OK', message: null, outputFiles: [], log: null };
        reports.set(ref.taskId, report);
        connection?.sendReport(report);
      },
      onCancel: () => undefined,
      onAcknowledged: ({ taskId }) => void reports.delete(taskId),
      onRequest: () => ({ error: 'it has no host', text: null }),
    },
    { runtime: systemRuntime, log: pino({ level: 'silent' }) },
  );
  sessions.push(session);
  void session.start();
}

async function allJoined(endedBefore: number): Promise<void> {
  while (ended < endedBefore || sessions.some(({ connection }) => connection === null)) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

process.on('message', async (message: ToAgents) => {
  const began = performance.now();
  if (message.kind === 'join') {
    for (let index = 0; index < message.agents; index++) addAgent(index, message);
    await allJoined(0);
  } else {
    await allJoined(ended + message.ended);
  }
  const answer: FromAgents = { tookMs: performance.now() - began };
  process.send?.(answer);
});
// Ends with its parent process.
process.on('disconnect', () => process.exit());
