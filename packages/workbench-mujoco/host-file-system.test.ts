/** The simulator's file calls on the host; mujoco.test.ts tests them with the simulator. */
import { closeSync, mkdtempSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { showHostFiles, type VirtualFileSystem } from './host-file-system.js';
import { OpenHostFiles, shownFolders } from './host-files.js';

interface Node {
  name: string;
  node_ops: { lookup(parent: Node, name: string): Node };
  stream_ops: { open(stream: Stream): void; close(stream: Stream): void };
}

interface Stream {
  node: Node;
  flags: number;
  position: number;
  hostFd?: number;
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'host-file-system-'));
  writeFileSync(join(folder, 'model.xml'), '<mujoco/>');
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Entry that the simulator finds at this path of the host. */
function nodeAt(path: string): Node {
  const virtual = {
    ErrnoError: class extends Error {},
    createNode: (parent: Node | null, name: string, mode: number) => ({ parent, name, mode }),
    root: { name: '/', node_ops: {} } as Node,
    readdir: () => ['.', '..', 'dev'],
    mount: () => undefined,
    chdir: () => undefined,
  };
  showHostFiles(virtual as unknown as VirtualFileSystem, new OpenHostFiles(), shownFolders(dirname(path)));
  const names = path.split('/').slice(1);
  let node = virtual.root;
  for (const name of names) node = node.node_ops.lookup(node, name);
  return node;
}

describe.skipIf(process.platform === 'win32')('a file of the host', () => {
  it.each([
    ['for reading', 0, { read: true, written: false }],
    ['for writing', 1, { read: true, written: true }],
    ['for both', 2, { read: true, written: true }],
  ])('is opened %s as the simulator asks for it, and for no more', (_, flags, allowed) => {
    const node = nodeAt(join(folder, 'model.xml'));
    const stream: Stream = { node, flags, position: 0 };
    node.stream_ops.open(stream);
    const fd = stream.hostFd as number;
    const can = (access: () => void) => {
      try {
        access();
        return true;
      } catch (error) {
        // The descriptor was not opened for this, which stops even a user who may do everything.
        expect(error).toMatchObject({ code: 'EBADF' });
        return false;
      }
    };
    expect({
      read: can(() => void readSync(fd, Buffer.alloc(1))),
      written: can(() => void writeSync(fd, 'x', 0)),
    }).toEqual(allowed);
    node.stream_ops.close(stream);
    expect(() => closeSync(fd)).toThrow('EBADF');
  });
});
