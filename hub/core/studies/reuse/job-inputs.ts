/** Inputs of a job that decide on its result, and the first in which two jobs differ. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { BatchJob, FileRef } from '@workbench-hub/shared/domain/job';

/** Inputs in the order in which they are compared: named texts. */
export type JobInputs = readonly JobInput[];

interface JobInput {
  readonly name: string;
  /** Text that is equal when the input is. */
  readonly text: string;
}

export interface InputDifference {
  /** Number of inputs before it, which agree. */
  readonly agreeing: number;
  /** Clause such as `scripts[0] is 3f786850e387 instead of 89e6c98d9288`. */
  readonly what: string;
}

/** Characters of a value that a message shows at most. */
const MAX_SHOWN = 60;
/** Characters of a digest that tell it from others. */
const SHOWN_DIGEST = 12;

/** Inputs of a job but for its variables. */
export function inputsOf(
  { model, scripts, additionalFiles }: BatchJob,
  { version, labels, modelType }: Requirement,
): JobInputs {
  const ofModel = model?.kind === 'BLOB' ? `${model.path} ${textOf(model)}` : null;
  return [
    { name: 'the model', text: ofModel ?? (model ? 'a file on the host' : 'none') },
    { name: 'the number of scripts', text: String(scripts.length) },
    ...scripts.map((script, index) => ({ name: `scripts[${index}]`, text: textOf(script) })),
    ...additionalFiles
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .map((file) => ({ name: `the file ${file.path}`, text: textOf(file) })),
    { name: 'the required version', text: version ?? 'any' },
    { name: 'the list of required labels', text: labels.join(', ') || 'none' },
    { name: 'the type of the model', text: modelType ?? 'none' },
  ];
}

function textOf({ digest }: FileRef): string {
  return digest;
}

/** First difference of the wanted inputs from those of an earlier result; undefined for none. */
export function firstDifference(wanted: JobInputs, earlier: JobInputs): InputDifference | undefined {
  for (const [agreeing, input] of wanted.entries()) {
    const other = earlier[agreeing];
    if (other?.name === input.name && other.text === input.text) continue;
    if (other?.name === input.name) return { agreeing, what: differing(input.name, input.text, other.text) };
    const isNew = earlier.every(({ name }) => name !== input.name);
    const extra = isNew ? input.name : (other?.name ?? input.name);
    return { agreeing, what: `${extra} is only in the ${isNew ? 'new' : 'earlier'} job` };
  }
  const [extra] = earlier.slice(wanted.length);
  return extra && { agreeing: wanted.length, what: `${extra.name} is only in the earlier job` };
}

/** Clause on an input that differs. */
export function differing(name: string, wanted: string, earlier: string): string {
  return `${name} is ${shown(wanted)} instead of ${shown(earlier)}`;
}

function shown(text: string): string {
  const short = text.replace(/\b([0-9a-f]{64})\b/g, (digest) => digest.slice(0, SHOWN_DIGEST));
  return short.length > MAX_SHOWN ? `${short.slice(0, MAX_SHOWN)}…` : short;
}
