/**
 * A world of hubs that join hubs: headquarters, sites below it, and on some seeds a level between, each with the real engine, store and link. Clients
 * hand in tasks at headquarters, and at the sites; agents are at the sites only, and on some seeds a workload manager brings those of a site. Hubs and agents are killed, stopped and without power, links are cut, disks
 * are full or slow, clocks are set, administrators cancel loans. Afterwards every task has ended, once, and nothing is held any longer.
 */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { ConfiguredUpstream } from '@workbench-hub/hub/engine/lending/lending';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import type { Hub } from '@workbench-hub/shared/joining/ports/hub';
import type { Breakage } from '../breakages/breakage.js';
import { Network } from '../network.js';
import type { Process } from '../process.js';
import { KEPT_LONG_MS, KEPT_SHORTLY_MS } from '../settings.js';
import { SimulatedAgent } from '../simulated-agent.js';
import type { SimulatedHub } from '../simulated-hub.js';
import type { SimulatedHubs } from '../simulated-hubs.js';
import { ENDED } from '../task-states.js';
import { transferWith } from '../transfer.js';
import type { Violation, World } from '../world.js';
import { beginFaults, hubsOf, inNewWorld, prepareShutdown, startHub, startLater } from '../world-frame.js';
import { worldLog } from '../world-log.js';
import { SiteHosts } from './site-hosts.js';

export interface SitesOutcome {
  readonly seed: number;
  readonly tasks: number;
  readonly loans: number;
  /** Number of hosts that a workload manager has brought. */
  readonly hosts: number;
  readonly steps: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  readonly digest: string;
}

/** Defect that is planted to see whether the world finds it. */
export interface SitesBreakage {
  readonly name: string;
  /** The first seed that is tried: one soon after it finds the defect; 1 by default. */
  readonly fromSeed?: number;
  /** Changes how a hub joins another. */
  readonly link?: (hub: Hub, world: World) => Hub;
  /** Replaces ports of each hub. */
  readonly hub?: Breakage['hub'];
}

export interface SitesOptions {
  readonly seed: number;
  readonly breakage?: SitesBreakage | undefined;
  readonly onTrace?: ((line: string) => void) | undefined;
}

/** Time without faults after which a task that has not ended never will. */
const PATIENCE_MS = 2 * 3_600_000;
const HOUR_MS = 3_600_000;
/** In every third world there is a level between. */
const DEEP_WORLDS = 3;
/** In every fifth world sites take loans back for tasks of their own. */
const RECALLING_WORLDS = 5;
const TAKE_BACK_MS = 10_000;
/** In every seventh world a site has no agents but those that its workload manager brings. */
const BRINGING_WORLDS = 7;
/** In every fourth world a hub has its store on a database server, and in every other of these it is two. */
const SERVER_WORLDS = 4;
const ENOUGH_VIOLATIONS = 5;
const ENDING: ReadonlySet<string> = new Set(['OK', 'ERROR', 'FAILED']);

export function simulateSites({ breakage, ...options }: SitesOptions): Promise<SitesOutcome> {
  return inNewWorld(options, (world) => new Sites(world, options.seed, breakage).run());
}

/** A hub of the world, or two on one database, with the one that it joins and the agents that join it. */
interface Place {
  readonly name: string;
  readonly hubs: SimulatedHubs;
  readonly above: Place | null;
  readonly agents: SimulatedAgent[];
}

class Sites {
  readonly #world: World;
  readonly #seed: number;
  readonly #network: Network;
  readonly #breakage: SitesBreakage | undefined;
  readonly #home: Place;
  readonly #places: Place[] = [];
  /** Hosts of the first site; null in most worlds. */
  #hosts: SiteHosts | null = null;
  /** Tasks that clients have handed in, with the hub that said 201. */
  readonly #created: { readonly place: Place; readonly id: string }[] = [];
  /** Tasks that were seen to have ended. */
  readonly #ended = new Set<string>();
  /** Reports that counted at headquarters and ended their task, by task. */
  readonly #counted = new Map<string, string>();
  #loans = 0;

