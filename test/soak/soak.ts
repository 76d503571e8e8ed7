/** One soak run: rounds of mixed load with faults; after each round everything is removed, and what must be constant is counted. */
import { rmSync } from 'node:fs';
import { scryptPasswords } from '@workbench-hub/hub/security/passwords';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { auditByRest } from '../chaos/audit.js';
import { Cluster, type ClusterSetup } from '../chaos/cluster.js';
import { Faults } from '../chaos/faults.js';
import { Load } from '../chaos/load.js';
import { unlessStopped } from '../chaos/long-run.js';
import { ledgerIn } from '../chaos/runs.js';
import { eventually } from '../support/eventually.js';
import { WebhookReceiver } from '../support/hubs/webhook-receiver.js';
import { endPrograms } from '../support/programs/programs.js';
import { type SeededRandom, seededRandom } from '../support/random.js';
import { keepSecretsOf } from '../support/secrets.js';
import { becomeQuiet, removeAll } from './calm.js';
import type { Judged } from './growth.js';
import { LOGS_IN } from './interfaces.js';
import { gaugeFileOf, Measurements } from './measurements.js';
import { MixedLoad } from './mixed-load.js';
import { GAUGE_OPTION, gaugeEnvironment } from './process-gauge.js';

export interface SoakOptions extends Pick<ClusterSetup, 'store' | 'hubs'> {
  readonly folder: string;
  readonly seed: number;
  readonly minutes: number;
  /** Ends the run, which then rejects. */
  readonly stopped: AbortSignal;
  /** Called with what happens, and its time. */
  readonly onEvent: (what: string) => void;
}

export interface SoakOutcome {
  readonly rounds: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
  readonly acknowledged: number;
  /** Responses by status; 0 for requests without one. */
  readonly answers: ReadonlyMap<number, number>;
  /** Successful uses of each interface. */
  readonly uses: ReadonlyMap<string, number>;
  readonly counts: readonly Judged[];
  /** Tasks that were lost or ended twice, responses that must not occur, and what grows. */
  readonly wrong: readonly string[];
}

/** Clients that submit jobs and wait for them, beside one for each other interface. */
const CLIENTS = 3;
/** Load and faults of a round last so long at least. */
const LOAD_MS = 8000;
/** Time after a fault in which everything must be back; covers leases and reconnect backoff. */
const CALM_LIMIT_MS = 90_000;
/** Time in which bytes are removed after their last name. */
const SETTLE_LIMIT_MS = 20_000;

/** Hours by which clocks are set, ahead alone: hubs trust a clock that is corrected backwards at once, and sweep by age then. */
const CLOCK_H = { least: 1, more: 23 };

/** Faults that end hubs or agents, whose lives are then over. */
const ENDS_LIVES = /^(?:hub|agent|database) (?:killed|stopped|restarted|failed over)$|^all hubs killed$/;
/** Turns of all other kinds of faults between those that end lives: at least, and by the length of the run. */
const TURNS_A_LIFE = { least: 3, aMinute: 0.25 };

export async function runSoak(options: SoakOptions): Promise<SoakOutcome> {
  const webhooks = await WebhookReceiver.listen();
  const cluster = await startCluster(options, webhooks.origin);
  try {
    return await unlessStopped(new Soak(options, cluster, webhooks).run(), options.stopped);
  } finally {
    await cluster.stop();
    await endPrograms();
    await cluster.release();
    await webhooks.close();
  }
}

async function startCluster({ folder, store, hubs }: SoakOptions, origin: string): Promise<Cluster> {
  keepSecretsOf(LOGS_IN);
  const passwordHash = await scryptPasswords({ ln: 10, r: 8, p: 1 }).hash(LOGS_IN.password);
  const { username } = LOGS_IN;
  const hub = {
    security: {
      users: [{ username, passwordHash, roles: ['USER'] }],
      accessTokenLifetime: '30s',
      refreshTokenLifetime: '60s',
    },
    storage: { output: { expireAfter: '15s' } },
    webhooks: {
      receivers: [{ name: 'all-ends', url: `${origin}/all` }],
      notify: [origin],
      allowHttp: true,
      privateNetworks: ['loopback'],
      retryFor: '10s',
      keepFor: '5s',
    },
  };
  return Cluster.start(folder, {
    store,
    hubs,
    settings: { hub, agent: { limits: { fileCache: '256KiB' } } },
    preload: (name) => ({
      option: GAUGE_OPTION,
      environment: gaugeEnvironment(gaugeFileOf(folder, name)),
    }),
  });
}

/** Closes the connections that `fetch` keeps for later, which are none of those that must be constant. */
async function closeConnections(): Promise<void> {
  const former = getGlobalDispatcher();
  setGlobalDispatcher(new Agent());
  await former.destroy();
}

class Soak {
  readonly #options: SoakOptions;
  readonly #cluster: Cluster;
  readonly #baseUrls: readonly string[];
  readonly #random: SeededRandom;
  readonly #faults: Faults;
  readonly #mixed: MixedLoad;
  readonly #measurements: Measurements;
  readonly #wrong: string[] = [];
  readonly #startedMs = performance.now();
  #rounds = 0;
  #acknowledged = 0;

