/**
 * The messages between an agent and its hub, version 1. Both sides validate incoming messages (parse-message.ts). README.md
 * describes their order, the deadlines and the retries.
 */
import { z } from 'zod';
import {
  type AgentUpdate,
  MAX_UPDATE_LOG_LENGTH,
  MAX_UPDATE_REASON_LENGTH,
  UPDATE_PHASES,
} from '../domain/agent-update.js';
import { ATTEMPT_OUTCOMES, type AttemptReport } from '../domain/attempt.js';
import {
  INSTANCE_COMMANDS,
  INSTANCE_LOG_TYPES,
  type InstanceCrashes,
  type InstanceReport,
  LENT_STATES,
  MAX_CRASH_REASON_LENGTH,
  MAX_CRASHES,
  MAX_KIND_NAMES,
  MODEL_TYPE,
  REPORTED_INSTANCE_STATUSES,
  SCRIPT_LANGUAGE,
} from '../domain/instance.js';
import type { Job } from '../domain/job.js';
import { type JoinedHub, MAX_HUB_LEVELS, MAX_LOWER_HUBS } from '../domain/joined-hub.js';
import {
  type LentRecipe,
  MAX_CLASSES_OF_HOST,
  MAX_LENT_RECIPES,
  MAX_RECIPE_NAME_LENGTH,
  MAX_WANTED,
  RECIPE_OBSTACLES,
  type WantedInstances,
} from '../domain/lent-recipe.js';
import { MAX_BUNDLED_POINTS } from '../domain/point-results.js';
import { pathConflict, relativePathFault } from '../domain/relative-path.js';
import { MAX_PATTERN_LENGTH } from '../domain/wildcard.js';

/** Versions that this build speaks, best first. The hub chooses the best that both sides know. */
export const AGENT_PROTOCOL_VERSIONS = [1];

/** Maximum size of a frame; receivers refuse longer ones, and senders stay well below it (domain/job.ts, MAX_JOB_BYTES). */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Maximum size of the blobs that this build takes and sends in a report. */
export const INLINE_BLOB_BYTES = 16 * 1024;

/** Form of the text whose SHA-256 a probe job prints. */
const PROBE_NONCE = /^[\w-]{1,100}$/;

/** Leaves room for the numbers of later joins. */
const MAX_JOIN_NUMBER = 2 ** 52;
const MAX_NAME_LENGTH = 200;
/** Maximum length of the name of a user, also of a company's sign-on. */
const MAX_USERNAME_LENGTH = 255;

/** Maximum number of instances of an agent. Hubs keep the instances of all agents in memory, and list them. */
export const MAX_INSTANCES = 2000;

/** Maximum length of a piece of output; agents send less than half of that at once. */
export const MAX_OUTPUT_LENGTH = 256 * 1024;

/** A hundred years: no machine runs longer. The time before which something began is one that can be shown. */
const MAX_DURATION_MS = 100 * 365 * 86_400_000;
const durationMs = z.number().nonnegative().max(MAX_DURATION_MS);
const MAX_MESSAGE_LENGTH = 10_000;

/** Kinds of requests that agents of earlier versions do not know; `hello` names those that the agent answers. */
export const LATER_REQUESTS = [
  'instanceCrashes',
  'updateState',
  'update',
  'probe',
  'proven',
  'bringHosts',
  'stopAfter',
] as const;

/** Types of messages of a hub that agents of earlier versions do not know; `hello` names those that the agent takes. */
export const LATER_MESSAGES = ['hubs', 'move'] as const;

/** Maximum number of addresses of hubs in a message, and the maximum length of each. */
export const MAX_HUBS = 100;
const MAX_ADDRESS_LENGTH = 2000;

const identifier = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  .regex(/^[\p{L}\p{N}._:@-]+$/u, { error: 'letters, digits and . _ : @ - only' });
export const instanceIdSchema = identifier;
export const agentIdSchema = identifier;

export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);
const fileRef = z.object({ digest: digestSchema, sizeBytes: z.int().nonnegative() });
const relativePath = z.string().superRefine((path, context) => {
  const fault = relativePathFault(path);
  if (fault) context.addIssue({ code: 'custom', message: fault });
});
const namedFileRef = fileRef.extend({ path: relativePath });
const storedFileRef = namedFileRef.refine(({ path }) => !path.includes('/'), { error: 'a name without /' });

/** Files that can all be in one folder. */
const files = <File extends typeof namedFileRef>(file: File) =>
  z.array(file).superRefine((list, context) => {
    const conflict = pathConflict(list.map(({ path }) => path));
    if (conflict)
      context.addIssue({ code: 'custom', path: [conflict.index, 'path'], message: conflict.fault });
  });

