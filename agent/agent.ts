/** Composition root of the agent: the one file that wires all adapters. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AGENT_PROTOCOL_VERSIONS } from '@workbench-hub/shared/agent-protocol/messages';
import type { ReloadStep } from '@workbench-hub/shared/config/reload';
import type { Installation, InstallationKind } from '@workbench-hub/shared/domain/installation';
import { livenessUrl } from '@workbench-hub/shared/hub-link/addresses';
import { httpFiles } from '@workbench-hub/shared/hub-link/http-files';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import { pinnedKeys, verifiedOrder } from '@workbench-hub/shared/hub-link/pinned-keys';
import type { AgentSecret } from '@workbench-hub/shared/hub-link/secret';
import { hubConnections, TlsFiles } from '@workbench-hub/shared/hub-link/tls';
import type { Hub } from '@workbench-hub/shared/joining/ports/hub';
import { NO_TRACING, type Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import {
  openToOthers,
  openToOthersText,
  PRIVATE_FOLDER_MODE,
} from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type OnStop, type Service, serviceOf } from '@workbench-hub/shared/runtime/service';
import { SINGLE_FILE, UNPACKED_PROGRAMS } from '@workbench-hub/shared/runtime/single-file';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { removeEarlierPrograms } from '@workbench-hub/shared/runtime/unpacked-parts';
import { secretOf } from './agent-secret.js';
import { type AgentConfig, hubAddresses, instanceSettings } from './config.js';
import { thisHostsPathFault } from './core/host-names.js';
import { inheritedEnvironment } from './core/job-environment.js';
import type { Launcher } from './core/ports/launcher.js';
import { DiskCache } from './disk/disk-cache.js';
import { openSpool } from './disk/disk-spool.js';
import { type DiskWorkspace, openWorkspace } from './disk/disk-workspace.js';
import { Leftovers } from './disk/leftovers.js';
import { nodeId } from './disk/node-id.js';
import { versionFolders, versionsFolder } from './disk/version-folders.js';
import { AgentEngine, type EngineSettings } from './engine/agent-engine.js';
import type { UpdateAbility } from './engine/updates.js';
import { limitsFault } from './limits-check.js';
import type { ControlGroups } from './process/control-groups.js';
import { type ChildProcessPrograms, childProcessPrograms } from './process/programs.js';
import type { Sandbox } from './process/sandbox.js';
import { lockDataDir } from './process/single-instance.js';
import { type HostPlatform, openPlatform } from './process/this-platform.js';
import { trySandboxes } from './sandbox-checks.js';
import { trustSystemFor } from './trusted-authorities.js';

export interface AgentOverrides {
  readonly log: Logger;
  /** Version and revision of this build. */
  readonly version: string;
  readonly revision: string;
  readonly installation: Installation;
  /** Environment of instance programs, before the agent's own settings are removed. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runtime?: Runtime;
  /** Path of the configuration file, which no job may see. */
  readonly configFile?: string | undefined;
  /** True: uses no control groups, as on a system without them. */
  readonly withoutControlGroups?: boolean;
  /** The launcher that has started this agent; null or absent for none. */
  readonly launcher?: Launcher | null;
  /** Called when hubs refuse the credential, with the time for which none has taken it. */
  readonly onUnauthorized?: ((forMs: number) => void) | undefined;
  /** Called when the hub knows the end of this host, with the time from now after which the agent is to stop; absent for one that has no end. */
  readonly onStopAfter?: ((afterMs: number) => void) | undefined;
  /** Stops this agent in order, so that its launcher starts another version. */
  readonly restart?: () => void;
  /** Rules for file names of another system, for tests. */
  readonly hostPathFault?: (path: string) => string | undefined;
}

export interface Agent extends Service {
  /** Parts of the agent that are reloaded without a restart. */
  readonly reloadSteps: readonly ReloadStep<AgentConfig>[];
}

/** Keys of the configuration whose changes need no restart. */
export const RELOADABLE_KEYS = ['log'];

export function createAgent(config: AgentConfig, overrides: AgentOverrides): Agent {
  const tls = new TlsFiles(config.tls, (message) => overrides.log.error(message));
  const parts = { ...overrides, config, dataDir: resolve(config.dataDir), tls };
  return {
    ...serviceOf('agent', (onStop) => new AgentStart(parts, onStop).run()),
    reloadSteps: [{ run: () => tls.reload().catch(refuseStart) }],
  };
}

interface AgentStartOptions extends AgentOverrides {
  readonly config: AgentConfig;
  readonly dataDir: string;
  readonly tls: TlsFiles;
}

/** One start of the agent. Each step registers its release. */
class AgentStart {
  readonly #options: AgentStartOptions;
  readonly #config: AgentConfig;
  readonly #log: Logger;
  readonly #runtime: Runtime;
  readonly #onStop: OnStop;
  readonly #environment: Readonly<Record<string, string>>;

