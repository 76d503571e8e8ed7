import { AuthenticationError } from '@workbench-hub/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { onOtherPerson } from './other-person.js';
import { holdsRole, Session } from './session.js';

/** Locks as browsers have them, for all tabs of a test. */
class Locks {
  #last: Promise<unknown> = Promise.resolve();

  request<T>(_: string, act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act, act);
    this.#last = turn;
    return turn;
  }
}

/** A hub with one session. */
class FakeHub {
  refreshes = 0;
  isSessionOver = false;
  token = 'token-0';
  isOpen = false;
  /** User whose session it is. */
  username = 'anna';
  roles = ['USER'];
  /** Paths of the requests, in order. */
  readonly asked: string[] = [];

  readonly send = async (path: string, { headers }: RequestInit): Promise<Response> => {
    this.asked.push(path);
    if (path.endsWith('/refresh')) return this.#refresh();
    if (path.endsWith('/logout')) return this.#logOut();
    if (path.endsWith('/login')) return Response.json({ accessToken: this.token });
    if (path.endsWith('/sign-on')) return Response.json({ tokenRequired: !this.isOpen });
    if (this.isOpen) return Response.json({ username: 'anonymous', roles: ['ADMIN'], by: 'OPEN_HUB' });
    const authorization = new Headers(headers).get('authorization');
    if (authorization !== `Bearer ${this.token}`) return new Response(null, { status: 401 });
    return Response.json({ username: this.username, roles: this.roles, by: 'SESSION' });
  };

  #logOut(): Response {
    this.isSessionOver = true;
    this.token = 'token of another session';
    return new Response(null);
  }

  #refresh(): Response {
    if (this.isSessionOver) return new Response(null, { status: 401 });
    this.refreshes++;
    this.token = `token-${this.refreshes}`;
    return Response.json({ accessToken: this.token });
  }
}

let hub: FakeHub;
const sessions: Session[] = [];

async function openSession(): Promise<Session> {
  const session = new Session(hub.send);
  sessions.push(session);
  await session.start();
  return session;
}

beforeEach(() => {
  vi.stubGlobal('navigator', { locks: new Locks() });
  hub = new FakeHub();
});
afterEach(() => {
  for (const session of sessions.splice(0)) session.close();
  vi.unstubAllGlobals();
});

it('continues by the cookie, without a login', async () => {
  const session = await openSession();
  expect(session.state.get()).toEqual({
    status: 'open',
    person: { username: 'anna', roles: ['USER'], isLoggedIn: true, by: 'SESSION' },
  });
  expect(await session.token()).toBe('token-1');
});

it('refreshes once for all requests and tabs that were rejected', async () => {
  const tabs = [await openSession(), await openSession()];
  await expect.poll(() => Promise.all(tabs.map((tab) => tab.token()))).toEqual([hub.token, hub.token]);
  const before = hub.refreshes;
  const rejected = hub.token;
  const renewed = await Promise.all(
    tabs.flatMap((tab) => Array.from({ length: 10 }, () => tab.renew(rejected))),
  );
  expect(renewed).toEqual(Array.from({ length: 20 }, () => true));
  expect(hub.refreshes - before).toBeLessThanOrEqual(2);
});

it('ends when the hub no longer knows it, and remembers whose it was', async () => {
  const session = await openSession();
  hub.isSessionOver = true;
  await expect(session.renew('token-1')).rejects.toBeInstanceOf(AuthenticationError);
  expect(session.state.get()).toMatchObject({ status: 'ended', person: { username: 'anna' } });
  await expect(session.token()).rejects.toBeInstanceOf(AuthenticationError);
});

it('ends in all tabs by a logout, and forgets whose it was', async () => {
  const [first, second] = [await openSession(), await openSession()];
  await first.logOut();
  await expect.poll(() => second.state.get()).toEqual({ status: 'ended', person: undefined });
  expect(first.state.get()).toEqual({ status: 'ended', person: undefined });
});

