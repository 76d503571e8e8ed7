/** The suite of nodes on the live views of a hub that has its store alone. */
import { Instances } from '@workbench-hub/hub/engine/instances/instances';
import { liveNodes } from '@workbench-hub/hub/engine/instances/live-nodes';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { describeNodes, type NodesUnderTest } from './nodes-suite.js';

async function open(): Promise<NodesUnderTest> {
  const instances = new Instances({ ...systemRuntime, log: memoryLog().log });
  const { onSignal } = instances;
  return {
    nodes: liveNodes(instances, async () => undefined),
    join: async (agent, working) => {
      const running = working.map((instanceId, at) => ({ taskId: `t${at}`, attempt: 1, instanceId }));
      onSignal.JOINED?.({ kind: 'JOINED', agent, running });
      onSignal.READY?.({ kind: 'READY', agentId: agent.id });
    },
    changed: async (agentId, report) => onSignal.INSTANCE?.({ kind: 'INSTANCE', agentId, report }),
    leave: async (agentId) => onSignal.LEFT?.({ kind: 'LEFT', agentId }),
    drain: async (drains) => void instances.setDrains(drains),
    close: async () => undefined,
  };
}

describe('live views', () => describeNodes(open));
