import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { endPrograms } from '../support/programs/programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type Figure, figuresOf, quantile, type Verdict, verdictOn } from './figures.js';
import { inFolder } from './in-folder.js';
import type { ProcessUse, Run, Workload, WorkloadOptions } from './workload.js';

export interface WorkloadResult {
  readonly workload: string;
  readonly what: string;
  readonly runs: number;
  readonly figures: readonly Figure[];
  readonly targets: readonly Verdict[];
  /** Medians of the runs. */
  readonly processes: readonly ProcessUse[];
  readonly skipped: readonly string[];
}

/** Runs a workload and removes everything that it created. */
export async function runWorkload(
  workload: Workload,
  { runs, ...options }: Omit<WorkloadOptions, 'folder'> & { readonly runs: number },
): Promise<WorkloadResult> {
  const folder = await temporaryFolder();
  // Also when somebody interrupts it.
  const removeAtOnce = () => rmSync(folder.path, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', removeAtOnce);
  try {
    const ready = await workload.prepare({ ...options, folder: folder.path });
    try {
      const { name, what, targets = [] } = workload;
      const measured: Run[] = [];
      for (let run = 1; run <= runs; run++) {
        options.say(`${name}: run ${run} of ${runs}`);
        const latest = await inFolder(join(folder.path, 'run'), (own) => ready.measure(own));
        for (const sample of latest.samples)
          options.say(`${name}: ${sample.name}: ${sample.value.toFixed(2)} ${sample.unit}`);
        measured.push(latest);
      }
      const isKept = ({ name }: { readonly name: string }) => ready.isLeftOut?.(name) !== true;
      const figures = figuresOf(measured.map(({ samples }) => samples.filter(isKept)));
      return {
        workload: name,
        what,
        runs,
        figures,
        targets: targets.map((target) => verdictOn(target, figures)),
        processes: mediansOf(measured).filter(isKept),
        skipped: [...(ready.skipped?.() ?? []), ...nothingOf(name, figures, options.only)],
      };
    } finally {
      await ready.end?.();
    }
  } finally {
    // Also what a failure has left running.
    await endPrograms();
    await folder.remove();
    process.off('exit', removeAtOnce);
  }
}

/** The reason for which `--only` leaves nothing to measure of a workload, if it does. */
function nothingOf(workload: string, figures: readonly Figure[], only: readonly string[] | undefined) {
  if (only === undefined || figures.length > 0) return [];
  return [`--only ${JSON.stringify(only.join(','))} names nothing that ${workload} measures`];
}

function mediansOf(runs: readonly Run[]): ProcessUse[] {
  const uses = runs.flatMap(({ processes }) => processes);
  return [...new Set(uses.map(({ name }) => name))].map((name) => {
    const own = uses.filter((use) => use.name === name);
    const median = (of: (use: ProcessUse) => number) => quantile(own.map(of), 0.5);
    return { name, cpuS: median(({ cpuS }) => cpuS), peakRssMib: median(({ peakRssMib }) => peakRssMib) };
  });
}
