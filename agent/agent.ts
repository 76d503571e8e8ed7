/** Puts an agent together: the one file that knows every adapter. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { Agent as HttpAgent } from 'undici';
import { type AgentConfig, hubAddresses, instanceSettings } from './config.js';
import { inheritedEnvironment } from './core/job-environment.js';
import { DiskCache } from './disk/disk-cache.js';
import { openSpool } from './disk/disk-spool.js';
import { openWorkspace } from './disk/disk-workspace.js';
import { nodeId } from './disk/node-id.js';
import { AgentEngine } from './engine/agent-engine.js';
import { httpFiles } from './hub-link/http-files.js';
import { hubLink } from './hub-link/hub-link.js';
import { tokenSource } from './hub-link/token.js';
import { childProcessPrograms } from './process/programs.js';
import { lockDataDir } from './process/single-instance.js';
import { thisPlatform } from './process/this-platform.js';

export interface AgentOverrides {
  readonly log: Logger;
  /** Of this build. */
  readonly version: string;
  readonly revision: string;
  /** What instance programs inherit, after the agent's own settings are left out. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runtime?: Runtime;
}

export function createAgent(config: AgentConfig, overrides: AgentOverrides): Service {
  const { log, version, revision, runtime = systemRuntime } = overrides;
  const dataDir = resolve(config.dataDir);
  let stop: () => Promise<void> = () => Promise.resolve();

  const start = async (releaseLater: (release: () => unknown) => void): Promise<void> => {
    await mkdir(dataDir, { recursive: true });
    releaseLater(lockDataDir(dataDir, thisPlatform));
    const id = await nodeId(dataDir, runtime.newId);

    const environment = inheritedEnvironment(overrides.environment);
    const programs = childProcessPrograms({ nodeId: id, environment, platform: thisPlatform, runtime, log });
    // A second signal, or a defect, ends this process at once: no program stays behind it.
    process.once('exit', programs.killAll);
    releaseLater(() => process.off('exit', programs.killAll));
    const leftOver = await programs.sweep();
    if (leftOver > 0)
      log.warn({ processes: leftOver }, 'ended processes that an earlier run of this agent left');

    const cache = await DiskCache.open(join(dataDir, 'cache'), config.limits.fileCache, runtime);
    const workspace = await openWorkspace(join(dataDir, 'work'), cache);
    const spool = await openSpool(join(dataDir, 'spool'), runtime, log);
    releaseLater(() => spool.close());

    const dispatcher = new HttpAgent({
      connections: 16,
      connectTimeout: 10_000,
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
    });
    releaseLater(() => dispatcher.destroy());
    const hub = hubLink({
      addresses: hubAddresses(config),
      agent: { id: config.id, nodeId: id, version, revision },
      token: tokenSource(
        config.token === null ? { tokenFile: config.tokenFile ?? '' } : { token: config.token },
      ),
      runtime,
      files: (address, token) => httpFiles({ address, token, dispatcher }),
    });
    const instances = instanceSettings(config);
    const engine = new AgentEngine(
      {
        instances,
        taskLogLimitBytes: config.limits.taskLog,
        fileRoots: config.fileRoots,
        uncMounts: config.uncMounts,
        keepWorkingDirectories: config.keepWorkingDirectories,
      },
      { hub, programs, cache, workspace, spool, runtime, log },
    );
    await engine.start();
    releaseLater(() => engine.stop());
    log.info({ agent: config.id, hub: hub.addresses, instances: instances.length, dataDir }, 'agent started');
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