  constructor(options: AgentStartOptions, onStop: OnStop) {
    this.#options = options;
    this.#config = options.config;
    this.#log = options.log;
    this.#runtime = options.runtime ?? systemRuntime;
    this.#onStop = onStop;
    this.#environment = inheritedEnvironment(options.environment);
  }

  async run(): Promise<void> {
    const { dataDir } = this.#options;
    await this.#openDataDir();
    const secret = await secretOf(this.#config);
    await this.#options.tls.current().catch(refuseStart);
    const unread = trustSystemFor(this.#config);
    if (unread !== null) this.#log.warn(unread);
    const host = await openPlatform(dataDir);
    this.#onStop(lockDataDir(dataDir, host.platform));
    const id = await nodeId(dataDir, this.#runtime.newId);

    let sandbox: Sandbox | null = null;
    const prepareDirectory = () => workspace.prepare();
    const programs = childProcessPrograms({
      nodeId: id,
      environment: this.#environment,
      platform: host.platform,
      controlGroups: await this.#openControlGroups(id, host),
      sandbox: () => sandbox,
      prepareDirectory,
      runtime: this.#runtime,
      log: this.#log,
    });
    await this.#takeOver(programs);
    this.#removeEarlierPrograms();

    const { cache, workspace, spool } = await this.#openStorage();
    sandbox = await this.#openSandbox(workspace);
    const hub = this.#hub(id, secret);
    const updates = await this.#updateAbility();
    const engine = new AgentEngine(
      { ...this.#engineSettings(), updates },
      {
        hub,
        programs,
        cache,
        workspace,
        spool,
        runtime: this.#runtime,
        log: this.#log,
        tracing: await this.#openTracing(),
        onUnauthorized: this.#options.onUnauthorized,
        onStopAfter: this.#options.onStopAfter,
      },
    );
    await engine.start();
    this.#onStop(() => engine.stop());
    const instances = this.#config.instances.length;
    this.#log.info({ agent: this.#config.id, hub: hub.addresses, instances, dataDir }, 'agent started');
  }

  async #openDataDir(): Promise<void> {
    const { dataDir } = this.#options;
    await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const open = await openToOthers(dataDir);
    if (open.length === 0) return;
    const { message, advice } = openToOthersText(dataDir, open);
    this.#log.warn(`${message}: ${advice}`);
  }

  /** Null where this agent may make no control groups. Rejects with {@link StartRefused} where limits of an instance would not be kept. */
  async #openControlGroups(id: string, host: HostPlatform): Promise<ControlGroups | null> {
    if (this.#options.withoutControlGroups) return null;
    const found = await host.findControlGroups(id, this.#runtime);
    const fault = limitsFault(this.#config, found);
    if ('unavailable' in found) {
      if (fault) throw new StartRefused(fault);
      this.#log.info(`no ${host.groupKind}s: ${found.unavailable}`);
      return null;
    }
    const { groups, leftOver } = found;
    this.#onStop(() => groups.close());
    if (fault) throw new StartRefused(fault);
    this.#log.info({ path: groups.path ?? undefined }, `each instance program has its own ${groups.kind}`);
    this.#logEnded(leftOver);
    return groups;
  }

  /** Ends programs of an earlier run, and ends all programs when this process exits, for whatever reason. */
  async #takeOver(programs: ChildProcessPrograms): Promise<void> {
    process.once('exit', programs.killAll);
    this.#onStop(() => process.off('exit', programs.killAll));
    this.#logEnded(await programs.sweep());
  }

  /** Removes what an earlier version of the single file has unpacked; what is still open stays until the next start. */
  #removeEarlierPrograms(): void {
    if (SINGLE_FILE === null) return;
    try {
      removeEarlierPrograms(this.#options.dataDir, UNPACKED_PROGRAMS);
    } catch (error) {
      this.#log.warn(
        { err: error },
        'programs of an earlier version could not be removed; the next start tries again',
      );
    }
  }

  #logEnded(processes: number): void {
    if (processes > 0) this.#log.warn({ processes }, 'ended processes of an earlier run of this agent');
  }

  async #openStorage() {
    const { dataDir } = this.#options;
    const leftovers = new Leftovers(this.#runtime, this.#log);
    this.#onStop(() => leftovers.close());
    const { fileCache } = this.#config.limits;
    const cache = await DiskCache.open(join(dataDir, 'cache'), fileCache, this.#runtime, leftovers.remove);
    const work = join(dataDir, 'work');
    await mkdir(work, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const workspace = await openWorkspace(work, cache, { removeLeftover: leftovers.remove });
    const spool = await openSpool(join(dataDir, 'spool'), this.#runtime, this.#log, leftovers.remove);
    this.#onStop(() => spool.close());
    return { cache, workspace, spool };
  }

  /** Rejects with {@link StartRefused} when the sandbox of an instance does not work. */
  async #openSandbox(workspace: DiskWorkspace): Promise<Sandbox | null> {
    const tried = await trySandboxes(this.#config, {
      environment: this.#environment,
      configFile: this.#options.configFile ?? null,
      prepareDirectory: () => workspace.prepare(),
    });
    if (tried.faults.length > 0) throw new StartRefused(tried.faults.join('\n'));
    if (tried.working.length > 0) this.#log.info({ instances: tried.working }, 'the sandbox works');
    return tried.sandbox;
  }

  #hub(id: string, secret: AgentSecret): Hub {
    const { version, revision, installation, tls } = this.#options;
    const dispatcher = hubConnections(tls);
    this.#onStop(() => dispatcher.destroy());
    return hubLink({
      addresses: hubAddresses(this.#config),
      agent: { id: this.#config.id, nodeId: id, version, revision, installation },
      secret,
      tls: () => tls.current(),
      runtime: this.#runtime,
      files: (address, token) => httpFiles({ address, token, dispatcher }),
    });
  }

  async #openTracing(): Promise<Tracing> {
    const { tracing, id: agentId } = this.#config;
    const { endpoint } = tracing;
    if (endpoint === null) return NO_TRACING;
    // Imported on demand: it costs time and memory.
    const { agentTracing } = await import('./tracing/agent-tracing.js');
    const { version } = this.#options;
    const opened = agentTracing({
      config: { ...tracing, endpoint },
      agentId,
      version,
      runtime: this.#runtime,
      log: this.#log,
    });
    this.#onStop(() => opened.close());
    return opened;
  }

  /** Ports that update this agent, or the reason why hubs may not update it. */
  async #updateAbility(): Promise<UpdateAbility> {
    const { dataDir, launcher = null, restart, version, installation } = this.#options;
    const { id: agentId, updates } = this.#config;
    if (SINGLE_FILE === null && launcher === null)
      return { unable: notOneFile(installation), system: SYSTEM };
    if (!updates) return { unable: SWITCHED_OFF, system: SYSTEM };
    if ((await pinnedKeys(dataDir)).length === 0) return { unable: NOT_ENROLLED, system: SYSTEM };
    if (launcher === null || restart === undefined) return { unable: NOT_LAUNCHED, system: SYSTEM };
    return {
      agent: { agentId, system: SYSTEM, version, protocol: Math.max(...AGENT_PROTOCOL_VERSIONS) },
      versions: versionFolders(versionsFolder(dataDir), { installed: launcher.launch.installed }),
      launcher,
      readOrder: async (order) => verifiedOrder(order, await pinnedKeys(dataDir)),
      livenessUrlOf: livenessUrl,
      restart,
    };
  }

  #engineSettings(): Omit<EngineSettings, 'updates'> {
    const { fileRoots, uncMounts, keepWorkingDirectories, drainTimeout, limits } = this.#config;
    return {
      instances: instanceSettings(this.#config),
      taskLogLimitBytes: limits.taskLog,
      fileRoots,
      uncMounts,
      keepWorkingDirectories,
      drainTimeoutMs: drainTimeout,
      hostPathFault: this.#options.hostPathFault ?? thisHostsPathFault,
      outputLimits: {
        totalBytes: limits.taskOutputs,
        fileBytes: limits.outputFile,
        files: limits.outputFiles,
      },
    };
  }
}

/** Reasons why hubs never update an agent. */
const NOT_ONE_FILE: Readonly<Record<Exclude<InstallationKind, 'FILE'>, string>> = {
  NPM: 'this agent was installed by npm: update it there',
  DEBIAN: 'this agent was installed as a Debian package: update it by apt',
  CONTAINER: 'this agent runs in a container: start one of a newer image',
  CHECKOUT: 'this agent runs from a clone of the sources: update and build that',
};
const OF_UNKNOWN_KIND = 'this agent was not installed as one file: update it in the way it was installed';
const SWITCHED_OFF = 'the configuration of this agent forbids updates by the hub ("updates")';
const NOT_ENROLLED = 'this agent knows no key of the hub: enroll it at a hub that updates agents';
const NOT_LAUNCHED =
  'this agent is one file that was started without its launcher, before it was enrolled: restart it';

/** The system of this agent, as the files for it are named. */
const SYSTEM = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

function notOneFile({ kind }: Installation): string {
  return kind === null || kind === 'FILE' ? OF_UNKNOWN_KIND : NOT_ONE_FILE[kind];
}

function refuseStart(error: Error): never {
  throw new StartRefused(error.message, { cause: error });
}
