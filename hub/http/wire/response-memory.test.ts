import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countedResponse, ResponseMemory, roomOf } from './response-memory.js';

const MIB = 1024 ** 2;

describe('ResponseMemory', () => {
  it('refuses at the limit, with Retry-After', () => {
    const memory = new ResponseMemory(10 * MIB);
    memory.take(6 * MIB);
    const refused = () => memory.take(5 * MIB);
    expect(refused).toThrow(/limits\.answersInMemory/);
    expect(refused).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterS: 1 }));
    expect(memory.heldBytes).toBe(6 * MIB);
    memory.take(3 * MIB);
    memory.change(-9 * MIB);
    expect(memory.heldBytes).toBe(0);
  });

  it('allows a single response that exceeds it', () => {
    const memory = new ResponseMemory(MIB);
    memory.take(2 * MIB);
    expect(() => memory.take(0)).toThrow(/limits\.answersInMemory/);
  });

  it('leaves each user room beside one who takes all that he gets', () => {
    const memory = new ResponseMemory(100 * MIB);
    const [ulla, udo] = [memory.users.of('ulla'), memory.users.of('udo')];
    for (let at = 0; at < 34; at++) memory.take(2 * MIB, ulla);
    const refused = () => memory.take(2 * MIB, ulla);
    expect(refused).toThrow(/unread responses to ulla fill most of the memory .*limits\.answersInMemory/);
    memory.take(20 * MIB, udo);
    memory.change(-60 * MIB, ulla);
    memory.take(2 * MIB, ulla);
  });

  it('is scarce above one half', () => {
    const memory = new ResponseMemory(10);
    memory.take(5);
    expect(memory.isScarce).toBe(false);
    memory.change(1);
    expect(memory.isScarce).toBe(true);
  });
});

describe('a counted response', () => {
  let memory: ResponseMemory;
  let server: Server;
  let socket: Socket;
  beforeEach(async () => {
    memory = new ResponseMemory(100 * MIB);
    server = createServer({ ServerResponse: countedResponse(memory) }) as Server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Sends a request and reads nothing of the response. */
  function ask(): void {
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: hub\r\n\r\n'),
    );
    socket.pause();
    socket.on('error', () => undefined);
  }

  it('holds the announced memory until it is sent, and then that of unread bytes', async () => {
    const seen: number[] = [];
    server.on('request', (_, response) => {
      roomOf(response).hold(60 * MIB);
      seen.push(memory.heldBytes);
      response.end(Buffer.alloc(30 * MIB));
      seen.push(memory.heldBytes);
    });
    ask();
    await expect.poll(() => seen.length).toBe(2);
    expect(seen[0]).toBe(60 * MIB);
    expect(seen[1]).toBeGreaterThan(10 * MIB);
    expect(seen[1]).toBeLessThan(31 * MIB);
    socket.resume();
    await expect.poll(() => memory.heldBytes).toBe(0);
  });

  it('that is streamed holds the memory of unread bytes until its client disconnects', async () => {
    server.on('request', (_, response) => {
      roomOf(response).hold(0);
      for (let at = 0; at < 20; at++) response.write(Buffer.alloc(MIB));
    });
    ask();
    await expect.poll(() => memory.heldBytes).toBeGreaterThan(10 * MIB);
    socket.destroy();
    await expect.poll(() => memory.heldBytes).toBe(0);
  });

  it('is counted only if it may be large', async () => {
    let isWritten = false;
    server.on('request', (_, response) => {
      response.end(Buffer.alloc(30 * MIB));
      isWritten = true;
    });
    ask();
    await expect.poll(() => isWritten).toBe(true);
    expect(memory.heldBytes).toBe(0);
  });

  it('is not begun at the limit', async () => {
    const refusals: unknown[] = [];
    server.on('request', (_, response) => {
      memory.change(100 * MIB);
      try {
        roomOf(response).hold(0);
      } catch (error) {
        refusals.push(error);
      }
      response.end();
    });
    ask();
    await expect.poll(() => refusals).toEqual([expect.objectContaining({ code: 'OVERLOADED' })]);
    expect(memory.heldBytes).toBe(100 * MIB);
  });
});
