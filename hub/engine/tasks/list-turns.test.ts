import { expect, it } from 'vitest';
import { type ListClient, ListTurns } from './list-turns.js';

const CLIENTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const client = (name: string): ListClient => ({ name, signal: new AbortController().signal });

/** Turns in which clients ask for lists that nobody reads until `answer` is called. */
function pendingLists() {
  const turns = new ListTurns();
  const answers: (() => void)[] = [];
  const ask = (asking: ListClient | undefined) =>
    turns.run(asking, () => new Promise<string>((resolve) => answers.push(() => resolve('a page'))));
  const answer = () => answers.shift()?.();
  return { ask, answer };
}

/** Outcome of a list that is refused at once or not at all. */
const atOnce = (list: Promise<string>) => Promise.race([list, Promise.resolve('pending')]);

it('a client may have 64 lists pending, and another one when the first is answered', async () => {
  const { ask, answer } = pendingLists();
  const [first] = Array.from({ length: 64 }, () => ask(client('a')));
  await expect(atOnce(ask(client('a')))).rejects.toThrow('64 lists that you asked for are not answered yet');
  answer();
  await expect(first).resolves.toBe('a page');
  await expect(atOnce(ask(client('a')))).resolves.toBe('pending');
  await expect(atOnce(ask(client('a')))).rejects.toMatchObject({ code: 'OVERLOADED' });
});

it('all clients may have 512 lists pending, and the hub itself is never refused', async () => {
  const { ask } = pendingLists();
  for (const name of CLIENTS) for (let count = 0; count < 64; count++) void ask(client(name));
  const own = ask(undefined);
  await expect(atOnce(ask(client('i')))).rejects.toThrow('512 lists are not answered yet');
  await expect(atOnce(own)).resolves.toBe('pending');
});

it('a client that has gone is refused, and its turn goes to the next one', async () => {
  const { ask, answer } = pendingLists();
  const gone = ask({ name: 'a', signal: AbortSignal.abort() });
  await expect(gone).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  for (const name of ['b', 'c']) void ask(client(name));
  const leaving = new AbortController();
  const left = ask({ name: 'd', signal: leaving.signal });
  const next = ask(client('e'));
  leaving.abort();
  await expect(left).rejects.toThrow('the request was broken off');
  answer();
  await expect(atOnce(next)).resolves.toBe('pending');
  answer();
  answer();
  await expect(next).resolves.toBe('a page');
});

it('clients take turns, however much one of them asks for', async () => {
  const turns = new ListTurns();
  const read: string[] = [];
  const ask = (name: string) =>
    turns.run(client(name), async () => {
      read.push(name);
    });
  await Promise.all([...Array.from({ length: 6 }, () => ask('mallory')), ask('vera'), ask('udo')]);
  expect(read.join(' ')).toBe('mallory mallory mallory vera udo mallory mallory mallory');
});
