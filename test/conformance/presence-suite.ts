import type { JoiningAgent, Presence, StartedInstance } from '@workbench-hub/hub/core/ports/presence';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

export interface PresenceUnderTest {
  readonly presence: Presence;
  /** Ends the hub, and starts it again on the same data. This one is unusable afterwards. */
  restart(): Promise<PresenceUnderTest>;
  close(): Promise<void>;
}

export function describePresence(open: () => Promise<PresenceUnderTest>): void {
  let opened: PresenceUnderTest;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  const report = (id: string, rest: Partial<StartedInstance> = {}): StartedInstance => ({
    id,
    version: '9.1',
    revision: '4711',
    labels: ['gears', 'ü'],
    status: 'UP',
    upForMs: 1000,
    startedAtMs: 4,
    ...rest,
  });
  const agent = (id: string, rest: Partial<JoiningAgent> = {}): JoiningAgent => ({
    id,
    nodeId: `node of ${id}`,
    joinNumber: null,
    version: '1',
    revision: 'abc',
    address: '10.0.0.7',
    clockOffsetMs: -7,
    installation: { kind: 'FILE', os: 'windows', arch: 'x64' },
    seenAtMs: 5,
    instances: [report(`${id}-sim`)],
    ...rest,
  });
  const join = async (joining: JoiningAgent): Promise<number> => {
    const joined = await opened.presence.join(joining);
    if (joined === undefined || 'code' in joined) throw new Error(joined?.message);
    return joined.epoch;
  };
  const seen = async () =>
    (await opened.presence.all()).map(({ id, isConnected, instances }) => [
      id,
      isConnected,
      instances.map(({ profile, status }) => `${profile.id} ${status}`),
    ]);

  describe('an agent that joins', () => {
    it('is shown with what it told, by id', async () => {
      await join(
        agent('b', {
          instances: [report('z'), report('y', { status: 'STARTING', upForMs: null, startedAtMs: null })],
        }),
      );
      await join(agent('a', { instances: [] }));
      const [first, second] = await opened.presence.all();
      expect(first).toMatchObject({ id: 'a', isConnected: true, instances: [] });
      expect(second).toMatchObject({
        ...{ id: 'b', version: '1', revision: 'abc', address: '10.0.0.7', clockOffsetMs: -7, seenAtMs: 5 },
        installation: { kind: 'FILE', os: 'windows', arch: 'x64' },
        instances: [
          { profile: { id: 'y' }, status: 'STARTING', startedAtMs: null },
          { profile: { id: 'z', version: '9.1', revision: '4711', labels: ['gears', 'ü'] }, status: 'UP' },
        ],
      });
      expect(typeof second?.instances[1]?.startedAtMs).toBe('number');
    });

    it('is refused while another node has its id', async () => {
      const epoch = await join(agent('a'));
      const refused = await opened.presence.join(agent('a', { nodeId: 'other', instances: [] }));
      expect(refused).toMatchObject({ code: 'AGENT_ID_TAKEN', message: expect.stringContaining(' a ') });
      expect(await seen()).toEqual([['a', true, ['a-sim UP']]]);
      await opened.presence.leave('a', epoch, 6);
      await join(agent('a', { nodeId: 'other', instances: [] }));
      expect(await seen()).toEqual([['a', true, []]]);
    });

    it('is refused while another connected agent has one of its instances', async () => {
      const epoch = await join(agent('a', { instances: [report('s')] }));
      const b = agent('b', { instances: [report('r'), report('s')] });
      const refused = await opened.presence.join(b);
      expect(refused).toMatchObject({
        code: 'INSTANCE_ID_TAKEN',
        message: expect.stringMatching(/ s .* a:/),
      });
      expect(await seen()).toEqual([['a', true, ['s UP']]]);
      await opened.presence.leave('a', epoch, 6);
      await join(b);
      expect(await seen()).toEqual([
        ['a', false, []],
        ['b', true, ['r UP', 's UP']],
      ]);
    });

    it('joins by a number that is not below that of its latest join, also when it has left since', async () => {
      const later = await join(agent('a', { joinNumber: 8 }));
      const outdated = { code: 'JOIN_OUTDATED', latestJoin: 8, message: expect.stringContaining(' a ') };
      const earlier = agent('a', { joinNumber: 7, instances: [report('other')] });
      expect(await opened.presence.join(earlier)).toEqual(outdated);
      expect(await seen()).toEqual([['a', true, ['a-sim UP']]]);
      expect(await opened.presence.leave('a', later, 60)).toBe(true);
      expect(await opened.presence.join(earlier)).toEqual(outdated);
      const again = await join(agent('a', { joinNumber: 8 }));
      expect(again).toBeGreaterThan(later);
      expect(await join(agent('a', { joinNumber: 9 }))).toBeGreaterThan(again);
    });

    it('is held by its latest join until it leaves', async () => {
      const earlier = await join(agent('a'));
      expect(await opened.presence.holds('a', earlier)).toBe(true);
      const later = await join(agent('a'));
      expect(await opened.presence.holds('a', earlier)).toBe(false);
      expect(await opened.presence.holds('a', later)).toBe(true);
      await opened.presence.leave('a', later, 60);
      expect(await opened.presence.holds('a', later)).toBe(false);
      expect(await opened.presence.holds('nobody', 1)).toBe(false);
    });

    it('counts the numbers of each node for itself, and takes joins without a number as they come', async () => {
      await join(agent('a', { joinNumber: 8 }));
      await join(agent('b', { joinNumber: 3 }));
      const epoch = await join(agent('a'));
      await opened.presence.leave('a', epoch, 60);
      await join(agent('a', { nodeId: 'other', joinNumber: 1 }));
      expect(await opened.presence.forget('a')).toBe(false);
    });

    it('of two that join at once with the same instance, one is refused', async () => {
      const joined = await Promise.all(
        ['a', 'b'].map((id) => opened.presence.join(agent(id, { instances: [report('s')] }))),
      );
      expect(joined.filter((outcome) => outcome && 'code' in outcome)).toHaveLength(1);
    });

    it('replaces its earlier connection, which changes nothing any more', async () => {
      const { presence } = opened;
      const earlier = await join(agent('a'));
      const later = await join(agent('a', { instances: [report('other')] }));
      expect(later).toBeGreaterThan(earlier);
      presence.changed('a', earlier, report('other', { status: 'FAILED' }));
      expect(await presence.leave('a', earlier, 9)).toBe(false);
      expect(await seen()).toEqual([['a', true, ['other UP']]]);
      expect(await presence.leave('a', later, 9)).toBe(true);
      expect(await presence.leave('a', later, 10)).toBe(false);
      expect(await presence.all()).toMatchObject([{ id: 'a', isConnected: false, seenAtMs: 9 }]);
    });
  });

  describe('an instance', () => {
    it('is shown as it was reported last, with the start that its hub has told', async () => {
      const { presence } = opened;
      const starting = report('s', { status: 'STARTING', startedAtMs: 70_001 });
      const epoch = await join(agent('a', { instances: [starting] }));
      const startOf = async () => (await presence.all())[0]?.instances[0]?.startedAtMs;
      expect(await startOf()).toBe(70_001);
      presence.changed('a', epoch, report('s', { startedAtMs: null }));
      presence.changed('a', epoch, report('s', { startedAtMs: 70_002 }));
      presence.changed('a', epoch, report('unknown'));
      expect(await seen()).toEqual([['a', true, ['s UP']]]);
      expect(await startOf()).toBe(70_002);
      presence.changed('a', epoch, report('s', { status: 'STARTING', startedAtMs: null }));
      expect(await startOf()).toBeNull();
    });

    it('is shown with the kind of jobs that its program runs, as that was told last', async () => {
      const { presence } = opened;
      const runs = { models: ['MJCF'], scripts: ['JavaScript'] };
      const runsOf = async () => (await presence.all())[0]?.instances.map(({ profile }) => profile.runs);
      const epoch = await join(agent('a', { instances: [report('r', { runs }), report('s')] }));
      expect(await runsOf()).toEqual([runs, undefined]);
      presence.changed('a', epoch, report('r'));
      presence.changed('a', epoch, report('s', { runs: { scripts: ['C++'] } }));
      expect(await runsOf()).toEqual([undefined, { scripts: ['C++'] }]);
      const again = await join(agent('a', { instances: [report('r', { runs })] }));
      await presence.leave('a', again, 6);
      expect(await runsOf()).toEqual([runs]);
    });

    it('is unknown while its agent is disconnected', async () => {
      const epoch = await join(agent('a'));
      await opened.presence.leave('a', epoch, 6);
      expect(await opened.presence.all()).toMatchObject([
        { address: null, instances: [{ status: 'UNKNOWN', startedAtMs: null, profile: { version: '9.1' } }] },
      ]);
    });
  });

  describe('agents', () => {
    it('are remembered over a restart, disconnected', async () => {
      await join(agent('b'));
      const epoch = await join(agent('a'));
      await opened.presence.leave('a', epoch, 77);
      opened = await opened.restart();
      expect(await opened.presence.all()).toMatchObject([
        {
          ...{ id: 'a', isConnected: false, seenAtMs: 77, clockOffsetMs: -7 },
          installation: { kind: 'FILE', os: 'windows', arch: 'x64' },
        },
        { id: 'b', isConnected: false, seenAtMs: 5, instances: [{ profile: { labels: ['gears', 'ü'] } }] },
      ]);
      expect(await join(agent('b', { nodeId: 'other' }))).toBeGreaterThan(0);
    });

    it('can be forgotten when they are disconnected', async () => {
      const epoch = await join(agent('a'));
      expect(await opened.presence.forget('a')).toBe(false);
      expect(await seen()).toEqual([['a', true, ['a-sim UP']]]);
      await opened.presence.leave('a', epoch, 6);
      expect(await opened.presence.forget('a')).toBe(true);
      expect(await opened.presence.forget('nobody')).toBe(true);
      opened = await opened.restart();
      expect(await opened.presence.all()).toEqual([]);
    });
  });
}
