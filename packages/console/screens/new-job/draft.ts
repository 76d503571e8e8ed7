/** A job that is being put together. */
import { type Job, modelTypeOfStaged, type Priority, type TaskDetails } from '@workbench-hub/client';
import { nameAgain } from './name-again.js';
import { likelyProgram, type ScriptProgram, scriptFor } from './script-language.js';

export type FileRole = 'MODEL' | 'SCRIPT' | 'FILE';

export interface DraftFile {
  readonly id: string;
  /** Relative path with `/`; of a model or a script its name. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly role: FileRole;
  /** Chosen for a script without a `#!` line; undefined for the likely one. */
  readonly program?: ScriptProgram;
  /** Whether the path is made up: a model or a script of an earlier task that was given no name. */
  readonly isNameless?: true;
  /** Type of the model of an earlier task; undefined for that of its name. */
  readonly modelType?: string;
  /** The content; of an earlier task it is fetched when the job is handed in. */
  readonly content: Blob | { readonly taskId: string; readonly inputPath: string };
}

export interface Variable {
  readonly key: string;
  readonly value: string;
}

export interface Draft {
  readonly name: string;
  /** Text about the task, of at most {@link MAX_NOTE_LENGTH} characters; empty for none. */
  readonly note: string;
  readonly files: readonly DraftFile[];
  readonly variables: readonly Variable[];
  /** Pattern with the wildcards * and ?; empty for any. */
  readonly version: string;
  readonly labels: readonly string[];
  readonly priority: Priority;
  /** Whole seconds as typed; empty for none. */
  readonly timeLimitS: string;
  /** Path of a model that lies on the simulation host; empty for none. */
  readonly hostPath: string;
  /** Whether that model is copied into the working directory, as it was for the job before. */
  readonly isHostModelCopied?: boolean;
  /** Whole seconds as typed for simulated work, which has neither files nor variables; undefined for a batch job. */
  readonly simulatedS?: string;
  /** Task whose job it was at first; undefined for a new job. */
  readonly earlierTaskId?: string;
}

/** Longest note that the hub takes, in characters. */
export const MAX_NOTE_LENGTH = 2000;

export const EMPTY_DRAFT: Draft = {
  name: '',
  note: '',
  files: [],
  variables: [],
  version: '',
  labels: [],
  priority: 'NORMAL',
  timeLimitS: '',
  hostPath: '',
};

const SCRIPTS = /\.(?:[cm]?js|ts|py|sh|bash|m|jl|r|lua|groovy|pl|rb)$/i;
const MODELS = /\.(?:xml|mjcf|urdf|wbpz|wbpj|inp|mph|step|stp|fmu|mjb)$/i;
/** Script that is read in the browser for a template, and as what a file is, at most. */
export const MAX_SCRIPT_BYTES = 256 * 1024;

/** The role that a file most likely has among those that are there. */
function likelyRole(path: string, others: readonly DraftFile[]): FileRole {
  const isNested = path.includes('/');
  if (!isNested && SCRIPTS.test(path)) return 'SCRIPT';
  if (!isNested && MODELS.test(path) && others.every(({ role }) => role !== 'MODEL')) return 'MODEL';
  return 'FILE';
}

/** The draft with these files; one of the same path and role is replaced. */
export function withFiles(
  draft: Draft,
  added: readonly { readonly path: string; readonly content: Blob }[],
  newId: () => string,
): Draft {
  let files = draft.files;
  for (const { path, content } of added) {
    const role = likelyRole(path, files);
    const file: DraftFile = { id: newId(), path, size: content.size, role, content };
    const at = files.findIndex((each) => each.path === path);
    files = at < 0 ? [...files, file] : files.with(at, { ...file, role: files[at]?.role ?? role });
  }
  return { ...draft, files };
}

/** The draft with another role of a file. There is one model: the former one becomes an additional file. */
export function withRole(draft: Draft, id: string, role: FileRole): Draft {
  const files = draft.files.map((file) => {
    if (file.id === id) return { ...file, role };
    return role === 'MODEL' && file.role === 'MODEL' ? { ...file, role: 'FILE' as const } : file;
  });
  return { ...draft, files };
}

/** The draft with another program for a script. */
export function withProgram(draft: Draft, id: string, program: ScriptProgram): Draft {
  return { ...draft, files: draft.files.map((file) => (file.id === id ? { ...file, program } : file)) };
}

/** The draft in which a file has changed places with the one before it, or after it, of the same role. */
export function withFileMoved(draft: Draft, id: string, step: -1 | 1): Draft {
  const from = draft.files.findIndex((file) => file.id === id);
  const moved = draft.files[from];
  if (!moved) return draft;
  let to = from + step;
  while (draft.files[to] && draft.files[to]?.role !== moved.role) to += step;
  const other = draft.files[to];
  return other ? { ...draft, files: draft.files.with(from, other).with(to, moved) } : draft;
}

/** Longest script: it travels in the request, which is in memory. */
const LONGEST_SCRIPT = 64 * 1024 * 1024;

export type Fault = 'noSeconds' | 'noScript' | 'longScript' | 'twoFiles' | 'noKey' | 'twoKeys' | 'timeLimit';

