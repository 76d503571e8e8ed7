/** `wb manifest` and `wb verify`: signed statements of how results came about. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Hub,
  type ManifestKeys,
  ManifestRefusedError,
  type SignedManifest,
  type Task,
  type VerifiedManifest,
  verifyManifest,
} from '@workbench-hub/client';
import { FileExistsError, readFailure } from '@workbench-hub/client/node';
import type { Command } from 'commander';
import type { Run, RunOnDemand } from '../command-action.js';
import { type Output, print, printable } from '../console.js';
import { EXIT, type ExitCode, UsageError } from '../exit-codes.js';
import { checkFolder, type FolderCheck, isRight } from '../folder-check.js';
import { wholeId } from '../task-ids.js';

/** Ending of the names of manifests, after the id of the task. */
const ENDING = '.manifest.json';

interface VerifyOptions {
  readonly files?: string;
  readonly keys?: string;
  readonly saveKeys?: string;
}

/** A manifest that was verified, or why it is refused. */
interface Checked {
  readonly path: string;
  readonly ok: boolean;
  /** Absent for one that is right. */
  readonly fault?: string;
  readonly verified?: VerifiedManifest;
  readonly files?: FolderCheck;
}

export function addManifestCommands(program: Command, run: Run, runOnDemand: RunOnDemand): void {
  program
    .command('manifest')
    .argument('<id>')
    .description('fetch the signed manifest of an ended task: what it got, where it ran, what came of it')
    .option('-o, --out <file>', 'save it there')
    .option('--overwrite', 'replace a file that exists')
    .action(run(fetchManifest));

  program
    .command('verify')
    .argument('[path...]', 'manifests, or folders with a manifest and the outputs of its task')
    .description('verify manifests, and outputs by them')
    .option('--files <folder>', 'verify the outputs that are there, too')
    .option('--keys <file>', 'verify by the keys of this file, without the hub')
    .option('--save-keys <file>', 'save the keys of the hub there')
    .action(runOnDemand(verify));
}

/** Saves the manifest of a task in a folder, under the id of the task; resolves with its path. */
export async function saveManifest(
  task: Task,
  folder: string,
  { overwrite = false }: { overwrite?: boolean } = {},
): Promise<string> {
  const target = path.join(folder, `${task.id}${ENDING}`);
  const signed = await task.manifest();
  // A task without outputs has made no folder.
  await mkdir(folder, { recursive: true });
  await save(target, signed, overwrite);
  return target;
}

async function fetchManifest(
  hub: Hub,
  output: Output,
  id: string,
  { out, overwrite = false }: { out?: string; overwrite?: boolean },
): Promise<ExitCode> {
  const signed = await hub.task(await wholeId(hub, id)).manifest();
  if (out !== undefined) await save(out, signed, overwrite);
  print(signed, output, () => out ?? JSON.stringify(signed, null, 2));
  return EXIT.FINISHED;
}

async function verify(
  hub: () => Promise<Hub>,
  output: Output,
  paths: readonly string[],
  { files, keys: keyFile, saveKeys }: VerifyOptions,
): Promise<ExitCode> {
  if (paths.length === 0 && saveKeys === undefined)
    throw new UsageError('which manifest? Give its file, or the folder with it and the outputs');
  if (files !== undefined && paths.length !== 1) throw new UsageError('--files is for one manifest');
  if (keyFile !== undefined && saveKeys !== undefined)
    throw new UsageError('--save-keys saves the keys of the hub: leave out --keys');
  const keys = keyFile === undefined ? await (await hub()).manifestKeys() : await keysIn(keyFile);
  if (saveKeys !== undefined) await save(saveKeys, keys, false);
  if (paths.length === 0) {
    print(keys, output, () => saveKeys ?? '');
    return EXIT.FINISHED;
  }
  const checked: Checked[] = [];
  for (const given of paths) {
    const found = placeOf(given, files).then((place) => check(place, keys));
    // One of several that cannot be verified must not keep the others from it.
    checked.push(await (paths.length === 1 ? found : found.catch(refusedAt(given))));
  }
  print(checked.map(presented), output, () => checked.map(inWords).join('\n\n'));
  return checked.every(({ ok }) => ok) ? EXIT.FINISHED : EXIT.FAILED;
}

/** A path that cannot be verified, as the result of its verification. Throws any other error. */
function refusedAt(given: string): (error: unknown) => Checked {
  return (error) => {
    if (!(error instanceof UsageError)) throw error;
    return { path: given, ok: false, fault: error.message };
  };
}

interface Place {
  readonly path: string;
  /** Folder with outputs to verify. */
  readonly files?: string | undefined;
}

