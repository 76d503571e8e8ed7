import { rmSync } from 'node:fs';
import { endPrograms } from '../support/programs/programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type Figure, figuresOf, type Verdict, verdictOn } from './figures.js';
import type { ProcessUse, Sample, Workload, WorkloadOptions } from './workload.js';

export interface WorkloadResult {
  readonly workload: string;
  readonly what: string;
  readonly runs: number;
  readonly figures: readonly Figure[];
  readonly targets: readonly Verdict[];
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
      const samples: Sample[][] = [];
      for (let run = 1; run <= runs; run++) {
        options.say(`${workload.name}: run ${run} of ${runs}`);
        samples.push(await ready.measure());
      }
      const { name, what, targets = [] } = workload;
      const figures = figuresOf(samples);
      return {
        workload: name,
        what,
        runs,
        figures,
        targets: targets.map((target) => verdictOn(target, figures)),
        processes: ready.use(),
        skipped: ready.skipped?.() ?? [],
      };
    } finally {
      await ready.end();
    }
  } finally {
    // Also what a failure has left running.
    await endPrograms();
    await folder.remove();
    process.off('exit', removeAtOnce);
  }
}
