import path from 'node:path';
import { types } from 'node:util';
import type { MainModule, MjData, MjModel } from '@mujoco/mujoco';
import { simulatorPath } from './host-files.js';

export interface LoadedModel {
  model: MjModel;
  data: MjData;
}

/** Types of models that MuJoCo reads: the endings of their names, in upper case. */
export const MODEL_TYPES = ['MJCF', 'XML'];

/** The model cannot be simulated; the message is shown to the task's owner. */
export class ModelRefused extends Error {
  override readonly name = 'ModelRefused';
}

/** Loads a model with the data of its initial state. Throws {@link ModelRefused} with MuJoCo's own message. */
export type LoadModel = (mujoco: MainModule, modelPath: string) => LoadedModel;

/** Loads an MJCF model: `model.mjcf`, or `.xml` for a model read in place. */
export const loadModel: LoadModel = (mujoco, modelPath) => {
  const model = parsed(mujoco, modelPath);
  return withData(mujoco, model, modelPath);
};

/** Model of a bundle that is parsed once, and copied for each point, which takes a fiftieth of the time. */
export class ParsedModel {
  #model: MjModel | undefined;

  readonly load: LoadModel = (mujoco, modelPath) => {
    this.#model ??= parsed(mujoco, modelPath);
    return withData(mujoco, new mujoco.MjModel(this.#model), modelPath);
  };

  delete(): void {
    this.#model?.delete();
  }
}

function parsed(mujoco: MainModule, modelPath: string): MjModel {
  const name = path.basename(modelPath);
  if (!MODEL_TYPES.includes(path.extname(name).slice(1).toUpperCase())) {
    throw new ModelRefused(
      `workbench-mujoco reads models of type MJCF, not ${name}: give an MJCF file, or use an instance of another ` +
        'workbench',
    );
  }
  try {
    return mujoco.MjModel.from_xml_path(simulatorPath(modelPath));
  } catch (error) {
    throw refused(error, modelPath);
  }
}

function withData(mujoco: MainModule, model: MjModel, modelPath: string): LoadedModel {
  try {
    return { model, data: new mujoco.MjData(model) };
  } catch (error) {
    model.delete();
    throw refused(error, modelPath);
  }
}

function refused(error: unknown, modelPath: string): ModelRefused {
  return new ModelRefused(`${path.basename(modelPath)}: ${simulatorMessage(error)}`, { cause: error });
}

/** MuJoCo's message on one line: `XML Error: Schema violation: unrecognized element, element 'bogus', line 1`. */
function simulatorMessage(error: unknown): string {
  // The error of a realm is no instance of this realm's Error.
  const message = types.isNativeError(error) ? error.message : String(error);
  const lines = message.replace(/^MuJoCo Error: (?:Loading error: )?/, '').split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(', ');
}