it('opens in all tabs by a login in one of them', async () => {
  hub.isSessionOver = true;
  const [first, second] = [await openSession(), await openSession()];
  expect(second.state.get().status).toBe('ended');
  await first.logIn('anna', 'secret');
  await expect.poll(() => second.state.get()).toMatchObject({ status: 'open' });
});

it('is that of another user in all tabs after their login in one of them', async () => {
  const [first, second] = [await openSession(), await openSession()];
  let others = 0;
  onOtherPerson(second.state, () => {
    others++;
  });
  hub.username = 'ulla';
  hub.token = 'token of ulla';
  await first.logIn('ulla', 'secret');
  await expect.poll(() => second.state.get()).toMatchObject({ status: 'open', person: { username: 'ulla' } });
  expect(others).toBe(1);
  expect(await second.token()).toBe('token of ulla');
});

it('sends no request again when the cookie has become that of another user', async () => {
  const session = await openSession();
  hub.username = 'ulla';
  await expect(session.renew('token-1')).rejects.toBeInstanceOf(AuthenticationError);
  expect(session.state.get()).toMatchObject({ status: 'open', person: { username: 'ulla' } });
});

it('shows no login in a tab that starts while another one renews the session', async () => {
  const renewing = await openSession();
  const starting = new Session(hub.send);
  sessions.push(starting);
  const shown: string[] = [];
  starting.state.subscribe(() => void shown.push(starting.state.get().status));
  await renewing.renew('token-1');
  await expect.poll(() => shown).toEqual(['open']);
});

it('tells nobody of a token that is renewed for the same user', async () => {
  const session = await openSession();
  let changes = 0;
  session.state.subscribe(() => {
    changes++;
  });
  expect(await session.renew('token-1')).toBe(true);
  expect([await session.token(), changes]).toEqual(['token-2', 0]);
});

it('has the roles of today in all tabs once the token is renewed', async () => {
  const [first, second] = [await openSession(), await openSession()];
  await expect.poll(() => first.token()).toBe(hub.token);
  hub.roles = ['ADMIN'];
  expect(await first.renew(await first.token())).toBe(true);
  for (const { state } of [first, second])
    await expect.poll(() => state.get()).toMatchObject({ status: 'open', person: { roles: ['ADMIN'] } });
});

/** A browser that keeps this method of the latest login; null: nobody is logged in. */
function keep(method: string | null): Map<string, string> {
  const kept = new Map(method === null ? [] : [['workbench-log-in', method]]);
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  return kept;
}

it('asks nothing that needs a token where nobody has logged in', async () => {
  keep(null);
  const session = await openSession();
  expect(session.state.get().status).toBe('ended');
  expect(hub.asked).toEqual(['/api/x/sign-on']);
});

it('asks who the user is with a token only', async () => {
  keep('password');
  await openSession();
  expect(hub.asked).toEqual(['/api/2.0/auth/refresh', '/api/x/caller']);
});

it('tries a session that is over once, and not again', async () => {
  const kept = keep('password');
  hub.isSessionOver = true;
  await openSession();
  expect(hub.asked).toEqual(['/api/2.0/auth/refresh', '/api/x/sign-on']);
  expect(kept.size).toBe(0);
});

it('needs no login while security is off', async () => {
  keep(null);
  hub.isOpen = true;
  const session = await openSession();
  expect(session.state.get()).toMatchObject({
    status: 'open',
    person: { username: 'anonymous', roles: ['ADMIN'], isLoggedIn: false, by: 'OPEN_HUB' },
  });
  expect(hub.asked).toEqual(['/api/x/sign-on']);
});

it('includes lower roles in higher ones', () => {
  const person = { username: 'anna', roles: ['USER'] as const, isLoggedIn: true, by: 'SESSION' as const };
  expect(['VIEWER', 'USER', 'ADMIN'].map((role) => holdsRole(person, role as 'USER'))).toEqual([
    true,
    true,
    false,
  ]);
  expect(holdsRole(undefined, 'VIEWER')).toBe(false);
});
