/**
 * The messages between an agent and its hub, version 1. Both sides validate what they get (reading.ts). README.md beside
 * this file tells the order of messages, the deadlines, and what is retried.
 */
import { z } from 'zod';
import type { AttemptReport } from '../domain/attempt.js';
import {
  INSTANCE_COMMANDS,
  INSTANCE_LOG_TYPES,
  type InstanceReport,
  REPORTED_INSTANCE_STATUSES,
} from '../domain/instance.js';
import type { Job } from '../domain/job.js';
import { relativePathFault } from '../domain/relative-path.js';
import type { AttemptRef } from '../domain/task.js';

/** Versions that this build speaks, best first. The hub takes the best that both know. */
export const AGENT_PROTOCOL_VERSIONS = [1];

/** A longer frame is refused by the receiver; senders stay well below (domain/job.ts, MAX_JOB_BYTES). */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

export const IDENTIFIER = /^[\p{L}\p{N}._:@-]+$/u;
export const MAX_IDENTIFIER_LENGTH = 200;
const identifier = z
  .string()
  .min(1)
  .max(MAX_IDENTIFIER_LENGTH)
  .regex(IDENTIFIER, { error: 'letters, digits and . _ : @ - only' });
export const instanceIdSchema = identifier;
export const agentIdSchema = identifier;

export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);
export const fileRef = z.object({ digest: digestSchema, sizeBytes: z.int().nonnegative() });
const relativePath = z.string().superRefine((path, context) => {
  const fault = relativePathFault(path);
  if (fault) context.addIssue({ code: 'custom', message: fault });
});
const namedFileRef = fileRef.extend({ path: relativePath });
export const namedFileRefs = z.array(namedFileRef);
export const storedFileRefs = z.array(namedFileRef.refine(({ path }) => !path.includes('/')));

const attemptRef = z.object({ taskId: z.uuid(), attempt: z.int().positive(), instanceId: identifier });

const instanceReport: z.ZodType<InstanceReport> = z.object({
  id: identifier,
  version: z.string().min(1).max(200),
  revision: z.string().max(200),
  labels: z.array(z.string().min(1).max(200)).max(200),
  status: z.enum(REPORTED_INSTANCE_STATUSES),
  upForMs: z.number().nonnegative().nullable(),
});

export const batchJob = z.object({
  type: z.literal('EXECUTE_BATCH_JOB'),
  model: z
    .discriminatedUnion('kind', [
      namedFileRef.extend({ kind: z.literal('CONTENT') }),
      z.object({
        kind: z.literal('LOCAL_FILESYSTEM'),
        pathToFile: z.string(),
        copyToWorkingDirectory: z.boolean(),
      }),
    ])
    .nullable(),
  scripts: z.array(fileRef).min(1),
  additionalFiles: namedFileRefs,
  variables: z.array(z.object({ key: z.string(), value: z.string() })),
});

export const helloMessage = z.object({
  type: z.literal('hello'),
  protocolVersions: z.array(z.int()).min(1),
  agent: z.object({
    id: identifier,
    /** Kept in the agent's data directory: tells an agent that comes back from another one with the same id. */
    nodeId: z.uuid(),
    version: z.string().max(200),
    revision: z.string().max(200),
  }),
  /** What its clock shows, in milliseconds since 1970. Absent from older agents. */
  clockMs: z.int().optional(),
  instances: z.array(instanceReport),
  /** Attempts that run now. */
  running: z.array(attemptRef),
  /** Attempts that have ended and whose report the hub has not settled; the reports follow after `welcome`. */
  spooled: z.array(attemptRef),
});
export type HelloMessage = z.infer<typeof helloMessage>;

const heartbeatMessage = z.object({ type: z.literal('heartbeat') });

/** All but `ended`. */
export const otherAgentMessage = z.discriminatedUnion('type', [
  helloMessage,
  heartbeatMessage,
  z.object({ type: z.literal('instance'), instance: instanceReport }),
  /** A piece of what a running script printed; `offset` counts UTF-16 units since the attempt began. */
  z.object({ type: z.literal('output'), ref: attemptRef, offset: z.int().nonnegative(), text: z.string() }),
  z.object({
    type: z.literal('reply'),
    requestId: z.string(),
    error: z.string().nullable(),
    text: z.string().nullable(),
  }),
]);

/** How an attempt ended. */
export interface EndedMessage {
  type: 'ended';
  report: AttemptReport;
}
export type AgentMessage = z.infer<typeof otherAgentMessage> | EndedMessage;

export const REFUSALS = [
  'PROTOCOL_VERSION',
  'AGENT_ID_NOT_PROVEN',
  'AGENT_ID_TAKEN',
  'INSTANCE_ID_TAKEN',
] as const;

/** All but `assign` and `settled`. */
export const otherHubMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    protocolVersion: z.int(),
    hubVersion: z.string(),
    heartbeatIntervalMs: z.int().positive(),
    /** A side that has heard nothing for so long takes the link for dead. */
    silenceLimitMs: z.int().positive(),
    /** Whether the hub takes `storedFiles`; absent from older hubs, which do not. */
    outputStorage: z.boolean().optional(),
  }),
  z.object({ type: z.literal('refused'), code: z.enum(REFUSALS), message: z.string() }),
  heartbeatMessage,
  /** End this attempt if it runs; it is reported as CANCELED. */
  z.object({ type: z.literal('cancel'), ref: attemptRef }),
  z.object({
    type: z.literal('request'),
    requestId: z.string(),
    request: z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('instanceCommand'),
        instanceId: identifier,
        command: z.enum(INSTANCE_COMMANDS),
      }),
      z.object({
        kind: z.literal('instanceLog'),
        instanceId: identifier,
        logType: z.enum(INSTANCE_LOG_TYPES),
      }),
    ]),
  }),
]);

export interface AssignMessage {
  type: 'assign';
  ref: AttemptRef;
  timeLimitMs: number | null;
  job: Job;
  /** By which the request that created the task is known in the logs. Absent from older hubs. */
  requestId?: string | undefined;
  /** What the spans of the attempt follow from (W3C Trace Context). Absent when its trace is not kept, and from older hubs. */
  traceContext?: string | undefined;
}

/** The report is durable in the hub, or dropped because it no longer counts: the agent may forget it. */
export interface SettledMessage {
  type: 'settled';
  ref: AttemptRef;
  counted: boolean;
}
export type HubMessage = z.infer<typeof otherHubMessage> | AssignMessage | SettledMessage;

/** Paths of the hub beneath its base address. */
export const AGENT_PATHS = {
  /** WebSocket. */
  CONNECT: '/agent/connect',
  /** GET, HEAD and PUT of a content under its digest: `/agent/files/<digest>`. */
  FILES: '/agent/files',
  /** POST of an {@link enrolmentRequest}, answered with an {@link enrolmentAnswer}. */
  ENROLL: '/agent/enroll',
} as const;

/** An agent asks for a credential of its own. */
export const enrolmentRequest = z.object({ agentId: agentIdSchema, code: z.string().min(1).max(200) });

/** What an agent presents from then on, as a bearer token: no more than what a header can carry. */
export const enrolmentAnswer = z.object({
  credential: z
    .string()
    .max(200)
    .regex(/^[\x21-\x7e]+$/),
});
