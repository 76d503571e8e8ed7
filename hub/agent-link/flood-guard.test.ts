import { describe, expect, it } from 'vitest';
import { FloodGuard } from './flood-guard.js';

const RATE = { messagesPerSecond: 100, bytesPerSecond: 1024 ** 2, burstS: 5 };

function guard() {
  let nowMs = 0;
  const flood = new FloodGuard({ nowMs: () => nowMs, monotonicMs: () => nowMs }, RATE);
  return {
    flood,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

function messages(count: number, type = 'instance') {
  return Array.from({ length: count }, () => ({ type }));
}

describe('FloodGuard', () => {
  it('tolerates the permitted rate for any time', () => {
    const { flood, pass } = guard();
    for (let second = 0; second < 1000; second++) {
      expect(flood.faultOf(messages(100), 1024 ** 2)).toBeUndefined();
      pass(1000);
    }
  });

  it('tolerates a burst, and another one later', () => {
    const { flood, pass } = guard();
    expect(flood.faultOf(messages(500), 10)).toBeUndefined();
    pass(5000);
    expect(flood.faultOf(messages(500), 10)).toBeUndefined();
  });

  it('returns which limit was exceeded', () => {
    expect(guard().flood.faultOf(messages(501), 10)).toBe('a flood: more than 100 messages a second');
    expect(guard().flood.faultOf([null], 6 * 1024 ** 2)).toBe('a flood: more than 1 MiB a second');
  });

  it('allows an agent 4,000 messages and 64 MiB a second, for five seconds at once', () => {
    const flood = () => new FloodGuard({ nowMs: () => 0, monotonicMs: () => 0 });
    const fiveSeconds = { messages: messages(20_000), bytes: 5 * 64 * 1024 ** 2 };
    expect(flood().faultOf(fiveSeconds.messages, fiveSeconds.bytes)).toBeUndefined();
    expect(flood().faultOf(messages(20_001), 10)).toBe('a flood: more than 4000 messages a second');
    expect(flood().faultOf([null], fiveSeconds.bytes + 1)).toBe('a flood: more than 64 MiB a second');
  });

  it('counts only those reports that do not count', () => {
    const { flood } = guard();
    expect(flood.faultOf(messages(100_000, 'report'), 10)).toBeUndefined();
    for (let at = 0; at < 500; at++) expect(flood.uncounted()).toBeUndefined();
    expect(flood.uncounted()).toBe('a flood: more than 100 messages a second');
  });
});
