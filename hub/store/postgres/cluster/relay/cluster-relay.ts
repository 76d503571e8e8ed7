/** Requests between hubs: rows with requests and replies, of which messages tell. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import {
  AgentUnavailable,
  type HubReceiver,
  type HubRequest,
  type Relay,
  type RelayedReply,
  type RelayedRequest,
  type RelayReceiver,
} from '../../../../core/ports/relay.js';
import { ownRelay } from '../../../sole-hub/own-relay.js';
import type { Database } from '../../connection/pool.js';
import { type NamedStatement, rowOf, rowsOf, type Values } from '../../connection/statement.js';
import type { AgentHolders } from '../common/agent-holders.js';
import type { StatementRetries } from '../common/statement-retries.js';
import {
  ASK,
  ASK_HUB,
  FORGET,
  REPLIES,
  REPLY,
  REQUESTS,
  type ReplyRow,
  type RequestRow,
} from './relay-statements.js';

export interface ClusterRelayOptions {
  readonly database: Database;
  readonly retries: StatementRetries;
  readonly holders: AgentHolders;
  /** Tells a hub that a request or a reply waits for it. */
  readonly tell: (hubId: string) => void;
  readonly incarnation: string;
  readonly lapseMs: number;
  readonly pollMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

/** Time after that of a request for which it stays known: its row goes within a minute. */
const KNOWN_FOR_MS = 120_000;

/** A reply as its row has it. */
type StoredReply = { readonly reply: RelayedReply } | { readonly unavailable: string };

/** The part of a request that all have. */
interface Envelope {
  readonly id: string;
  readonly hubId: string;
  readonly timeoutMs: number;
  readonly lapseMs: number;
}

interface Question {
  resolve(reply: RelayedReply): void;
  reject(error: AgentUnavailable): void;
}

export class ClusterRelay implements Relay {
  readonly #options: ClusterRelayOptions;
  readonly #own: Relay = ownRelay();
  readonly #hubReceivers = new Map<string, HubReceiver>();
  /** By the id of its row. */
  readonly #questions = new Map<string, Question>();
  /** Requests of other hubs that have no reply yet: each is carried out once. */
  readonly #taken = new Set<string>();
  readonly #loop: Loop;
  #asked = 0;

  constructor(options: ClusterRelayOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#look() });
  }

  serve(receiver: RelayReceiver): void {
    this.#own.serve(receiver);
  }

  serveHub<Kind extends HubRequest['kind']>(
    kind: Kind,
    receiver: HubReceiver<Extract<HubRequest, { readonly kind: Kind }>>,
  ): void {
    this.#hubReceivers.set(kind, receiver as HubReceiver);
  }

