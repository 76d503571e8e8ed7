/** Updates of this agent by its hub: fetches the version of an order, has the launcher try it once this agent is empty, and proves a
 *  version that is on trial (decision 0092). */
import { type AgentUpdate, type UpdatePhase, versionName } from '@workbench-hub/shared/domain/agent-update';
import { DownloadTries } from '@workbench-hub/shared/joining/download-tries';
import {
  type HubConnection,
  type Reply,
  TransferFailed,
  type UpdateRequest,
} from '@workbench-hub/shared/joining/ports/hub';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { BlobMismatch } from '../core/ports/blob-cache.js';
import type { Launcher } from '../core/ports/launcher.js';
import type { ReadOrder } from '../core/ports/update-orders.js';
import type { OfferedVersion, Versions } from '../core/ports/versions.js';
import { orderFault, type UpdatedAgent } from '../core/update-rules.js';

/** Parts and settings of an agent that updates need. */
export interface UpdatePorts {
  readonly agent: UpdatedAgent;
  readonly versions: Versions;
  readonly launcher: Launcher;
  readonly readOrder: ReadOrder;
  /** Address at which a hub says that it runs. */
  readonly livenessUrlOf: (address: string) => string;
  /** Stops this agent in order, after which its launcher starts the version that is to be tried. */
  readonly restart: () => void;
}

/** Ports, or the reason why this agent is never updated. */
export type UpdateAbility = UpdatePorts | { readonly unable: string; readonly system: string };

/** The parts of the agent that an update concerns. */
export interface UpdatedParts {
  /** Connection to the joined hub, or to the next one. */
  readonly connected: (signal: AbortSignal) => Promise<HubConnection>;
  /** Address of the joined hub; null while none is. */
  readonly hubAddress: () => string | null;
  /** Whether no attempt runs, and all reports have reached the hub. */
  readonly isEmpty: () => boolean;
  /** Resolves when what runs now has ended and was reported. */
  readonly emptied: () => Promise<void>;
  /** Begins no further attempts until {@link release}. */
  readonly hold: () => void;
  readonly release: () => void;
  /** Starts the instances, which wait for the proof of a version on trial. */
  readonly startInstances: () => void;
  /** Runs a job that prints the digest of this text; resolves with what it has printed. */
  readonly probe: (nonce: string) => Promise<string>;
}

interface Progress {
  readonly phase: UpdatePhase;
  readonly target: string | null;
}

const IDLE: Progress = { phase: 'IDLE', target: null };
const REFUSED = 'this order is not signed with a key of the hub that this agent was enrolled at';

export class Updates {
  readonly #ability: UpdateAbility;
  readonly #parts: UpdatedParts;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  #progress: Progress;
  #problem: string | null = null;
  #isTrial: boolean;
  /** Ends the order that is being carried out. */
  #current: AbortController | null = null;
  #deadline: Timer | null = null;

  constructor(
    ability: UpdateAbility,
    parts: UpdatedParts,
    { runtime, log }: { readonly runtime: Runtime; readonly log: Logger },
  ) {
    this.#ability = ability;
    this.#parts = parts;
    this.#runtime = runtime;
    this.#log = log;
    this.#isTrial = 'launcher' in ability && ability.launcher.launch.isTrial;
    const untried = 'launcher' in ability ? ability.launcher.launch.untried : undefined;
    if (untried) this.#problem = `version ${untried.name} could not be tried: ${untried.reason}`;
    this.#progress =
      this.#isTrial && 'launcher' in ability
        ? { phase: 'TRIAL', target: ability.launcher.launch.version }
        : IDLE;
  }

  /** Whether this version has still to prove itself: then it takes no tasks. */
  get isTrial(): boolean {
    return this.#isTrial;
  }

  stop(): void {
    this.#deadline?.cancel();
    this.#current?.abort(new Error('the agent is stopping'));
  }

  /** Never rejects. */
  async reply(request: UpdateRequest): Promise<Reply> {
    try {
      switch (request.kind) {
        case 'updateState':
          return await this.#state();
        case 'update':
          return await this.#ordered(request);
        case 'probe':
          return { error: null, text: await this.#parts.probe(request.nonce) };
        case 'proven':
          return await this.#proven();
      }
    } catch (error) {
      this.#log.error(
        { err: error, request: request.kind },
        'a request about the version of the agent failed',
      );
      return refusal(messageOf(error));
    }
  }

