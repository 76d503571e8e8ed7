/** The options that describe a study, for `wb study run`. */
import { readFile } from 'node:fs/promises';
import type { StudyJob } from '@workbench-hub/client';
import { readFailure } from '@workbench-hub/client/node';
import { type Command, Option } from 'commander';
import { UsageError } from './exit-codes.js';
import { collect, type JobOptions, jobOf } from './job-options.js';
import { wholeNumber } from './whole-number.js';

export interface StudyOptions extends JobOptions {
  readonly vary: readonly string[];
  readonly value: readonly string[];
  readonly plan?: PlanName;
  readonly points?: string;
  readonly count?: number;
  readonly seed?: number;
  readonly stopAfterFailures?: number;
  readonly stopAfter?: number;
  readonly stopWhen?: readonly string[];
  readonly reuse?: boolean;
  readonly bundle?: boolean;
}

type PlanName = (typeof PLANS)[number];
type Vary = StudyJob['vary'][number];
type Value = NonNullable<StudyJob['values']>[number];
type Condition = NonNullable<StudyJob['stopWhen']>[number];
type Plan = StudyJob['plan'];
type Levels = Extract<Plan, { kind: 'GRID' }>['levels'][number];
type PointValue = number | string;

const PLANS = ['grid', 'one-at-a-time', 'latin-hypercube', 'sobol'] as const;

export function withStudyOptions(command: Command): Command {
  return command
    .option(
      '--vary <name=levels>',
      'variable that differs: name=FROM:TO:STEP, name=1,2,5, or for samples name=LOWER:UPPER',
      collect,
      [],
    )
    .addOption(new Option('--plan <plan>', 'how levels become points; grid by default').choices(PLANS))
    .option(
      '--points <file>',
      'file with the points, instead of --vary: JSON such as [{"speed": 500}], or CSV with a header',
    )
    .option('--count <number>', 'number of samples', wholeNumber(0))
    .option('--seed <number>', 'seed of the samples; 0 by default', wholeNumber(0))
    .option(
      '--value <name=where>',
      'number to read of each point: name=FILE#JSONPATH, name=FILE:COLUMN:TAKE of a CSV file (with ; in place of : where it has semicolons), or name=FILE~PATTERN; log is the log',
      collect,
      [],
    )
    .option(
      '--stop-after-failures <number>',
      'number of failed points at which the study stops',
      wholeNumber(0),
    )
    .option('--stop-after <seconds>', 'time after which the study stops', wholeNumber(0))
    .option(
      '--stop-when <value=bounds>',
      'stops the study when a point has reached this value: name=LOWER:UPPER, either may be left out; several must hold together',
      collect,
      [],
    )
    .option('--reuse', 'take results of earlier tasks with equal inputs, and run only the other points')
    .option('--bundle', 'let points that take less than a tenth of a second run several as one task');
}

/** The study that these options describe. Throws {@link UsageError}. */
export async function studyOf(options: StudyOptions): Promise<StudyJob> {
  const { vary, value, points, plan = 'grid', stopAfterFailures, stopAfter, stopWhen = [] } = options;
  const { name, ...job } = await jobOf(options);
  if (name === undefined) throw new UsageError('Give the study a name, with --name.');
  if ((points === undefined) === (vary.length === 0)) {
    throw new UsageError('Give either --vary for each variable, or --points with a file.');
  }
  const varied = vary.map(variedOf);
  return {
    ...job,
    name,
    ...(points === undefined
      ? { vary: varied.map(({ variable }) => variable), plan: planOf(plan, varied, options) }
      : await pointsOf(points)),
    values: value.map(valueRuleOf),
    ...(stopAfterFailures === undefined ? {} : { stopAfterFailures }),
    ...(stopAfter === undefined ? {} : { stopAfter }),
    ...(stopWhen.length === 0 ? {} : { stopWhen: stopWhen.map(conditionOf) }),
    ...(options.reuse === undefined ? {} : { reuse: options.reuse }),
    ...(options.bundle === undefined ? {} : { bundle: options.bundle }),
  };
}

/** Condition that `name=LOWER:UPPER` says. Throws {@link UsageError}. */
function conditionOf(text: string): Condition {
  const [, value, lower, upper] = /^([^=]+)=([^:]*):([^:]*)$/.exec(text) ?? [];
  const bounds = { ...boundOf('lower', lower), ...boundOf('upper', upper) };
  const numbers = Object.values(bounds);
  if (value === undefined || numbers.length === 0 || !numbers.every(Number.isFinite)) {
    throw new UsageError(`--stop-when ${text} must be like stress=:200, stress=100:200 or stress=100:`);
  }
  return { value, ...bounds };
}

/** A bound by its name; NaN when it is no number. Empty when it is left out. */
function boundOf(name: 'lower' | 'upper', text = ''): { readonly lower?: number; readonly upper?: number } {
  return text.trim() === '' ? {} : { [name]: Number(text) };
}

interface Varied {
  readonly variable: Vary;
  /** Null for bounds only. */
  readonly levels: Levels | null;
  readonly first: PointValue;
}

function variedOf(text: string): Varied {
  const at = text.indexOf('=');
  const [name, form] = [text.slice(0, at), text.slice(at + 1)];
  const fault = () =>
    new UsageError(`--vary ${text} must be like speed=500:3000:100, load=1,2,5, or speed=500:3000`);
  if (at < 1 || form === '') throw fault();
  const range = form.split(':').map(Number);
  if (range.length > 1 && range.every(Number.isFinite)) {
    const [from = 0, to = 0, step] = range;
    if (range.length > 3) throw fault();
    if (step === undefined) return { variable: { name, lower: from, upper: to }, levels: null, first: from };
    return { variable: { name }, levels: { variable: name, from, to, step }, first: from };
  }
  const values = form.split(',').map(pointValueOf);
  const isText = values.some((value) => typeof value === 'string');
  const given = isText ? form.split(',') : values;
  return {
    variable: { name, ...(isText ? { kind: 'TEXT' as const } : {}) },
    levels: { variable: name, values: [...given] },
    first: given[0] ?? '',
  };
}