  async ask(agentId: string, request: RelayedRequest, timeoutMs: number): Promise<RelayedReply> {
    const { holders, clock } = this.#options;
    if (holders.isOwn(agentId)) return this.#own.ask(agentId, request, timeoutMs);
    const untilMs = clock.monotonicMs() + timeoutMs;
    const reply = await this.#ask(`agent ${agentId}`, timeoutMs, (envelope) =>
      this.#post(ASK, { ...envelope, agentId, request: JSON.stringify(request) }),
    );
    // The receiver says in its words that the agent is not connected.
    return reply ?? this.#own.ask(agentId, request, untilMs - clock.monotonicMs());
  }

  async askHub(hubId: string, request: HubRequest, timeoutMs: number): Promise<RelayedReply> {
    const reply = await this.#ask(`hub ${hubId}`, timeoutMs, (envelope) =>
      this.#post(ASK_HUB, { ...envelope, toHub: hubId, request: JSON.stringify(request) }),
    );
    if (reply) return reply;
    throw new AgentUnavailable(`hub ${hubId} does not run`);
  }

  /** Posts a request and waits for the reply; resolves with undefined when there is no hub to post it to. */
  async #ask(
    asked: string,
    timeoutMs: number,
    post: (envelope: Envelope) => Promise<string | undefined>,
  ): Promise<RelayedReply | undefined> {
    const { holders, incarnation, lapseMs, clock } = this.#options;
    const untilMs = clock.monotonicMs() + timeoutMs;
    const id = `${incarnation} ${++this.#asked}`;
    const posted = post({ id, hubId: holders.ownId, timeoutMs, lapseMs });
    const toHub = await this.#inTime(asked, timeoutMs, timeoutMs, posted);
    if (toHub === undefined) return undefined;
    const leftMs = untilMs - clock.monotonicMs();
    const reply = new Promise<RelayedReply>((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
    });
    this.#options.tell(toHub);
    this.#loop.wake(this.#options.pollMs);
    try {
      return await this.#inTime(asked, timeoutMs, leftMs, reply);
    } finally {
      this.#questions.delete(id);
      this.#forget(id);
    }
  }

  /** Looks for requests and replies, of which a message has told. */
  look(): void {
    this.#loop.wake();
  }

  async close(): Promise<void> {
    const stopped = this.#loop.stop();
    for (const { reject } of this.#questions.values()) reject(new AgentUnavailable('this hub is stopping'));
    await stopped;
  }

  /** A message that tells of a reply may be lost: while one is missing, the hub looks now and then. */
  async #look(): Promise<number | undefined> {
    const { log, pollMs } = this.#options;
    try {
      await this.#takeRequests();
      await this.#takeReplies();
    } catch (error) {
      log.warn({ err: error }, 'requests of other hubs could not be read; the hub tries again soon');
    }
    return this.#questions.size > 0 ? pollMs : undefined;
  }

  /** Resolves with the hub that gets it; undefined, and nothing posted, when no other live hub does. */
  #post<Name extends string>(
    statement: NamedStatement<Name>,
    values: Values<Name>,
  ): Promise<string | undefined> {
    const { retries, database } = this.#options;
    return retries.run(
      async () => (await rowOf<{ to_hub: string }, Name>(database, statement, values))?.to_hub,
    );
  }

  async #inTime<T>(asked: string, timeoutMs: number, leftMs: number, answer: Promise<T>): Promise<T> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.#options.timers.after(Math.max(0, leftMs), () =>
        reject(new AgentUnavailable(`${asked} did not answer in ${timeoutMs / 1000} s`)),
      );
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      timer?.cancel();
    }
  }

  async #takeRequests(): Promise<void> {
    const { database, holders } = this.#options;
    const values = { hubId: holders.ownId, known: [...this.#taken] };
    for (const row of await rowsOf<RequestRow, keyof typeof values>(database, REQUESTS, values)) {
      this.#taken.add(row.id);
      void this.#answer(row);
    }
  }

  async #answer({ id, agent_id, from_hub, request, left_ms }: RequestRow): Promise<void> {
    const { retries, database, tell, log } = this.#options;
    if (left_ms <= 0) return this.#forgetLater(id, 0);
    try {
      const stored = await this.#replyTo(agent_id, JSON.parse(request), left_ms).then(
        (reply): StoredReply => ({ reply }),
        (error: unknown): StoredReply => {
          if (error instanceof AgentUnavailable) return { unavailable: error.message };
          throw error;
        },
      );
      const values = { id, reply: JSON.stringify(stored) };
      await retries.run(() => rowsOf(database, REPLY, values));
      this.#taken.delete(id);
      tell(from_hub);
    } catch (error) {
      const fields = { err: error, fromHub: from_hub, ...(agent_id !== '' && { agentId: agent_id }) };
      log.error(fields, 'a request of another hub could not be answered');
      this.#forgetLater(id, left_ms);
    }
  }

  /** A request without a reply must not be carried out again while its row is there. */
  #forgetLater(id: string, leftMs: number): void {
    this.#options.timers.after(leftMs + KNOWN_FOR_MS, () => void this.#taken.delete(id));
  }

  #replyTo(agentId: string, request: unknown, leftMs: number): Promise<RelayedReply> {
    if (agentId !== '') return this.#own.ask(agentId, request as RelayedRequest, leftMs);
    const receiver = this.#hubReceivers.get((request as HubRequest).kind);
    if (receiver) return receiver(request as HubRequest, leftMs);
    return Promise.reject(new AgentUnavailable('the hub is starting, or has an earlier version'));
  }

  async #takeReplies(): Promise<void> {
    if (this.#questions.size === 0) return;
    const ids = [...this.#questions.keys()];
    const rows = await rowsOf<ReplyRow, 'ids'>(this.#options.database, REPLIES, { ids });
    for (const { id, reply } of rows) {
      const stored = JSON.parse(reply) as StoredReply;
      const question = this.#questions.get(id);
      if ('reply' in stored) question?.resolve(stored.reply);
      else question?.reject(new AgentUnavailable(stored.unavailable));
    }
  }

  /** Old rows are removed anyway. */
  #forget(id: string): void {
    rowsOf(this.#options.database, FORGET, { id }).catch(() => undefined);
  }
}
