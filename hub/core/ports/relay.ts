/** Requests that hubs relay to each other: about an agent to the hub that holds its connection, or to a hub itself. */
import type { AgentReply, AgentRequest } from './agents.js';
import type { AuditQuery } from './audit.js';

/** A request to the agent, or to the hub for what the agent has sent. */
export type RelayedRequest = AgentRequest | OutputRequest;

/** The kept output of a running task. */
export interface OutputRequest {
  readonly kind: 'taskOutput';
  readonly taskId: string;
  /** Place up to which it is known; null for none. An offset counts UTF-16 units since the attempt began. */
  readonly known: { readonly attempt: number; readonly offset: number } | null;
}

export interface RelayedReply extends AgentReply {
  /** Attempt whose output `text` is; absent in other replies, and when there is none. */
  readonly attempt?: number;
}

/** A request to a hub itself, whose reply has JSON. */
export type HubRequest = AuditRequest | HeldBlobsRequest | UpstreamsRequest | JoinedRecipesRequest;

/** A request for entries of the audit log. */
export interface AuditRequest {
  readonly kind: 'audit';
  readonly query: AuditQuery;
}

/** A request for the names among these whose blobs the hub holds. */
export interface HeldBlobsRequest {
  readonly kind: 'heldBlobs';
  readonly names: readonly string[];
}

/** A request for the upstreams that the hub joins, as the holder of the scheduler's role. */
export interface UpstreamsRequest {
  readonly kind: 'upstreams';
}

/** A request for the recipes of the hubs that have joined, to the holder of the scheduler's role. */
export interface JoinedRecipesRequest {
  readonly kind: 'joinedRecipes';
}

/** The agent, or the hub, could not be reached, did not respond, or failed to carry out a request; the message says it for clients. */
export class AgentUnavailable extends Error {
  override readonly name = 'AgentUnavailable';
}

/** Takes requests about the agents of this hub; rejects with {@link AgentUnavailable}. */
export type RelayReceiver = (
  agentId: string,
  request: RelayedRequest,
  timeoutMs: number,
) => Promise<RelayedReply>;

/** Takes requests of one kind to this hub itself; rejects with {@link AgentUnavailable}. */
export type HubReceiver<Request extends HubRequest = HubRequest> = (
  request: Request,
  timeoutMs: number,
) => Promise<RelayedReply>;

export interface Relay {
  /** Rejects with {@link AgentUnavailable} when the agent is not connected to any hub, or there is no reply in time. */
  ask(agentId: string, request: RelayedRequest, timeoutMs: number): Promise<RelayedReply>;
  /** Asks another hub. Rejects with {@link AgentUnavailable} when it is gone, or there is no reply in time. */
  askHub(hubId: string, request: HubRequest, timeoutMs: number): Promise<RelayedReply>;
  /** Sets the receiver of requests about the agents of this hub. */
  serve(receiver: RelayReceiver): void;
  /** Sets the receiver of requests of this kind to this hub itself. */
  serveHub<Kind extends HubRequest['kind']>(
    kind: Kind,
    receiver: HubReceiver<Extract<HubRequest, { readonly kind: Kind }>>,
  ): void;
}
