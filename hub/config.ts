/** The hub's configuration (contract 13.2). */
import { join } from 'node:path';
import { absolutePath, instancesSchema } from '@workbench-hub/shared/config/instances';
import { type ConfigSource, type LoadedConfig, loadConfig } from '@workbench-hub/shared/config/load';
import { logSection, logSettings } from '@workbench-hub/shared/config/log';
import { checkPlatformLabels } from '@workbench-hub/shared/config/platform-labels';
import { duration, secret, section, size } from '@workbench-hub/shared/config/values';
import { KEEP_POLICIES } from '@workbench-hub/shared/domain/keep-policy';
import { ENDED_STATUSES } from '@workbench-hub/shared/domain/task';
import { tracingSection } from '@workbench-hub/shared/tracing/config';
import proxyAddr from 'proxy-addr';
import { z } from 'zod';
import { ROLES } from './core/access.js';
import { isUsername, PASSWORD_HASH_ALLOWED, parsePasswordHash, USERNAME_ALLOWED } from './core/accounts.js';
import { ADDRESS_ALLOWED, webhookAddress } from './core/webhook-addresses.js';
import { checkHostRecipes, hostRecipeSchema } from './hosts-config.js';
import { isSafeAddress } from './security/safe-address.js';
import { checkUpstreams, upstreamSchema } from './upstream-config.js';

const port = z.int({ error: 'a whole number from 0 to 65535' }).min(0).max(65_535);

const NETWORK_ALLOWED = 'an address or network such as 10.0.0.1, 10.0.0.0/8 or loopback';
const network = z.string({ error: NETWORK_ALLOWED }).refine(isNetwork, { error: NETWORK_ALLOWED });

const ISSUER_ALLOWED =
  'the https address that the provider itself gives as its issuer, without query (http on a loopback address only)';
const claimName = z.string().min(1, { error: 'the name of a claim' });
const roleValues = z.array(z.string().min(1)).nullable().default(null);

/** Keys of a client at the provider. */
const signOnClient = {
  clientId: z.string().min(1, { error: 'the name of the client at the provider' }),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/, { error: 'a scope, without spaces' }))
    .default(['openid', 'offline_access']),
  resource: z
    .url({ error: 'an address that names the hub to the provider (RFC 8707)' })
    .nullable()
    .default(null),
};

const oidcSchema = z.strictObject({
  issuer: z.string({ error: ISSUER_ALLOWED }).refine(isIssuer, { error: ISSUER_ALLOWED }),
  audience: z.string().min(1, { error: 'the name under which the provider knows this hub' }),
  usernameClaim: claimName.default('sub'),
  rolesClaim: claimName.default('roles'),
  /** Claim values that give the role; default: the role's own name. */
  roles: section({ ADMIN: roleValues, USER: roleValues, VIEWER: roleValues }),
  clockTolerance: duration({ minMs: 0 }).default(30_000),
  /** File of trusted certificates instead of Node's. */
  ca: z.string().min(1).nullable().default(null),
  /** Client by which `wb login` gets tokens (RFC 8628). */
  deviceLogin: z.strictObject(signOnClient).nullable().default(null),
  /** Client by which browsers log in to the console, by the authorization code flow. */
  browserLogin: z
    .strictObject({
      ...signOnClient,
      /** Null for a public client. */
      clientSecret: secret()
        .min(1, { error: 'the secret of the client at the provider' })
        .nullable()
        .default(null),
    })
    .nullable()
    .default(null),
});

const PUBLIC_URL_ALLOWED = 'an address such as https://hub.example.com';

const user = z.strictObject({
  username: z.string({ error: USERNAME_ALLOWED }).refine(isUsername, { error: USERNAME_ALLOWED }),
  passwordHash: secret().refine((text) => parsePasswordHash(text) !== undefined, {
    error: PASSWORD_HASH_ALLOWED,
  }),
  roles: z.array(z.enum(ROLES)).min(1, { error: `at least one of ${ROLES.join(', ')}` }),
});

const ORIGIN_ALLOWED = 'an origin such as https://console.example.org, without a path';
const origin = z.string({ error: ORIGIN_ALLOWED }).refine(isOrigin, { error: ORIGIN_ALLOWED });

const webhookUrl = z
  .string({ error: ADDRESS_ALLOWED })
  .refine((text) => webhookAddress(text) !== undefined, { error: ADDRESS_ALLOWED });

const PREFIX_ALLOWED = 'an address without query, such as https://ci.example.org/hooks';

/** An address of a webhook with all below it. */
const webhookPrefix = webhookUrl.refine((text) => !text.includes('?'), { error: PREFIX_ALLOWED });

