/** A hub and its agents as processes, which a chaos run kills, pauses and restarts. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AUDIENCE, providerKey, type SignOnProvider, startProvider } from '../support/oidc-provider.js';
import { type Program, startProgram } from '../support/programs.js';
import { keepSecretsOf } from '../support/secrets.js';
import { NetworkLink, SmallDisk } from './environment.js';
import { FaultyProxy } from './faulty-proxy.js';
import { type ChaosStore, openStore, type StoreKind } from './store.js';

const CLOCK = fileURLToPath(new URL('jumping-clock.js', import.meta.url));

/** Environment variable of every process of a run, also of the instances. */
const RUN_VARIABLE = 'CHAOS_RUN';
/** The agent sets the one for instances, and the other for scripts. */
const INSTANCE_VARIABLE = 'WORKBENCH_INSTANCE_COOKIE';
const TASK_VARIABLE = 'WORKBENCH_TASK_ID';

/** Far below what is usual, so that a run of seconds sees silences and leases end. */
const TIMES = { unreachableAfter: '2s', leaseTimeout: '6s' };
/** A pause of a process that its partners must notice. */
export const LONG_PAUSE_MS = 4000;

const AGENTS = ['a', 'b', 'c'];
const INSTANCES_AN_AGENT = 2;

/** Client of the sign-on provider, in whose name all tasks are created. */
const CLIENT = 'pipeline';
/** Longer than any jump of a clock: the one access token of a run stays valid. */
const CLOCK_TOLERANCE = '2d';

/** Delay before a program that ended by itself is started again, as by a service manager. */
const RESTART_MS = 500;

/** A program that is restarted when it ends. */
export class Host {
  readonly name: string;
  readonly #start: () => Program;
  #program: Program;
  /** False while it is to be down. */
  #isWanted = true;
  #lastWords = '';

  constructor(name: string, start: () => Program) {
    this.name = name;
    this.#start = start;
    this.#program = this.#started();
  }

  get program(): Program {
    return this.#program;
  }

  get isUp(): boolean {
    return this.#program.process.exitCode === null && this.#program.process.signalCode === null;
  }

  /** Whether it listens. */
  get isServing(): boolean {
    return this.isUp && this.#program.lines.some((line) => typeof line['address'] === 'string');
  }

  /** Its last output before its end. */
  get lastWords(): string {
    return this.#lastWords;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isUp) this.#program.process.kill(signal);
  }

  /** Ends it at once; it is to be started again. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.signal('SIGCONT');
    await this.#program.kill();
  }

  start(): void {
    this.#isWanted = true;
    if (!this.isUp) this.#program = this.#started();
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#program.stop();
  }

  #started(): Program {
    const program = this.#start();
    void program.ended.then(async () => {
      this.#lastWords = String(program.lines.at(-1)?.msg ?? program.printed.at(-1));
      await pause(RESTART_MS);
      if (this.#isWanted && this.#program === program) this.start();
    });
    return program;
  }
}

export class Cluster {
  readonly folder: string;
  readonly store: ChaosStore;
  readonly disk: SmallDisk | undefined;
  /** Data folder of the first agent. */
  readonly agentDisk: SmallDisk | undefined;
  readonly link: NetworkLink | undefined;
  readonly clients: FaultyProxy;
  /** Link between the hub and the sign-on provider. */
  readonly signOnLink: FaultyProxy;
  readonly signOn: SignOnProvider;
  /** Access token that the provider issued to the clients. */
  readonly token: string;
  readonly agentLinks: readonly FaultyProxy[];
  readonly hub: Host;
  readonly agents: readonly Host[];
  readonly #clockFiles = new Map<Host, string>();

  private constructor(
    parts: Pick<
      Cluster,
      | 'folder'
      | 'store'
      | 'disk'
      | 'agentDisk'
      | 'link'
      | 'clients'
      | 'signOnLink'
      | 'signOn'
      | 'token'
      | 'agentLinks'
      | 'hub'
      | 'agents'
    >,
  ) {
    this.folder = parts.folder;
    this.store = parts.store;
    this.disk = parts.disk;
    this.agentDisk = parts.agentDisk;
    this.link = parts.link;
    this.clients = parts.clients;
    this.signOnLink = parts.signOnLink;
    this.signOn = parts.signOn;
    this.token = parts.token;
    this.agentLinks = parts.agentLinks;
    this.hub = parts.hub;
    this.agents = parts.agents;
    for (const host of [this.hub, ...this.agents])
      this.#clockFiles.set(host, clockFileOf(this.folder, host.name));
  }