/** Base addresses at which agents reach hubs: `wss://hub-2.example.com:8080`. */
const hubAddresses = z.array(z.string().min(1).max(MAX_ADDRESS_LENGTH)).max(MAX_HUBS);

const attemptRef = z.object({ taskId: z.uuid(), attempt: z.int().positive(), instanceId: identifier });

/** Proof that a hub has assigned an attempt to an agent; agents keep it as it is. */
const proof = z.string().min(1).max(MAX_NAME_LENGTH);

/** An attempt that an agent has, with the proof of its assignment. Older agents, and those that got none from an older hub, send none. */
const heldAttempt = attemptRef.extend({ proof: proof.optional() });

const kindNames = (form: RegExp) => z.array(z.string().regex(form)).max(MAX_KIND_NAMES).optional();

const labels = z.array(z.string().min(1).max(200)).max(200);
const instanceClass = {
  version: z.string().min(1).max(200),
  labels,
  /** Kind of jobs that the program runs. Absent when it does not say, before it has said so, and from older agents. */
  runs: z
    .object({
      models: kindNames(MODEL_TYPE),
      scripts: kindNames(SCRIPT_LANGUAGE),
      points: z.literal(true).optional(),
    })
    .optional(),
};

const instanceReport: z.ZodType<InstanceReport> = z.object({
  id: identifier,
  ...instanceClass,
  revision: z.string().max(200),
  status: z.enum(REPORTED_INSTANCE_STATUSES),
  upForMs: durationMs.nullable(),
  /** Only of an instance that a joined hub lends. */
  lent: z.enum(LENT_STATES).optional(),
  /** Only of a lent instance on a host that comes and goes; hubs of earlier versions do not tell it. */
  host: z.object({ id: identifier, leftMs: durationMs }).optional(),
});

const recipeName = z.string().min(1).max(MAX_RECIPE_NAME_LENGTH);
/** As many as a configuration may have. */
const hostCount = z.int().nonnegative().max(10_000);

const lentRecipe: z.ZodType<LentRecipe> = z.object({
  name: recipeName,
  instances: z
    .array(z.object({ ...instanceClass, count: hostCount.min(1).max(MAX_INSTANCES) }))
    .min(1)
    .max(MAX_CLASSES_OF_HOST),
  usableMs: durationMs,
  free: hostCount,
  coming: hostCount,
  joined: hostCount,
  comingForMs: durationMs.nullable(),
  expectedInMs: durationMs.nullable(),
  /** One that this build does not know is none. */
  obstacle: z.enum(RECIPE_OBSTACLES).nullable().catch(null),
  nextTryInMs: durationMs.nullable(),
});

const wantedInstances: z.ZodType<WantedInstances> = z.object({
  recipe: recipeName,
  requirement: z.object({
    version: z.string().min(1).max(MAX_PATTERN_LENGTH).nullable(),
    labels,
    modelType: z.string().regex(MODEL_TYPE).optional(),
    points: z.literal(true).optional(),
  }),
  count: z.int().positive().max(1_000_000),
});

const instanceCrashes: z.ZodType<InstanceCrashes> = z.object({
  agentUpForMs: durationMs,
  count: z.int().nonnegative(),
  latest: z
    .array(
      z.object({
        agoMs: durationMs,
        reason: z.string().max(MAX_CRASH_REASON_LENGTH),
        taskId: z.uuid().nullable(),
      }),
    )
    .max(MAX_CRASHES),
});

const reason = z.string().max(MAX_UPDATE_REASON_LENGTH);
const versionName = z.string().min(1).max(MAX_NAME_LENGTH);

const agentUpdate: z.ZodType<AgentUpdate> = z.object({
  unable: reason.nullable(),
  system: z.string().max(MAX_NAME_LENGTH),
  phase: z.enum(UPDATE_PHASES),
  running: versionName.nullable(),
  target: versionName.nullable(),
  problem: reason.nullable(),
  failed: z
    .object({
      name: versionName,
      reason,
      log: z.string().max(MAX_UPDATE_LOG_LENGTH),
      agoMs: durationMs,
    })
    .nullable(),
});

const base64Url = z
  .string()
  .max(4096)
  .regex(/^[\w-]+$/);

/** A text with its signature: a flattened JWS (RFC 7515), by a key for Ed25519. */
const signedText = z.object({ protected: base64Url, payload: base64Url, signature: base64Url });
export type SignedText = z.infer<typeof signedText>;