const WEBHOOK_NAME_ALLOWED = '1 to 40 letters, digits and hyphens, other than "notify"';

const webhook = z.strictObject({
  name: z
    .string({ error: WEBHOOK_NAME_ALLOWED })
    .regex(/^(?!notify$)[A-Za-z0-9-]{1,40}$/, { error: WEBHOOK_NAME_ALLOWED }),
  url: webhookUrl,
  /** Ends of tasks that it is told of. */
  statuses: z
    .array(z.enum(ENDED_STATUSES))
    .min(1)
    .default([...ENDED_STATUSES]),
  /** Whether it is told of studies, too. */
  studies: z.boolean().default(false),
});

const STORE_ALLOWED =
  'sqlite, or the address of a PostgreSQL database, such as postgres://hub@db.example.com/hub';

const ENDPOINT_ALLOWED =
  'the address of the object store, such as https://s3.example.com, without path or user';

const TIME_ALLOWED = 'a time of the day in quotes, such as "22:30"';

const s3Schema = z.strictObject({
  bucket: z.string().min(1, { error: 'the name of the bucket' }),
  /** Default: that of Amazon in the region. */
  endpoint: z
    .string({ error: ENDPOINT_ALLOWED })
    .refine(isOrigin, { error: ENDPOINT_ALLOWED })
    .nullable()
    .default(null),
  region: z.string().min(1, { error: 'the name of the region' }).default('us-east-1'),
  /** Beginning of the keys of all objects. */
  prefix: z
    .string()
    .regex(/^(?:[\w.-]+\/)*$/, { error: 'empty, or folders such as hubs/aachen/' })
    .default(''),
  pathStyle: z.boolean().default(false),
  /** Default: credentials that the AWS SDK finds. */
  accessKeyIdFile: z.string().min(1).nullable().default(null),
  secretAccessKeyFile: z.string().min(1).nullable().default(null),
  /** File of trusted certificates instead of Node's. */
  ca: z.string().min(1).nullable().default(null),
});

/** Minutes since midnight. */
const timeOfDay = z
  .string({ error: TIME_ALLOWED })
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { error: TIME_ALLOWED })
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));

