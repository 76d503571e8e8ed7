import { describe, expect, it } from 'vitest';
import { Admission } from './admission.js';

const LIMITS = { requests: 2, openRequests: 4, bodiesInMemory: 1000 };

describe('admission', () => {
  it('limits requests in processing; those suspended or released do not count', () => {
    const admission = new Admission(LIMITS);
    const [first, second, third] = [admission.enter(), admission.enter(), admission.enter()];
    first.startWork();
    second.startWork();
    expect(() => third.startWork()).toThrow(/2 requests are in progress \(limits\.requests\)/);
    first.suspend();
    third.startWork();
    second.release();
    admission.enter().startWork();
  });

  it('limits open requests, including suspended ones', () => {
    const admission = new Admission(LIMITS);
    const permits = Array.from({ length: 4 }, () => admission.enter());
    for (const permit of permits) {
      permit.startWork();
      permit.suspend();
    }
    expect(() => admission.enter()).toThrow(/4 requests are open \(limits\.openRequests\)/);
    permits[0]?.release();
    permits[0]?.release();
    admission.enter();
    expect(() => admission.enter()).toThrow(/open/);
  });

  it('limits the bytes of all bodies, with Retry-After', () => {
    const admission = new Admission(LIMITS);
    const [first, second] = [admission.enter(), admission.enter()];
    first.hold(600);
    second.hold(400);
    const refused = () => second.hold(1);
    expect(refused).toThrow(/limits\.bodiesInMemory/);
    expect(refused).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterS: 1 }));
    first.release();
    second.hold(600);
  });
});