/** The file of a manifest, and the folder of its outputs, for a path as people give it. */
async function placeOf(given: string, files: string | undefined): Promise<Place> {
  if (files !== undefined) await isFolder(files, 'folder');
  if (!(await isFolder(given))) return { path: given, files };
  const names = (await readdir(given)).filter((name) => name.endsWith(ENDING)).toSorted();
  const [name] = names;
  if (name === undefined)
    throw new UsageError(
      `${given} has no manifest: wb result ID --out FOLDER --manifest saves one with the outputs`,
    );
  if (names.length > 1)
    throw new UsageError(
      `${given} has several manifests: ${names.join(', ')}; give one of them, with --files ${given}`,
    );
  return { path: path.join(given, name), files: files ?? given };
}

/** Whether there is a folder; throws {@link UsageError} when there is nothing, or no folder where one is expected. */
async function isFolder(given: string, expected?: 'folder'): Promise<boolean> {
  const found = await stat(given).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${given} cannot be read: ${readFailure(error)}`, { cause: error });
  });
  if (expected && !found.isDirectory()) throw new UsageError(`${given} is no folder`);
  return found.isDirectory();
}

async function check({ path: file, files: folder }: Place, keys: ManifestKeys): Promise<Checked> {
  const text = await textOf(file);
  try {
    const verified = await verifyManifest(jsonIn(text), keys);
    refuseOtherTask(file, verified.manifest.task.id);
    const files = folder === undefined ? undefined : await checkFolder(folder, verified.manifest, file);
    return { path: file, ok: !files || isRight(files), verified, ...(files ? { files } : {}) };
  } catch (error) {
    if (!(error instanceof ManifestRefusedError)) throw error;
    return { path: file, ok: false, fault: error.message };
  }
}

/** Throws {@link ManifestRefusedError} when the file is named after another task, as one that was exchanged is. */
function refuseOtherTask(file: string, taskId: string): void {
  const named = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.manifest\.json$/.exec(path.basename(file))?.[1];
  if (named === undefined || named === taskId) return;
  throw new ManifestRefusedError(`it is that of task ${taskId}, and its file is named after task ${named}`);
}

async function keysIn(file: string): Promise<ManifestKeys> {
  const found = jsonIn(await textOf(file)) as Partial<ManifestKeys> | undefined;
  const isSet =
    Array.isArray(found?.keys) && found.keys.every((key: unknown) => typeof key === 'object' && key !== null);
  if (isSet) return found as ManifestKeys;
  throw new UsageError(`${file} holds no keys: wb verify --save-keys FILE saves those of a hub`);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const why = readFailure(error as NodeJS.ErrnoException);
    throw new UsageError(`${file} cannot be read: ${why}`, { cause: error });
  }
}

/** Undefined for what is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function save(file: string, content: SignedManifest | ManifestKeys, overwrite: boolean): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(content, null, 2)}\n`, { flag: overwrite ? 'w' : 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new UsageError(`${file} cannot be written: ${message}`, { cause: error });
    throw new FileExistsError(`${file} exists already: choose another name, or remove it`, { cause: error });
  }
}

function presented({ verified, ...checked }: Checked) {
  if (!verified) return checked;
  const { manifest, kid } = verified;
  return { ...checked, kid, hub: manifest.hub, task: manifest.task };
}

function inWords({ path: file, fault, verified, files }: Checked): string {
  if (!verified) return `${printable(file)}: refused: ${printable(fault ?? '')}`;
  const { manifest, kid } = verified;
  const { hub, task, instance } = manifest;
  const { id, status, batchExecutionStatus, creator, endedAt } = task;
  const where = instance && `${instance.id}, version ${instance.version}, revision ${instance.revision}`;
  const lines = [
    ['signed', `by ${hub.address ?? hub.id}, key ${kid}`],
    ['task', id],
    ['status', batchExecutionStatus === undefined ? status : `${status}, scripts ${batchExecutionStatus}`],
    ['creator', creator],
    ['instance', where],
    ['host', instance?.agentId],
    ['ended', endedAt],
    ...linesOf(files),
  ].filter((line): line is [string, string] => line[1] !== undefined);
  return [
    `${printable(file)}: ${verdictOf(files)}`,
    ...lines.map(([title, value]) => `${title.padEnd(12)}${printable(value)}`),
  ].join('\n');
}

function verdictOf(files: FolderCheck | undefined): string {
  if (!files) return 'right';
  if (!isRight(files)) return 'the signature is right, the files are not';
  return files.sizeOnly.length === 0 ? 'right' : 'right, but of some files only the size is signed';
}

function linesOf(files: FolderCheck | undefined): [string, string][] {
  if (!files) return [];
  const { right, missing, changed, additional, sizeOnly } = files;
  const named = (title: string, names: readonly string[]) =>
    names.map((name): [string, string] => [title, name]);
  return [
    ...named('missing', missing),
    ...named('changed', changed),
    ...named('additional', additional),
    ...named('size only', sizeOnly),
    ['outputs', `${right.length} of ${right.length + missing.length + changed.length} are as signed`],
  ];
}