function pointValueOf(text: string): PointValue {
  const number = Number(text);
  return text.trim() === '' || !Number.isFinite(number) ? text : number;
}

function planOf(plan: PlanName, varied: readonly Varied[], { count, seed }: StudyOptions): Plan {
  if (plan === 'latin-hypercube' || plan === 'sobol') {
    if (count === undefined) throw new UsageError(`--plan ${plan} needs the number of points, with --count.`);
    if (plan === 'latin-hypercube') return { kind: 'LATIN_HYPERCUBE', count, seed: seed ?? 0 };
    return { kind: 'SOBOL', count, ...(seed === undefined ? {} : { seed }) };
  }
  const levels = varied.map(({ variable, levels: own }) => {
    if (own === null) {
      throw new UsageError(
        `--vary ${variable.name} has bounds only, for --plan latin-hypercube or sobol; --plan ${plan} needs levels, such as ${variable.name}=${variable.lower}:${variable.upper}:STEP`,
      );
    }
    return own;
  });
  if (plan === 'grid') return { kind: 'GRID', levels };
  const base = Object.fromEntries(varied.map(({ variable, first }) => [variable.name, first]));
  return { kind: 'ONE_AT_A_TIME', base, levels };
}

async function pointsOf(path: string): Promise<Pick<StudyJob, 'vary' | 'plan'>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const reason = readFailure(error as NodeJS.ErrnoException);
    throw new UsageError(`${path} cannot be read: ${reason}`, { cause: error });
  }
  if (!/^\s*[[{]/.test(text)) return tableOf(text);
  try {
    const points: unknown = JSON.parse(text);
    const isList = Array.isArray(points) && points.length > 0;
    if (isList && points.every((point) => typeof point === 'object' && point !== null)) {
      return listOf(points as Record<string, PointValue>[]);
    }
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  throw new UsageError(`${path} must have a list of points, such as [{"speed": 500}, {"speed": 1000}]`);
}

/** A table with a header. The hub reads it; a variable whose first value is no number is a text. */
function tableOf(text: string): Pick<StudyJob, 'vary' | 'plan'> {
  const [header = '', first = ''] = text.replace(/^\ufeff/, '').split(/\r?\n/, 2);
  const delimiter = ([';', '\t'] as const).find((each) => header.includes(each)) ?? ',';
  const cells = first.split(delimiter);
  const decimal = delimiter !== ',' && cells.some((cell) => /^-?\d+,\d+$/.test(cell.trim())) ? ',' : '.';
  const vary = header.split(delimiter).map((name, at) => {
    const cell = (cells[at] ?? '').trim().replace(decimal, '.');
    const isText = typeof pointValueOf(cell) === 'string';
    return { name: name.trim().replace(/^"(.*)"$/, '$1'), ...(isText ? { kind: 'TEXT' as const } : {}) };
  });
  return { vary, plan: { kind: 'TABLE', csv: text, delimiter, decimal } };
}

/** A list of points; a variable with a text among its values is a text. */
function listOf(points: readonly Record<string, PointValue>[]): Pick<StudyJob, 'vary' | 'plan'> {
  const names = Object.keys(points[0] ?? {});
  const vary = names.map((name) => {
    const isText = points.some((point) => typeof point[name] === 'string');
    return { name, ...(isText ? { kind: 'TEXT' as const } : {}) };
  });
  return { vary, plan: { kind: 'LIST', points: points.map((point) => ({ ...point })) } };
}

const VALUE = /^(?<name>[^=]+)=(?<file>[^#~:;]+)(?<sign>[#~:;])(?<rest>.+)$/s;

function valueRuleOf(text: string): Value {
  const { name, file, sign, rest } = VALUE.exec(text)?.groups ?? {};
  if (name === undefined || file === undefined || rest === undefined) {
    throw new UsageError(
      `--value ${text} must be like stress=result.json#$.stress, force=motion.csv:force:max, or time=log~took (\\S+) s`,
    );
  }
  const source = file === 'log' ? { kind: 'LOG' as const } : { kind: 'FILE' as const, path: file };
  if (sign === '#') return { name, source, reader: { kind: 'JSON_PATH', path: rest } };
  if (sign === '~') return { name, source, reader: { kind: 'REGULAR_EXPRESSION', pattern: rest } };
  const at = rest.lastIndexOf(sign ?? ':');
  const [column, take] = at < 0 ? [rest, 'last'] : [rest.slice(0, at), rest.slice(at + 1)];
  return {
    name,
    source,
    reader: {
      kind: 'CSV',
      column: /^\d+$/.test(column) ? Number(column) : column,
      take: takeOf(take, text),
      ...(sign === ';' ? { delimiter: ';' as const } : {}),
    },
  };
}

const TAKES = ['FIRST', 'LAST', 'MIN', 'MAX', 'MEAN', 'SUM', 'COUNT'] as const;

function takeOf(text: string, value: string): (typeof TAKES)[number] {
  const take = TAKES.find((each) => each === text.toUpperCase());
  if (take !== undefined) return take;
  throw new UsageError(`--value ${value}: ${text} must be one of ${TAKES.join(', ').toLowerCase()}`);
}
