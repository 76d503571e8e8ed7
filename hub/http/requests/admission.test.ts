import { describe, expect, it } from 'vitest';
import { Admission } from './admission.js';

const LIMITS = { requests: 2, openRequests: 4, bodiesInMemory: 1000 };

describe('admission', () => {
  it('limits requests in processing; those suspended or released do not count', () => {
    const admission = new Admission(LIMITS);
    const [first, second, third] = [admission.enter(null), admission.enter(null), admission.enter(null)];
    first.startWork();
    second.startWork();
    expect(() => third.startWork()).toThrow(/2 requests are in progress \(limits\.requests\)/);
    first.suspend();
    third.startWork();
    second.release();
    admission.enter(null).startWork();
  });

  it('limits open requests, including suspended ones', () => {
    const admission = new Admission(LIMITS);
    const permits = Array.from({ length: 4 }, () => admission.enter(null));
    for (const permit of permits) {
      permit.startWork();
      permit.suspend();
    }
    expect(() => admission.enter(null)).toThrow(/4 requests are open \(limits\.openRequests\)/);
    permits[0]?.release();
    permits[0]?.release();
    admission.enter(null);
    expect(() => admission.enter(null)).toThrow(/open/);
  });

  it('limits the bytes of all bodies, with Retry-After', () => {
    const admission = new Admission(LIMITS);
    const [first, second] = [admission.enter(null), admission.enter(null)];
    first.hold(600);
    second.hold(400);
    const refused = () => second.hold(1);
    expect(refused).toThrow(/limits\.bodiesInMemory/);
    expect(refused).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterS: 1 }));
    first.release();
    second.hold(600);
  });

  const entered = (admission: Admission, username: string) => {
    const permit = admission.enter({ address: '192.0.2.7', isOpenEndpoint: false });
    try {
      permit.identify(username);
    } catch (error) {
      permit.release();
      throw error;
    }
    return permit;
  };

  it('leaves each user room beside one who takes all that he gets', () => {
    const admission = new Admission({ requests: 1000, openRequests: 1000, bodiesInMemory: 1000 });
    const take = (username: string) => {
      let count = 0;
      try {
        for (;;) {
          entered(admission, username).startWork();
          count++;
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'OVERLOADED', message: expect.stringContaining(username) });
      }
      return count;
    };
    const taken = ['ulla', 'udo', 'vera', 'anna'].map(take);
    expect(taken[0]).toBe(667);
    expect(taken.every((count) => count > 1)).toBe(true);
    expect(() => entered(admission, 'ulla')).toThrow(/ulla holds 667 of the requests that can be open/);
    entered(admission, 'another');
  });

  it('shares the memory for bodies by user', () => {
    const admission = new Admission({ requests: 100, openRequests: 100, bodiesInMemory: 900 });
    const [ulla, udo] = [entered(admission, 'ulla'), entered(admission, 'udo')];
    ulla.hold(300);
    ulla.hold(300);
    expect(() => ulla.hold(100)).toThrow(/ulla holds 600 of the memory for request bodies/);
    udo.hold(200);
    ulla.release();
    udo.hold(300);
  });

  it('gives a quarter to senders that are not known, by address, and apart for endpoints that are open to all', () => {
    const admission = new Admission({ requests: 100, openRequests: 40, bodiesInMemory: 1000 });
    const enter = (address: string) => admission.enter({ address, isOpenEndpoint: true });
    const held = Array.from({ length: 7 }, () => enter('192.0.2.7'));
    expect(() => enter('192.0.2.7')).toThrow(/192\.0\.2\.7 holds 7 of the requests that can be open/);
    held.push(enter('192.0.2.8'), enter('192.0.2.8'), enter('192.0.2.9'));
    expect(() => enter('192.0.2.10')).toThrow(
      /requests without a valid token hold their part of the requests/,
    );
    entered(admission, 'ulla');
    for (const permit of held) permit.release();
    enter('192.0.2.10').release();
  });

  it('forgets who holds nothing, also after a refusal', () => {
    const admission = new Admission({ requests: 1, openRequests: 3, bodiesInMemory: 10 });
    const permits = ['ulla', 'udo'].map((username) => entered(admission, username));
    permits[0]?.startWork();
    expect(() => permits[1]?.startWork()).toThrow(/in progress/);
    expect(() => {
      for (;;) permits.push(admission.enter({ address: '::1', isOpenEndpoint: true }));
    }).toThrow(/limits\.openRequests/);
    for (const permit of permits) permit.release();
    expect(admission.parties).toBe(0);
  });
});