/** The signed text of an order to update: valid for one agent, system and file. */
export const updateOrder = z.object({
  agentId: identifier,
  /** Version of the file, which is that of the hub. */
  version: z.string().min(1).max(MAX_NAME_LENGTH),
  system: z.string().min(1).max(MAX_NAME_LENGTH),
  digest: digestSchema,
  sizeBytes: z.int().positive(),
  /** Best version of this protocol that the file speaks. */
  protocol: z.int().positive(),
});
export type UpdateOrder = z.infer<typeof updateOrder>;

/** Form of an input, for a joined hub, which keeps it in the same form. */
const inputForm = { encrypted: z.literal(true).exactOptional() };
const namedInputRef = namedFileRef.extend(inputForm);

const variable = z.object({ key: z.string(), value: z.string() });

const batchJob = z.object({
  type: z.literal('EXECUTE_BATCH_JOB'),
  model: z
    .discriminatedUnion('kind', [
      namedInputRef.extend({ kind: z.literal('BLOB') }),
      z.object({
        kind: z.literal('LOCAL_FILESYSTEM'),
        pathToFile: z.string(),
        copyToWorkingDirectory: z.boolean(),
      }),
    ])
    .nullable(),
  /** The name tells an agent on Windows what runs the script. */
  scripts: z.array(fileRef.extend({ ...inputForm, filename: z.string().exactOptional() })).min(1),
  additionalFiles: z.array(namedInputRef),
  variables: z.array(variable),
  /** Only for an instance that runs several points as one job; agents of earlier versions report none. */
  points: z
    .array(z.object({ number: z.int().positive(), variables: z.array(variable) }))
    .min(1)
    .max(MAX_BUNDLED_POINTS)
    .optional(),
  pointLimitMs: z.int().positive().optional(),
});

const simulateWork = z.object({ type: z.literal('SIMULATE_WORK'), durationS: z.int().nonnegative() });
const job: z.ZodType<Job> = z.discriminatedUnion('type', [simulateWork, batchJob]);

const attemptReport: z.ZodType<AttemptReport> = attemptRef.extend({
  outcome: z.enum(ATTEMPT_OUTCOMES),
  message: z.string().max(MAX_MESSAGE_LENGTH).nullable(),
  hostFault: z.boolean().optional(),
  outputFiles: files(namedFileRef),
  log: fileRef.nullable(),
  storedFiles: files(storedFileRef).optional(),
  /** Only with the outcome RETURNED; older hubs ignore it. */
  checkpoint: files(namedFileRef).optional(),
});

const joinedHub: z.ZodType<JoinedHub> = z.object({
  id: z.uuid(),
  // Clients follow it.
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .refine((url) => new URL(url).username === '')
    .max(MAX_ADDRESS_LENGTH)
    .nullable(),
  below: z
    .array(z.object({ id: z.uuid(), path: z.array(identifier).min(1).max(MAX_HUB_LEVELS) }))
    .max(MAX_LOWER_HUBS),
  bringsHosts: z.literal(true).exactOptional(),
});

/** How the agent was installed, and its system, by the names of domain/installation.ts; agents of later versions may have others. */
const installation = z.object({
  kind: z.string().max(MAX_NAME_LENGTH).optional(),
  os: z.string().max(MAX_NAME_LENGTH).optional(),
  arch: z.string().max(MAX_NAME_LENGTH).optional(),
});

/** A hub, and one of its users. */
const origin = z.object({
  hub: z.string().max(MAX_ADDRESS_LENGTH),
  user: z.string().max(MAX_USERNAME_LENGTH).nullable(),
});

function eachOnce(instances: readonly InstanceReport[], context: z.RefinementCtx): void {
  const known = new Set<string>();
  for (const [index, { id }] of instances.entries()) {
    if (known.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message: 'is named twice' });
    known.add(id);
  }
}

