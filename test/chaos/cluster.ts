/** Hubs and their agents as processes, which a chaos run kills, pauses and restarts. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLUSTER_KEY } from '../support/hubs/cluster-key.js';
import { AUDIENCE, providerKey, type SignOnProvider, startProvider } from '../support/hubs/oidc-provider.js';
import { type Program, startProgram } from '../support/programs/programs.js';
import { keepSecretsOf } from '../support/secrets.js';
import { NetworkLink, SmallDisk } from './environment.js';
import { FaultyProxy } from './faulty-proxy.js';
import { Host } from './host.js';
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
/** Another one, which may do everything. */
const OPERATOR = 'operator';
/** Longer than any jump of a clock: the one access token of a run stays valid. */
const CLOCK_TOLERANCE = '2d';

/** A link that faults disturb, with a name for the report. */
export interface NamedLink {
  readonly name: string;
  readonly proxy: FaultyProxy;
}

interface ClusterParts {
  readonly folder: string;
  readonly store: ChaosStore;
  /** Data folder of the first hub. */
  readonly disk: SmallDisk | undefined;
  /** Data folder of the first agent. */
  readonly agentDisk: SmallDisk | undefined;
  readonly link: NetworkLink | undefined;
  /** Links of the clients, one to each hub. */
  readonly clients: readonly NamedLink[];
  /** Link between the hubs and the sign-on provider. */
  readonly signOnLink: FaultyProxy;
  readonly signOn: SignOnProvider;
  /** Access token that the provider issued to the clients. */
  readonly token: string;
  /** Access token of an ADMIN. */
  readonly operatorToken: string;
  /** One for each agent of a single hub; for several hubs, one for each hub. */
  readonly agentLinks: readonly NamedLink[];
  readonly hubs: readonly Host[];
  readonly agents: readonly Host[];
}

export interface ClusterSetup {
  readonly store: StoreKind;
  /** Number of hubs. */
  readonly hubs: number;
  /** Additions to the configuration of each hub, and of each agent. */
  readonly settings?: { readonly hub: Settings; readonly agent: object };
  /** Addition to each program, by its name. */
  readonly preload?: (name: string) => Preload;
}

interface Settings {
  readonly security?: object;
  readonly storage?: object;
  readonly [key: string]: unknown;
}

/** Module that is loaded into a program beside its own. */
interface Preload {
  /** Option of Node.js. */
  readonly option: string;
  readonly environment: NodeJS.ProcessEnv;
}

export class Cluster {
  readonly parts: ClusterParts;
  readonly #clockFiles = new Map<Host, string>();
  /** Hosts whose clock does not show the true time. */
  readonly #wrongClocks = new Set<Host>();

  private constructor(parts: ClusterParts) {
    this.parts = parts;
    for (const host of [...parts.hubs, ...parts.agents])
      this.#clockFiles.set(host, clockFileOf(parts.folder, host.name));
  }