  constructor(world: World, seed: number, breakage: SitesBreakage | undefined) {
    this.#world = world;
    this.#seed = seed;
    this.#breakage = breakage;
    this.#network = new Network(world);
    this.#home = this.#placeOf('hq', null);
    const below = seed % DEEP_WORLDS === 0 ? this.#placeOf('europe', this.#home) : this.#home;
    const sites = [this.#placeOf('berlin', below), this.#placeOf('paris', this.#home)];
    for (const site of sites) {
      if (this.#hosts && site.name === 'berlin') continue;
      for (let count = world.between(1, 2); count > 0; count--) site.agents.push(this.#agentOf(site));
    }
  }

  async run(): Promise<SitesOutcome> {
    const world = this.#world;
    for (const place of this.#places) this.#runPlace(place);
    const turbulentMs = world.between(60_000, 600_000);
    this.#handIn(this.#home, world.between(3, 25), turbulentMs);
    for (const place of this.#places.slice(1)) this.#handIn(place, world.between(0, 5), turbulentMs);
    beginFaults(world, () => this.#fault());
    world.after(turbulentMs, () => this.#calm());
    const giveUpAtMs = turbulentMs + PATIENCE_MS;
    let overAtMs: number | undefined;
    while (world.nowMs < Math.min(giveUpAtMs, (overAtMs ?? giveUpAtMs) + 60_000)) {
      if (world.violations.length >= ENOUGH_VIOLATIONS || !(await world.step())) break;
      this.#look();
      if (world.turbulent || world.steps % 50 !== 0) continue;
      overAtMs = this.#isOver() ? (overAtMs ?? world.nowMs) : undefined;
    }
    await this.#checkEnd();
    this.#endProcesses();
    this.#hosts?.end();
    const { steps, faults, violations } = world;
    const seed = this.#seed;
    return {
      seed,
      tasks: this.#created.length,
      loans: this.#loans,
      hosts: this.#hosts?.count ?? 0,
      steps,
      faults,
      violations,
      digest: world.digest(),
    };
  }

  // ---- the hubs and their agents

  get #takeBackMs(): number | null {
    return this.#seed % RECALLING_WORLDS === 0 ? TAKE_BACK_MS : null;
  }

  #placeOf(name: string, above: Place | null): Place {
    const world = this.#world;
    const number = this.#places.length;
    const isOnServer = this.#seed % SERVER_WORLDS === number;
    const areTwo = Math.floor(this.#seed / SERVER_WORLDS) % 2 === 1;
    const isBringing = name === 'berlin' && this.#seed % BRINGING_WORLDS === 0;
    const hosts = isBringing ? new SiteHosts({ world, network: this.#network, hubs: () => hubs }) : null;
    this.#hosts ??= hosts;
    const hubs: SimulatedHubs = hubsOf({
      ...{ world, network: this.#network, name, breakage: this.#breakage },
      id: `0190b5a0-0000-7000-8000-00000000000${number + 1}`,
      store: isOnServer ? (areTwo ? 'SHARED SERVER' : 'SERVER') : 'DISK',
      keptForMs: () => world.random.of([KEPT_SHORTLY_MS, KEPT_LONG_MS]),
      upstreamsOf: (process) => (above ? [this.#upstreamOf(name, process, above)] : []),
      ...(hosts && { hostRecipesOf: (process: Process) => hosts.recipesOf(process) }),
    });
    for (const hub of hubs.all) hub.wallClock.offsetMs = world.between(-HOUR_MS, HOUR_MS);
    const place = { name, hubs, above, agents: [] };
    this.#places.push(place);
    return place;
  }

  #upstreamOf(name: string, process: Process, above: Place): ConfiguredUpstream {
    const world = this.#world;
    const link = hubLink({
      addresses: above.hubs.all.map(({ address }) => address),
      agent: {
        id: name,
        nodeId: `0190b5a0-1111-7000-8000-0000000000${name.length}0`,
        version: '1',
        revision: '1',
      },
      secret: { read: () => Promise.resolve('secret'), advice: '' },
      tls: () => Promise.resolve({}),
      runtime: process.runtime,
      files: (address) =>
        transferWith(address, { id: name, process, network: this.#network, hubs: above.hubs, world }),
      dial: ({ url, handshakeTimeoutMs }, handlers) =>
        this.#network.dial(name, `ws://${new URL(url).host}`, process, handlers, handshakeTimeoutMs),
    });
    const watched = this.#watched(name, link, above);
    return {
      name: 'above',
      agentId: name,
      prefix: `${name}:`,
      lend: {
        labels: [],
        instances: [],
        max: null,
        takeBackMs: this.#takeBackMs,
        isAlways: false,
        hours: [],
        hasHosts: true,
      },
      hub: this.#breakage?.link?.(watched, world) ?? watched,
    };
  }

  /** The link of a hub to the one above, whose acknowledgements are counted. */
  #watched(name: string, link: Hub, above: Place): Hub {
    const world = this.#world;
    return {
      ...link,
      join: (address, listener, signal) => {
        const reports = new Map<string, AttemptReport>();
        return link.join(
          address,
          {
            ...listener,
            onAssign: (assignment) => {
              this.#loans++;
              world.tell(name, `is given ${attemptKey(assignment.ref)}`);
              listener.onAssign(assignment);
            },
            onJoined: (connection) => {
              world.tell(name, 'has joined');
              listener.onJoined({
                ...connection,
                sendReport: (report, blobs) => {
                  world.tell(name, `reports ${attemptKey(report)} ${report.outcome}`);
                  reports.set(attemptKey(report), report);
                  connection.sendReport(report, blobs);
                },
              });
            },
            onAcknowledged: (ref, counted) => {
              world.tell(name, `is told ${attemptKey(ref)} is acknowledged, counted ${counted}`);
              const report = reports.get(attemptKey(ref));
              if (above === this.#home && report && counted && ENDING.has(report.outcome)) this.#count(ref);
              listener.onAcknowledged(ref, counted);
            },
          },
          signal,
        );
      },
    };
  }

  #count(ref: AttemptRef): void {
    const before = this.#counted.get(ref.taskId);
    if (before !== undefined && before !== attemptKey(ref))
      this.#world.violated('a result counts once', `${before}, then ${attemptKey(ref)}`);
    this.#counted.set(ref.taskId, attemptKey(ref));
    const task = this.#home.hubs.first.store.tasks().find(({ id }) => id === ref.taskId);
    if (task && !ENDED.has(task.status))
      this.#world.violated(
        'acknowledged means kept',
        `${attemptKey(ref)} counted, the task is ${task.status}`,
      );
  }

  #agentOf(place: Place): SimulatedAgent {
    const world = this.#world;
    const trouble = () => (world.happens(0.5) ? 0 : world.random.next() * 0.3);
    const id = `agent-${place.name}-${place.agents.length + 1}`;
    const instances = Array.from({ length: world.between(1, 2) }, (_, index) => ({
      id: `${id.replace('agent', 'sim')}-${index + 1}`,
      version: '1',
      revision: '1',
      labels: [],
    }));
    return new SimulatedAgent(id, instances, {
      world,
      network: this.#network,
      hubs: place.hubs,
      addresses: place.hubs.all.map(({ address }) => address),
      rules: {
        mayHang: () => false,
        troubles: { crash: trouble(), hang: 0, fail: trouble(), deaf: trouble(), badStart: trouble() },
      },
      logFor: (process) => worldLog(world, process.name),
      breakage: undefined,
      onAssigned: () => undefined,
      onCancel: () => undefined,
      onSettled: () => undefined,
    });
  }

  #runPlace(place: Place): void {
    const world = this.#world;
    for (const hub of place.hubs.all) {
      const start = () => void startHub(hub, world);
      hub.onEnd = () => startLater(world, start);
      start();
    }
    for (const agent of place.agents) {
      agent.onEnd = () => startLater(world, () => agent.start());
      world.after(world.between(0, 3000), () => agent.start());
    }
  }

  #endProcesses(): void {
    for (const { hubs, agents } of this.#places) {
      for (const hub of hubs.all) hub.onEnd = () => undefined;
      for (const agent of agents) {
        agent.onEnd = () => undefined;
        agent.kill();
      }
      hubs.kill();
    }
  }

  // ---- load

  #handIn(place: Place, tasks: number, withinMs: number): void {
    const world = this.#world;
    for (let count = 0; count < tasks; count++) {
      const atMs = world.happens(0.3) ? world.between(1, 5) * 1000 : world.between(0, withinMs);
      world.after(atMs, () => this.#create(place));
    }
  }

  #create(place: Place): void {
    const world = this.#world;
    const isBatch = world.happens(0.6);
    const durationS = world.happens(0.2) ? world.between(60, 300) : world.between(0, 20);
    const script = Buffer.from(`script ${world.random.below(3)}`.repeat(world.random.of([1, 60])));
    place.hubs.request(
      async ({ tasks }, files) => {
        const hold = files.hold();
        try {
          const scripts = isBatch ? [await files.put(script, hold)] : [];
          const job = isBatch
            ? { type: 'EXECUTE_BATCH_JOB' as const, model: null, scripts, additionalFiles: [], variables: [] }
            : { type: 'SIMULATE_WORK' as const, durationS };
          return await tasks.create({ name: null, creator: null, classifiers: [], timeLimitS: 600, job });
        } finally {
          hold.release();
        }
      },
      ({ id }) => {
        world.tell('client', `${place.name} has accepted ${id}`);
        this.#created.push({ place, id });
        if (world.happens(0.15)) world.after(world.between(0, 60_000), () => this.#cancel(place, id));
      },
    );
  }

  #cancel(place: Place, id: string): void {
    place.hubs.request(
      ({ tasks }) => tasks.cancel(id, true, ANYBODY),
      () => this.#world.tell('client', `has canceled ${id}`),
    );
  }

  /** Notes which tasks have ended. */
  #look(): void {
    for (const { hubs } of this.#places) {
      for (const { id, status } of hubs.changes() ?? []) if (ENDED.has(status)) this.#ended.add(id);
    }
  }

  // ---- faults

  #fault(): void {
    const world = this.#world;
    const place = world.random.of(this.#places);
    const hub = place.hubs.any;
    const lastsMs = world.happens(0.3) ? world.between(1000, 240_000) : world.between(200, 20_000);
    const faults: (readonly [kind: string, happen: () => (() => void) | undefined])[] = [
      ['hub killed', () => void hub.kill()],
      ['hub without power', () => void (hub.database ? hub.kill() : hub.losePower())],
      ['hub stopped', () => void hub.stop()],
      ['link cut off', () => this.#cutOff(place)],
      ['link broken', () => this.#break(place)],
      ['agent killed', () => void this.#anyAgent().kill()],
      ['agent stopped', () => void this.#anyAgent().stop()],
      ['agent cut off', () => this.#cutOffAgent()],
      ['disk full', () => this.#refuse(hub, 'SQLITE_FULL')],
      ['clock set', () => this.#setClock(hub)],
      ['loan canceled', () => this.#cancelLoan(place)],
      ['shutdown prepared', () => prepareShutdown(hub)],
      ...(this.#hosts?.faults() ?? []),
    ];
    const [kind, happen] = world.random.of(faults);
    world.fault(kind, hub.name);
    const mend = happen();
    if (mend) world.after(lastsMs, mend);
  }

  #anyAgent(): SimulatedAgent {
    return this.#world.random.of(this.#places.flatMap(({ agents }) => agents));
  }

  #cutOff({ name, above }: Place): (() => void) | undefined {
    if (!above) return undefined;
    this.#network.cutOff(name);
    return () => this.#network.heal(name);
  }

  #break({ name }: Place): undefined {
    for (const connection of this.#network.of(name)) connection.losePower();
    return undefined;
  }

  #cutOffAgent(): () => void {
    const { id } = this.#anyAgent();
    this.#network.cutOff(id);
    return () => this.#network.heal(id);
  }

  #refuse(hub: SimulatedHub, refusal: 'SQLITE_FULL'): (() => void) | undefined {
    if (hub.database) return undefined;
    hub.disk.refusal = refusal;
    return () => {
      hub.disk.refusal = undefined;
    };
  }

  #setClock(hub: SimulatedHub): undefined {
    hub.wallClock.offsetMs = this.#world.between(-HOUR_MS, HOUR_MS);
    return undefined;
  }

  #cancelLoan(place: Place): undefined {
    const loans = place.above
      ? place.hubs.first.store.tasks().filter(({ status }) => status === 'RUNNING')
      : [];
    if (loans.length > 0) {
      const { id } = this.#world.random.of(loans);
      if (this.#created.every((task) => task.id !== id)) this.#cancel(place, id);
    }
    return undefined;
  }

  #calm(): void {
    const world = this.#world;
    world.turbulent = false;
    world.tell('world', 'all faults are over');
    this.#hosts?.calm();
    for (const { name, hubs, agents } of this.#places) {
      for (const hub of hubs.all) hub.disk.refusal = undefined;
      for (const { id } of agents) this.#network.heal(id);
      this.#network.heal(name);
    }
    this.#operate();
  }

  /** Acts as an operator who ends preparations and starts stopped instances. */
  #operate(): void {
    for (const { hubs } of this.#places) {
      for (const { shutdown } of hubs.engines) void shutdown.change(false).catch(() => undefined);
      for (const { profile, status } of hubs.serving.engine?.instances.list() ?? []) {
        if (status !== 'DOWN') continue;
        hubs.request(
          ({ control }) => control.command(profile.id, 'start', { user: null }),
          () => undefined,
        );
      }
    }
    this.#world.after(20_000, () => this.#operate());
  }

  // ---- ends

  #isOver(): boolean {
    if (!this.#places.every(({ hubs }) => hubs.areReady)) return false;
    if (this.#hosts && this.#hosts.live.length > 0) return false;
    const areEnded = this.#places.every(({ hubs }) =>
      hubs.first.store.tasks().every(({ status }) => ENDED.has(status)),
    );
    return (
      areEnded && this.#places.every(({ agents }) => agents.every(({ alive, held }) => alive && held === 0))
    );
  }

  async #checkEnd(): Promise<void> {
    const world = this.#world;
    for (const { place, id } of this.#created) {
      const { first } = place.hubs;
      const task = first.store.tasks().find((each) => each.id === id);
      const mayBeGone = first.keptForMs === KEPT_SHORTLY_MS && this.#ended.has(id);
      if (!task && !mayBeGone) world.violated('nothing is lost', `${id} of ${place.name} is gone`);
      else if (task && !ENDED.has(task.status))
        world.violated('every task ends', `${id} of ${place.name} is ${task.status}`);
    }
    if (world.violations.length > 0) return;
    for (const place of this.#places) await this.#checkRest(place);
    const left = this.#hosts?.live ?? [];
    if (left.length > 0)
      world.violated('hosts go when there is nothing to do', `${left.join(', ')} are left`);
  }

  /** Nothing is under way between hubs any more. */
  async #checkRest({ name, hubs, above }: Place): Promise<void> {
    const world = this.#world;
    const open = await world.until(hubs.first.openLoans());
    if (open.length > 0) world.violated('every loan is settled', `${name} has ${open.join(', ')}`);
    for (const { profile, status, working, lent } of hubs.serving.engine?.instances.list() ?? []) {
      const isKept = lent !== undefined && status === 'UP' && lent !== 'OFFERED';
      if (working || isKept)
        world.violated('nothing is held', `${profile.id} at ${name}: ${status}, ${lent}, ${working}`);
    }
    if (above && !above.hubs.serving.engine?.instances.findAgent(name))
      world.violated('every site is joined', `${name} is not`);
  }
}
