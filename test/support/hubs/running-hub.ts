/** A whole hub in this process: real HTTP on a free port, a real store of its own. With HUBS=3 in the environment, three hubs on one
 *  database behind a load balancer stand in for it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type HubConfig, hubConfigSchema } from '@workbench-hub/hub/config';
import type { Role } from '@workbench-hub/hub/core/access';
import type { Passwords } from '@workbench-hub/hub/core/ports/accounts';
import { createHub, type Hub } from '@workbench-hub/hub/hub';
import { scryptPasswords } from '@workbench-hub/hub/security/passwords';
import type { Resolver } from '@workbench-hub/hub/webhooks/webhook-sender';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { z } from 'zod';
import { type LogLine, memoryLog } from '../memory-log.js';
import { expectNoSecret, expectNoSecretInLogsOf, keepSecret, keepSecretsOf } from '../secrets.js';
import { dropStoreFor, storeFor } from '../stores/tested-store.js';
import { temporaryFolder } from '../temporary-folder.js';
import { CLUSTER_KEY } from './cluster-key.js';
import { HUBS } from './hubs-under-test.js';
import { startRoundRobin } from './round-robin.js';

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
  /** Number of hubs; by default that of the environment, or one where the setup names a store. */
  readonly hubs?: number;
}

export interface RunningHub {
  /** `http://127.0.0.1:49152`; of several hubs, that of the load balancer. */
  readonly address: string;
  /** Address of each hub. */
  readonly addresses: readonly string[];
  /** The join token. */
  readonly token: string;
  /** Configuration; of several hubs, that of the first one, in whose data folder are those of the others. */
  readonly config: HubConfig;
  /** Folder of whole blobs, of all hubs. */
  readonly blobFolder: string;
  /** All folders with blobs, also with those under way. */
  readonly blobFolders: readonly string[];
  /** Its log lines; of several hubs, those of all. */
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
export async function startHub(setup: HubSetup = {}): Promise<RunningHub> {
  const { dataDir } = setup;
  const folder = dataDir === undefined ? await temporaryFolder() : undefined;
  const path = dataDir ?? join(folder?.path ?? '', 'data');
  await mkdir(path, { recursive: true });
  const remove = async () => {
    if (folder === undefined) return;
    await dropStoreFor(path);
    await folder.remove();
  };
  const { log, lines } = memoryLog();
  const configs = await configsOf(setup, path);
  const hubs = configs.map((config) => createHub(config, log, overridesOf(setup, configs.length)));
  let entrance: Entrance;
  try {
    entrance = await startAll(hubs, setup.config?.server?.port);
  } catch (error) {
    await remove();
    throw error;
  }
  let stopped: Promise<void> | undefined;
  const end = async () => {
    try {
      await entrance.stop();
      for (const config of configs) expectNoSecretInLogsOf(config.dataDir);
      expectNoSecret(lines.map((line) => JSON.stringify(line)).join('\n'), 'the log of the hub');
    } finally {
      await remove();
    }
  };
  const [config] = configs as [HubConfig];
  return {
    address: entrance.address,
    addresses: hubs.map((hub) => hub.address),
    token: config.agents.token ?? '',
    config,
    blobFolder: blobFolderOf(config),
    blobFolders: [...new Set([blobFolderOf(config), ...configs.map(localBlobsOf)])],
    log: lines,
    stop: () => {
      stopped ??= end();
      return stopped;
    },
  };
}

/** The configuration of each hub: the same, but for its data folder. */
async function configsOf(
  { config: settings, users, ...setup }: HubSetup,
  path: string,
): Promise<HubConfig[]> {
  const count = setup.hubs ?? (settings?.store === undefined ? HUBS : 1);
  const store = await storeFor(path);
  const security = users ? await securityWith(users) : {};
  const place = count === 1 || settings?.storage?.s3 ? {} : { folder: join(path, 'blobs') };
  if (place.folder !== undefined) await mkdir(place.folder, { recursive: true, mode: 0o700 });
  const sealed = count === 1 ? {} : { encryptionKey: CLUSTER_KEY };
  const configs: HubConfig[] = [];
  for (let index = 0; index < count; index++) {
    const config = hubConfigSchema.parse({
      store,
      ...settings,
      dataDir: index === 0 ? path : join(path, `hub-${index + 1}`),
      server: { port: 0, ...settings?.server, ...(count > 1 && { port: 0 }) },
      agents: { token: TOKEN, ...settings?.agents },
      storage: { ...place, ...sealed, ...settings?.storage },
      security: { ...security, ...settings?.security },
    });
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
    keepSecret(config.agents.token ?? '');
    for (const user of config.security.users) keepSecretsOf(user);
    configs.push(config);
  }
  return configs;
}

function overridesOf(
  { passwords = quickPasswords, resolve, runtime, otherHubs }: HubSetup,
  count: number,
): Parameters<typeof createHub>[2] {
  // A hub that is started alone has no others.
  const others = otherHubs ?? (count === 1 ? () => [] : undefined);
  return { passwords, resolve, ...(others ? { otherHubs: others } : {}), ...(runtime ? { runtime } : {}) };
}

const localBlobsOf = ({ dataDir }: HubConfig) => join(dataDir, 'files');
const blobFolderOf = (config: HubConfig) => config.storage.folder ?? localBlobsOf(config);

interface Entrance {
  readonly address: string;
  /** Stops the hubs, and what is before them. */
  stop(): Promise<void>;
}

/** Starts hubs at once, and a load balancer before several. Rejects when one of them does not start, after the others have ended. */
async function startAll(hubs: readonly Hub[], port: number | undefined): Promise<Entrance> {
  const stopHubs = async () => {
    const ends = await Promise.allSettled(hubs.map((hub) => hub.stop()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };
  const starts = await Promise.allSettled(hubs.map((hub) => hub.start()));
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed) {
    await stopHubs().catch(() => undefined);
    throw failed.reason;
  }
  const [only] = hubs;
  if (only && hubs.length === 1) return { address: only.address, stop: stopHubs };
  const balancer = await startRoundRobin(
    hubs.map(({ address }) => address),
    port,
  );
  return {
    address: balancer.address,
    stop: async () => {
      try {
        await stopHubs();
      } finally {
        await balancer.close();
      }
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