  static async start(folder: string, setup: ClusterSetup): Promise<Cluster> {
    const { store: kind, hubs: count, settings, preload } = setup;
    const names = hubNames(count);
    const disk = SmallDisk.at(join(folder, names[0] as string));
    const agentDisk = SmallDisk.at(join(folder, AGENTS[0] as string));
    const link = await NetworkLink.make();
    const store = await openStore(kind, folder, count);
    const { signOn, signOnLink, token, operatorToken } = await startSignOn();
    const configs = names.map((name, at) => ({
      ...hubConfig(folder, name, signOn.issuer, settings?.hub),
      ...store.settingsOf(at),
      storage: { ...settings?.hub.storage, ...(count > 1 ? sharedStorage(folder) : {}) },
    }));
    const ports = await firstStarts(folder, names, configs);
    await store.prepare();
    const clients: NamedLink[] = [];
    for (const [at, port] of ports.entries())
      clients.push({
        name: count > 1 ? `link of clients to ${names[at]}` : 'link of clients',
        proxy: await FaultyProxy.listen('127.0.0.1', port),
      });
    const agentLinks = await (count > 1
      ? linksToHubs(names, ports, link)
      : linksOfAgents(ports[0] as number, link));
    const hubs: Host[] = [];
    for (const [at, name] of names.entries()) {
      const port = ports[at];
      // Agents learn this address from the hubs.
      const own = count > 1 ? { address: `http://${agentLinks[at]?.address}` } : {};
      const config = { ...configs[at], server: { port, ...own } };
      hubs.push(new Host(name, () => startService('hub', folder, name, config, { preload })));
    }
    for (const { program } of hubs) await program.logged((line) => typeof line['address'] === 'string');
    const tokenFile = join(folder, names[0] as string, 'agent-token');
    const agents = AGENTS.map((id, at) => {
      const far = at === AGENTS.length - 1 ? link : undefined;
      const addresses = count > 1 ? agentLinks : [agentLinks[at] as (typeof agentLinks)[number]];
      const config = {
        id,
        hub: addresses.map(({ address }) => `ws://${address}`),
        tokenFile,
        dataDir: join(folder, id),
        instances: [{ id: `${id}-sim`, version: '9.1.0', count: INSTANCES_AN_AGENT }],
        ...settings?.agent,
      };
      return new Host(id, () => startService('agent', folder, id, config, { by: far?.by, preload }));
    });
    return new Cluster({
      ...{
        folder,
        store,
        disk,
        agentDisk,
        link,
        clients,
        signOnLink,
        signOn,
        token,
        operatorToken,
        agentLinks,
        hubs,
        agents,
      },
    });
  }

  /** Addresses of the hubs that serve, by connections that no fault disturbs. */
  get serving(): string[] {
    const { hubs, clients } = this.parts;
    return clients
      .filter((_, at) => hubs[at]?.isServing === true)
      .map(({ proxy }) => `http://127.0.0.1:${proxy.targetPort}`);
  }

  isHub(host: Host): boolean {
    return this.parts.hubs.includes(host);
  }

  /** Sets the clock of a host ahead of, or behind, the true one. */
  setClock(host: Host, offsetMs: number): void {
    writeFileSync(this.#clockFiles.get(host) as string, String(offsetMs));
    if (offsetMs === 0) this.#wrongClocks.delete(host);
    else this.#wrongClocks.add(host);
    host.signal('SIGUSR2');
  }

  /** Sets all clocks that were changed to the true time. */
  correctClocks(): void {
    for (const host of [...this.#wrongClocks]) this.setClock(host, 0);
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
    const { disk, agentDisk, link, store, hubs, agents } = this.parts;
    disk?.makeRoom();
    agentDisk?.makeRoom();
    link?.takeUp();
    if (link?.canLose) link.calm();
    this.#goOn();
    store.database?.goOn();
    for (const host of [...hubs, ...agents]) host.start();
  }

  async stop(): Promise<void> {
    this.#goOn();
    await Promise.all(this.parts.agents.map((agent) => agent.retire()));
    await Promise.all(this.parts.hubs.map((hub) => hub.retire()));
  }

  /** Releases the proxies, the link and the disks of the run. */
  async release(): Promise<void> {
    const { clients, signOnLink, agentLinks, signOn, store, link, disk, agentDisk } = this.parts;
    for (const { proxy } of [...clients, ...agentLinks]) await proxy.close();
    await signOnLink.close();
    await signOn.stop();
    await store.release();
    link?.remove();
    disk?.remove();
    agentDisk?.remove();
  }

  /** Continues all paused processes. */
  #goOn(): void {
    for (const pid of this.workers()) signal(pid, 'SIGCONT');
    for (const host of [...this.parts.hubs, ...this.parts.agents]) host.signal('SIGCONT');
  }

  #processes(fits: (environment: ReadonlySet<string>) => boolean): number[] {
    const found: number[] = [];
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const variables = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
        if (!variables.includes(`${RUN_VARIABLE}=${this.parts.folder}`)) continue;
        if (fits(new Set(variables.map((variable) => variable.split('=')[0] ?? ''))))
          found.push(Number(name));
      } catch {
        // it has ended meanwhile
      }
    }
    return found;
  }
}

function hubNames(count: number): string[] {
  return count === 1 ? ['hub'] : Array.from({ length: count }, (_, at) => `hub-${at + 1}`);
}

function sharedStorage(folder: string): object {
  return { folder: join(folder, 'blobs'), encryptionKey: CLUSTER_KEY };
}

