import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** Gives an open file the present time as that of its last change. The system's clock may differ from the runtime's. */
export async function touchFile(
  file: { utimes(accessedS: number, modifiedS: number): Promise<void> },
  clock: Clock,
): Promise<void> {
  const nowS = clock.nowMs() / 1000;
  await file.utimes(nowS, nowS);
}
