/** Puts an agent together: the one file that knows every adapter. */
import { access, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import {
  openToOthers,
  openToOthersText,
  PRIVATE_FOLDER_MODE,
} from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type AgentConfig, credentialFileOf, hubAddresses, instanceSettings } from './config.js';
import { thisHostsPathFault } from './core/host-names.js';
import { inheritedEnvironment } from './core/job-environment.js';
import { NO_TRACING, type Tracing } from './core/ports/tracing.js';
import type { PreparedDirectory } from './core/ports/workspace.js';
import { DiskCache } from './disk/disk-cache.js';
import { openSpool } from './disk/disk-spool.js';
import { openWorkspace } from './disk/disk-workspace.js';
import { nodeId } from './disk/node-id.js';
import { AgentEngine } from './engine/agent-engine.js';
import { httpFiles } from './hub-link/http-files.js';
import { hubLink } from './hub-link/hub-link.js';
import { type AgentSecret, agentSecret } from './hub-link/secret.js';
import { hubConnections, readTlsFiles } from './hub-link/tls.js';
import type { ControlGroups } from './process/control-groups.js';
import { childProcessPrograms } from './process/programs.js';
import type { Sandbox } from './process/sandbox.js';
import { lockDataDir } from './process/single-instance.js';
import { findControlGroups, thisPlatform } from './process/this-platform.js';
import { trySandboxes } from './sandbox-checks.js';

export interface AgentOverrides {
  readonly log: Logger;
  /** Of this build. */
  readonly version: string;
  readonly revision: string;
  /** What instance programs inherit, after the agent's own settings are left out. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runtime?: Runtime;
  /** Where the configuration was read from, which no job may see. */
  readonly configFile?: string | undefined;
  /** Makes no control groups, as where the system lets it make none. */
  readonly withoutControlGroups?: boolean;
  /** Of another system, to be tried where that is not at hand. */
  readonly hostPathFault?: (path: string) => string | undefined;
}

