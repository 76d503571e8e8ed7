import { describe, expect, it } from 'vitest';
import { ProtocolViolation } from './framing.js';
import { RPC_ERROR, RpcError } from './messages.js';
import { RpcPeer } from './peer.js';

/** Two peers, each line of one given to the other; `answers` is what the right one does with calls. */
function pair(answers: (method: string, params: unknown) => Promise<unknown>) {
  const notifications: unknown[] = [];
  const left: RpcPeer = new RpcPeer((line) => right.receive(line), {
    onRequest: () => Promise.reject(new Error('the left one is not called')),
    onNotification: (method, params) => notifications.push({ method, params }),
  });
  const right: RpcPeer = new RpcPeer((line) => left.receive(line), {
    onRequest: answers,
    onNotification: () => undefined,
  });
  return { left, right, notifications };
}

function lonely(send: (line: string) => void | Promise<void> = () => undefined): RpcPeer {
  return new RpcPeer(send, { onRequest: () => Promise.resolve(null), onNotification: () => undefined });
}

describe('RpcPeer', () => {
  it('matches answers to calls, whatever their order', async () => {
    const waiting = new Map<string, (result: unknown) => void>();
    const { left } = pair((method) => new Promise((resolve) => waiting.set(method, resolve)));
    const first = left.request('first', {});
    const second = left.request('second', {});
    waiting.get('second')?.('two');
    waiting.get('first')?.('one');
    expect(await Promise.all([first, second])).toEqual(['one', 'two']);
  });

  it('takes an answer once', async () => {
    const peer = lonely();
    const call = peer.request('x', {});
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'one' });
    peer.receive(answer);
    expect(await call).toBe('one');
    expect(() => peer.receive(answer)).toThrow(new ProtocolViolation('an answer to no call of ours (id 1)'));
  });

  it('answers nothing as null', async () => {
    expect(await pair(() => Promise.resolve(undefined)).left.request('x', {})).toBeNull();
  });

  it('hands an RpcError over as it is, and any other as internal', async () => {
    const { left } = pair((method) =>
      Promise.reject(method === 'known' ? new RpcError(RPC_ERROR.JOB_FAILED, 'no model') : new Error('odd')),
    );
    await expect(left.request('known', {})).rejects.toMatchObject({
      name: 'RpcError',
      code: RPC_ERROR.JOB_FAILED,
      message: 'no model',
    });
    await expect(left.request('other', {})).rejects.toMatchObject({
      code: RPC_ERROR.INTERNAL,
      message: 'odd',
    });
  });

  it('hands notifications over', async () => {
    const { right, notifications } = pair(() => Promise.resolve(null));
    await right.notify('output', { text: 'a' });
    expect(notifications).toEqual([{ method: 'output', params: { text: 'a' } }]);
  });

  it.each([
    ['an answer to no call', '{"jsonrpc":"2.0","id":7,"result":null}', 'an answer to no call of ours (id 7)'],
    [
      'an error for a message that could not be read',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
      'what?',
    ],
    ['no JSON', 'Loading license ...', 'found "Loading license ..."'],
    ['JSON that is no message', '{"id":1}', 'not a JSON-RPC 2.0 message'],
    ['an answer without result and error', '{"jsonrpc":"2.0","id":1}', 'not a JSON-RPC 2.0 message'],
    ['an answer to nothing', '{"jsonrpc":"2.0","id":null,"result":{}}', 'not a JSON-RPC 2.0 message'],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"x"}', 'not a JSON-RPC 2.0 message'],
    [
      'an id without end',
      `{"jsonrpc":"2.0","id":"${'x'.repeat(101)}","result":1}`,
      'not a JSON-RPC 2.0 message',
    ],
    ['a method without a name', '{"jsonrpc":"2.0","method":7}', 'not a JSON-RPC 2.0 message'],
    [
      'an error without a code',
      '{"jsonrpc":"2.0","id":1,"error":{"message":"what?"}}',
      'not a JSON-RPC 2.0 message',
    ],
    ['a list', '[{"jsonrpc":"2.0","id":1,"method":"x"}]', 'not a JSON-RPC 2.0 message'],
    ['null', 'null', 'not a JSON-RPC 2.0 message'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"x"}', 'not a JSON-RPC 2.0 message'],
  ])('takes %s as a violation', (_, line, message) => {
    const peer = lonely();
    expect(() => peer.receive(line)).toThrow(ProtocolViolation);
    expect(() => peer.receive(line)).toThrow(message);
  });

  it('quotes only the beginning of a long line', () => {
    const message = (): string => {
      try {
        lonely().receive('x'.repeat(1_000_000));
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    expect(message().length).toBeLessThan(300);
  });

  it('rejects what waits when it is closed, and every later call', async () => {
    const peer = lonely();
    const waiting = peer.request('x', {});
    peer.close(new Error('the process ended'));
    peer.close(new Error('a later reason does not count'));
    await expect(waiting).rejects.toThrow('the process ended');
    await expect(peer.request('y', {})).rejects.toThrow('the process ended');
  });

  it('is closed by a transport that fails', async () => {
    const peer = lonely(() => Promise.reject(new Error('EPIPE')));
    await expect(peer.request('x', {})).rejects.toThrow('EPIPE');
    await expect(peer.request('y', {})).rejects.toThrow('EPIPE');
  });
});
