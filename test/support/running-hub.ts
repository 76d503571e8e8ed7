/** A whole hub in this process: real HTTP on a free port, a real store of its own. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type HubConfig, hubConfigSchema } from '@workbench-hub/hub/config';
import type { Role } from '@workbench-hub/hub/core/access';
import type { Passwords } from '@workbench-hub/hub/core/ports/accounts';
import { createHub } from '@workbench-hub/hub/hub';
import { scryptPasswords } from '@workbench-hub/hub/security/passwords';
import type { Resolver } from '@workbench-hub/hub/webhooks/webhook-sender';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { z } from 'zod';
import { type LogLine, memoryLog } from './memory-log.js';
import { expectNoSecret, expectNoSecretInLogsOf, keepSecret, keepSecretsOf } from './secrets.js';
import { temporaryFolder } from './temporary-folder.js';
import { dropStoreFor, storeFor } from './tested-store.js';

export interface HubSetup {
  /** Configuration as in a file; port, data folder and agent token are preset. */
  readonly config?: z.input<typeof hubConfigSchema>;
  /** Users of the configuration, by name; with them, security is on. Each has the password {@link passwordOf}. */
  readonly users?: Readonly<Record<string, readonly Role[]>>;
  /** A folder that outlives the hub, to start another one on it; by default it is removed with the hub. */
  readonly dataDir?: string;
  readonly runtime?: Runtime;
  /** Finds the addresses of receivers of webhooks. */
  readonly resolve?: Resolver;
  /** By default, the cheapest hashes. */
  readonly passwords?: Passwords;
  /** Addresses of other hubs, for agents. */
  readonly otherHubs?: () => readonly string[];
}

export interface RunningHub {
  /** `http://127.0.0.1:49152` */
  readonly address: string;
  /** The join token. */
  readonly token: string;
  readonly config: HubConfig;
  /** Its log lines. */
  readonly log: readonly LogLine[];
  /** Stops the hub and removes its folder, unless that was passed in; fails when one of its logs has a secret. Does nothing
   *  the second time. */
  stop(): Promise<void>;
}

const TOKEN = 'token-of-the-tests';

/** One of each kind. */
export const USERS = { vera: ['VIEWER'], ulla: ['USER'], udo: ['USER'], anna: ['ADMIN'] } as const;

export function passwordOf(username: string): string {
  return `the password of ${username}`;
}

/** The cheapest hashes, so that tests do not wait for passwords. */
export const quickPasswords = scryptPasswords({ ln: 10, r: 8, p: 1 });

/** Starts a hub; rejects when it does not start. */
export async function startHub({
  config: settings,
  users,
  dataDir,
  runtime,
  resolve,
  passwords = quickPasswords,
  otherHubs = () => [],
}: HubSetup = {}): Promise<RunningHub> {
  const folder = dataDir === undefined ? await temporaryFolder() : undefined;
  const path = dataDir ?? join(folder?.path ?? '', 'data');
  await mkdir(path, { recursive: true });
  const remove = async () => {
    if (folder === undefined) return;
    await dropStoreFor(path);
    await folder.remove();
  };
  const config = hubConfigSchema.parse({
    store: await storeFor(path),
    ...settings,
    dataDir: path,
    server: { port: 0, ...settings?.server },
    agents: { token: TOKEN, ...settings?.agents },
    security: { ...(users ? await securityWith(users) : {}), ...settings?.security },
  });
  keepSecret(config.agents.token ?? '');
  for (const user of config.security.users) keepSecretsOf(user);
  const { log, lines } = memoryLog();
  const hub = createHub(config, log, { passwords, resolve, otherHubs, ...(runtime ? { runtime } : {}) });
  try {
    await hub.start();
  } catch (error) {
    await remove();
    throw error;
  }
  let stopped: Promise<void> | undefined;
  const end = async () => {
    try {
      await hub.stop();
      expectNoSecretInLogsOf(path);
      expectNoSecret(lines.map((line) => JSON.stringify(line)).join('\n'), 'the log of the hub');
    } finally {
      await remove();
    }
  };
  return {
    address: hub.address,
    token: config.agents.token ?? '',
    config,
    log: lines,
    stop: () => {
      stopped ??= end();
      return stopped;
    },
  };
}

async function securityWith(users: NonNullable<HubSetup['users']>) {
  const configured = Object.entries(users).map(async ([username, roles]) => ({
    username,
    passwordHash: await hashFor(username),
    roles: [...roles],
  }));
  return { enabled: true, users: await Promise.all(configured) };
}

const hashes = new Map<string, Promise<string>>();

/** The same at each start, as in a configuration file. */
function hashFor(username: string): Promise<string> {
  const hash = hashes.get(username) ?? quickPasswords.hash(passwordOf(username));
  hashes.set(username, hash);
  return hash;
}