export const helloMessage = z.object({
  type: z.literal('hello'),
  protocolVersions: z.array(z.int()).min(1),
  agent: z.object({
    id: identifier,
    /** Identity kept in the agent's data directory; distinguishes a returning agent from another one with the same id. */
    nodeId: z.uuid(),
    version: z.string().max(200),
    revision: z.string().max(200),
    /** Absent from older agents, and from hubs that join as agents. A value that the agent does not know is absent. */
    installation: installation.optional(),
  }),
  /** The agent's wall clock, in milliseconds since 1970. Absent from older agents. */
  clockMs: z.int().optional(),
  /** Number of this join. The agent numbers its joins in ascending order, unless its clock was set back between two starts. Absent from
   *  older agents, whose joins count in the order in which hubs process them. */
  joinNumber: z.int().nonnegative().max(MAX_JOIN_NUMBER).optional(),
  instances: z.array(instanceReport).max(MAX_INSTANCES).superRefine(eachOnce),
  /** Whether this version of the agent is on trial: it takes tasks once it has answered `probe` and got `proven`. */
  trial: z.literal(true).optional(),
  /** {@link LATER_REQUESTS} that the agent answers, and others of later versions. Absent from older agents. */
  answers: z.array(z.string().max(MAX_NAME_LENGTH)).max(100).optional(),
  /** {@link LATER_MESSAGES} that the agent takes, and others of later versions. Absent from older agents. */
  takes: z.array(z.string().max(MAX_NAME_LENGTH)).max(100).optional(),
  /** Only of a hub that joins as an agent. */
  hub: joinedHub.optional(),
  /** Attempts that run now. */
  running: z.array(heldAttempt),
  /** Attempts whose report the hub has not acknowledged; the reports follow after `welcome`. */
  spooled: z.array(heldAttempt),
});
export type HelloMessage = z.infer<typeof helloMessage>;

const heartbeatMessage = z.object({ type: z.literal('heartbeat') });

/** Messages of an agent. */
export const agentMessage = z.discriminatedUnion('type', [
  helloMessage,
  heartbeatMessage,
  z.object({ type: z.literal('instance'), instance: instanceReport }),
  z.object({
    type: z.literal('report'),
    report: attemptReport,
    /** Blobs that the report names and that were not uploaded before, in Base64; only if the hub offers `inlineBlobBytes`. */
    blobs: z.array(z.base64()).optional(),
  }),
  /** Output of a running script; `offset` counts UTF-16 units since the attempt began. */
  z.object({
    type: z.literal('output'),
    ref: attemptRef,
    offset: z.int().nonnegative(),
    text: z.string().max(MAX_OUTPUT_LENGTH),
  }),
  z.object({
    type: z.literal('reply'),
    requestId: z.string(),
    error: z.string().nullable(),
    text: z.string().nullable(),
    /** Position of the first unit of a log's `text`, in UTF-16 units since the agent started. Absent from older agents. */
    offset: z.int().nonnegative().optional(),
    crashes: instanceCrashes.optional(),
    update: agentUpdate.optional(),
    /** Recipes that a joined hub lends. */
    recipes: z.array(lentRecipe).max(MAX_LENT_RECIPES).readonly().optional(),
  }),
  /** The agent is connected to another hub, and joins it as soon as this one has closed the connection. Only after `move`. */
  z.object({ type: z.literal('leaving') }),
]);

export type AgentMessage = z.infer<typeof agentMessage>;

export const REFUSALS = [
  'PROTOCOL_VERSION',
  'AGENT_ID_NOT_PROVEN',
  'AGENT_ID_TAKEN',
  'INSTANCE_ID_TAKEN',
  'JOIN_OUTDATED',
  'HUB_CIRCLE',
] as const;

