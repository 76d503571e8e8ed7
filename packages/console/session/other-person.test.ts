import { expect, it } from 'vitest';
import { Store } from '../base/store.js';
import { onOtherPerson } from './other-person.js';
import type { Person, SessionState } from './session.js';

const person = (username: string): Person => ({ username, roles: ['USER'], isLoggedIn: true, by: 'SESSION' });

function watched(first: SessionState) {
  const state = new Store<SessionState>(first);
  let calls = 0;
  onOtherPerson(state, () => {
    calls++;
  });
  return { state, calls: () => calls };
}

it('lets a person go on at the next login, but nobody else', () => {
  const { state, calls } = watched({ status: 'open', person: person('anna') });
  state.set({ status: 'ended', person: person('anna') });
  state.set({ status: 'open', person: person('anna') });
  expect(calls()).toBe(0);
  state.set({ status: 'ended', person: person('anna') });
  state.set({ status: 'open', person: person('ulla') });
  expect(calls()).toBe(1);
});

it('tells of a log-out at once, and of the first login not at all', () => {
  const { state, calls } = watched({ status: 'starting' });
  state.set({ status: 'ended', person: undefined });
  state.set({ status: 'open', person: person('anna') });
  expect(calls()).toBe(0);
  state.set({ status: 'ended', person: undefined });
  expect(calls()).toBe(1);
  state.set({ status: 'open', person: person('ulla') });
  expect(calls()).toBe(1);
});
