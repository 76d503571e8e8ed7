import { cpuSeconds } from './machine.js';

const LOOK_EVERY_MS = 500;

/** Resolves when the process has been nearly idle for a while. */
export async function quiet(pid: number): Promise<void> {
  for (;;) {
    const before = cpuSeconds(pid);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    if (cpuSeconds(pid) - before <= 0.01) return;
  }
}