/** Faults for which the hub would refuse it. */
export function faultsOf({ files, variables, timeLimitS, simulatedS }: Draft): readonly Fault[] {
  const additional = files.filter(({ role }) => role === 'FILE').map(({ path }) => path);
  const used = variables.filter(({ key, value }) => key !== '' || value !== '');
  const keys = used.map(({ key }) => key);
  const faults: [Fault, boolean][] = [
    ['noSeconds', simulatedS !== undefined && !isWholeSeconds(simulatedS)],
    ['noScript', simulatedS === undefined && files.every(({ role }) => role !== 'SCRIPT')],
    ['longScript', files.some(({ role, size }) => role === 'SCRIPT' && size > LONGEST_SCRIPT)],
    ['twoFiles', new Set(additional).size < additional.length],
    ['noKey', keys.includes('')],
    ['twoKeys', new Set(keys).size < keys.length],
    ['timeLimit', timeLimitS !== '' && !isWholeSeconds(timeLimitS)],
  ];
  return faults.filter(([, isFaulty]) => isFaulty).map(([fault]) => fault);
}

function isWholeSeconds(text: string): boolean {
  return /^\d+$/.test(text) && Number(text) > 0;
}

/** The job of a draft, with the contents of its files. */
export async function jobOf(draft: Draft, load: (file: DraftFile) => Promise<Blob>): Promise<Job> {
  const { name, note, files, variables, version, labels, priority, timeLimitS, hostPath } = draft;
  const of = (role: FileRole) => files.filter((file) => file.role === role);
  const [model] = of('MODEL');
  const scripts: Blob[] = [];
  for (const script of of('SCRIPT')) {
    const content = await scriptFor(await load(script), script.program ?? likelyProgram(script.path));
    scripts.push(named(content, script));
  }
  const additional: Record<string, Blob> = {};
  for (const file of of('FILE')) additional[file.path] = await load(file);
  const used = variables.filter(({ key }) => key !== '');
  return {
    scripts,
    files: additional,
    variables: Object.fromEntries(used.map(({ key, value }) => [key, value])),
    labels,
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(note.trim() === '' ? {} : { note: note.trim() }),
    ...(model ? await modelOf(model, load) : {}),
    ...(!model && hostPath.trim() !== ''
      ? { model: { hostPath: hostPath.trim(), copied: draft.isHostModelCopied ?? false } }
      : {}),
    ...(version.trim() === '' ? {} : { version: version.trim() }),
    ...(priority === 'NORMAL' ? {} : { priority }),
    ...(timeLimitS === '' ? {} : { timeLimitS: Number(timeLimitS) }),
  };
}

async function modelOf(
  file: DraftFile,
  load: (file: DraftFile) => Promise<Blob>,
): Promise<Pick<Job, 'model' | 'modelType'>> {
  const { modelType } = file;
  return { model: named(await load(file), file), ...(modelType === undefined ? {} : { modelType }) };
}

/** The content with the name of the file, if it has one. */
function named(content: Blob, { path, isNameless }: DraftFile): Blob {
  return isNameless ? content : new File([content], path);
}

/** The classifiers of a draft, as the hub takes them. */
export function classifiersOf({ version, labels, priority }: Pick<Draft, 'version' | 'labels' | 'priority'>) {
  return [
    ...(version.trim() === '' ? [] : [{ type: 'VERSION' as const, value: version.trim() }]),
    ...(labels.length === 0 ? [] : [{ type: 'LABLES' as const, value: labels.join(',') }]),
    { type: 'PRIORITY' as const, value: priority },
  ];
}

const ROLE_OF = { MODEL: 'MODEL', SCRIPT: 'SCRIPT', ADDITIONAL_FILE: 'FILE' } as const;

/** The job of a task once more, with files that stay at the hub until they are needed. */
export function draftOfTask(task: TaskDetails): Draft {
  const {
    id,
    name,
    note = '',
    inputs,
    variables,
    classifiers,
    priority,
    timeLimit,
    hostModel,
    duration,
  } = task;
  const all = (wanted: string) => classifiers.filter(({ type }) => type === wanted).map(({ value }) => value);
  return {
    name: name === undefined ? '' : nameAgain(name),
    earlierTaskId: id,
    note,
    files: inputs.map((input) => draftFileOf(id, input)),
    variables,
    version: all('VERSION')[0] ?? '',
    // Lists of labels add up.
    labels: all('LABLES')
      .flatMap((labels) => labels.split(','))
      .map((label) => label.trim())
      .filter((label) => label !== ''),
    priority,
    timeLimitS: timeLimit === undefined ? '' : String(timeLimit),
    hostPath: hostModel?.path ?? '',
    ...(hostModel?.copied ? { isHostModelCopied: true } : {}),
    ...(duration === undefined ? {} : { simulatedS: String(duration) }),
  };
}

function draftFileOf(
  taskId: string,
  { kind, path, filename, size }: TaskDetails['inputs'][number],
): DraftFile {
  const staged = path.slice(path.indexOf('/') + 1);
  const file = { id: path, path: staged, size, role: ROLE_OF[kind], content: { taskId, inputPath: path } };
  if (kind === 'ADDITIONAL_FILE') return file;
  const named = filename === undefined ? { isNameless: true as const } : { path: filename };
  // It has run without a first line of ours.
  if (kind === 'SCRIPT') return { ...file, path: `script-${staged}`, program: 'own', ...named };
  const modelType = modelTypeOfStaged(staged);
  return { ...file, ...named, ...(modelType === undefined ? {} : { modelType }) };
}
