/** The summary of many seeds. */
import type { HubCount, Outcome, SimulatedStoreKind } from './simulation.js';

export class Summary {
  readonly #broken: string | undefined;
  readonly #store: string | undefined;
  readonly #hubs: HubCount | undefined;
  readonly #faults = new Map<string, number>();
  readonly #violations = new Map<string, number>();
  readonly #failed: number[] = [];
  readonly #startedAtMs = performance.now();
  #seeds = 0;
  #steps = 0;
  #tasks = 0;
  #attempts = 0;
  #points = 0;
  #simulatedMs = 0;

  /** `broken` names the built-in defect; `store` is the place of the tasks, where it is not the seed's; `hubs` their number, where it was
   *  given. */
  constructor(broken?: string, store?: SimulatedStoreKind, hubs?: HubCount) {
    this.#broken = broken;
    this.#store = store?.toLowerCase();
    this.#hubs = hubs;
  }

  get failed(): boolean {
    return this.#failed.length > 0;
  }

  add({ seed, steps, tasks, attempts, points, simulatedMs, faults, violations }: Outcome): void {
    this.#seeds++;
    this.#steps += steps;
    this.#tasks += tasks;
    this.#attempts += attempts;
    this.#points += points;
    this.#simulatedMs += simulatedMs;
    for (const [kind, count] of faults) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + count);
    for (const { invariant } of violations)
      this.#violations.set(invariant, (this.#violations.get(invariant) ?? 0) + 1);
    if (violations.length > 0) this.#failed.push(seed);
  }

  /** One failing seed, with the command that replays it. */
  describe({ seed, violations, hasStudies }: Outcome): string {
    const broken = this.#broken === undefined ? '' : ` --broken ${JSON.stringify(this.#broken)}`;
    const store = this.#store === undefined ? '' : ` --store ${this.#store}`;
    const hubs = this.#hubs === undefined ? '' : ` --hubs ${this.#hubs}`.toLowerCase();
    const studies = hasStudies ? ' --studies' : '';
    const lines = violations.map(({ invariant, what }) => `  ${invariant}: ${what}`);
    return [
      `seed ${seed} fails: npm run simulate -- --seed ${seed} --trace${studies}${store}${hubs}${broken}`,
      ...lines,
    ].join('\n');
  }

  text(): string {
    const tookS = (performance.now() - this.#startedAtMs) / 1000;
    const faults = [...this.#faults].sort(([a], [b]) => (a < b ? -1 : 1));
    const injected = faults.reduce((sum, [, count]) => sum + count, 0);
    const count = (invariant: string) => this.#violations.get(invariant) ?? 0;
    const failed = this.#failed.sort((a, b) => a - b).join(', ');
    return [
      '',
      row('seeds', this.#seeds),
      row('steps', this.#steps),
      row('simulated hours', Math.round(this.#simulatedMs / 3_600_000)),
      row('tasks answered with 201', this.#tasks),
      row('attempts', this.#attempts),
      ...(this.#points > 0 ? [row('points of studies', this.#points)] : []),
      row('faults', injected),
      ...faults.map(([kind, times]) => row(`  ${kind}`, times)),
      row('lost', count('nothing is lost')),
      row('twice', count('none ends twice') + count('an end stays') + count('a result counts once')),
      row(
        'violations in all',
        [...this.#violations.values()].reduce((sum, times) => sum + times, 0),
      ),
      row('failing seeds', this.#failed.length) + (failed === '' ? '' : `  (${failed})`),
      `\n${tookS.toFixed(0)} s, ${Math.round(this.#steps / tookS)} steps/s`,
    ].join('\n');
  }
}

function row(name: string, value: number): string {
  return `${name.padEnd(28)}${String(value).padStart(12)}`;
}