function hubConfig(folder: string, name: string, issuer: string, settings: Settings = {}): object {
  return {
    ...settings,
    dataDir: join(folder, name),
    agents: TIMES,
    tasks: { maxAttempts: 100_000, maxLosses: 100_000 },
    limits: { stalledAnswer: '5s' },
    security: {
      enabled: true,
      oidc: { issuer, audience: AUDIENCE, clockTolerance: CLOCK_TOLERANCE },
      ...settings.security,
    },
    log: { file: join(folder, `${name}.log`) },
  };
}

/** Lets each hub make its files and the tables; resolves with the ports that they are to keep. */
async function firstStarts(
  folder: string,
  names: readonly string[],
  configs: readonly object[],
): Promise<number[]> {
  const programs = names.map((name, at) =>
    startService('hub', folder, name, { ...configs[at], server: { port: 0 } }),
  );
  const lines = await Promise.all(
    programs.map((program) => program.logged((line) => typeof line['address'] === 'string')),
  );
  await Promise.all(programs.map((program) => program.stop()));
  return lines.map(({ address }) => Number(new URL(String(address)).port));
}

/** The address by which agents use a link. */
interface AgentLink extends NamedLink {
  readonly address: string;
}

async function agentLink(name: string, port: number, host = '127.0.0.1'): Promise<AgentLink> {
  const proxy = await FaultyProxy.listen(host, port);
  return { name, proxy, address: `${host}:${proxy.port}` };
}

/** A link of each agent to the only hub. The last one is on the other side of the network link, if there is one. */
async function linksOfAgents(port: number, link: NetworkLink | undefined): Promise<AgentLink[]> {
  const links: AgentLink[] = [];
  for (const [at, id] of AGENTS.entries()) {
    const far = at === AGENTS.length - 1 ? link : undefined;
    links.push(await agentLink(`link of ${id}`, port, far?.hubAddress));
  }
  return links;
}

/** A link of all agents to each hub, at an address that is the same for all. */
async function linksToHubs(
  names: readonly string[],
  ports: readonly number[],
  link: NetworkLink | undefined,
): Promise<AgentLink[]> {
  const links: AgentLink[] = [];
  for (const [at, port] of ports.entries())
    links.push(await agentLink(`link of agents to ${names[at]}`, port, link?.hubAddress));
  return links;
}

/** Starts a sign-on provider behind a link that can be disturbed, and has it issue a token to the clients. */
async function startSignOn(): Promise<
  Pick<ClusterParts, 'signOn' | 'signOnLink' | 'token' | 'operatorToken'>
> {
  let signOnLink: FaultyProxy | undefined;
  const signOn = await startProvider({
    keys: [await providerKey('first')],
    clients: { [CLIENT]: ['USER'], [OPERATOR]: ['ADMIN'] },
    proxied: async (port) => {
      signOnLink = await FaultyProxy.listen('127.0.0.1', port);
      return signOnLink.port;
    },
  });
  const token = await signOn.token(CLIENT);
  const operatorToken = await signOn.token(OPERATOR);
  for (const accessToken of [token, operatorToken]) keepSecretsOf({ accessToken });
  return { signOn, signOnLink: signOnLink as FaultyProxy, token, operatorToken };
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

function environmentOf(folder: string, name: string, preload: Preload | undefined): NodeJS.ProcessEnv {
  return {
    [RUN_VARIABLE]: folder,
    CHAOS_CLOCK_FILE: clockFileOf(folder, name),
    ...preload?.environment,
    NODE_OPTIONS: [`--import=${CLOCK}`, ...(preload ? [preload.option] : [])].join(' '),
  };
}

interface ServiceSetup {
  /** Command that wraps the program. */
  readonly by?: readonly string[] | undefined;
  readonly preload?: ((name: string) => Preload) | undefined;
}

function startService(
  kind: 'hub' | 'agent',
  folder: string,
  name: string,
  config: object,
  { by = [], preload }: ServiceSetup = {},
): Program {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  const script = `${kind}/bin/workbench-${kind}.js`;
  const env = environmentOf(folder, name, preload?.(name));
  return startProgram(script, ['--config', file], folder, env, { by });
}