export const hubConfigSchema = z
  .strictObject({
    server: section({
      host: z.string().min(1).default('127.0.0.1'),
      /** 0: any free port, which the log names. */
      port: port.default(8080),
      /** Address of this hub itself; by default, host (or the name of the machine) and port. */
      address: z
        .url({ protocol: /^https?$/ })
        .nullable()
        .default(null),
      publicUrl: z
        .url({ protocol: /^https?$/, error: PUBLIC_URL_ALLOWED })
        .nullable()
        .default(null),
      /** HTTPS and WSS on the same port. */
      tls: z
        .strictObject({
          /** PEM: the hub's certificate, then intermediate ones. */
          cert: z.string().min(1),
          key: z.string().min(1),
          /** When set, agents must show a certificate signed by this authority. */
          agentCa: z.string().min(1).nullable().default(null),
        })
        .nullable()
        .default(null),
      trustedProxies: z.array(network).default([]),
    }),
    dataDir: z.string().min(1).default('./workbench-hub-data'),
    store: secret().refine(isStore, { error: STORE_ALLOWED }).default('sqlite'),
    /** File with the password of the user in `store`. */
    storePasswordFile: z.string().min(1).nullable().default(null),
    security: section({
      enabled: z.boolean().default(false),
      allowInsecure: z.boolean().default(false),
      users: z.array(user).default([]),
      accessTokenLifetime: duration({ minMs: 1000 }).default(15 * 60_000),
      refreshTokenLifetime: duration({ minMs: 1000 }).default(30 * 86_400_000),
      /** OIDC sign-on, whose tokens are accepted. */
      oidc: oidcSchema.nullable().default(null),
      /** Origins whose pages may read responses. */
      corsOrigins: z.array(origin).default([]),
    }),
    /** Held by this hub's own machine. */
    instances: instancesSchema,
    /** Settings of the machine for its own instances, as in an agent's configuration. */
    instanceHost: section({
      fileRoots: z.array(absolutePath).default([]),
      uncMounts: z.record(z.string(), absolutePath).default({}),
      keepWorkingDirectories: z.enum(KEEP_POLICIES).default('never'),
      drainTimeout: duration({ minMs: 0 }).prefault('0s'),
      platformLabels: z.boolean().default(false),
    }),
    /** Other hubs that this hub joins as an agent. */
    upstreams: z.array(upstreamSchema).default([]),
    /** Recipes of hosts that workload managers bring. */
    hosts: z.array(hostRecipeSchema).default([]),
    agents: section({
      /** Default: generated into <dataDir>/agent-token. */
      token: secret()
        .regex(/^[\x21-\x7e]+$/, { error: 'visible ASCII characters only' })
        .nullable()
        .default(null),
      /** Agents join by their own credentials only; there is no join token. */
      enrolledOnly: z.boolean().default(false),
      unreachableAfter: duration({ minMs: 1000 }).default(30_000),
      leaseTimeout: duration().default(30 * 60_000),
      forgetAfter: duration().default(30 * 86_400_000),
      updates: section({
        /** Folder with the files of the agent of this version; without it, the hub updates no agents. */
        folder: absolutePath.nullable().default(null),
        /** Groups of agents that are updated without being asked for, one after the other. */
        groups: z.array(z.strictObject({ labels: z.array(z.string().min(1)).default([]) })).default([]),
        canaries: z.int().min(0).max(1000).default(1),
        atOnce: z.int().min(1).max(1000).default(5),
        hours: z.strictObject({ from: timeOfDay, to: timeOfDay }).nullable().default(null),
      }),
    }),
    tasks: section({
      maxAttempts: z.int().min(1).default(3),
      maxLosses: z.int().min(1).default(10),
      keepEndedFor: duration().default(30 * 86_400_000),
      defaultVersion: z.string().min(1).nullable().default(null),
    }),
    studies: section({
      maxPoints: z.int().min(1).max(10_000_000).default(100_000),
      openPoints: z.int().min(1).max(10_000).default(2000),
    }),
    storage: section({
      input: section({
        enabled: z.boolean().default(true),
        expireAfter: duration().default(7 * 86_400_000),
        maxFileSize: size().default(16 * 1024 ** 3),
        /** Default: no limit. */
        quotaPerUser: size().nullable().default(null),
        /** Time without progress after which an unfinished resumable upload is removed. */
        keepUploadsFor: duration().default(86_400_000),
        /** Every USER may overwrite, renew and delete the files of others. */
        shared: z.boolean().default(false),
      }),
      output: section({
        enabled: z.boolean().default(true),
        expireAfter: duration().default(7 * 86_400_000),
      }),
      /** Folder of blobs; default: <dataDir>/files. */
      folder: absolutePath.nullable().default(null),
      /** Object store of blobs, instead of a folder. */
      s3: s3Schema.nullable().default(null),
      /** Default: generated into <dataDir>/storage-key. */
      encryptionKey: secret()
        .refine(isKeyOf32Bytes, { error: '32 bytes in Base64, such as `openssl rand -base64 32` makes' })
        .nullable()
        .default(null),
    }),
    limits: section({
      requestBody: size().default(2 * 1024 ** 3),
      /** Requests handled concurrently. */
      requests: z.int().min(1).default(2000),
      /** Open requests, including those that wait for a result or whose body is arriving. */
      openRequests: z.int().min(1).default(20_000),
      bodiesInMemory: size({ minBytes: 1024 ** 2 }).default(256 * 1024 ** 2),
      /** Bytes of responses that clients have not read yet. */
      answersInMemory: size({ minBytes: 1024 ** 2 }).default(256 * 1024 ** 2),
      /** Bytes a second; 0 for no minimum. */
      minBodyRate: size({ minBytes: 0 }).default(1024),
      stalledAnswer: duration().default(60_000),
      /** Size of a single file in a request. */
      fileSize: size().default(2 * 1024 ** 3),
      /** Number of files: model, scripts and additional files. */
      filesPerTask: z.int().min(1).default(10_000),
    }),
    webhooks: section({
      /** Receivers of the ends of all tasks, and, if they want, of the changes of all studies. */
      receivers: z.array(webhook).default([]),
      /** Addresses that a task or study may name, with all below them. */
      notify: z.array(webhookPrefix).default([]),
      allowHttp: z.boolean().default(false),
      /** Networks that may be reached although they are not public. */
      privateNetworks: z.array(network).default([]),
      /** File of trusted certificates instead of Node's. */
      ca: z.string().min(1).nullable().default(null),
      timeout: duration({ minMs: 100 }).default(10_000),
      retryFor: duration().default(86_400_000),
      keepFor: duration().default(7 * 86_400_000),
      /** Deliveries that wait for one receiver. */
      maxWaiting: z.int().min(1).default(100_000),
    }),
    audit: section({
      maxFileSize: size().default(64 * 1024 ** 2),
      keepFiles: z.int().min(1).default(20),
    }),
    /** The pages of the hub for browsers. */
    console: section({
      enabled: z.boolean().default(true),
    }),
    health: section({
      diskSpaceThreshold: size({ minBytes: 0 }).default(10_485_760),
      /** Default: the folder in which the hub is installed. */
      diskSpacePath: z.string().min(1).nullable().default(null),
      downStatus: z.literal([200, 503], { error: '200 or 503' }).default(200),
    }),
    tracing: tracingSection(),
    log: logSection(),
  })
  .superRefine((config, context) => {
    if (config.instanceHost.platformLabels) checkPlatformLabels(config.instances, context);
    if (config.agents.leaseTimeout < config.agents.unreachableAfter) {
      const message = 'at least agents.unreachableAfter: an agent is unreachable before it is lost';
      context.addIssue({ code: 'custom', path: ['agents', 'leaseTimeout'], message });
    }
    if (config.agents.updates.groups.length > 0 && config.agents.updates.folder === null) {
      const message = 'none without agents.updates.folder, which has the files for them';
      context.addIssue({ code: 'custom', path: ['agents', 'updates', 'groups'], message });
    }
    const usernames = config.security.users.map(({ username }) => username);
    for (const [index, username] of usernames.entries()) {
      if (usernames.indexOf(username) === index) continue;
      const message = 'a name that no other user has';
      context.addIssue({ code: 'custom', path: ['security', 'users', index, 'username'], message });
    }
    checkUpstreams(config.upstreams, (path, message) =>
      context.addIssue({ code: 'custom', path: ['upstreams', ...path], message }),
    );
    checkHostRecipes(config.hosts, (path, message) =>
      context.addIssue({ code: 'custom', path: ['hosts', ...path], message }),
    );
    checkPlace(config.storage, (path, message) =>
      context.addIssue({ code: 'custom', path: ['storage', ...path], message }),
    );
    checkWebhooks(config.webhooks, (path, message) =>
      context.addIssue({ code: 'custom', path: ['webhooks', ...path], message }),
    );
    if (config.security.enabled || config.security.allowInsecure || isLoopback(config.server.host)) return;
    context.addIssue({
      code: 'custom',
      path: ['server', 'host'],
      message:
        'a loopback address as long as security is off; set security.allowInsecure: true to listen there all the same',
    });
  });

