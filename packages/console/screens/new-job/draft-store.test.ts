import { afterAll, expect, it, vi } from 'vitest';
import type { Person, SessionState } from '../../session/session.js';

const { state } = await vi.hoisted(async () => {
  const { Store } = await import('../../base/store.js');
  return { state: new Store<SessionState>({ status: 'starting' }) };
});
vi.mock('../../data/hub.js', () => ({ hub: {}, patientHub: {}, session: { state } }));
// Other files of this process may have loaded these modules with another session, and shall not have this one.
vi.resetModules();
afterAll(() => vi.resetModules());
const { EMPTY_DRAFT } = await import('./draft.js');
const { draftStore } = await import('./draft-store.js');
const { handIns } = await import('./hand-in.js');

const ANNA: Person = { username: 'anna', roles: ['USER'], isLoggedIn: true, by: 'SESSION' };

it('keeps a draft over a session that ends by itself, but not over a log-out', () => {
  const draft = { ...EMPTY_DRAFT, name: 'secret' };
  state.set({ status: 'open', person: ANNA });
  draftStore.set(draft);
  const signals: AbortSignal[] = [];
  const never = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>(() => undefined);
  };
  handIns.begin(draft, never, () => undefined);
  state.set({ status: 'ended', person: ANNA });
  expect(draftStore.get()).toBe(draft);
  expect(handIns.state.get().isPending).toBe(true);
  state.set({ status: 'ended', person: undefined });
  expect(draftStore.get()).toBe(EMPTY_DRAFT);
  expect(handIns.state.get().isPending).toBe(false);
  expect(signals[0]?.aborted).toBe(true);
});
