/** The options that describe a job, for `run`, `submit` and `rerun`. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Job, JobFile, Priority } from '@workbench-hub/client';
import { file, readFailure } from '@workbench-hub/client/node';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from './exit-codes.js';

export interface JobOptions {
  readonly model?: string;
  readonly modelType?: string;
  readonly copyModel?: boolean;
  readonly script: readonly string[];
  readonly file: readonly string[];
  readonly var: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly note?: string;
  readonly version?: string;
  readonly label: readonly string[];
  readonly priority?: Priority;
  readonly timeLimit?: number;
  readonly notify?: string;
}

/** Beginning of a model that the simulation host reads. */
const ON_HOST = 'host:';

const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'];

export function withJobOptions(command: Command): Command {
  return command
    .option(
      '-m, --model <file>',
      'model; host:/path for one that the simulation host reads, stored:NAME for one in the input storage',
    )
    .option('--model-type <type>', 'type of the model, such as MJCF; by default from its name')
    .option('--copy-model', 'copy the model of the simulation host into the working directory')
    .requiredOption('-s, --script <file>', 'script; several run one after the other', collect, [])
    .option('-f, --file <path[=name]>', 'additional file, or a folder with all its files', collect, [])
    .option('--var <key=value>', 'variable for the scripts', collectVariable, {})
    .option('-n, --name <text>', 'label of the task')
    .option('--note <text>', 'text about the task, for people')
    .option('--version <pattern>', 'version of the workbench, with the wildcards * and ?')
    .option('-l, --label <label>', 'label that the instance must have', collect, [])
    .addOption(new Option('-p, --priority <priority>', 'priority').choices(PRIORITIES).argParser(upper))
    .option('-t, --time-limit <seconds>', 'longest run', seconds)
    .option('--notify <url>', 'address that gets a webhook at the end');
}

/** The job that these options describe. Throws {@link UsageError} for a file that cannot be read. */
export async function jobOf(options: JobOptions): Promise<Job> {
  const {
    model,
    modelType,
    copyModel = false,
    script,
    file: files,
    var: variables,
    name,
    note,
    version,
    label,
    priority,
    timeLimit,
    notify,
  } = options;
  if (copyModel && !model?.startsWith(ON_HOST))
    throw new UsageError('--copy-model is for a model of the simulation host: --model host:/path');
  return {
    scripts: await Promise.all(script.map(readable)),
    variables,
    labels: label,
    ...(model === undefined ? {} : { model: await modelOf(model, copyModel) }),
    ...(modelType === undefined ? {} : { modelType }),
    ...(files.length === 0 ? {} : { files: await additionalFiles(files) }),
    ...(name === undefined ? {} : { name }),
    ...(note === undefined ? {} : { note }),
    ...(version === undefined ? {} : { version }),
    ...(priority === undefined ? {} : { priority }),
    ...(timeLimit === undefined ? {} : { timeLimitS: timeLimit }),
    ...(notify === undefined ? {} : { notify }),
  };
}

async function modelOf(model: string, copied: boolean): Promise<NonNullable<Job['model']>> {
  if (model.startsWith(ON_HOST)) return { hostPath: model.slice(ON_HOST.length), copied };
  if (model.startsWith('stored:')) return { storageName: model.slice('stored:'.length) };
  return readable(model);
}

async function additionalFiles(paths: readonly string[]): Promise<Record<string, JobFile>> {
  const files: Record<string, JobFile> = {};
  for (const given of paths) {
    const at = given.lastIndexOf('=');
    const from = at < 0 ? given : given.slice(0, at);
    const name = at < 0 ? path.basename(from) : given.slice(at + 1);
    for (const { source, relative } of await filesIn(from))
      files[relative === '' ? name : `${name}/${relative}`] = await readable(source);
  }
  return files;
}

/** The file itself, or all files beneath a folder. */
async function filesIn(from: string): Promise<{ source: string; relative: string }[]> {
  const { readdir } = await import('node:fs/promises');
  const found = await stat(from).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${from} cannot be read: ${readFailure(error)}`);
  });
  if (!found.isDirectory()) return [{ source: from, relative: '' }];
  const entries = await readdir(from, { recursive: true, withFileTypes: true });
  const files: { source: string; relative: string }[] = [];
  for (const entry of entries) {
    const source = path.join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) await expectLinkedFile(source);
    else if (!entry.isFile()) continue;
    files.push({ source, relative: path.relative(from, source).split(path.sep).join('/') });
  }
  return files;
}

/** Throws {@link UsageError} for a link to anything but a file: a folder would be left out without a word. */
async function expectLinkedFile(link: string): Promise<void> {
  const found = await stat(link).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${link} is a link that cannot be followed: ${readFailure(error)}`);
  });
  if (!found.isFile())
    throw new UsageError(
      `${link} is a link to a folder: give that on its own, as --file FOLDER=NAME, and remove the link`,
    );
}

async function readable(source: string): Promise<File> {
  try {
    return await file(source);
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

export function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

function collectVariable(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be like key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function upper(text: string): string {
  const value = text.toUpperCase();
  if (!PRIORITIES.includes(value))
    throw new InvalidArgumentError(`It must be one of ${PRIORITIES.join(', ')}.`);
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number of seconds.');
  return value;
}