export type HubConfig = z.output<typeof hubConfigSchema>;

/** Reads the file (or none) and the environment. */
export function loadHubConfig(
  file: string | null,
  environment: ConfigSource<never>['environment'],
): LoadedConfig<HubConfig> {
  return loadConfig({ schema: hubConfigSchema, file, environment, environmentPrefix: 'WORKBENCH_HUB' });
}

/** Settings of the hub's log. */
export function logSettingsOf(config: HubConfig) {
  return logSettings(config.log, logFileOf(config));
}

/** Path of the hub's log file. */
export function logFileOf(config: HubConfig): string {
  return config.log.file ?? join(config.dataDir, 'logs', 'hub.log');
}

function checkPlace(
  { folder, s3 }: Pick<HubConfig['storage'], 'folder' | 's3'>,
  addIssue: (path: string[], message: string) => void,
): void {
  if (s3 === null) return;
  if (folder !== null) addIssue(['folder'], 'not set when storage.s3 is: blobs are in one of them');
  if ((s3.accessKeyIdFile === null) === (s3.secretAccessKeyFile === null)) return;
  const missing = s3.accessKeyIdFile === null ? 'accessKeyIdFile' : 'secretAccessKeyFile';
  addIssue(['s3', missing], 'a file as well: both keys, or neither for credentials that the AWS SDK finds');
}

function checkWebhooks(
  { receivers, notify, allowHttp }: Pick<HubConfig['webhooks'], 'receivers' | 'notify' | 'allowHttp'>,
  addIssue: (path: (string | number)[], message: string) => void,
): void {
  const names = receivers.map(({ name }) => name);
  for (const [index, { name, url }] of receivers.entries()) {
    if (names.indexOf(name) !== index)
      addIssue(['receivers', index, 'name'], 'a name that no other receiver has');
    if (!allowHttp && isPlainHttp(url)) addIssue(['receivers', index, 'url'], HTTPS_ALLOWED);
  }
  for (const [index, url] of notify.entries())
    if (!allowHttp && isPlainHttp(url)) addIssue(['notify', index], HTTPS_ALLOWED);
}

const HTTPS_ALLOWED = 'an https address, unless webhooks.allowHttp is true';

function isStore(text: string): boolean {
  return text === 'sqlite' || (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text));
}

function isPlainHttp(url: string): boolean {
  return url.toLowerCase().startsWith('http:');
}

function isNetwork(text: string): boolean {
  try {
    proxyAddr.compile(text);
    return true;
  } catch {
    return false;
  }
}

function isIssuer(text: string): boolean {
  return isSafeAddress(text) && !/[?#]/.test(text) && new URL(text).username === '';
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function isKeyOf32Bytes(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 32 && bytes.toString('base64') === text;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
