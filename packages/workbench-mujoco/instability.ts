import type { MainModule, MjData } from '@mujoco/mujoco';

/** Detects simulations that became unstable: NaN or huge values, after which MuJoCo resets the state. */
export class InstabilityWatch {
  readonly #warnings: readonly { readonly index: number; readonly of: string }[];
  readonly #data: MjData;
  /** Warnings that were reported already, by index. */
  readonly #reported = new Map<number, number>();

  constructor({ mjtWarning }: MainModule, data: MjData) {
    this.#data = data;
    this.#warnings = [
      { index: mjtWarning.mjWARN_BADQPOS.value, of: 'positions (qpos)' },
      { index: mjtWarning.mjWARN_BADQVEL.value, of: 'velocities (qvel)' },
      { index: mjtWarning.mjWARN_BADQACC.value, of: 'accelerations (qacc)' },
      { index: mjtWarning.mjWARN_BADCTRL.value, of: 'controls (ctrl)' },
    ];
  }

  /** Lines for the log about what happened since the last call. */
  report(): string {
    try {
      return this.#warningLines() + this.#stateLine();
    } catch {
      return ''; // a script has deleted the data
    }
  }

  #warningLines(): string {
    let lines = '';
    // Each access makes an object of the simulator.
    const { warning } = this.#data;
    for (const { index, of } of this.#warnings) {
      const count = warning.get(index)?.number ?? 0;
      const times = count - (this.#reported.get(index) ?? 0);
      this.#reported.set(index, count);
      if (times <= 0) continue;
      lines +=
        `[workbench-mujoco] the simulation was unstable: NaN or huge ${of} in ${times} step${times === 1 ? '' : 's'}, ` +
        'after which MuJoCo reset the state; results are not meaningful; try a smaller timestep, and check forces and contacts\n';
    }
    return lines;
  }

  #stateLine(): string {
    const { qpos, qvel } = this.#data;
    const areFinite = [...qpos, ...qvel].every((value) => Number.isFinite(value));
    return areFinite
      ? ''
      : '[workbench-mujoco] the final state contains NaN or infinite values (qpos, qvel)\n';
  }
}
