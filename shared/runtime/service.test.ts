import { describe, expect, it } from 'vitest';
import { serviceOf } from './service.js';

/** A service that notes what happens and starts when it is told to. */
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
  it('starts once however often it is started, and releases the latest first', async () => {
    const { service, events, begin } = noted();
    begin();
    await Promise.all([service.start(), service.start()]);
    await service.start();
    expect(events).toEqual(STARTED);
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
    expect(events).toEqual([...STARTED, ...STOPPED]);
  });

  it('does nothing when it is stopped before its start, and can be started then', async () => {
    const { service, events, begin } = noted();
    await service.stop();
    expect(events).toEqual([]);
    begin();
    await service.start();
    await service.stop();
    expect(events).toEqual([...STARTED, ...STOPPED]);
  });

  it('ends a start under way before it stops, and then starts again', async () => {
    const { service, events, begin } = noted();
    const started = service.start();
    const stopped = service.stop();
    const startedAgain = service.start();
    begin();
    await Promise.all([started, stopped, startedAgain]);
    expect(events).toEqual([...STARTED, ...STOPPED, ...STARTED]);
    await service.stop();
  });

  it('releases what a failed start has registered, and can be started again', async () => {
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

  it('makes all releases when some fail', async () => {
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
