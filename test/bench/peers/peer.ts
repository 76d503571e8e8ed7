/** Puts a peer together: its own server if it has one, a front, and a worker. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import { ServerProgram } from '../subjects/server-program.js';
import type { RunningSubject, Subject, SubjectSetup } from '../subjects/subject.js';
import type { Ready } from './peer-process.js';
import type { RoleOptions } from './role.js';

export interface PeerServer {
  /** In the order in which they were started; they are ended the other way round. */
  readonly programs: Readonly<Record<string, Pick<ServerProgram, 'pid' | 'stop'>>>;
  readonly port: number;
  /** Where a port is not enough. */
  readonly url?: string;
}

export interface PeerSetup {
  /** Label in tables. */
  readonly name: string;
  /** Name in `peer-process.ts`. */
  readonly peer: string;
  readonly variant: string;
  /** Without one, nothing is executed. */
  readonly worker?: boolean;
  readonly missing?: () => string | undefined;
  /** The server of its own that a peer has, ready to be used. */
  readonly startServer?: (folder: string, slots: number) => Promise<PeerServer>;
  /** See {@link Subject}. */
  readonly mostTasks?: number;
}

export function peerSubject(setup: PeerSetup): Subject {
  const { name, missing = () => undefined, mostTasks = Number.POSITIVE_INFINITY } = setup;
  return { name, isCompared: true, missing, mostTasks, start: (options) => startPeer(setup, options) };
}

async function startPeer(
  { peer, variant, worker: hasWorker = true, startServer }: PeerSetup,
  { folder, slots, paused }: SubjectSetup,
): Promise<RunningSubject> {
  const programs: Pick<ServerProgram, 'stop'>[] = [];
  const stop = async () => {
    for (const program of programs.splice(0).reverse()) await program.stop();
  };
  const startRole = async (role: 'front' | 'worker', options: RoleOptions) => {
    const file = fileURLToPath(compiled('./peer-process.js', import.meta.url));
    const args = [file, peer, role, JSON.stringify(options)];
    const program = new ServerProgram(role, process.execPath, args, { folder, ipc: true });
    programs.push(program);
    const ready = once(program.child, 'message').then(([message]) => message as Ready);
    let said: Ready | undefined;
    void ready.then((message) => {
      said = message;
    });
    return { program, port: (await program.until(() => said)).port ?? 0 };
  };
  try {
    const pids = new Map<string, number>();
    const server = await startServer?.(folder, slots);
    for (const [name, program] of Object.entries(server?.programs ?? {})) {
      programs.push(program);
      pids.set(name, program.pid);
    }
    const { port: serverPort = 0, url: serverUrl = '' } = server ?? {};
    const options = { folder, slots, variant, serverPort, serverUrl };
    const front = await startRole('front', options);
    pids.set('front', front.program.pid);
    let resume: RunningSubject['resume'] = async () => undefined;
    if (hasWorker) {
      const worker = await startRole('worker', { ...options, serverPort: server?.port ?? front.port });
      pids.set('worker', worker.program.pid);
      resume = async () => {
        worker.program.child.send('go');
      };
      if (!paused) await resume();
    }
    return { port: front.port, dialect: 'FRONT', pids, resume, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
