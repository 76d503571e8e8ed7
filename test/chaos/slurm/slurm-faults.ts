/** Faults of a run on Slurm, one at a time: hub, agents and the daemons of Slurm are killed. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { SlurmCluster } from '../../support/hosts/slurm-cluster.js';
import type { SeededRandom } from '../../support/random.js';

export interface SlurmFaultsOptions {
  readonly cluster: SlurmCluster;
  readonly random: SeededRandom;
  readonly killHub: () => Promise<void>;
  readonly startHub: () => Promise<void>;
  readonly onFault: (what: string) => void;
  readonly stopped: AbortSignal;
}

const EVERY_MS = { least: 8000, more: 14_000 };
/** Time for which something is away. */
const AWAY_MS = { least: 500, more: 8000 };

export class SlurmFaults {
  readonly counts = new Map<string, number>();
  readonly #options: SlurmFaultsOptions;

  constructor(options: SlurmFaultsOptions) {
    this.#options = options;
  }

  /** Strikes until `isOver`; then all is up. */
  async run(isOver: () => boolean): Promise<void> {
    const { random, stopped } = this.#options;
    while (!isOver() && !stopped.aborted) {
      await pause(EVERY_MS.least + random.below(EVERY_MS.more));
      if (isOver()) return;
      await random.of([
        () => this.#strike('hub killed', () => this.#hubAway()),
        () => this.#strike('agent killed', () => this.#agentKilled()),
        () => this.#strike('controller of Slurm ended', () => this.#controllerAway('SIGTERM')),
        () => this.#strike('controller of Slurm killed', () => this.#controllerAway('SIGKILL')),
        () => this.#strike('daemon of a host killed', () => this.#hostAway()),
      ])();
    }
  }

  async #strike(what: string, strike: () => Promise<boolean>): Promise<void> {
    if (!(await strike())) return;
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    this.#options.onFault(what);
  }

  #away(): Promise<void> {
    return pause(AWAY_MS.least + this.#options.random.below(AWAY_MS.more));
  }

  async #hubAway(): Promise<boolean> {
    await this.#options.killHub();
    await this.#away();
    await this.#options.startHub();
    return true;
  }

  async #controllerAway(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    const { cluster } = this.#options;
    await cluster.endController(signal);
    await this.#away();
    await cluster.startController();
    return true;
  }

  async #hostAway(): Promise<boolean> {
    const { cluster, random } = this.#options;
    const host = random.of(cluster.hosts);
    await cluster.endHost(host, 'SIGKILL');
    await this.#away();
    await cluster.startHost(host);
    return true;
  }

  /** Kills an agent with all that it runs; false when there is none. */
  async #agentKilled(): Promise<boolean> {
    const agents = processesWith('workbench-agent.js', this.#options.cluster.folder);
    if (agents.length === 0) return false;
    process.kill(this.#options.random.of(agents), 'SIGKILL');
    return true;
  }
}

/** Ids of processes with these texts in their command lines. */
function processesWith(...texts: readonly string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return texts.every((text) => line.includes(text));
      } catch {
        return false;
      }
    })
    .map(Number);
}
