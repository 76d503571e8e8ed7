import { describe, expect, it } from 'vitest';
import {
  checkUpstreams,
  hoursOf,
  type UpstreamConfig,
  upstreamName,
  upstreamSchema,
} from './upstream-config.js';

const URL = 'wss://hub.example.com';

/** Faults of this upstream, as path and message. */
function faultsOf(upstream: object): string[] {
  const { error } = upstreamSchema.safeParse({ url: URL, id: 'berlin', ...upstream });
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('an upstream', () => {
  it('has the host of its address as its name, and nothing is limited', () => {
    const upstream = upstreamSchema.parse({ url: URL, id: 'berlin' });
    expect(upstreamName(upstream)).toBe('hub.example.com');
    expect(upstream).toMatchObject({
      prefix: null,
      lend: { when: 'idle', max: null, takeBack: null, hours: [] },
    });
  });

  it.each([
    [{ url: 'https://hub.example.com' }, 'url: the address of a hub, such as'],
    [{ url: [] }, 'url: the address of a hub, such as'],
    [{ token: 'a', tokenFile: '/b' }, 'tokenFile: either token or tokenFile, not both'],
    [{ tls: { cert: '/c' } }, 'tls.cert: tls.cert and tls.key, both or none'],
    [{ lend: { hours: ['18-6'] } }, 'lend.hours.0: times of the day such as'],
    [{ lend: { max: 0 } }, 'lend.max: '],
    [{ lend: { when: 'never' } }, 'lend.when: idle or always'],
    [{ lend: { when: 'always', max: 2 } }, 'lend.max: nothing beside "when: always"'],
    [{ lend: { when: 'always', takeBack: '10m' } }, 'lend.takeBack: nothing beside "when: always"'],
    [{ lend: { when: 'always', hours: ['18:00-06:00'] } }, 'lend.hours: nothing beside "when: always"'],
    [{ prefix: 'a b' }, 'prefix: 1 to 60 letters, digits and'],
  ])('with %j is refused', (upstream, fault) => {
    expect(faultsOf(upstream)).toEqual([expect.stringContaining(fault)]);
  });

  it('needs a name that no other one has', () => {
    const upstreams = [{ url: URL }, { url: URL }, { url: URL, name: 'paris' }].map(
      (each): UpstreamConfig => upstreamSchema.parse({ id: 'berlin', ...each }),
    );
    const faults: string[] = [];
    checkUpstreams(upstreams, (path, message) => faults.push(`${path.join('.')}: ${message}`));
    expect(faults).toEqual(['1.name: a name that no other upstream has']);
  });

  it('has hours in minutes of the day', () => {
    expect(hoursOf('18:00-06:30')).toEqual({ fromMinute: 1080, toMinute: 390 });
  });
});