  constructor(options: SoakOptions, cluster: Cluster, webhooks: WebhookReceiver) {
    const { seed } = options;
    this.#options = options;
    this.#cluster = cluster;
    this.#random = seededRandom(seed);
    const onFault = (kind: string, target: string) => this.#say(`${kind} (${target})`);
    this.#faults = new Faults(cluster, seededRandom(seed + 1), onFault, CLOCK_H);
    const { clients, token, operatorToken } = cluster.parts;
    this.#baseUrls = clients.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`);
    const notify = `${webhooks.origin}/one`;
    this.#mixed = new MixedLoad(
      { baseUrls: this.#baseUrls, token, operatorToken, notify },
      seededRandom(seed + 2),
    );
    this.#measurements = new Measurements(cluster);
    webhooks.respond = (response) => {
      webhooks.received.length = 0;
      response.writeHead(this.#random.oneIn(10) ? 500 : 204).end();
    };
  }

  async run(): Promise<SoakOutcome> {
    const untilMs = this.#startedMs + this.#options.minutes * 60_000;
    await this.#round(() => this.#useEachInterface());
    do await this.#round(() => this.#strike());
    while (performance.now() < untilMs && this.#wrong.length === 0);
    const { failures, counts: faults, missing } = this.#faults;
    if (failures.length > 0) throw new AggregateError(failures, 'faults could not strike');
    const counts = this.#measurements.judged();
    await this.#cluster.stop();
    for (const pid of this.#cluster.workers()) this.#wrong.push(`process ${pid} of an instance was left`);
    return {
      rounds: this.#rounds,
      faults,
      missing,
      acknowledged: this.#acknowledged,
      answers: this.#mixed.answers,
      uses: this.#mixed.uses,
      counts,
      wrong: [...this.#wrong, ...this.#mixed.violations, ...this.#measurements.growth()],
    };
  }

  /** One round of load, which lasts until `during` resolves. */
  async #round(during: () => Promise<void>): Promise<void> {
    const { token, folder } = this.#cluster.parts;
    const load = new Load(
      { baseUrls: this.#baseUrls, token, ledger: ledgerIn(folder) },
      seededRandom(this.#random.below(1e9)),
    );
    const loaded = [load.run(CLIENTS), this.#mixed.run()];
    await during();
    load.stop();
    this.#mixed.stop();
    this.#cluster.correctClocks();
    const calm = { cluster: this.#cluster, limitMs: CALM_LIMIT_MS };
    const faultsEndedMs = performance.now();
    try {
      await becomeQuiet(calm);
    } catch (error) {
      this.#wrong.push(`after the faults of a round the system is not as before: ${error}`);
      load.giveUp();
    }
    await Promise.all(loaded);
    const quietAfterS = ((performance.now() - faultsEndedMs) / 1000).toFixed(1);
    await this.#audit(load);
    await removeAll(calm);
    rmSync(ledgerIn(folder), { force: true });
    await closeConnections();
    await this.#settle();
    await this.#measurements.take();
    this.#rounds++;
    const jobs = load.acknowledged.length;
    this.#say(`round ${this.#rounds} is counted: ${jobs} jobs audited, quiet ${quietAfterS} s later`);
  }

  /** Waits until each interface has done what it is for. */
  async #useEachInterface(): Promise<void> {
    const unused = () => [...this.#mixed.uses].filter(([, count]) => count === 0).map(([name]) => name);
    await eventually(() => unused().length === 0, CALM_LIMIT_MS).catch(() => {
      this.#wrong.push(`without any fault, these interfaces did not work: ${unused().join(', ')}`);
    });
  }

  async #strike(): Promise<void> {
    const untilMs = performance.now() + LOAD_MS;
    do await this.#faults.strikeNext((kind, count) => this.#turnOf(kind, count));
    while (performance.now() < untilMs);
  }

  /** Kinds strike in turns, lowest number first: those that end lives, then all others several times, and so on. */
  #turnOf(kind: string, count: number): number {
    const { least, aMinute } = TURNS_A_LIFE;
    const turns = Math.max(least, Math.round(aMinute * this.#options.minutes));
    return ENDS_LIVES.test(kind) ? count * turns : count + 0.5;
  }

  /** Waits until the bytes of all that was removed are gone, as far as they go soon. */
  async #settle(): Promise<void> {
    const { store } = this.#cluster.parts;
    const isSettled = async () => (await store.rowCounts()).get('dropped_content') === 0;
    await eventually(isSettled, SETTLE_LIMIT_MS).catch(() => undefined);
  }

  async #audit(load: Load): Promise<void> {
    const { token, store } = this.#cluster.parts;
    const findings = { lost: [] as string[], twice: [] as string[], wrong: [...load.violations] };
    await auditByRest(this.#cluster.serving, token, load.acknowledged, findings);
    await store.audit(load.acknowledged, findings);
    this.#acknowledged += load.acknowledged.length;
    this.#wrong.push(...findings.lost, ...findings.twice, ...findings.wrong);
  }

  #say(what: string): void {
    const atS = ((performance.now() - this.#startedMs) / 1000).toFixed(1);
    this.#options.onEvent(`${atS.padStart(7)} s  ${what}`);
  }
}