export function createAgent(config: AgentConfig, overrides: AgentOverrides): Service {
  const { log, version, revision, runtime = systemRuntime, hostPathFault = thisHostsPathFault } = overrides;
  const dataDir = resolve(config.dataDir);
  let stop: () => Promise<void> = () => Promise.resolve();

  const start = async (releaseLater: (release: () => unknown) => void): Promise<void> => {
    await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const open = await openToOthers(dataDir);
    if (open.length > 0) {
      const { message, advice } = openToOthersText(dataDir, open);
      log.warn(`${message}: ${advice}`);
    }
    const secret = await secretOf(config);
    await readTlsFiles(config.tls).catch((error: Error) => {
      throw new StartRefused(error.message, { cause: error });
    });
    releaseLater(lockDataDir(dataDir, thisPlatform));
    const id = await nodeId(dataDir, runtime.newId);

    const environment = inheritedEnvironment(overrides.environment);
    const controlGroups = await openGroups(id, releaseLater);
    const programs = childProcessPrograms({
      nodeId: id,
      environment,
      platform: thisPlatform,
      controlGroups,
      sandbox: () => sandbox,
      prepareDirectory: () => workspace.prepare(),
      runtime,
      log,
    });
    // A second signal, or a defect, ends this process at once: no program stays behind it.
    process.once('exit', programs.killAll);
    releaseLater(() => process.off('exit', programs.killAll));
    const leftOver = await programs.sweep();
    if (leftOver > 0)
      log.warn({ processes: leftOver }, 'ended processes that an earlier run of this agent left');

    const cache = await DiskCache.open(join(dataDir, 'cache'), config.limits.fileCache, runtime);
    const work = join(dataDir, 'work');
    await mkdir(work, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const workspace = await openWorkspace(work, cache);
    const sandbox = await workingSandbox(environment, () => workspace.prepare());
    const spool = await openSpool(join(dataDir, 'spool'), runtime, log);
    releaseLater(() => spool.close());

    const dispatcher = hubConnections(config.tls);
    releaseLater(() => dispatcher.destroy());
    const hub = hubLink({
      addresses: hubAddresses(config),
      agent: { id: config.id, nodeId: id, version, revision },
      secret,
      tls: () => readTlsFiles(config.tls),
      runtime,
      files: (address, token) => httpFiles({ address, token, dispatcher }),
    });
    const tracing = await openTracing(releaseLater);
    const instances = instanceSettings(config);
    const engine = new AgentEngine(
      {
        instances,
        taskLogLimitBytes: config.limits.taskLog,
        fileRoots: config.fileRoots,
        uncMounts: config.uncMounts,
        keepWorkingDirectories: config.keepWorkingDirectories,
        drainTimeoutMs: config.drainTimeout,
        hostPathFault,
        outputLimits: {
          totalBytes: config.limits.taskOutputs,
          fileBytes: config.limits.outputFile,
          files: config.limits.outputFiles,
        },
      },
      { hub, programs, cache, workspace, spool, runtime, log, tracing },
    );
    await engine.start();
    releaseLater(() => engine.stop());
    log.info({ agent: config.id, hub: hub.addresses, instances: instances.length, dataDir }, 'agent started');
  };

  const openGroups = async (
    id: string,
    releaseLater: (release: () => unknown) => void,
  ): Promise<ControlGroups | null> => {
    if (overrides.withoutControlGroups) return null;
    const found = await findControlGroups(id, runtime);
    if ('unavailable' in found) {
      log.info(`no control groups: ${found.unavailable}`);
      return null;
    }
    const { groups, leftOver } = found;
    releaseLater(() => groups.close());
    log.info({ path: groups.path }, 'each instance program has a control group of its own');
    if (leftOver > 0)
      log.warn({ processes: leftOver }, 'ended processes that an earlier run of this agent left');
    return groups;
  };

  /** Refuses the start when the sandbox of some instance does not work. */
  const workingSandbox = async (
    environment: Readonly<Record<string, string>>,
    prepareDirectory: () => PreparedDirectory,
  ): Promise<Sandbox | null> => {
    const configFile = overrides.configFile ?? null;
    const tried = await trySandboxes(config, { environment, configFile, prepareDirectory });
    if (tried.faults.length > 0) throw new StartRefused(tried.faults.join('\n'));
    if (tried.working.length > 0) log.info({ instances: tried.working }, 'the sandbox works here');
    return tried.sandbox;
  };

  const openTracing = async (releaseLater: (release: () => unknown) => void): Promise<Tracing> => {
    const { endpoint } = config.tracing;
    if (endpoint === null) return NO_TRACING;
    // What it is made of takes time and memory that an agent without traces keeps.
    const { agentTracing } = await import('./tracing/agent-tracing.js');
    const settings = { ...config.tracing, endpoint };
    const tracing = agentTracing({ config: settings, agentId: config.id, version, runtime, log });
    releaseLater(() => tracing.close());
    return tracing;
  };

  return {
    name: 'agent',
    async start() {
      const releases: (() => unknown)[] = [];
      stop = async () => {
        for (const release of releases.splice(0).reverse()) await release();
      };
      try {
        await start((release) => releases.push(release));
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop: () => stop(),
  };
}

/** Refuses the start of an agent that has nothing to show to a hub. */
async function secretOf(config: AgentConfig): Promise<AgentSecret> {
  const { id, token, tokenFile } = config;
  if (token !== null) return agentSecret({ token });
  if (tokenFile !== null) return agentSecret({ tokenFile });
  const credentialFile = resolve(credentialFileOf(config));
  try {
    await access(credentialFile);
  } catch (error) {
    throw new StartRefused(
      `this agent has nothing to show to the hub: either run "workbench-hub agent enroll ${id}" on the hub and ` +
        '"workbench-agent enroll" with this configuration here, which asks for the code that the former printed; ' +
        "or set token to the hub's agents.token, or tokenFile to the path of a file that holds it",
      { cause: error },
    );
  }
  return agentSecret({ credentialFile, agentId: id });
}
