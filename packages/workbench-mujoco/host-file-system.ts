/**
 * Lets the simulator see the host's files under their own paths, as a native program would: a model finds its meshes
 * and includes, a script's relative paths mean the working directory, and what the simulator writes lands there.
 *
 * The simulator is compiled by Emscripten, whose C library does its file calls on a virtual file system in memory.
 * This is a driver for that (the interface of its own NODEFS, which the build does not contain): each call is made on
 * the host at once, so only what is really read is read.
 *
 * The compiled text of this file is also evaluated in the realms of jobs (realm-sources.ts): it imports types only.
 */
import type { HostFiles, ShownFolders } from './host-files.js';

/** Parts of Emscripten's `FS` for drivers; its own declarations say `any`. */
export interface VirtualFileSystem {
  ErrnoError: new (errno: number) => Error;
  createNode(parent: VirtualNode | null, name: string, mode: number, device: number): VirtualNode;
  readonly root: VirtualNode;
  readdir(path: string): string[];
  mount(type: { mount(mount: object): VirtualNode }, options: { root: string }, mountPoint: string): object;
  chdir(path: string): void;
}

interface VirtualNode {
  parent: VirtualNode;
  name: string;
  mode: number;
  node_ops: { lookup?(parent: VirtualNode, name: string): VirtualNode };
  stream_ops: object;
  /** Set on a top folder only: the host's folder behind it. */
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

const EINVAL = 28;
const ENOENT = 44;

/** Folders of the simulator's own system. */
const KEPT_IN_MEMORY = ['.', '..', 'dev', 'proc'];
/** Folder in memory for files of processes, on Linux. */
const SHARED_MEMORY = '/dev/shm';

/**
 * Shows the top folders of the host in the simulator (on Windows: its drives), and makes `workingDirectory` its current one. A folder
 * is looked up when it is first used, since most are not.
 */
export function showHostFiles(
  virtual: VirtualFileSystem,
  host: HostFiles,
  { workingDirectory, isWindows }: ShownFolders,
): void {
  const rootOf = (name: string) => (isWindows ? `${name}\\` : `/${name}`);
  const { mount, folderAt } = hostDriver(virtual, host);
  for (const name of virtual.readdir('/')) {
    if (KEPT_IN_MEMORY.includes(name) || isWindows) continue;
    // The simulator has a folder of the same name in its memory; a sandbox may have none.
    if (typeof host.stat(rootOf(name)) === 'string')
      virtual.mount({ mount }, { root: rootOf(name) }, `/${name}`);
  }
  // Working directories may be in the host's shared memory.
  if (!isWindows && virtual.readdir('/dev').includes('shm') && typeof host.stat(SHARED_MEMORY) === 'string')
    virtual.mount({ mount }, { root: SHARED_MEMORY }, SHARED_MEMORY);
  virtual.root.node_ops = {
    ...virtual.root.node_ops,
    lookup(parent, name) {
      if (isWindows && !/^[a-z]:$/i.test(name)) throw new virtual.ErrnoError(ENOENT);
      return folderAt(parent, name, rootOf(name));
    },
  };
  virtual.chdir(workingDirectory);
}

function hostDriver(virtual: VirtualFileSystem, host: HostFiles) {
  const checked: Checked = (result) => {
    if (typeof result === 'number' && result < 0) throw new virtual.ErrnoError(-result);
    return result;
  };
  const makeNode: MakeNode = (parent, name, mode) => {
    const node = virtual.createNode(parent, name, mode, 0);
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    return node;
  };
  const modeOf = (path: string) => Number(String(checked(host.stat(path))).split('/')[3]);
  const nodeOps = {
    ...attributeOperations(host, checked),
    ...folderOperations(host, checked, makeNode, modeOf),
  };
  const streamOps = streamOperations(virtual, host, checked);

  return {
    mount(mount: object): VirtualNode {
      const { root } = (mount as { opts: { root: string } }).opts;
      const node = makeNode(null, '/', modeOf(root));
      node.hostRoot = root;
      return node;
    },
    folderAt(parent: VirtualNode, name: string, root: string): VirtualNode {
      const mode = modeOf(root);
      if (!isFolder(mode)) throw new virtual.ErrnoError(ENOENT);
      const node = makeNode(parent, name, mode);
      node.hostRoot = root;
      return node;
    },
  };
}

/** Throws an error of the host as one of the C library. */
type Checked = <T extends string | number>(result: T) => T;

type MakeNode = (parent: VirtualNode | null, name: string, mode: number) => VirtualNode;

function hostPath(node: VirtualNode): string {
  return node.hostRoot ?? pathIn(node.parent, node.name);
}

/** Windows takes `/`, too. */
function pathIn(parent: VirtualNode, name: string): string {
  return `${hostPath(parent).replace(/[\\/]$/, '')}/${name}`;
}

function attributeOperations(host: HostFiles, checked: Checked) {
  return {
    getattr(node: VirtualNode) {
      const attributes = String(checked(host.stat(hostPath(node))))
        .split('/')
        .map(Number);
      const [
        dev,
        ino,
        nlink,
        mode,
        uid,
        gid,
        rdev,
        size,
        blksize,
        blocks,
        atimeMs = 0,
        mtimeMs = 0,
        ctimeMs = 0,
      ] = attributes;
      const [atime, mtime, ctime] = [new Date(atimeMs), new Date(mtimeMs), new Date(ctimeMs)];
      return { dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, atime, mtime, ctime };
    },
    setattr(node: VirtualNode, { mode, size }: Attributes) {
      if (mode !== undefined) {
        checked(host.chmod(hostPath(node), mode & 0o7777));
        node.mode = mode;
      }
      if (size !== undefined) checked(host.truncate(hostPath(node), size));
    },
  };
}

function folderOperations(
  host: HostFiles,
  checked: Checked,
  makeNode: MakeNode,
  modeOf: (path: string) => number,
) {
  return {
    // The host follows links, so that the simulator sees files and folders only.
    lookup: (parent: VirtualNode, name: string) => makeNode(parent, name, modeOf(pathIn(parent, name))),
    mknod(parent: VirtualNode, name: string, mode: number) {
      const target = pathIn(parent, name);
      checked(isFolder(mode) ? host.makeFolder(target, mode & 0o7777) : host.makeFile(target, mode & 0o7777));
      return makeNode(parent, name, mode);
    },
    rename(node: VirtualNode, newParent: VirtualNode, newName: string) {
      checked(host.rename(hostPath(node), pathIn(newParent, newName)));
      node.name = newName;
    },
    unlink: (parent: VirtualNode, name: string) => void checked(host.removeFile(pathIn(parent, name))),
    rmdir: (parent: VirtualNode, name: string) => void checked(host.removeFolder(pathIn(parent, name))),
    readdir(node: VirtualNode) {
      const names = String(checked(host.list(hostPath(node))));
      return ['.', '..', ...(names === '' ? [] : names.split('/'))];
    },
  };
}

function streamOperations(virtual: VirtualFileSystem, host: HostFiles, checked: Checked) {
  return {
    open(stream: VirtualStream) {
      if (isFolder(stream.node.mode)) return;
      // Creation and truncation (mknod, setattr) came before; only the access mode is left.
      const access = ['r', 'r+', 'r+'][stream.flags & 3] ?? 'r';
      stream.hostFd = checked(host.open(hostPath(stream.node), access));
    },
    close(stream: VirtualStream) {
      if (stream.hostFd !== undefined) checked(host.close(stream.hostFd));
    },
    read: (stream: VirtualStream, buffer: Uint8Array, offset: number, length: number, position: number) =>
      checked(host.read(stream.hostFd ?? -1, buffer, offset, length, position)),
    write: (stream: VirtualStream, buffer: Uint8Array, offset: number, length: number, position: number) =>
      checked(host.write(stream.hostFd ?? -1, buffer, offset, length, position)),
    llseek(stream: VirtualStream, offset: number, whence: number) {
      let position = offset;
      if (whence === 1) position += stream.position;
      else if (whence === 2) position += checked(host.size(stream.hostFd ?? -1));
      if (position < 0) throw new virtual.ErrnoError(EINVAL);
      return position;
    },
  };
}

function isFolder(mode: number): boolean {
  return (mode & 0o170000) === 0o040000;
}