  static async start(folder: string, kind: StoreKind): Promise<Cluster> {
    const dataDir = join(folder, 'hub');
    const disk = SmallDisk.at(dataDir);
    const agentDisk = SmallDisk.at(join(folder, AGENTS[0] as string));
    const link = await NetworkLink.make();
    const store = await openStore(kind, folder);
    const { signOn, signOnLink, token } = await startSignOn();
    const hubConfig = {
      dataDir,
      ...store.settings,
      agents: TIMES,
      tasks: { maxAttempts: 100_000, maxLosses: 100_000 },
      limits: { stalledAnswer: '5s' },
      security: {
        enabled: true,
        oidc: { issuer: signOn.issuer, audience: AUDIENCE, clockTolerance: CLOCK_TOLERANCE },
      },
      log: { file: join(folder, 'hub.log') },
    };
    const first = startHub(folder, { ...hubConfig, server: { port: 0 } });
    const { address } = await first.logged((line) => typeof line['address'] === 'string');
    await first.stop();
    await store.prepare();
    const port = Number(new URL(String(address)).port);
    const hub = new Host('hub', () => startHub(folder, { ...hubConfig, server: { port } }));
    await hub.program.logged((line) => typeof line['address'] === 'string');
    const clients = await FaultyProxy.listen('127.0.0.1', port);
    const agentLinks: FaultyProxy[] = [];
    const agents: Host[] = [];
    for (const [at, id] of AGENTS.entries()) {
      // The last one is on the other side of the network link, if there is one.
      const far = at === AGENTS.length - 1 ? link : undefined;
      const proxy = await FaultyProxy.listen(far ? far.hubAddress : '127.0.0.1', port);
      agentLinks.push(proxy);
      const config = {
        id,
        hub: `ws://${far ? far.hubAddress : '127.0.0.1'}:${proxy.port}`,
        tokenFile: join(dataDir, 'agent-token'),
        dataDir: join(folder, id),
        instances: [{ id: `${id}-sim`, version: '9.1.0', count: INSTANCES_AN_AGENT }],
      };
      agents.push(new Host(id, () => startAgent(folder, id, config, far?.by)));
    }
    return new Cluster({
      folder,
      store,
      disk,
      agentDisk,
      link,
      clients,
      signOnLink,
      signOn,
      token,
      agentLinks,
      hub,
      agents,
    });
  }

  /** Connection to the hub that no fault disturbs. */
  get hubPort(): number {
    return this.clients.targetPort;
  }

  /** Sets the clock of a host ahead of, or behind, the true one. */
  setClock(host: Host, offsetMs: number): void {
    writeFileSync(this.#clockFiles.get(host) as string, String(offsetMs));
    host.signal('SIGUSR2');
  }

  /** The instance programs that are there now. */
  instances(): number[] {
    return this.#processes(
      (environment) => environment.has(INSTANCE_VARIABLE) && !environment.has(TASK_VARIABLE),
    );
  }

  /** Instance programs and scripts. */
  workers(): number[] {
    return this.#processes((environment) => environment.has(INSTANCE_VARIABLE));
  }

  /** Removes all faults: everything is up and connected. */
  heal(): void {
    this.disk?.makeRoom();
    this.agentDisk?.makeRoom();
    this.link?.takeUp();
    if (this.link?.canLose) this.link.calm();
    this.#goOn();
    this.store.database?.goOn();
    for (const host of [this.hub, ...this.agents]) host.start();
  }

  async stop(): Promise<void> {
    this.#goOn();
    await Promise.all(this.agents.map((agent) => agent.stop()));
    await this.hub.stop();
  }

  /** Releases the proxies, the link and the disks of the run. */
  async release(): Promise<void> {
    for (const proxy of [this.clients, this.signOnLink, ...this.agentLinks]) await proxy.close();
    await this.signOn.stop();
    await this.store.release();
    this.link?.remove();
    this.disk?.remove();
    this.agentDisk?.remove();
  }

  /** Continues all paused processes. */
  #goOn(): void {
    for (const pid of this.workers()) signal(pid, 'SIGCONT');
    for (const host of [this.hub, ...this.agents]) host.signal('SIGCONT');
  }

  #processes(fits: (environment: ReadonlySet<string>) => boolean): number[] {
    const found: number[] = [];
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const variables = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
        if (!variables.includes(`${RUN_VARIABLE}=${this.folder}`)) continue;
        if (fits(new Set(variables.map((variable) => variable.split('=')[0] ?? ''))))
          found.push(Number(name));
      } catch {
        // it has ended meanwhile
      }
    }
    return found;
  }
}

/** Starts a sign-on provider behind a link that can be disturbed, and has it issue a token to the clients. */
async function startSignOn(): Promise<Pick<Cluster, 'signOn' | 'signOnLink' | 'token'>> {
  let signOnLink: FaultyProxy | undefined;
  const signOn = await startProvider({
    keys: [await providerKey('first')],
    clients: { [CLIENT]: ['USER'] },
    proxied: async (port) => {
      signOnLink = await FaultyProxy.listen('127.0.0.1', port);
      return signOnLink.port;
    },
  });
  const token = await signOn.token(CLIENT);
  keepSecretsOf({ accessToken: token });
  return { signOn, signOnLink: signOnLink as FaultyProxy, token };
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended meanwhile
  }
}

function clockFileOf(folder: string, name: string): string {
  return join(folder, `${name}.clock`);
}

function environmentOf(folder: string, name: string): NodeJS.ProcessEnv {
  return {
    [RUN_VARIABLE]: folder,
    CHAOS_CLOCK_FILE: clockFileOf(folder, name),
    NODE_OPTIONS: `--import=${CLOCK}`,
  };
}

function startHub(folder: string, config: object): Program {
  return startService('hub', folder, 'hub', config);
}

function startAgent(folder: string, id: string, config: object, by: readonly string[] = []): Program {
  return startService('agent', folder, id, config, by);
}

function startService(
  kind: 'hub' | 'agent',
  folder: string,
  name: string,
  config: object,
  by: readonly string[] = [],
): Program {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  const script = `${kind}/bin/workbench-${kind}.js`;
  return startProgram(script, ['--config', file], folder, environmentOf(folder, name), by);
}
