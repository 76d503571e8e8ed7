/**
 * Lets the simulator see the host's files under their own paths, as a native program would: a model finds its meshes
 * and includes, a script's relative paths mean the working directory, and what the simulator writes lands there.
 *
 * The simulator is compiled by Emscripten, whose C library does its file calls on a virtual file system in memory.
 * This is a driver for that (the interface of its own NODEFS, which the build does not contain): each call is made on
 * the host at once, so only what is really read is read.
 */
import fs from 'node:fs';
import path from 'node:path';

/** Parts of Emscripten's `FS` for drivers; its own declarations say `any`. */
export interface VirtualFileSystem {
  ErrnoError: new (errno: number) => Error;
  createNode(parent: VirtualNode | null, name: string, mode: number, device: number): VirtualNode;
  mkdirTree(path: string): void;
  mount(type: { mount(mount: object): VirtualNode }, options: { root: string }, mountPoint: string): object;
  analyzePath(path: string): { exists: boolean };
  chdir(path: string): void;
}

interface VirtualNode {
  parent: VirtualNode;
  name: string;
  mode: number;
  node_ops: object;
  stream_ops: object;
  /** Set on the root of a mount only: the host folder behind it. */
  hostRoot?: string;
}

interface VirtualStream {
  node: VirtualNode;
  flags: number;
  position: number;
  hostFd?: number;
}

interface Attributes {
  mode?: number;
  size?: number;
}

/** Error numbers of Emscripten's C library (those of WASI). */
const ERRNO: Record<string, number> = {
  EACCES: 2,
  EEXIST: 20,
  EINVAL: 28,
  EIO: 29,
  EISDIR: 31,
  EMFILE: 33,
  ENOENT: 44,
  ENOSPC: 51,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  EPERM: 63,
  EROFS: 69,
};

/** Folders of the simulator's own system. */
const KEPT_IN_MEMORY = new Set(['dev', 'proc']);

/** Path of the host in the simulator: the same on POSIX systems, `/C:/models/a.xml` on Windows. */
export function simulatorPath(hostPath: string): string {
  const resolved = path.resolve(hostPath);
  return path.sep === '/' ? resolved : `/${resolved.replaceAll('\\', '/')}`;
}

/** Mounts the top folders of the host (on Windows: the drives of `workingDirectory` and of the system) in the simulator, and
 *  makes `workingDirectory` its current one. */
export function showHostFiles(virtual: VirtualFileSystem, workingDirectory: string): void {
  const driver = hostDriver(virtual);
  for (const root of hostRoots(workingDirectory)) {
    const mountPoint = simulatorPath(root).replace(/\/$/, '');
    if (!virtual.analyzePath(mountPoint).exists) virtual.mkdirTree(mountPoint);
    virtual.mount(driver, { root }, mountPoint);
  }
  virtual.chdir(simulatorPath(workingDirectory));
}

function hostRoots(workingDirectory: string): string[] {
  if (path.sep === '\\') {
    return [...new Set([path.parse(path.resolve(workingDirectory)).root, path.parse(process.execPath).root])];
  }
  return fs
    .readdirSync('/')
    .filter((name) => !KEPT_IN_MEMORY.has(name))
    .map((name) => `/${name}`)
    .filter((root) => fs.statSync(root, { throwIfNoEntry: false })?.isDirectory() === true);
}

function hostDriver(virtual: VirtualFileSystem) {
  const onHost = hostCalls(virtual);
  const makeNode = (parent: VirtualNode | null, name: string, mode: number): VirtualNode => {
    const node = virtual.createNode(parent, name, mode, 0);
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    return node;
  };
  const nodeOps = nodeOperations(onHost, makeNode);
  const streamOps = streamOperations(onHost, virtual);

  return {
    mount(mount: object): VirtualNode {
      const { root } = (mount as { opts: { root: string } }).opts;
      const node = makeNode(null, '/', onHost(() => fs.statSync(root)).mode);
      node.hostRoot = root;
      return node;
    },
  };
}

