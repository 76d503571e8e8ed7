import { AgentUnavailable, type Relay } from '@workbench-hub/hub/core/ports/relay';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

export interface RelayUnderTest {
  readonly relay: Relay;
  /** Makes the agent connected to the hub that serves the requests. */
  connect(agentId: string): Promise<void>;
  close(): Promise<void>;
}

export function describeRelay(open: () => Promise<RelayUnderTest>): void {
  let opened: RelayUnderTest;
  beforeEach(async () => {
    opened = await open();
    await opened.connect('a');
  });
  afterEach(() => opened.close());

  const LOG = { kind: 'instanceLog', instanceId: 's', logType: 'console' } as const;

  describe('a request', () => {
    it('reaches the hub that holds the agent, and brings its reply', async () => {
      const taken: unknown[] = [];
      opened.relay.serve(async (...given) => {
        taken.push(given.slice(0, 2));
        return { error: null, text: 'ü 𝄞\u0000', offset: 7, attempt: 2 };
      });
      const reply = await opened.relay.ask('a', LOG, 5000);
      expect(reply).toEqual({ error: null, text: 'ü 𝄞\u0000', offset: 7, attempt: 2 });
      await opened.relay.ask('a', { kind: 'taskOutput', taskId: 't', known: null }, 5000);
      expect(taken).toEqual([
        ['a', LOG],
        ['a', { kind: 'taskOutput', taskId: 't', known: null }],
      ]);
    });

    it('leaves no more time for the reply than it was given', async () => {
      const times: number[] = [];
      opened.relay.serve(async (_agentId, _request, timeoutMs) => {
        times.push(timeoutMs);
        return { error: null, text: null };
      });
      await opened.relay.ask('a', LOG, 5000);
      expect(times).toHaveLength(1);
      expect(times[0]).toBeGreaterThan(0);
      expect(times[0]).toBeLessThanOrEqual(5000);
    });

    it('fails in the words of the hub that holds the agent', async () => {
      opened.relay.serve(async () => {
        throw new AgentUnavailable('agent a did not answer in 5 s');
      });
      const asked = opened.relay.ask('a', LOG, 5000);
      await expect(asked).rejects.toBeInstanceOf(AgentUnavailable);
      await expect(asked).rejects.toThrow('agent a did not answer in 5 s');
    });

    it('fails when no hub holds the agent', async () => {
      const asked = opened.relay.ask('nobody', LOG, 5000);
      await expect(asked).rejects.toBeInstanceOf(AgentUnavailable);
      await expect(asked).rejects.toThrow('agent nobody is not connected');
    });
  });
}
