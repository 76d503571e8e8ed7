/** The process of a PostgreSQL server for tests, and the one server of a run. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The same for this file and for what it is compiled to. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/test[/\\]$/, '');
const PROGRAM = join(ROOT, 'test/support/stores/postgres-server-process.mjs');

export interface ServerProcess {
  /** Process that all others of the server descend from. */
  readonly pid: number;
  readonly port: number;
  /** Password of the user `postgres`. */
  readonly password: string;
  readonly dataFolder: string;
  /** Starts it again on the same data and port. */
  start(): Promise<void>;
  /** Ends it as an administrator does who does not wait for clients. */
  stop(): Promise<void>;
  /** Ends it at once (SIGKILL); its children end soon after. */
  kill(): Promise<void>;
  /** Ends it for good and removes its data. */
  end(): Promise<void>;
}

/** Login of a server. */
export type ServerLogin = Pick<ServerProcess, 'port' | 'password'>;

/** Starts a server, which ends with this process. `standbyOf`: its primary, which is stopped, and is
 *  started. */
export async function startServerProcess(
  settings: Readonly<Record<string, string>> = {},
  standbyOf?: Pick<ServerProcess, 'dataFolder' | 'port' | 'start'>,
): Promise<ServerProcess> {
  const primary = standbyOf ? [standbyOf.dataFolder, String(standbyOf.port)] : [];
  const keeper = fork(PROGRAM, [JSON.stringify(settings), ...primary], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ask = asking(keeper);
  if (standbyOf) {
    await ask('copy');
    await standbyOf.start();
  }
  const started = await ask('start');
  let { pid } = started;
  const { port, password, dataFolder } = started;
  keeper.unref();
  keeper.channel?.unref();
  return {
    get pid() {
      return pid;
    },
    port,
    password,
    dataFolder,
    start: async () => {
      ({ pid } = await ask('start'));
    },
    stop: async () => void (await ask('stop')),
    kill: async () => void (await ask('kill')),
    end: async () => {
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      const ended = new Promise((resolve) => keeper.once('exit', resolve));
      keeper.ref();
      keeper.disconnect();
      await ended;
    },
  };
}

interface Started {
  readonly port: number;
  readonly password: string;
  readonly pid: number;
  readonly dataFolder: string;
}

/** Sends one command at a time. */
function asking(keeper: ChildProcess): (command: 'copy' | 'start' | 'stop' | 'kill') => Promise<Started> {
  return (command) =>
    new Promise((resolve, reject) => {
      const { exitCode, signalCode } = keeper;
      const hasEnded = new Error('the process of the PostgreSQL server ended');
      if (exitCode !== null || signalCode !== null) return reject(hasEnded);
      const onExit = () => reject(hasEnded);
      keeper.once('exit', onExit);
      keeper.once('message', (answer: { readonly ok?: Started; readonly failure?: string }) => {
        keeper.off('exit', onExit);
        if (answer.ok) resolve(answer.ok);
        else reject(new Error(`PostgreSQL: ${command} failed: ${answer.failure}`));
      });
      keeper.send(command);
    });
}

/** Environment variable with the port at which the processes of a run ask for its server. */
const ASK_AT = 'WORKBENCH_TEST_POSTGRES';

/** Called by Vitest before a run: its server starts when a test asks for it first. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Each project of the configuration calls this.
  if (process.env[ASK_AT] !== undefined) return undefined;
  let started: Promise<ServerProcess> | undefined;
  const door = createServer((socket) => {
    socket.on('error', () => undefined);
    started ??= startServerProcess();
    started.then(
      ({ port, password }) => socket.end(JSON.stringify({ port, password })),
      (error: Error) => socket.end(JSON.stringify({ failure: error.message })),
    );
  });
  door.unref();
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  process.env[ASK_AT] = String((door.address() as { port: number }).port);
  return async () => {
    door.close();
    await (await started)?.end();
  };
}

/** The server of this run; outside of one, a server of this process. */
export async function serverOfTheRun(): Promise<ServerLogin> {
  const port = process.env[ASK_AT];
  if (port === undefined) return startServerProcess();
  const answer = JSON.parse(await text(connect(Number(port), '127.0.0.1'))) as ServerLogin & {
    readonly failure?: string;
  };
  if (answer.failure !== undefined) throw new Error(answer.failure);
  return answer;
}