/** Messages of a hub. */
export const hubMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    protocolVersion: z.int(),
    hubVersion: z.string(),
    heartbeatIntervalMs: z.int().positive(),
    /** Silence after which a side considers the link dead. */
    silenceLimitMs: z.int().positive(),
    /** Whether the hub accepts `storedFiles`; absent from older hubs, which do not. */
    outputStorage: z.boolean().optional(),
    /** Maximum size of all blobs in a report; absent from older hubs, which take none there. */
    inlineBlobBytes: z.int().positive().optional(),
    /** Addresses of the other hubs of the cluster; absent from older hubs, and from a hub that is alone. */
    hubs: hubAddresses.optional(),
  }),
  z.object({
    type: z.literal('refused'),
    code: z.enum(REFUSALS),
    message: z.string(),
    /** Number of the agent's latest join; with the code `JOIN_OUTDATED` only. */
    latestJoin: z.int().nonnegative().optional(),
  }),
  heartbeatMessage,
  z.object({
    type: z.literal('assign'),
    ref: attemptRef,
    timeLimitMs: z.int().positive().nullable(),
    job,
    /** Hub that the task was handed in to, and its creator there. Only for joined hubs. */
    origin: origin.optional(),
    /** Id of the request that created the task, for the logs. Absent from older hubs. */
    requestId: z.string().max(MAX_NAME_LENGTH).optional(),
    /** Parent of the attempt's spans (W3C Trace Context). Absent when its trace is not sampled, and from older hubs. */
    traceContext: z.string().max(MAX_NAME_LENGTH).optional(),
    /** Shown in `hello` by an agent that still has the attempt. Absent from older hubs. */
    proof: proof.optional(),
    /** Checkpoint of an earlier attempt, by paths in its folder. Absent for none, and from older hubs; older agents ignore it. */
    checkpoint: files(namedFileRef).optional(),
  }),
  /** The report is durable in the hub, or dropped because it no longer counts; the agent may forget it. */
  z.object({ type: z.literal('acknowledged'), ref: attemptRef, counted: z.boolean() }),
  /** The addresses of the other hubs have changed. Sent only to agents that take it, as is the next message. */
  z.object({ type: z.literal('hubs'), hubs: hubAddresses }),
  /** Request to join another hub, of `to` first. The agent stays when it can connect to none. */
  z.object({ type: z.literal('move'), reason: z.string().max(MAX_NAME_LENGTH), to: hubAddresses.optional() }),
  /** Request to end an attempt; it is reported as CANCELED. */
  z.object({ type: z.literal('cancel'), ref: attemptRef }),
  z.object({
    type: z.literal('request'),
    requestId: z.string(),
    request: z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('instanceCommand'),
        instanceId: identifier,
        command: z.enum(INSTANCE_COMMANDS),
        /** Hub at which the command was given, and its user there. Only for joined hubs. */
        asker: origin.optional(),
      }),
      z.object({
        kind: z.literal('instanceLog'),
        instanceId: identifier,
        logType: z.enum(INSTANCE_LOG_TYPES),
      }),
      /** Sent only to agents that answer it. */
      z.object({ kind: z.literal('instanceCrashes'), instanceId: identifier }),
      /** These, too, and only to agents: answered with `update`. */
      z.object({ kind: z.literal('updateState') }),
      /** Answered before it is carried out. `again`: also a version that has failed on this host. `withinMs`: time within which the
       *  agent may restart for it; absent without a limit. */
      z.object({
        kind: z.literal('update'),
        order: signedText,
        again: z.boolean(),
        withinMs: durationMs.optional(),
      }),
      /** Only to an agent on trial: runs a job, whose output is the `text` of the answer. */
      z.object({ kind: z.literal('probe'), nonce: z.string().regex(PROBE_NONCE) }),
      /** Only to an agent on trial: it has proven itself. */
      z.object({ kind: z.literal('proven') }),
      /** Only to a joined hub that brings hosts: all instances that are wanted of its recipes now, in place of those of earlier requests;
       *  absent when only its recipes are asked for. Answered with `recipes`. */
      z.object({
        kind: z.literal('bringHosts'),
        wanted: z.array(wantedInstances).max(MAX_WANTED).readonly().optional(),
      }),
      /** Only to an agent that stops by itself at the end of its host: time from now until it does. It replaces what the agent has known. */
      z.object({ kind: z.literal('stopAfter'), afterMs: durationMs }),
    ]),
  }),
]);

export type HubMessage = z.infer<typeof hubMessage>;

/** Answer to an agent that asks, with {@link STATUS_QUERY}, whether it could join. */
export const linkStatus = z.object({
  hubVersion: z.string(),
  protocolVersions: z.array(z.int()),
  /** The hub's wall clock, in milliseconds since 1970. */
  clockMs: z.int(),
  /** Reason why this token or credential is not valid for the id; null when it is. */
  fault: z.string().nullable(),
  /** Whether hubs may join it; absent from older hubs, which take agents only. */
  takesHubs: z.boolean().optional(),
});
export type LinkStatus = z.infer<typeof linkStatus>;

/** Parameter of the path CONNECT, with the id of the agent: the hub sends a {@link linkStatus} and closes the connection. */
export const STATUS_QUERY = 'status';

/** Paths of the hub below its base address. */
export const AGENT_PATHS = {
  /** WebSocket. */
  CONNECT: '/agent/connect',
  /** GET, HEAD and PUT of a blob under its digest: `/agent/files/<digest>`. */
  FILES: '/agent/files',
  /** POST of an {@link enrollmentRequest}, answered with an {@link enrollmentResponse}. */
  ENROLL: '/agent/enroll',
} as const;

const MAX_UPDATE_KEYS = 20;

/** Request of an agent for its own credential. */
export const enrollmentRequest = z.object({ agentId: agentIdSchema, code: z.string().min(1).max(200) });

/** The bearer token that the agent presents from then on; it must fit into a header. */
export const enrollmentResponse = z.object({
  credential: z
    .string()
    .max(200)
    .regex(/^[\x21-\x7e]+$/),
  /** Public keys for Ed25519 (`x` of a JWK, RFC 8037) with which the hub signs orders to update, the newest first. Absent from older
   *  hubs, and from one that updates no agents. */
  updateKeys: z
    .array(z.string().regex(/^[\w-]{43}$/))
    .min(1)
    .max(MAX_UPDATE_KEYS)
    .optional(),
});
