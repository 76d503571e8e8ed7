/** One chaos run: load on real processes during faults, then an audit of every task that was accepted with 201. */
import { eventually } from '../support/eventually.js';
import { endPrograms } from '../support/programs/programs.js';
import { seededRandom } from '../support/random.js';
import { auditByRest, openTasks } from './audit.js';
import { Cluster, type ClusterSetup } from './cluster.js';
import { Faults } from './faults.js';
import { Load } from './load.js';
import { unlessStopped } from './long-run.js';
import { ledgerIn } from './runs.js';

export interface ChaosOptions extends ClusterSetup {
  readonly folder: string;
  readonly seed: number;
  readonly seconds: number;
  /** Ends the run, which then rejects. */
  readonly stopped: AbortSignal;
  /** Called with each fault and its time. */
  readonly onEvent: (what: string) => void;
}

export interface ChaosOutcome {
  readonly faults: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
  readonly acknowledged: number;
  readonly unanswered: number;
  readonly refused: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  readonly wrong: readonly string[];
  /** Time from the last fault until every task had ended. */
  readonly recoveryMs: number;
}

const CLIENTS = 16;
/** Every task must end within this time after the last fault; covers leases and reconnect backoff. */
const RECOVERY_LIMIT_MS = 90_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const { folder, seed } = options;
  const cluster = await Cluster.start(folder, options);
  const { clients, token } = cluster.parts;
  const baseUrls = clients.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`);
  const load = new Load({ baseUrls, token, ledger: ledgerIn(folder) }, seededRandom(seed));
  try {
    return await unlessStopped(strikeAndAudit(options, cluster, load), options.stopped);
  } finally {
    load.giveUp();
    await cluster.stop();
    await endPrograms();
    await cluster.release();
  }
}

async function strikeAndAudit(
  { seed, seconds, onEvent }: ChaosOptions,
  cluster: Cluster,
  load: Load,
): Promise<ChaosOutcome> {
  const { hubs, token, store } = cluster.parts;
  const beganMs = performance.now();
  const faults = new Faults(cluster, seededRandom(seed + 1), (kind, target) => {
    const atS = ((performance.now() - beganMs) / 1000).toFixed(1);
    onEvent(`${atS.padStart(7)} s  ${kind} (${target})`);
  });
  const loaded = load.run(CLIENTS);
  // Faults strike a system at work.
  await eventually(() => load.acknowledged.length >= CLIENTS, RECOVERY_LIMIT_MS);
  await faults.run(performance.now() + seconds * 1000);
  const healedMs = performance.now();
  cluster.heal();
  load.stop();
  if (faults.failures.length > 0) throw new AggregateError(faults.failures, 'faults could not strike');
  const findings = { lost: [] as string[], twice: [] as string[], wrong: [...load.violations] };
  const isOver = async () => {
    const { serving } = cluster;
    const [baseUrl] = serving;
    if (baseUrl === undefined || serving.length < hubs.length) return false;
    return (await openTasks(baseUrl, token)) === 0;
  };
  await eventually(isOver, RECOVERY_LIMIT_MS).catch((error: unknown) => {
    findings.lost.push(
      `not all tasks have ended ${RECOVERY_LIMIT_MS / 1000} s after the last fault: ${error}`,
    );
  });
  const recoveryMs = performance.now() - healedMs;
  if (findings.lost.length > 0) load.giveUp();
  await loaded;
  findings.wrong.push(...load.violations.slice(findings.wrong.length));
  const { serving } = cluster;
  if (serving.length > 0) await auditByRest(serving, token, load.acknowledged, findings);
  for (const hub of hubs)
    if (!hub.isServing) findings.wrong.push(`${hub.name} is not back: ${hub.lastWords}`);
  await cluster.stop();
  for (const pid of cluster.workers()) findings.wrong.push(`process ${pid} of an instance was left`);
  await store.audit(load.acknowledged, findings);
  return {
    ...findings,
    faults: faults.counts,
    missing: faults.missing,
    acknowledged: load.acknowledged.length,
    unanswered: load.unanswered,
    refused: [...load.refused.values()].reduce((sum, count) => sum + count, 0),
    recoveryMs,
  };
}
