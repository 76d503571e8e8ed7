/** Starts the program of each instance, as the agent does, and ends it when it has said hello. */
import { resolve } from 'node:path';
import { type Finding, fault, ok } from '@workbench-hub/shared/checks/finding';
import { openLog } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type AgentConfig, instanceSettings } from '../../config.js';
import { inheritedEnvironment } from '../../core/job-environment.js';
import { type Program, ProgramLost, type Programs } from '../../core/ports/programs.js';
import type { PreparedDirectory } from '../../core/ports/workspace.js';
import { describeEnd, secondsText } from '../../core/program-end.js';
import type { InstanceSettings } from '../../engine/supervisor.js';
import { childProcessPrograms } from '../../process/programs.js';
import type { Sandbox } from '../../process/sandbox.js';
import { openPlatform } from '../../process/this-platform.js';

export interface ProgramStartOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Sandbox | null;
  readonly prepareDirectory: () => PreparedDirectory;
  readonly runtime: Runtime;
}

/** Length of the standard error of a program that a finding repeats. */
const LAST_WORDS_LENGTH = 500;

/** One finding for each different program; one after the other, since each may take memory or a license. */
export async function tryPrograms(config: AgentConfig, options: ProgramStartOptions): Promise<Finding[]> {
  const { environment, sandbox, prepareDirectory, runtime } = options;
  const { log } = await openLog({ name: 'doctor', level: 'silent', file: null, rotation: null });
  const programs = childProcessPrograms({
    // Programs of the running agent are left alone.
    nodeId: runtime.newId(),
    environment: inheritedEnvironment(environment),
    platform: (await openPlatform(resolve(config.dataDir))).platform,
    controlGroups: null,
    sandbox: () => sandbox,
    prepareDirectory,
    runtime,
    log,
  });
  const findings: Finding[] = [];
  for (const instances of alike(instanceSettings(config))) {
    const [first] = instances;
    // Without its sandbox, which has its own finding, no program runs.
    if (first === undefined || (first.sandbox !== null && sandbox === null)) continue;
    const ids = instances.map(({ id }) => id).join(', ');
    findings.push(await tryProgram(programs, first, `start of ${ids}`, runtime));
  }
  return findings;
}

function alike(instances: readonly InstanceSettings[]): InstanceSettings[][] {
  const groups = new Map<string, InstanceSettings[]>();
  for (const instance of instances) {
    const { command, env, sandbox } = instance;
    const key = JSON.stringify([command, env, sandbox]);
    groups.set(key, [...(groups.get(key) ?? []), instance]);
  }
  return [...groups.values()];
}

async function tryProgram(
  programs: Programs,
  instance: InstanceSettings,
  check: string,
  runtime: Runtime,
): Promise<Finding> {
  const begunAtMs = runtime.clock.monotonicMs();
  let stderr = '';
  const program = programs.start(
    {
      instance,
      command: instance.command,
      env: instance.env,
      sandbox: instance.sandbox,
      limits: instance.limits,
      commonProcess: null,
    },
    {
      onOutput: () => undefined,
      onStarted: () => undefined,
      onStderr: (text) => {
        stderr = `${stderr}${text}`.slice(-LAST_WORDS_LENGTH);
      },
    },
  );
  const why = await faultOf(program, instance, runtime);
  await end(program, instance, runtime);
  const took = secondsText(runtime.clock.monotonicMs() - begunAtMs);
  if ('hello' in why) return ok(check, `${why.hello} has started and said hello, in ${took}`);
  const words = stderr.trim() === '' ? '' : `; its last words: ${JSON.stringify(stderr.trim())}`;
  return fault(
    check,
    `the program ${why.fault}${words}`,
    'run the "command" of the instance in a terminal, as the user of the agent',
  );
}

async function faultOf(
  program: Program,
  { startTimeoutMs }: InstanceSettings,
  { timers }: Runtime,
): Promise<{ readonly hello: string } | { readonly fault: string }> {
  const overdue = pause(timers, startTimeoutMs).then(() => ({
    fault: `did not answer "initialize" within ${secondsText(startTimeoutMs)} (startTimeout)`,
  }));
  const ended = program.ended.then((how) => ({ fault: describeEnd(how) }));
  const hello = program
    .initialize()
    .then(({ name, version }) => ({ hello: `${name} ${version}` }))
    // The end of the process says more about a lost connection.
    .catch((error: unknown) =>
      error instanceof ProgramLost ? ended : { fault: `did not say hello: ${messageOf(error)}` },
    );
  return Promise.race([hello, ended, overdue]);
}

async function end(
  program: Program,
  { stopTimeoutMs }: InstanceSettings,
  { timers }: Runtime,
): Promise<void> {
  program.shutdown();
  const overdue = pause(timers, stopTimeoutMs).then(() => 'OVERDUE' as const);
  if ((await Promise.race([program.ended, overdue])) === 'OVERDUE') program.kill();
  await program.ended;
}