  async #state(): Promise<Reply> {
    const ability = this.#ability;
    const { phase, target } = this.#progress;
    const now = { phase, target, problem: this.#problem };
    if ('unable' in ability) return stateReply({ ...now, ...ability, running: null, failed: null });
    const [latest] = (await ability.versions.state())?.failed ?? [];
    const agoMs = Math.max(0, this.#runtime.clock.nowMs() - (latest?.atMs ?? 0));
    return stateReply({
      ...now,
      unable: null,
      system: ability.agent.system,
      running: await runningVersion(ability),
      failed: latest ? { name: latest.name, reason: latest.reason, log: latest.log, agoMs } : null,
    });
  }

  /** Takes an order, which is carried out in the background. */
  async #ordered({ order: signed, again, withinMs }: UpdateRequest & { kind: 'update' }): Promise<Reply> {
    const ability = this.#ability;
    if ('unable' in ability) return refusal(ability.unable);
    const order = await ability.readOrder(signed);
    if (order === undefined) return refusal(REFUSED);
    const fault = orderFault(order, ability.agent);
    if (fault !== undefined) return refusal(fault);
    if (this.#isTrial) return refusal('this version is on trial');
    const name = versionName(order.version, order.digest);
    const failed = (await ability.versions.state())?.failed.find((each) => each.name === name);
    if (failed && !again) return refusal(`version ${name} has failed on this host: ${failed.reason}`);
    if (name === (await runningVersion(ability))) return this.#state();
    this.#limit(withinMs);
    if (this.#progress.target !== name) {
      const file = { digest: order.digest, sizeBytes: order.sizeBytes };
      void this.#carryOut({ name, file }, ability, again);
    }
    return this.#state();
  }

  /** Ends an order that is not carried out within this time; what was fetched stays for the next one. */
  #limit(withinMs: number | undefined): void {
    this.#deadline?.cancel();
    this.#deadline = null;
    if (withinMs === undefined) return;
    this.#deadline = this.#runtime.timers.after(withinMs, () => {
      this.#current?.abort(new Error('the hours for updates are over'));
      this.#progress = IDLE;
    });
  }

  /** Never rejects. */
  async #carryOut(version: OfferedVersion, ports: UpdatePorts, again: boolean): Promise<void> {
    this.#current?.abort(new Error('another version was ordered'));
    const current = new AbortController();
    this.#current = current;
    this.#problem = null;
    const { name } = version;
    const proceed = (phase: UpdatePhase) => {
      current.signal.throwIfAborted();
      this.#progress = { phase, target: name };
      this.#log.info({ version: name, phase }, 'update of this agent');
    };
    try {
      proceed('DOWNLOADING');
      await ports.versions.removeOthers(version);
      if (!(await ports.versions.has(name))) await this.#download(version, ports.versions, current.signal);
      proceed('WAITING');
      await this.#tryWhenEmpty({ name, again }, ports, current.signal);
    } catch (error) {
      if (current.signal.aborted) return;
      this.#problem = messageOf(error);
      this.#progress = IDLE;
      this.#log.error({ err: error, version: name }, 'the update of this agent cannot be carried out now');
    }
  }

  async #download(version: OfferedVersion, versions: Versions, signal: AbortSignal): Promise<void> {
    const tries = new DownloadTries(this.#runtime.random);
    for (;;) {
      const hub = await this.#parts.connected(signal);
      try {
        return await withAnyOf([signal, hub.ended], async (either) => {
          const keptBytes = await versions.keptBytes(version);
          const { digest } = version.file;
          const { fromByte, content } = await hub.files.download(digest, keptBytes, either);
          await versions.add(version, content, fromByte);
        });
      } catch (error) {
        signal.throwIfAborted();
        if (!mayPass(error) && !hub.ended.aborted) throw error;
        tries.failed(error, await versions.keptBytes(version), hub.ended.aborted);
        if (tries.left === 0) throw error;
        this.#log.warn({ reason: messageOf(error) }, 'the download of a version broke off; trying again');
        await pause(this.#runtime.timers, tries.nextPauseMs(), signal);
      }
    }
  }

  async #tryWhenEmpty(
    { name, again }: { readonly name: string; readonly again: boolean },
    ports: UpdatePorts,
    signal: AbortSignal,
  ): Promise<void> {
    const { connected, emptied, isEmpty, hold, release, hubAddress } = this.#parts;
    let address: string | null = null;
    while (address === null || !isEmpty()) {
      await connected(signal);
      await emptied();
      signal.throwIfAborted();
      address = hubAddress();
    }
    this.#deadline?.cancel();
    hold();
    const fault = await ports.launcher.tryVersion(name, ports.livenessUrlOf(address), again);
    if (fault === null) return ports.restart();
    release();
    throw new Error(fault);
  }

  /** The hub has seen that this version works. */
  async #proven(): Promise<Reply> {
    const ability = this.#ability;
    if (!this.#isTrial || 'unable' in ability) return refusal('this version is not on trial');
    const fault = await ability.launcher.proven();
    if (fault !== null) return refusal(fault);
    this.#isTrial = false;
    this.#progress = IDLE;
    this.#log.info({ version: ability.launcher.launch.version }, 'this version has proven itself');
    this.#parts.startInstances();
    return this.#state();
  }
}

async function runningVersion({ agent, launcher, versions }: UpdatePorts): Promise<string> {
  return launcher.launch.version ?? versionName(agent.version, await versions.installedDigest());
}

/** Whether another try may succeed: a hub that does not have the file will not have it then. */
function mayPass(error: unknown): boolean {
  if (error instanceof TransferFailed) return error.failure !== 'MISSING';
  return error instanceof BlobMismatch;
}

function refusal(error: string): Reply {
  return { error, text: null };
}

function stateReply(update: AgentUpdate): Reply {
  return { error: null, text: null, update };
}
