/** Runs a real instance program in tests, and calls it like an agent. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lineSplitter } from './framing.js';
import { type InstanceHost, instanceHost } from './host.js';
import {
  type ExecuteBatchJobParams,
  INSTANCE_PROTOCOL_VERSION,
  type InitializeResult,
  MAX_LINE_BYTES,
  type OutputParams,
  type OutputStream,
  SHARED_PROTOCOL_VERSION,
} from './messages.js';

export interface ProgramUnderTest {
  pid: number;
  host: InstanceHost;
  /** Answer to `initialize`. */
  introduction: InitializeResult | undefined;
  outputs: OutputParams[];
  /** Output of scripts so far, on one stream or both. */
  printed(stream?: OutputStream): string;
  /** Resolves when scripts have printed this. */
  prints(text: string): Promise<void>;
  /** Standard error of the program. */
  log(): string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Ends the program like an agent; resolves with its exit code. */
  shutdown(): Promise<number | null>;
  /** Closes its standard input and waits for its exit. */
  hangUp(): Promise<number | null>;
  /** Sends a signal and waits for its exit. */
  signal(name: NodeJS.Signals): Promise<number | null>;
}

const PROFILE = { version: '9.1.0', revision: '4711', labels: [] };

/** Starts a program and initializes it for one instance. An invalid message rejects the pending call. */
export async function startProgram(
  command: string[],
  environment: Record<string, string> = {},
): Promise<ProgramUnderTest> {
  const program = spawnProgram(command, environment);
  program.introduction = await program.host.initialize({
    protocolVersion: INSTANCE_PROTOCOL_VERSION,
    instance: { id: 'sim-1', ...PROFILE },
  });
  return program;
}

/** Starts a program that serves several instances, and starts these. */
export async function startSharedProgram(
  command: string[],
  instanceIds: string[],
): Promise<ProgramUnderTest> {
  const program = spawnProgram(command, {});
  const instances = instanceIds.map((id) => ({ id, ...PROFILE }));
  const [instance = { id: 'sim-1', ...PROFILE }] = instances;
  await program.host.initialize({
    protocolVersion: INSTANCE_PROTOCOL_VERSION,
    supportedVersions: [INSTANCE_PROTOCOL_VERSION, SHARED_PROTOCOL_VERSION],
    instance,
  });
  await Promise.all(instances.map((each) => program.host.startInstance(each)));
  return program;
}

function spawnProgram(
  [command = '', ...args]: string[],
  environment: Record<string, string>,
): ProgramUnderTest {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: 'pipe' });
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const outputs: OutputParams[] = [];
  const waiting = new Set<() => void>();
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const printed = (stream?: OutputStream) =>
    outputs
      .filter((output) => stream === undefined || output.stream === stream)
      .map(({ text }) => text)
      .join('');

  const host = instanceHost(
    (line) => void child.stdin.write(`${line}\n`),
    (output) => {
      outputs.push(output);
      for (const check of waiting) check();
    },
  );
  const splitter = lineSplitter(MAX_LINE_BYTES);
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      for (const line of splitter.push(chunk)) host.receive(line);
    } catch (error) {
      host.close(error as Error);
      child.kill('SIGKILL');
    }
  });
  // An ended program does not read its input; `exited` reports the end.
  child.stdin.on('error', () => undefined);
  exited.then(
    ({ code, signal }) =>
      host.close(new Error(`the program exited with ${code ?? signal}; its log:\n${log}`)),
    (error: Error) => host.close(error),
  );

  return {
    pid: child.pid ?? 0,
    host,
    introduction: undefined,
    outputs,
    printed,
    prints: (text) =>
      new Promise((resolve) => {
        const check = () => {
          if (!printed().includes(text)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    log: () => log,
    exited,
    async shutdown() {
      await host.shutdown();
      return (await exited).code;
    },
    async hangUp() {
      child.stdin.end();
      return (await exited).code;
    },
    async signal(name) {
      child.kill(name);
      return (await exited).code;
    },
  };
}

export interface JobFolder {
  params: ExecuteBatchJobParams;
  path(name: string): string;
  read(name: string): Promise<string>;
  /** Names at the top of the working directory, sorted. */
  names(): Promise<string[]>;
  remove(): Promise<void>;
}

export interface JobOfTest {
  scripts: (string | Buffer)[];
  files?: Record<string, string | Buffer>;
  /** Name and content; placed in the working directory. */
  model?: { name: string; content: string };
  variables?: Record<string, string>;
  environment?: Record<string, string>;
  /** Folder for the files of the job; that of temporary files by default. */
  folder?: string;
}

let jobs = 0;

/** Stages a job like an agent: scripts and variables outside the working directory. */
export async function layOutJob({
  scripts,
  files = {},
  model,
  variables = {},
  environment = {},
  folder = tmpdir(),
}: JobOfTest): Promise<JobFolder> {
  const root = await mkdtemp(join(folder, 'workbench-job-'));
  const workingDirectory = join(root, 'work');
  const path = (name: string) => join(workingDirectory, name);
  const taskId = `task-${++jobs}`;
  await mkdir(workingDirectory);
  await mkdir(join(root, 'output-storage'));
  const variablesPath = join(root, 'variables.json');
  await writeFile(variablesPath, JSON.stringify(variables));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  }
  if (model) await writeFile(path(model.name), model.content);
  const scriptPaths = scripts.map((_, index) => join(root, `script-${index + 1}`));
  for (const [index, script] of scripts.entries()) await writeFile(scriptPaths[index] as string, script);
  return {
    params: {
      taskId,
      workingDirectory,
      scripts: scriptPaths,
      model: model ? path(model.name) : null,
      variables,
      environment: {
        WORKBENCH_TASK_ID: taskId,
        WORKBENCH_VARIABLES: variablesPath,
        WORKBENCH_OUTPUT_STORAGE: join(root, 'output-storage'),
        ...(model ? { WORKBENCH_MODEL: path(model.name) } : {}),
        ...environment,
      },
    },
    path,
    read: (name) => readFile(path(name), 'utf8'),
    names: async () => (await readdir(workingDirectory)).sort(),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
