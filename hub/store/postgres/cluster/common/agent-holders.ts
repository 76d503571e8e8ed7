/** Which hub holds the connection of which agent, as this hub has heard. The connection with the highest epoch counts. */

/** An agent as its row has it. */
export interface HolderRow {
  readonly id: string;
  /** Live hub that holds it, or this one; null when it is disconnected. */
  readonly hubId: string | null;
  readonly epoch: number;
}

interface Holder {
  readonly hubId: string;
  readonly epoch: number;
  /** Number of the change that brought it. */
  readonly change: number;
}

/** Differences between the rows and this hub. */
export interface HolderDifferences {
  /** Agents whose connections to this hub no longer count. */
  readonly replaced: readonly string[];
  /** Agents that the rows still connect to this hub. */
  readonly left: readonly HolderRow[];
}

export class AgentHolders {
  readonly #ownId: string;
  readonly #holders = new Map<string, Holder>();
  /** Agents that join or leave this hub now, with the number of those calls. */
  readonly #changing = new Map<string, number>();
  #changes = 0;

  constructor(ownId: string) {
    this.#ownId = ownId;
  }

  /** Id of the hub that holds the agent; undefined when it is not known to be connected. */
  hubOf(agentId: string): string | undefined {
    return this.#holders.get(agentId)?.hubId;
  }

  epochOf(agentId: string): number | undefined {
    return this.#holders.get(agentId)?.epoch;
  }

  isOwn(agentId: string): boolean {
    return this.hubOf(agentId) === this.ownId;
  }

  get ownId(): string {
    return this.#ownId;
  }

  /** Agents of this hub. */
  get own(): string[] {
    return [...this.#holders].filter(([, { hubId }]) => hubId === this.#ownId).map(([id]) => id);
  }

  /** The agent begins to join or leave this hub; returns what ends that. */
  changing(agentId: string): () => void {
    this.#changing.set(agentId, (this.#changing.get(agentId) ?? 0) + 1);
    return () => {
      const left = (this.#changing.get(agentId) ?? 1) - 1;
      if (left > 0) this.#changing.set(agentId, left);
      else this.#changing.delete(agentId);
    };
  }

  /** Tells whether this connection counts: none with a higher epoch is known. */
  joined(agentId: string, hubId: string, epoch: number): boolean {
    const known = this.#holders.get(agentId);
    if (known && known.epoch > epoch) return false;
    this.#holders.set(agentId, { hubId, epoch, change: ++this.#changes });
    return true;
  }

  /** The connection has ended, or counts no longer; tells whether it counted. */
  left(agentId: string, epoch: number): boolean {
    const known = this.#holders.get(agentId);
    if (known && known.epoch > epoch) return false;
    this.#holders.delete(agentId);
    this.#changes++;
    return true;
  }

  /** Begins to read the rows; the returned function takes them. */
  reading(): (rows: readonly HolderRow[]) => HolderDifferences {
    const since = this.#changes;
    return (rows) => this.#take(rows, since);
  }

  #take(rows: readonly HolderRow[], since: number): HolderDifferences {
    const replaced: string[] = [];
    const left: HolderRow[] = [];
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const [agentId, { hubId, change }] of this.#holders) {
      if (change > since || byId.get(agentId)?.hubId === hubId) continue;
      this.#holders.delete(agentId);
      if (hubId === this.#ownId) replaced.push(agentId);
    }
    for (const row of rows) {
      if (row.hubId === null) continue;
      if (row.hubId !== this.#ownId) this.joined(row.id, row.hubId, row.epoch);
      else if (!this.isOwn(row.id) && !this.#changing.has(row.id)) left.push(row);
    }
    return { replaced, left };
  }
}
