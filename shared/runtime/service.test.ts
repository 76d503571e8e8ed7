import { describe, expect, it } from 'vitest';
import { composeServices, type Service, serviceOf } from './service.js';

/** A service that records what happens and starts when it is told to. */
function noted() {
  const events: string[] = [];
  let begin = () => {};
  const allowed = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const service = serviceOf('noted', async (onStop) => {
    events.push('starting');
    onStop(() => events.push('first released'));
    onStop(() => events.push('second released'));
    await allowed;
    events.push('started');
  });
  return { service, events, begin };
}

const STARTED = ['starting', 'started'];
const STOPPED = ['second released', 'first released'];

describe('a service', () => {
  it('starts once however often it is started, and releases in reverse order', async () => {
    const { service, events, begin } = noted();
    begin();
    await Promise.all([service.start(), service.start()]);
    await service.start();
    expect(events).toEqual(STARTED);
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
    expect(events).toEqual([...STARTED, ...STOPPED]);
  });

  it('does nothing in a stop before its start, and can be started afterwards', async () => {
    const { service, events, begin } = noted();
    await service.stop();
    expect(events).toEqual([]);
    begin();
    await service.start();
    await service.stop();
    expect(events).toEqual([...STARTED, ...STOPPED]);
  });

  it('ends a start in progress before it stops, and then starts again', async () => {
    const { service, events, begin } = noted();
    const started = service.start();
    const stopped = service.stop();
    const startedAgain = service.start();
    begin();
    await Promise.all([started, stopped, startedAgain]);
    expect(events).toEqual([...STARTED, ...STOPPED, ...STARTED]);
    await service.stop();
  });

  it('releases resources of a failed start, and can be started again', async () => {
    const released: string[] = [];
    let failures = 1;
    const service = serviceOf('failing', async (onStop) => {
      onStop(() => released.push('released'));
      if (failures-- > 0) throw new Error('no start');
    });
    await expect(service.start()).rejects.toThrow('no start');
    expect(released).toEqual(['released']);
    await service.stop();
    await service.start();
    await service.stop();
    expect(released).toEqual(['released', 'released']);
  });

  it('releases all resources even if some releases fail', async () => {
    const released: string[] = [];
    const service = serviceOf('failing', async (onStop) => {
      onStop(() => released.push('first'));
      onStop(() => Promise.reject(new Error('stuck')));
    });
    await service.start();
    await expect(service.stop()).rejects.toThrow('stuck');
    expect(released).toEqual(['first']);
  });
});

describe('composed services', () => {
  const service = (name: string, events: string[], broken = ''): Service => ({
    name,
    start: () => {
      events.push(`start ${name}`);
      return broken === 'start' ? Promise.reject(new Error(`${name} cannot start`)) : Promise.resolve();
    },
    stop: () => {
      events.push(`stop ${name}`);
      return broken === 'stop' ? Promise.reject(new Error(`${name} cannot stop`)) : Promise.resolve();
    },
  });

  it('start in order and stop in reverse', async () => {
    const events: string[] = [];
    const all = composeServices('all', [service('a', events), service('b', events)]);
    await all.start();
    await all.stop();
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('stop the started ones when one fails to start', async () => {
    const events: string[] = [];
    const parts = [service('a', events), service('b', events, 'start'), service('c', events)];
    await expect(composeServices('all', parts).start()).rejects.toThrow('b cannot start');
    expect(events).toEqual(['start a', 'start b', 'stop a']);
  });

  it('stop all even if one fails to stop, and reject', async () => {
    const events: string[] = [];
    const all = composeServices('all', [service('a', events), service('b', events, 'stop')]);
    await all.start();
    await expect(all.stop()).rejects.toThrow('b cannot stop');
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });
});