/** Calls the host and translates its errors to those of the C library. */
type OnHost = <T>(call: () => T) => T;

function hostCalls(virtual: VirtualFileSystem): OnHost {
  const asVirtual = ({ code = '' }: NodeJS.ErrnoException) =>
    new virtual.ErrnoError(ERRNO[code] ?? (ERRNO['EIO'] as number));
  return (call) => {
    try {
      return call();
    } catch (error) {
      throw asVirtual(error as NodeJS.ErrnoException);
    }
  };
}

function hostPath(node: VirtualNode): string {
  return node.hostRoot ?? path.join(hostPath(node.parent), node.name);
}

function nodeOperations(
  onHost: OnHost,
  makeNode: (parent: VirtualNode, name: string, mode: number) => VirtualNode,
) {
  return {
    getattr: (node: VirtualNode) =>
      onHost(() => {
        const { dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, atime, mtime, ctime } =
          fs.statSync(hostPath(node));
        return { dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, atime, mtime, ctime };
      }),
    setattr: (node: VirtualNode, { mode, size }: Attributes) =>
      onHost(() => {
        if (mode !== undefined) {
          fs.chmodSync(hostPath(node), mode & 0o7777);
          node.mode = mode;
        }
        if (size !== undefined) fs.truncateSync(hostPath(node), size);
      }),
    // The host follows links, so that the simulator sees files and folders only.
    lookup: (parent: VirtualNode, name: string) =>
      makeNode(parent, name, onHost(() => fs.statSync(path.join(hostPath(parent), name))).mode),
    mknod: (parent: VirtualNode, name: string, mode: number) => {
      const target = path.join(hostPath(parent), name);
      onHost(() =>
        isFolder(mode)
          ? fs.mkdirSync(target, mode & 0o7777)
          : fs.writeFileSync(target, '', { mode: mode & 0o7777, flag: 'wx' }),
      );
      return makeNode(parent, name, mode);
    },
    rename: (node: VirtualNode, newParent: VirtualNode, newName: string) => {
      onHost(() => fs.renameSync(hostPath(node), path.join(hostPath(newParent), newName)));
      node.name = newName;
    },
    unlink: (parent: VirtualNode, name: string) =>
      onHost(() => fs.unlinkSync(path.join(hostPath(parent), name))),
    rmdir: (parent: VirtualNode, name: string) =>
      onHost(() => fs.rmdirSync(path.join(hostPath(parent), name))),
    readdir: (node: VirtualNode) => onHost(() => ['.', '..', ...fs.readdirSync(hostPath(node))]),
  };
}

function streamOperations(onHost: OnHost, virtual: VirtualFileSystem) {
  return {
    open(stream: VirtualStream) {
      if (isFolder(stream.node.mode)) return;
      // Creation and truncation (mknod, setattr) came before; only the access mode is left.
      const access = ['r', 'r+', 'r+'][stream.flags & 3] ?? 'r';
      stream.hostFd = onHost(() => fs.openSync(hostPath(stream.node), access));
    },
    close(stream: VirtualStream) {
      const fd = stream.hostFd;
      if (fd !== undefined) onHost(() => fs.closeSync(fd));
    },
    read: (stream: VirtualStream, buffer: Int8Array, offset: number, length: number, position: number) =>
      onHost(() => fs.readSync(stream.hostFd ?? -1, buffer, offset, length, position)),
    write: (stream: VirtualStream, buffer: Int8Array, offset: number, length: number, position: number) =>
      onHost(() => fs.writeSync(stream.hostFd ?? -1, buffer, offset, length, position)),
    llseek(stream: VirtualStream, offset: number, whence: number) {
      let position = offset;
      if (whence === 1) position += stream.position;
      else if (whence === 2) position += onHost(() => fs.fstatSync(stream.hostFd ?? -1)).size;
      if (position < 0) throw new virtual.ErrnoError(ERRNO['EINVAL'] as number);
      return position;
    },
  };
}

function isFolder(mode: number): boolean {
  return (mode & 0o170000) === 0o040000;
}
